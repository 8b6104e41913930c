"""How long forward and backward pass take, about: from how many products and other passes over numbers there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from memory_lab.variants import Shape, Variant
from tensorgrad.ops.attention_tiles import tiles

_PASS = 0.75
"""What a pass over an array costs beside one of `exp`, on average over those of the model. Measured."""


@dataclass(frozen=True)
class Work:
    """flops   floating-point operations of products of matrices
    passes  numbers that are gone over otherwise, each as often as it is
    """

    flops: float
    passes: float

    def __add__(self, other: Work) -> Work:
        return Work(self.flops + other.flops, self.passes + other.passes)

    def __mul__(self, times: float) -> Work:
        return Work(self.flops * times, self.passes * times)


def work(shape: Shape, variant: Variant) -> Work:
    """Of one forward and one backward pass."""
    rows, C, V = shape.batch * shape.tokens, shape.width, shape.vocabulary
    linear = Work(2 * rows * 12 * C * C, 9 * rows * C)  # of one block: four products; biases
    scores = _scores(shape)
    attention = Work(4 * scores * C / shape.heads, 6 * scores)
    others = Work(0, rows * C * (2 * 5 + 2 + 4 * 8))  # norms, sums, gelu
    forward = linear + attention + others
    backward = linear * 2 + Work(10 * scores * C / shape.heads, 8 * scores) + others * 2
    again = forward
    if variant.checkpoint == "selective":
        again = attention + others
    block = forward + backward + (again if variant.checkpoint else Work(0, 0))
    head = Work(2 * rows * C * V * (4 if variant.chunked else 3), rows * V * (8 if variant.chunked else 7))
    turns = shape.batch if variant.accumulate else 1
    gradients = Work(0, 3 * shape.parameters * turns)
    return block * shape.blocks + head + gradients


def seconds(work: Work) -> float:
    """How long that takes here: an estimate."""
    product, exp = _speeds()
    return work.flops * product + _PASS * work.passes * exp


def _scores(shape: Shape) -> int:
    """Of attention in one block: those above the diagonal are left out, tile by tile."""
    if shape.tokens > 2**14:
        return shape.batch * shape.heads * shape.tokens**2 // 2
    one = (1, 1, shape.tokens, shape.tokens)
    found = sum((t.rows.stop - t.rows.start) * (t.keys.stop - t.keys.start) for t in tiles(one, True, False))
    return shape.batch * shape.heads * found


@lru_cache(maxsize=1)
def _speeds() -> tuple[float, float]:
    """Seconds for a floating-point operation of a product of matrices, and for an exp: measured, in 0.2 seconds."""
    a, b, c = np.ones((256, 768), np.float32), np.ones((768, 3072), np.float32), np.full(2**18, -1.0, np.float32)
    out, same = np.empty((256, 3072), np.float32), np.empty_like(c)
    return (
        _fastest(lambda: np.matmul(a, b, out=out)) / (2 * prod(a.shape) * b.shape[1]),
        _fastest(lambda: np.exp(c, out=same)) / c.size,
    )


def _fastest(what: Callable[[], object]) -> float:
    found, begun = [], time.perf_counter()
    while len(found) < 3 or time.perf_counter() - begun < 0.08:
        start = time.perf_counter()
        what()
        found.append(time.perf_counter() - start)
    return min(found)
