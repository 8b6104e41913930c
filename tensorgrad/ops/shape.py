"""Operations that arrange the same elements in another shape. Their results are views of the operand's data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.errors import ShapeError
from tensorgrad.node import operand, record
from tensorgrad.ops.axes import integers, normalize_one

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def reshape(x: Any, *shape: Any) -> Tensor:
    """The elements in row-major order in another shape; one length may be -1: what is left.

    Takes reshape(2, 3) and reshape((2, 3)).
    """
    x = operand(x, "reshape")
    wanted = integers("reshape", shape)
    before = x._data.shape
    try:
        if any(n < -1 for n in wanted):  # NumPy takes them all for -1
            raise ValueError
        out = x._data.reshape(wanted)
    except ValueError:
        raise ShapeError(
            f"reshape: {x._data.size} elements of shape {before} do not fit the shape {wanted}; one length may be "
            "-1 for what is left"
        ) from None
    return record("reshape", out, (x, lambda g: g.reshape(before)))


def transpose(x: Any, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged, as in torch. (NumPy's transpose with a list of axes is `permute`.)"""
    x = operand(x, "transpose")
    i, j = (normalize_one("transpose", d, x._data.shape) for d in (dim0, dim1))
    if x._data.ndim == 0:
        i = j = None
    swap = (lambda a: a) if i is None else (lambda a: a.swapaxes(i, j))
    return record("transpose", swap(x._data), (x, swap))


def permute(x: Any, *dims: Any) -> Tensor:
    """The axes in the order `dims`. Takes permute(2, 0, 1) and permute((2, 0, 1))."""
    x = operand(x, "permute")
    wanted = integers("permute", dims)
    axes = tuple(normalize_one("permute", d, x._data.shape) for d in wanted)
    if sorted(axes) != list(range(x._data.ndim)):
        raise ValueError(f"permute: {wanted} must name each of the {x._data.ndim} axes of {x._data.shape} once")
    back = tuple(np.argsort(axes))
    return record("permute", x._data.transpose(axes), (x, lambda g: g.transpose(back)))


def T(x: Any) -> Tensor:
    """All axes in reverse order; of a matrix, its transpose."""
    x = operand(x, "T")
    return record("T", x._data.T, (x, lambda g: g.T))
