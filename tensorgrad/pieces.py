"""Long arrays in pieces that stay in the processor's cache, for formulas of several steps: each step over the whole
array would fetch it from memory again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

_SIZE = 131072
"""Elements in a piece: 512 KiB of float32."""


def slices(length: int, step: int) -> Iterator[slice]:
    """Slices that cover an axis of `length`, `step` places in each (1 at least), except in the last."""
    step = max(step, 1)
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def row_pieces(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices that cover the rows of a matrix of `shape`, with about as many elements in each as a piece has."""
    rows, n = shape
    return slices(rows, _SIZE // max(n, 1))


def elementwise(formula: Callable[..., np.ndarray], dtype: np.dtype, *arrays: np.ndarray) -> np.ndarray:
    """formula(*arrays) on each element, piece by piece; the arrays are of one shape, and the result is of `dtype`."""
    shape = arrays[0].shape
    flat = [a.reshape(-1) for a in arrays]
    if flat[0].size <= _SIZE:
        return formula(*flat).astype(dtype, copy=False).reshape(shape)
    out = np.empty(flat[0].size, dtype)
    for piece in slices(out.size, _SIZE):
        out[piece] = formula(*[a[piece] for a in flat])
    return out.reshape(shape)
