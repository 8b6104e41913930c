"""Writing and adding at positions that tensors hold, into a copy."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.dtypes import sum_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, operand, quiet, record
from tensorgrad.ops.axes import either, normalize_one
from tensorgrad.ops.choosing import masked_fill
from tensorgrad.ops.keys import add_at, check_positions, grid, numbers, positions

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def scatter(
    x: Any,
    dim: int | None = None,
    index: Any = None,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """A copy of x in which element [i, index[i, j, k], k], here for dim 1, is src[i, j, k], or the number `value`.

    `index` is nowhere longer than `src`, nor, apart from `dim`, than x. Where it names a position several times, the
    last one in row-major order counts, and it alone has a gradient.
    Raises ShapeError, DtypeError or IndexError for what does not fit.
    """
    if reduce is not None:
        raise NotImplementedError(f"scatter: reduce={reduce!r} is not implemented; scatter_add adds")
    src = value if src is None else src
    if src is None:
        raise TypeError("scatter: src or value is missing: a tensor or a number")
    x = operand(x, "scatter")
    dim = either("scatter", "dim", dim, "axis", axis, None)
    shape = x._data.shape
    if isinstance(src, (Number, np.generic)):
        number, _ = _places("scatter", x, dim, index, None)
        out = x._data.copy(order="C")
        out.reshape(-1)[number] = src
        return record("scatter", out, (x, lambda g: _zeroed(g, number)))
    source = operand(src, "scatter")
    number, part = _places("scatter", x, dim, index, source)
    source_shape, size = source._data.shape, x._data.size
    out = x._data.astype(_common("scatter", x, source), order="C")
    last, there = _last(number, size)
    out.reshape(-1)[there] = np.atleast_1d(source._data)[part].reshape(-1)[last]

    def rule_source(g: np.ndarray) -> np.ndarray:
        last, there = _last(number, size)
        values = np.zeros(number.size, dtype=g.dtype)
        values[last] = g.reshape(-1)[there]
        return _put(values, source_shape, part)

    return record("scatter", out, (x, lambda g: _zeroed(g, number).reshape(shape)), (source, rule_source))


@quiet
def scatter_add(
    x: Any, dim: int | None = None, index: Any = None, src: Any = None, *, axis: int | None = None
) -> Tensor:
    """A copy of x in which src[i, j, k] is added to element [i, index[i, j, k], k], here for dim 1.

    `index` is nowhere longer than `src`, nor, apart from `dim`, than x. What is for the same element adds up.
    Raises ShapeError, DtypeError or IndexError for what does not fit.
    """
    x = operand(x, "scatter_add")
    if src is None:
        raise TypeError("scatter_add: src is missing: a tensor")
    source = operand(src, "scatter_add")
    dim = either("scatter_add", "dim", dim, "axis", axis, None)
    number, part = _places("scatter_add", x, dim, index, source)
    source_shape = source._data.shape
    dtype = _common("scatter_add", x, source)
    out = _added(x._data, (number,), np.atleast_1d(source._data)[part].reshape(-1), dtype, flat=True)
    return record(
        "scatter_add", out, (x, lambda g: g), (source, lambda g: _put(g.reshape(-1)[number], source_shape, part))
    )


@quiet
def index_add(
    x: Any,
    dim: int | None = None,
    index: Any = None,
    source: Any = None,
    *,
    alpha: float = 1,
    axis: int | None = None,
) -> Tensor:
    """A copy of x in which alpha * source[i] is added to the slice index[i] of the axis `dim`, for each i.

    `source` has the shape of x but for `dim`, where it has the length of the vector `index`. What is for the same slice
    adds up. Raises ShapeError, DtypeError or IndexError for what does not fit.
    """
    x = operand(x, "index_add")
    dim = either("index_add", "dim", dim, "axis", axis, None)
    if dim is None or index is None or source is None:
        raise TypeError("index_add: takes the tensor, dim, index and source")
    source = operand(source, "index_add")
    shape, before = x._data.shape, source._data.shape
    along = normalize_one("index_add", dim, shape)
    where = positions("index_add", index)
    needed = (*shape[:along], where.size, *shape[along + 1 :]) if shape else ()
    if where.ndim > 1 or before != needed or (not shape and where.size != 1):
        raise ShapeError(
            f"index_add: source of shape {before} and index of shape {where.shape} for shape {shape}: a vector is "
            f"needed as the index, and source must be as long there in dim {along}, and like x in the others"
        )
    where = where.reshape(-1)
    check_positions("index_add", where, shape or (1,), along)
    dtype = _common("index_add", x, source)
    key = (*[slice(None)] * along, where)
    summed = source._data if alpha == 1 else source._data * alpha
    out = _added(np.atleast_1d(x._data), key, np.atleast_1d(summed), dtype)
    out = out if shape else out.reshape(())

    def rule_source(g: np.ndarray) -> np.ndarray:
        sent = np.take(np.atleast_1d(g), where, along).reshape(before)
        return sent if alpha == 1 else sent * alpha

    return record("index_add", out, (x, lambda g: g), (source, rule_source))


def index_fill(
    x: Any, dim: int | None = None, index: Any = None, value: Any = None, *, axis: int | None = None
) -> Tensor:
    """x with `value`, a number or a 0-d tensor, in the slices `index` (a vector) of the axis `dim`: a `masked_fill`.

    Negative positions count from the end. Raises IndexError for one that is not there, ShapeError for other shapes.
    """
    x = operand(x, "index_fill")
    dim = either("index_fill", "dim", dim, "axis", axis, None)
    if dim is None or index is None or value is None:
        raise TypeError("index_fill: takes the tensor, dim, index and value")
    shape = x._data.shape or (1,)
    along = normalize_one("index_fill", dim, x._data.shape)
    where = positions("index_fill", index)
    if where.ndim > 1:
        raise ShapeError(f"index_fill: the index is a vector of positions, got shape {where.shape}")
    check_positions("index_fill", where, shape, along, -shape[along])
    mask = np.zeros(shape[along], dtype=bool)
    mask[where] = True
    return masked_fill(x, mask.reshape((-1,) + (1,) * (x._data.ndim - along - 1)) if x._data.ndim else mask[0], value)


def _places(
    op: str, x: ArrayNode, dim: int | None, index: Any, source: ArrayNode | None
) -> tuple[np.ndarray, tuple[slice, ...]]:
    """(the places in x, counted in row-major order, that `index` names; the part of the source that goes there)"""
    if dim is None or index is None:
        raise TypeError(f"{op}: {'dim' if dim is None else 'index'} is missing")
    shape = x._data.shape
    along = normalize_one(op, dim, shape)
    found = positions(op, index)
    where, target = np.atleast_1d(found), shape or (1,)
    from_source = np.atleast_1d(source._data).shape if source is not None else where.shape
    if not where.size:
        return np.zeros(0, dtype=np.intp), (slice(0),) * len(from_source)
    if len(from_source) != where.ndim or any(n > m for n, m in zip(where.shape, from_source, strict=True)):
        raise ShapeError(
            f"{op}: index of shape {found.shape} for a source of shape {source._data.shape}: it needs as many axes, "
            "none longer"
        )
    if len(target) != where.ndim or any(
        n > m for i, (n, m) in enumerate(zip(where.shape, target, strict=True)) if i != along
    ):
        raise ShapeError(
            f"{op}: index of shape {found.shape} for a tensor of shape {shape}: it needs as many axes, and apart from "
            f"dim {along} none that is longer"
        )
    check_positions(op, where, target, along)
    return numbers(target, grid(where, along)), tuple(slice(n) for n in where.shape)


def _common(op: str, x: ArrayNode, source: ArrayNode) -> np.dtype:
    """The dtype of both, or the objects of a lift. They are not promoted, as in torch: x decides what it holds."""
    a, b = x._data.dtype, source._data.dtype
    if a != b and object not in (a, b):
        raise DtypeError(f"{op}: a source of {b} for a tensor of {a}: they must be equal; convert one of them")
    return b if b.kind == "O" else a


def _added(a: np.ndarray, key: tuple[Any, ...], values: np.ndarray, dtype: np.dtype, flat: bool = False) -> np.ndarray:
    """A copy of `a` with values added at `key`, which counts in row-major order if `flat`."""
    out = a.astype(sum_dtype(dtype) if dtype.kind == "f" else dtype, order="C")
    add_at(out.reshape(-1) if flat else out, key, values)
    return out.astype(dtype, copy=False)


def _last(number: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(which of the numbers is the last of its value; that value), for every value in `number`, all below `size`."""
    owner = np.full(size, -1, dtype=np.intp)
    np.maximum.at(owner, number.reshape(-1), np.arange(number.size))
    there = np.flatnonzero(owner >= 0)
    return owner[there], there


def _put(values: np.ndarray, shape: tuple[int, ...], part: tuple[slice, ...]) -> np.ndarray:
    """Zeros of `shape` with values in a part of it."""
    sent = np.zeros(shape or (1,), dtype=values.dtype)
    view = sent[part]
    view[...] = values.reshape(view.shape)
    return sent.reshape(shape)


def _zeroed(g: np.ndarray, number: np.ndarray) -> np.ndarray:
    sent = g.copy(order="C")
    sent.reshape(-1)[number] = 0
    return sent
