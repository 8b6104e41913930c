"""Sizes, weights and batches of the GPTs that race, by NumPy alone, for every library the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LENGTH = 1.0
"""To which gradients are shortened."""

LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Size:
    """Sizes of a model and of its batches."""

    vocabulary: int
    context: int
    blocks: int
    heads: int
    width: int
    batch: int
    tokens: int


CHARS = Size(vocabulary=103, context=64, blocks=4, heads=4, width=128, batch=12, tokens=64)
GPT2 = Size(vocabulary=50_257, context=1_024, blocks=12, heads=12, width=768, batch=1, tokens=256)
GPT2_CUT = Size(vocabulary=5_000, context=1_024, blocks=2, heads=12, width=768, batch=1, tokens=256)
BLOCK = Size(vocabulary=1, context=64, blocks=1, heads=4, width=128, batch=12, tokens=64)
TINY = Size(vocabulary=11, context=8, blocks=2, heads=2, width=8, batch=3, tokens=8)


def batch(size: Size, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random tokens and targets (B, T)."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(0, size.vocabulary, (2, size.batch, size.tokens)))


def stream(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """What goes through a block, and the gradient that comes back (B, T, C), float32."""
    rng = np.random.default_rng(0)
    return tuple(rng.normal(size=(2, size.batch, size.tokens, size.width)).astype(np.float32))


def block_state(size: Size, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random parameters of one block, float32, by the names that `tensorgrad.models.GPT` has."""
    C = size.width
    return {
        **_norm("norm1", C, rng),
        **_linear("attention.qkv", C, 3 * C, rng),
        **_linear("attention.proj", C, C, rng),
        **_norm("norm2", C, rng),
        **_linear("mlp.up", C, 4 * C, rng),
        **_linear("mlp.down", 4 * C, C, rng),
    }


def state(size: Size) -> dict[str, np.ndarray]:
    """Random parameters of a model, float32, by the names that `tensorgrad.models.GPT` has."""
    rng = np.random.default_rng(0)
    C = size.width
    found = {
        "tokens.weight": _normal((size.vocabulary, C), rng),
        "positions.weight": _normal((size.context, C), rng),
    }
    for i in range(size.blocks):
        found |= {f"blocks.{i}.{name}": a for name, a in block_state(size, rng).items()}
    return found | _norm("norm", C, rng)


def _normal(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    found = rng.standard_normal(shape, np.float32)
    found *= np.float32(0.02)  # GPT-2's
    return found


def _linear(name: str, into: int, out: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {f"{name}.weight": _normal((out, into), rng), f"{name}.bias": _normal((out,), rng)}


def _norm(name: str, width: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {f"{name}.weight": 1 + _normal((width,), rng), f"{name}.bias": _normal((width,), rng)}
