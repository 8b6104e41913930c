"""Undoing broadcasting."""

from __future__ import annotations

import numpy as np

from tensorgrad.dtypes import sum_dtype
from tensorgrad.errors import ShapeError


def unbroadcast(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum `grad` over the axes along which an operand of `shape` was broadcast: from (4, 3) back to (3,), say.

    Raises ShapeError if `shape` does not broadcast to `grad.shape`.
    """
    extra = grad.ndim - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, grad.shape[extra:], strict=True)):
        raise ShapeError(f"a contribution of shape {grad.shape} cannot be summed to an operand of shape {shape}")
    axes = (*range(extra), *(extra + i for i, n in enumerate(shape) if n == 1 and grad.shape[extra + i] != 1))
    total = grad.sum(axis=axes, dtype=sum_dtype(grad.dtype))
    return np.asarray(total, dtype=grad.dtype).reshape(shape)
