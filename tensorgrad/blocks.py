"""Long arrays in pieces that stay in the processor's cache, for formulas of several steps: each step over the whole
array would fetch it from memory again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

_SIZE = 131072
"""Elements in a piece: 512 KiB of float32."""


def row_blocks(shape: tuple[int, ...], at_least: int = 1) -> Iterator[slice]:
    """Slices that cover the rows of a matrix of `shape`, `at_least` as many rows in each, except in the last."""
    rows, n = shape
    step = max(at_least, _SIZE // max(n, 1))
    for start in range(0, rows, step):
        yield slice(start, start + step)


def elementwise(formula: Callable[..., np.ndarray], dtype: np.dtype, *arrays: np.ndarray) -> np.ndarray:
    """formula(*arrays) on each element, piece by piece; the arrays are of one shape, and the result is of `dtype`."""
    shape = arrays[0].shape
    flat = [a.reshape(-1) for a in arrays]
    if flat[0].size <= _SIZE:
        return formula(*flat).astype(dtype, copy=False).reshape(shape)
    out = np.empty(flat[0].size, dtype)
    for start in range(0, out.size, _SIZE):
        piece = slice(start, start + _SIZE)
        out[piece] = formula(*[a[piece] for a in flat])
    return out.reshape(shape)
