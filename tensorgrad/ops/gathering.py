"""Reading elements at positions that tensors hold. An element that is read several times receives the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import new, operand, record
from tensorgrad.ops.axes import either, normalize_one
from tensorgrad.ops.index import getitem
from tensorgrad.ops.keys import check_positions, grid, positions, scattered
from tensorgrad.settings import whole
from tensorgrad.shapes import broadcast, unbroadcast

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def gather(
    x: Any, dim: int | None = None, index: Any = None, *, sparse_grad: bool = False, axis: int | None = None
) -> Tensor:
    """Element [i, j, k] of the result is x[i, index[i, j, k], k], here for dim 1; it has the shape of `index`.

    `index` has as many axes as x and, apart from `dim`, none that is longer. Positions count from 0 on; as in torch
    negative ones are refused. `sparse_grad` changes nothing.
    Raises ShapeError for shapes that do not fit, IndexError for positions that are not there.
    """
    x = operand(x, "gather")
    along, where = _dim_and_index("gather", either("gather", "dim", dim, "axis", axis, None), index, x._data)
    shape = x._data.shape
    if where.size == 0:
        return record("gather", np.empty(where.shape, x._data.dtype), (x, lambda g: np.zeros(shape, g.dtype)))
    flat_shape, flat_where = shape or (1,), np.atleast_1d(where)
    if flat_where.ndim != len(flat_shape) or _is_longer(flat_where.shape, flat_shape, along):
        raise ShapeError(
            f"gather: index of shape {where.shape} for a tensor of shape {shape}: it needs as many axes, and apart "
            f"from dim {along} none that is longer"
        )
    check_positions("gather", flat_where, flat_shape, along)
    key = grid(flat_where, along)
    out = x._data.reshape(flat_shape)[key]
    out = out if where.ndim else out.reshape(())
    return record("gather", out, (x, lambda g: scattered(flat_shape, key, g).reshape(shape)))


def take_along_dim(x: Any, indices: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """`gather` in which the axes other than `dim` broadcast, and in which negative positions count from the end.

    Without `dim` both are flattened. Raises ShapeError where the numbers of axes differ or axes do not broadcast,
    IndexError for positions that are not there.
    """
    x = operand(x, "take_along_dim")
    dim = either("take_along_dim", "dim", dim, "axis", axis, None)
    if dim is None:
        return _flat("take_along_dim", x, positions("take_along_dim", indices).reshape(-1))
    along, where = _dim_and_index("take_along_dim", dim, indices, x._data)
    shape = x._data.shape
    flat_shape, where = shape or (1,), np.atleast_1d(where)
    if where.ndim != len(flat_shape):
        raise ShapeError(f"take_along_dim: indices of shape {where.shape} for shape {shape}: as many axes are needed")
    check_positions("take_along_dim", where, flat_shape, along, -flat_shape[along])
    try:
        others = np.broadcast_shapes(*[(*s[:along], 1, *s[along + 1 :]) for s in (where.shape, flat_shape)])
    except ValueError:
        raise ShapeError(
            f"take_along_dim: indices of shape {where.shape} for shape {shape}: apart from dim {along} they must "
            "broadcast"
        ) from None
    wide_shape = (*others[:along], flat_shape[along], *others[along + 1 :])
    key = grid(np.broadcast_to(where, (*others[:along], where.shape[along], *others[along + 1 :])), along)
    out = np.broadcast_to(x._data, wide_shape)[key]
    return record(
        "take_along_dim", out, (x, lambda g: unbroadcast(scattered(wide_shape, key, g), flat_shape).reshape(shape))
    )


def take(x: Any, index: Any) -> Tensor:
    """The elements at positions in row-major order, whatever the shape of x; negative ones count from the end.

    The result has the shape of `index`. Raises IndexError for positions that are not there.
    """
    return _flat("take", operand(x, "take"), positions("take", index))


def index_select(x: Any, dim: int | None = None, index: Any = None, *, axis: int | None = None) -> Tensor:
    """The slices along `dim` at the positions in the vector `index`, as in x[:, index]; negative ones are refused.

    Raises ShapeError for an index of more axes, IndexError for positions that are not there.
    """
    x = operand(x, "index_select")
    shape = x._data.shape
    dim = either("index_select", "dim", dim, "axis", axis, None)
    along, where = _dim_and_index("index_select", dim, index, x._data)
    if where.ndim > 1 or (not shape and where.size != 1):
        raise ShapeError(f"index_select: index of shape {where.shape} for shape {shape}: a vector is needed")
    where = where.reshape(-1)
    check_positions("index_select", where, shape or (1,), along)
    if not shape:
        return record("index_select", x._data.copy(), (x, lambda g: g))
    key = (*[slice(None)] * along, where)
    return record("index_select", np.take(x._data, where, along), (x, lambda g: scattered(shape, key, g)))


def masked_select(x: Any, mask: Any) -> Tensor:
    """The elements where the mask is True, in row-major order, as a vector; x and the mask are broadcast.

    Raises DtypeError unless the mask is boolean.
    """
    x = operand(x, "masked_select")
    chosen = mask._data if hasattr(mask, "_data") else np.asarray(mask)
    if chosen.dtype.kind != "b":
        raise DtypeError(f"masked_select: the mask must be boolean, this one is {chosen.dtype}: compare it, e.g. m > 0")
    shape = broadcast("masked_select", x._data.shape, chosen.shape)
    where = np.flatnonzero(np.broadcast_to(chosen, shape))

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, dtype=g.dtype)
        sent.reshape(-1)[where] = g
        return sent

    return record("masked_select", np.broadcast_to(x._data, shape).reshape(-1)[where], (x, rule))


@overload
def nonzero(x: Any, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(x: Any, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero(x: Any, *, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Where x is not 0: a row of positions for each such element, int64; or, for an index, a tuple of a vector an
    axis."""
    a = lift.numbers(operand(x, "nonzero")._data)
    if as_tuple:
        return tuple(new(where.astype(np.int64, copy=False)) for where in np.nonzero(np.atleast_1d(a)))
    return new(np.argwhere(a).astype(np.int64, copy=False))


