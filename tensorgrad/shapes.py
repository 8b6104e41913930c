"""Broadcasting: which shapes meet, which fit into another, and how it is undone."""

from __future__ import annotations

import numpy as np

from tensorgrad.dtypes import sum_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.sums import sum_over


def broadcast(op: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which all of these meet. Raises ShapeError, which names the operation and the shapes, if there is
    none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"{op}: shapes {' and '.join(map(str, shapes))} do not broadcast: aligned at the right, the axes must be "
            "equal or hold a 1; reshape one of them"
        ) from None


def broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an array of `shape` can stand for one of shape `target`."""
    if shape == target[len(target) - len(shape) :]:
        return True
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def unbroadcast(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum `grad` over the axes along which an operand of `shape` was broadcast: from (4, 3) back to (3,), say. Where it
    was not, that is `grad` itself.

    Raises ShapeError if `shape` does not broadcast to `grad.shape`.
    """
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    if extra > 0 and grad.shape[extra:] == shape:  # as of a bias, which stands beside rows
        axes = tuple(range(extra))
    elif extra < 0 or any(n not in (1, m) for n, m in zip(shape, grad.shape[extra:], strict=True)):
        raise ShapeError(f"a contribution of shape {grad.shape} cannot be summed to an operand of shape {shape}")
    else:
        axes = (*range(extra), *(extra + i for i, n in enumerate(shape) if n == 1 and grad.shape[extra + i] != 1))
    total = sum_over(grad, axes, dtype=sum_dtype(grad.dtype)).astype(grad.dtype, copy=False)
    return total if total.shape == shape else total.reshape(shape)
