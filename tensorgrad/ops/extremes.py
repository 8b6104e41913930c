"""The largest, the smallest and the middle element, and where it stands. A nan, if there is one, is all three."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, new, quiet, record
from tensorgrad.ops.axes import Dims
from tensorgrad.ops.choosing import maximum, minimum
from tensorgrad.ops.reducing import kept, one_or_all, reduction, total, without

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


class ValuesAndIndices(NamedTuple):
    """What `max` along one axis gives: the values, and where they stood."""

    values: Tensor
    indices: Tensor


# -- max and min: torch's three forms ----------------------------------------------------------------------------------


@overload
def max(x: Any, *, axis: None = None, keepdims: bool | None = None) -> Tensor: ...
@overload
def max(x: Any, dim: int, keepdim: bool | None = None, *, keepdims: bool | None = None) -> ValuesAndIndices: ...
@overload
def max(x: Any, *, axis: int, keepdim: bool | None = None, keepdims: bool | None = None) -> ValuesAndIndices: ...
@overload
def max(x: Any, dim: Tensor) -> Tensor: ...
@overload
def max(x: Any, *, other: Any) -> Tensor: ...
def max(
    x: Any,
    dim: Any = None,
    keepdim: bool | None = None,
    *,
    other: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor | ValuesAndIndices:
    """The largest element of all, a tensor; or along `dim`, a named tuple (values, indices); or with a second tensor
    in the place of `dim`, the larger of the two in each place (`maximum`).

    Of all: tied elements share the gradient evenly. Along `dim`: the first of them takes it whole.
    Raises ShapeError where there is no element to choose.
    """
    return _extreme("max", np.max, np.argmax, maximum, x, dim, keepdim, other, axis, keepdims)


@overload
def min(x: Any, *, axis: None = None, keepdims: bool | None = None) -> Tensor: ...
@overload
def min(x: Any, dim: int, keepdim: bool | None = None, *, keepdims: bool | None = None) -> ValuesAndIndices: ...
@overload
def min(x: Any, *, axis: int, keepdim: bool | None = None, keepdims: bool | None = None) -> ValuesAndIndices: ...
@overload
def min(x: Any, dim: Tensor) -> Tensor: ...
@overload
def min(x: Any, *, other: Any) -> Tensor: ...
def min(
    x: Any,
    dim: Any = None,
    keepdim: bool | None = None,
    *,
    other: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor | ValuesAndIndices:
    """The smallest element of all, a tensor; or along `dim`, a named tuple (values, indices); or with a second tensor
    in the place of `dim`, the smaller of the two in each place (`minimum`). Ties and errors as in `max`."""
    return _extreme("min", np.min, np.argmin, minimum, x, dim, keepdim, other, axis, keepdims)


def _extreme(
    op: str,
    choose: Callable[..., Any],
    find: Callable[..., Any],
    of_two: Callable[[Any, Any], Tensor],
    x: Any,
    dim: Any,
    keepdim: bool | None,
    other: Any,
    axis: int | None,
    keepdims: bool | None,
) -> Tensor | ValuesAndIndices:
    if isinstance(dim, (ArrayNode, np.ndarray)):
        dim, other = None, dim
    if other is not None:
        if dim is not None or axis is not None or keepdim is not None or keepdims is not None:
            raise TypeError(f"{op}: of two tensors, place by place, there is no dim and no keepdim")
        return of_two(x, other)
    x, one, keep = one_or_all(op, x, dim, keepdim, axis, keepdims)
    if one is None:
        return _shared(op, choose, x, tuple(range(x._data.ndim)), keep)
    return _first(op, find, x, one, keep)


# -- amax and amin: over several axes ----------------------------------------------------------------------------------


def amax(
    x: Any, dim: Dims = None, keepdim: bool | None = None, *, axis: Dims = None, keepdims: bool | None = None
) -> Tensor:
    """The largest element of all, or over the axes in `dim`. Tied elements share the gradient evenly.

    Raises ShapeError where there is no element to choose.
    """
    x, axes, keep = reduction("amax", x, dim, keepdim, axis, keepdims)
    return _shared("amax", np.max, x, axes, keep)


def amin(
    x: Any, dim: Dims = None, keepdim: bool | None = None, *, axis: Dims = None, keepdims: bool | None = None
) -> Tensor:
    """The smallest element of all, or over the axes in `dim`. Tied elements share the gradient evenly.

    Raises ShapeError where there is no element to choose.
    """
    x, axes, keep = reduction("amin", x, dim, keepdim, axis, keepdims)
    return _shared("amin", np.min, x, axes, keep)


# -- the median --------------------------------------------------------------------------------------------------------


@overload
def median(x: Any, *, axis: None = None, keepdims: bool | None = None) -> Tensor: ...
@overload
def median(x: Any, dim: int, keepdim: bool | None = None, *, keepdims: bool | None = None) -> ValuesAndIndices: ...
@overload
def median(x: Any, *, axis: int, keepdim: bool | None = None, keepdims: bool | None = None) -> ValuesAndIndices: ...
def median(
    x: Any,
    dim: int | None = None,
    keepdim: bool | None = None,
    *,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor | ValuesAndIndices:
    """The element in the middle of all in order, a tensor; or along `dim`, a named tuple (values, indices). Of an even
    number the lower one of the two in the middle, as in torch; nan if there is one.

    Of all: elements that equal it share the gradient evenly. Along `dim`: one of them takes it whole, the first in a
    stable sort that is the middle. Raises ShapeError where there is no element.
    """
    x, one, keep = one_or_all("median", x, dim, keepdim, axis, keepdims)
    if one is None:
        return _shared("median", _middle, x, tuple(range(x._data.ndim)), keep)
    return _first("median", _where_middle, x, one, keep)


def _middle(a: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> np.ndarray:
    """The middle of all; they are sorted with nan last, and where there is one it is the answer."""
    flat = np.sort(a, axis=None)
    last = flat[-1]
    return np.asarray(last if last != last else flat[(flat.size - 1) // 2]).reshape((1,) * a.ndim)


def _where_middle(a: np.ndarray, axis: int, keepdims: bool) -> np.ndarray:
    order = np.argsort(a, axis, kind="stable")
    middle = np.take(order, [(a.shape[axis] - 1) // 2], axis)
    lost = np.isnan(a)
    return np.where(lost.any(axis, keepdims=True), np.argmax(lost, axis, keepdims=True), middle)


# -- where they stand --------------------------------------------------------------------------------------------------


def argmax(
    x: Any,
    dim: int | None = None,
    keepdim: bool | None = None,
    *,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Where the largest element stands, among all in row-major order or along `dim`; of equal ones, the first. A
    constant, int64. Raises ShapeError where there is none."""
    return _place("argmax", np.argmax, x, dim, keepdim, axis, keepdims)