def argwhere(x: Any) -> Tensor:
    """`nonzero` under its name in NumPy."""
    return nonzero(x)


def select(x: Any, dim: int, index: int) -> Tensor:
    """The slice at one position of the axis `dim`, which is left out of the result. A view."""
    x = operand(x, "select")
    if not x._data.ndim:
        raise IndexError("select: a 0-d tensor has no axis to select from")
    along = normalize_one("select", dim, x._data.shape)
    place = whole("select", "index", index)
    n = x._data.shape[along]
    if not -n <= place < n:
        raise IndexError(f"select: position {place} is out of range for dim {along} of shape {x._data.shape}")
    return getitem(x, (*[slice(None)] * along, place))


def narrow(x: Any, dim: int, start: int, length: int) -> Tensor:
    """`length` positions of the axis `dim`, from `start` on. A view. Raises IndexError where they are not all there."""
    x = operand(x, "narrow")
    if not x._data.ndim:
        raise IndexError("narrow: a 0-d tensor has no axis to be narrowed")
    along = normalize_one("narrow", dim, x._data.shape)
    first, count = whole("narrow", "start", start), whole("narrow", "length", length)
    n = x._data.shape[along]
    first += n if first < 0 else 0
    if count < 0 or not 0 <= first <= first + count <= n:
        raise IndexError(f"narrow: {count} from {start} on are not all in dim {along} of shape {x._data.shape}")
    return getitem(x, (*[slice(None)] * along, slice(first, first + count)))


def _flat(op: str, x: Any, where: np.ndarray) -> Tensor:
    shape, n = x._data.shape, x._data.size
    check_positions(op, where, (n,), 0, -n)
    return record(op, x._data.reshape(-1)[where], (x, lambda g: scattered((n,), (where,), g).reshape(shape)))


def _dim_and_index(op: str, dim: int | None, index: Any, a: np.ndarray) -> tuple[int, np.ndarray]:
    if dim is None or index is None:
        raise TypeError(f"{op}: takes the tensor, dim and index; {'dim' if dim is None else 'index'} is missing")
    return normalize_one(op, dim, a.shape), positions(op, index)


def _is_longer(a: tuple[int, ...], b: tuple[int, ...], apart_from: int) -> bool:
    return any(n > m for i, (n, m) in enumerate(zip(a, b, strict=True)) if i != apart_from)
