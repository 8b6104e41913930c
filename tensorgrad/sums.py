"""Sums along any axis that keep their digits.

NumPy adds pairwise along the axis that lies densest in memory, and one number after the other along any other: the mean
of 20,000 rows of float32 near 10,000 would be off by 0.5, and a variance computed from it wrong in its first digit.
"""

from __future__ import annotations

from math import prod

import numpy as np

_BLOCK = 64  # as many are added one after the other, then the sums of as many blocks, and so on


def sum_over(
    a: np.ndarray, axes: int | tuple[int, ...], keepdims: bool = False, dtype: np.dtype | None = None
) -> np.ndarray:
    """`a` summed over `axes`, which count from the front, in `dtype` or its own. Rounding grows with the logarithm of
    how many numbers are added, along every axis; it costs up to half as much again as NumPy's sum."""
    axes = axes if type(axes) is tuple else (axes,)
    many = a.size > _BLOCK and prod([a.shape[axis] for axis in axes]) > _BLOCK
    if many and a.dtype.kind == "f" and not (len(axes) == a.ndim and a.flags.forc):
        dtype = a.dtype if dtype is None else dtype
        densest = _densest(a)
        for axis in axes:
            while axis != densest and a.shape[axis] > _BLOCK:
                a = _of_blocks(a, axis, dtype)
            if axis != densest and len(axes) > 1 and a.shape[axis] > 1:
                # or the blocks of several axes would be added in one go
                a = a.sum(axis=axis, keepdims=True, dtype=dtype)
    return np.asarray(a.sum(axis=axes, keepdims=keepdims, dtype=dtype))


def _densest(a: np.ndarray) -> int | None:
    """The axis along which the step in memory is smallest; one along which numbers repeat does not count."""
    steps = [(abs(step), axis) for axis, step in enumerate(a.strides) if step and a.shape[axis] > 1]
    return min(steps)[1] if steps else None


def _of_blocks(a: np.ndarray, axis: int, dtype: np.dtype) -> np.ndarray:
    """The sums of blocks along `axis`, and of what is left at its end."""
    whole = a.shape[axis] // _BLOCK
    cut = whole * _BLOCK
    before = (slice(None),) * axis
    blocks = a[(*before, slice(cut))].reshape(*a.shape[:axis], whole, _BLOCK, *a.shape[axis + 1 :])
    rest = a[(*before, slice(cut, None))]
    sums = blocks.sum(axis=axis + 1, dtype=dtype)
    return np.concatenate([sums, rest.sum(axis=axis, keepdims=True, dtype=dtype)], axis=axis) if rest.size else sums