def argmin(
    x: Any,
    dim: int | None = None,
    keepdim: bool | None = None,
    *,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Where the smallest element stands, among all in row-major order or along `dim`; of equal ones, the first. A
    constant, int64. Raises ShapeError where there is none."""
    return _place("argmin", np.argmin, x, dim, keepdim, axis, keepdims)


def _place(
    op: str,
    find: Callable[..., Any],
    x: Any,
    dim: int | None,
    keepdim: bool | None,
    axis: int | None,
    keepdims: bool | None,
) -> Tensor:
    x, where, keep = one_or_all(op, x, dim, keepdim, axis, keepdims)
    a = lift.numbers(x._data)
    _check_some(op, a.shape, tuple(range(a.ndim)) if where is None else (where,) if a.ndim else ())
    out = find(a, axis=where if a.ndim else None, keepdims=keep)
    return new(np.asarray(out, dtype=np.int64))


# -- the two ways in which the gradient goes back ----------------------------------------------------------------------


@quiet
def _shared(op: str, choose: Callable[..., Any], x: ArrayNode, axes: tuple[int, ...], keep: bool) -> Tensor:
    """The extreme over `axes`; the elements that equal it share the gradient."""
    a = x._data
    _check_some(op, a.shape, axes)
    plain = lift.numbers(a)
    out = np.asarray(choose(plain, axis=axes, keepdims=True))
    wide, after = out.shape, out.shape if keep else without(a.shape, axes)
    tied = plain == out
    if out.dtype.kind == "f" and np.isnan(out).any():
        tied |= np.isnan(plain) & np.isnan(out)
    n = np.count_nonzero(tied, axis=axes, keepdims=True) if a.ndim else 1
    if a.dtype == object:
        out = np.asarray(total(np.where(tied, a, 0), axes, True) / n)

    def rule(g: np.ndarray) -> np.ndarray:
        return np.where(tied, (g.reshape(wide) / n).astype(g.dtype), 0)

    return record(op, out.reshape(after), (x, rule))


def _first(op: str, find: Callable[..., Any], x: ArrayNode, axis: int, keep: bool) -> ValuesAndIndices:
    """The extreme along one axis, and its place; the first of the elements that equal it takes the gradient."""
    a = x._data
    if a.ndim == 0:
        return ValuesAndIndices(record(op, a.copy(), (x, lambda g: g)), new(np.zeros((), dtype=np.int64)))
    shape = a.shape
    _check_some(op, shape, (axis,))
    where = find(lift.numbers(a), axis=axis, keepdims=True)
    out = np.take_along_axis(a, where, axis)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, dtype=g.dtype)
        np.put_along_axis(sent, where, g.reshape(where.shape), axis)
        return sent

    after = kept(shape, (axis,)) if keep else without(shape, (axis,))
    # the indices are the caller's to change: a copy, so that the gradient still goes where it should
    return ValuesAndIndices(record(op, out.reshape(after), (x, rule)), new(where.reshape(after).copy()))


def _check_some(op: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Raise ShapeError where an extreme of nothing is asked for."""
    if 0 in (shape[axis] for axis in axes):
        # an axis of length 0 elsewhere only makes the result empty
        over = f"dim {', '.join(map(str, axes))}" if len(axes) < len(shape) else "all"
        raise ShapeError(
            f"{op}: over {over} of shape {shape} there is no element to choose; look where the tensor became empty"
        )
