"""Operations that turn or roll the elements along axes. Their results are copies, as in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, operand, record
from tensorgrad.ops.axes import Dims, integers, normalize_one, several

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def flip(x: Any, *axes: Any, dims: Any = None) -> Tensor:
    """The elements in reverse order along each axis of `dims`. Takes flip(0, 1) and flip((0, 1)).

    Raises ValueError for an axis that is named twice.
    """
    x = operand(x, "flip")
    wanted = several("flip", axes, "dims", dims)
    found = tuple(normalize_one("flip", d, x._data.shape) for d in wanted)
    if len(set(found)) != len(found):
        raise ValueError(f"flip: {wanted} names an axis twice")
    return _flipped(x, found if x._data.ndim else ())


def fliplr(x: Any) -> Tensor:
    """The columns in reverse order: flip(x, 1). Raises ShapeError for fewer than two axes."""
    return _flipped(_with_axes("fliplr", x, 2), (1,))


def flipud(x: Any) -> Tensor:
    """The rows in reverse order: flip(x, 0). Raises ShapeError for a 0-d tensor."""
    return _flipped(_with_axes("flipud", x, 1), (0,))


def roll(x: Any, shifts: int | tuple[int, ...], dims: Dims = None) -> Tensor:
    """The elements moved on by `shifts` places along `dims`; what falls off the end comes back at the start.

    One shift an axis. Without `dims` all elements are rolled in row-major order, whatever the shape.
    """
    x = operand(x, "roll")
    by = integers("roll", (shifts,))
    given = () if dims is None else integers("roll", (dims,))
    axes = tuple(_axis("roll", d, x) for d in given) or None
    if len(by) != (1 if axes is None else len(axes)):
        raise ValueError(f"roll: {len(by)} shifts {shifts} for dims {dims}: give one shift an axis, one without dims")
    if axes is None:
        by = by[0]
        # copied: NumPy's result is a view, and views are not assigned to inside the graph
        return record("roll", np.roll(x._data, by).copy(), (x, lambda g: np.roll(g, -by)))
    back = tuple(-n for n in by)
    return record("roll", np.roll(x._data, by, axes), (x, lambda g: np.roll(g, back, axes)))


def _flipped(x: ArrayNode, axes: tuple[int, ...]) -> Tensor:
    return record("flip", np.flip(x._data, axes).copy(), (x, lambda g: np.flip(g, axes)))


def _with_axes(op: str, x: Any, n: int) -> ArrayNode:
    x = operand(x, op)
    if x._data.ndim < n:
        raise ShapeError(f"{op}: needs at least {n} axes, this tensor has shape {x._data.shape}")
    return x


def _axis(op: str, dim: int, x: ArrayNode) -> int:
    if not x._data.ndim:
        raise IndexError(f"{op}: dim {dim} is not an axis of shape ()")
    return normalize_one(op, dim, x._data.shape)
