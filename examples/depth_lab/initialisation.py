"""How the weights of a stack are drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from depth_lab import draws

WEIGHTS: dict[str, str] = {
    "normal": "normal, deviation 1/√width (Glorot and Bengio 2010, Xavier): a matrix keeps a signal's size",
    "he": "normal, √2/√width: made for relu, which sends on half of what it gets (He et al. 2015)",
    "orthogonal": "orthogonal: a matrix turns a signal and leaves its length (Saxe et al. 2014)",
    "torch": "uniform within ±1/√width, what torch.nn.Linear starts with: a deviation of 1/√(3·width)",
    "gpt2": "normal, 0.02; in residual stacks over √layers (Radford et al. 2019, section 2.3)",
}
"""The initialisations by name, and what each is."""


def matrix(initialisation: str, seed: int, layer: int, width: int, shrink: float = 1.0) -> np.ndarray:
    """The weights (width, width), float64, of the layer of that number, the first is 1; a signal comes from the left.

    shrink  what "gpt2" multiplies by in residual stacks, 1/√layers
    """
    return _MADE[initialisation](seed, layer, width, shrink)


def _normal(gain: float) -> Callable[[int, int, int, float], np.ndarray]:
    def made(seed: int, layer: int, width: int, shrink: float) -> np.ndarray:
        return draws.normal(seed, layer, width * width).reshape(width, width) * (gain / np.sqrt(width))

    return made


def _torch(seed: int, layer: int, width: int, shrink: float) -> np.ndarray:
    return (2 * draws.uniform(seed, layer, width * width).reshape(width, width) - 1) / np.sqrt(width)


def _gpt2(seed: int, layer: int, width: int, shrink: float) -> np.ndarray:
    return draws.normal(seed, layer, width * width).reshape(width, width) * (0.02 * shrink)


def _orthogonal(seed: int, layer: int, width: int, shrink: float) -> np.ndarray:
    """Three Hadamard matrices with random signs between (Yu et al. 2016, "Orthogonal Random Features"), which NumPy and
    JavaScript multiply without rounding where the width is a power of four."""
    hadamard = _hadamard(width)
    first, second, third = draws.signs(seed, layer, 3 * width).reshape(3, width)
    product = ((first[:, None] * hadamard * second) @ hadamard * third) @ hadamard
    return product / width**1.5


def _hadamard(width: int) -> np.ndarray:
    """(width, width) of 1 and -1, rows orthogonal; Sylvester's construction."""
    if width & (width - 1):
        raise ValueError(f"orthogonal: the width is a power of two, got {width}")
    made = np.ones((1, 1))
    while len(made) < width:
        made = np.block([[made, made], [made, -made]])
    return made


_MADE = {"normal": _normal(1.0), "he": _normal(np.sqrt(2)), "orthogonal": _orthogonal, "torch": _torch, "gpt2": _gpt2}
