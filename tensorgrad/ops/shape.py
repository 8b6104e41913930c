"""Operations that put the same elements into another shape, in the same order."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, operand, record
from tensorgrad.ops.axes import Dims, either, integers, new_axis, normalize, normalize_one, several

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def reshape(x: Any, *lengths: Any, shape: Any = None) -> Tensor:
    """The elements in row-major order in another shape; one length may be -1: what is left.

    Takes reshape(2, 3) and reshape((2, 3)). A view where the layout in memory allows it, else a copy.
    Raises ShapeError where the elements do not fit.
    """
    x = operand(x, "reshape")
    return _record("reshape", x, _fit("reshape", x._data, several("reshape", lengths, "shape", shape)))


def view(x: Any, *lengths: Any, size: Any = None) -> Tensor:
    """`reshape` that never copies: the result shares its memory with x.

    Raises ShapeError where the layout in memory would need a copy, as after a transpose.
    """
    x = operand(x, "view")
    if len(lengths) == 1 and isinstance(lengths[0], (np.dtype, type)):
        raise NotImplementedError(
            f"view: reading the bytes as another dtype is not implemented; x.to({np.dtype(lengths[0]).name!r}) converts"
        )
    a = x._data
    out = _fit("view", a, several("view", lengths, "size", size))
    if out.size and not np.may_share_memory(out, a):
        raise ShapeError(
            f"view: {a.shape} with strides {tuple(s // a.itemsize for s in a.strides)} cannot be seen as {out.shape} "
            "without a copy: use reshape, or contiguous().view"
        )
    return _record("view", x, out)


def view_as(x: Any, other: Any) -> Tensor:
    """x.view(other.shape)."""
    return view(x, operand(other, "view_as")._data.shape)


def reshape_as(x: Any, other: Any) -> Tensor:
    """x.reshape(other.shape)."""
    return reshape(x, operand(other, "reshape_as")._data.shape)


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim as one; a 0-d tensor gives one of shape (1,)."""
    x = operand(x, "flatten")
    shape = x._data.shape
    start, end = (normalize_one("flatten", d, shape) for d in (start_dim, end_dim))
    if start > end:
        raise ValueError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim} in shape {shape}")
    return _record("flatten", x, x._data.reshape(*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def ravel(x: Any) -> Tensor:
    """All elements as a vector, in row-major order."""
    return flatten(x)


def unflatten(x: Any, dim: int, sizes: Any) -> Tensor:
    """The axis `dim` as several of these lengths, one of which may be -1: what is left."""
    x = operand(x, "unflatten")
    shape = x._data.shape
    axis = normalize_one("unflatten", dim, shape)
    lengths = integers("unflatten", (sizes,))
    if not lengths or not shape:
        raise ShapeError(f"unflatten: dim {dim} of shape {shape} cannot become axes of lengths {lengths}")
    known = prod(n for n in lengths if n != -1)
    if lengths.count(-1) == 1 and known > 0 and shape[axis] % known == 0:
        lengths = tuple(shape[axis] // known if n == -1 else n for n in lengths)
    if min(lengths) < 0 or prod(lengths) != shape[axis]:
        raise ShapeError(f"unflatten: dim {dim} of shape {shape} cannot become axes of lengths {tuple(sizes)}")
    return _record("unflatten", x, x._data.reshape(*shape[:axis], *lengths, *shape[axis + 1 :]))


def squeeze(x: Any, dim: Dims = None, *, axis: Dims = None) -> Tensor:
    """Without the axes of length 1, or without those of them that are in `dim`; others stay, as in torch."""
    x = operand(x, "squeeze")
    a = x._data
    dims = either("squeeze", "dim", dim, "axis", axis, None)
    axes = () if (isinstance(dims, (tuple, list)) and not dims) or not a.ndim else normalize("squeeze", dims, a.shape)
    if not a.ndim and dims is not None:
        normalize("squeeze", dims, a.shape)  # for its errors
    return _record("squeeze", x, a.squeeze(tuple(i for i in axes if a.shape[i] == 1)))


def unsqueeze(x: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """With a new axis of length 1 at `dim`, which may be at the end."""
    x = operand(x, "unsqueeze")
    dim = either("unsqueeze", "dim", dim, "axis", axis, None)
    if dim is None:
        raise TypeError("unsqueeze: dim is missing: say where the new axis stands")
    return _record("unsqueeze", x, np.expand_dims(x._data, new_axis("unsqueeze", dim, x._data.shape)))


def contiguous(x: Any) -> Tensor:
    """x itself if its elements lie in row-major order in memory, else a copy of which that is true."""
    x = operand(x, "contiguous")
    if x._data.flags.c_contiguous and x._data.dtype != object:  # how the objects of a lift lie says nothing
        return x
    return record("contiguous", x._data.copy(order="C"), (x, lambda g: g))


def _fit(op: str, a: np.ndarray, wanted: tuple[int, ...]) -> np.ndarray:
    try:
        if any(n < -1 for n in wanted):  # NumPy takes them all for -1
            raise ValueError
        return a.reshape(wanted)
    except ValueError:
        raise ShapeError(
            f"{op}: {a.size} elements of shape {a.shape} do not fit the shape {wanted}; one length may be "
            "-1 for what is left"
        ) from None


def _record(op: str, x: ArrayNode, out: np.ndarray) -> Tensor:
    before = x._data.shape
    if out is x._data:  # squeeze with nothing to squeeze: a view all the same, which an array knows by its base
        out = out.view()
    return record(op, out, (x, lambda g: g.reshape(before)))
