"""Operations that take several elements to one: sum, mean, max."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import is_differentiable, sum_dtype
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, new, operand, quiet, record
from tensorgrad.ops.axes import Dims, either, normalize, normalize_one

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


class ValuesAndIndices(NamedTuple):
    """What `max` along one axis gives: the values, and where they stood."""

    values: Tensor
    indices: Tensor


@quiet
def sum(
    x: Any, dim: Dims = None, keepdim: bool | None = None, *, axis: Dims = None, keepdims: bool | None = None
) -> Tensor:
    """The sum over all axes, or over those in `dim`; with `keepdim` these stay, with length 1."""
    x, axes, keep = _arguments("sum", x, dim, keepdim, axis, keepdims)
    a = x._data
    out = _total(a, axes, keep)
    if a.dtype == np.float16:
        out = out.astype(a.dtype)
    return record("sum", out, (x, _spread(a.shape, axes)))


@quiet
def mean(
    x: Any, dim: Dims = None, keepdim: bool | None = None, *, axis: Dims = None, keepdims: bool | None = None
) -> Tensor:
    """The mean over all axes, or over those in `dim`; of no elements, nan. Raises DtypeError for integers."""
    x, axes, keep = _arguments("mean", x, dim, keepdim, axis, keepdims)
    a = x._data
    if not is_differentiable(a.dtype):
        raise DtypeError(f"mean: of floats only, this tensor is {a.dtype}: convert it first, or use sum")
    n = _count(a.shape, axes)
    spread = _spread(a.shape, axes)
    out = np.asarray(_total(a, axes, keep) / n, dtype=a.dtype)
    return record("mean", out, (x, lambda g: spread(g / n)))


def max(
    x: Any,
    dim: int | None = None,
    keepdim: bool | None = None,
    *,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor | ValuesAndIndices:
    """The largest element of all, a tensor; or along `dim`, a named tuple (values, indices).

    Of all: tied elements share the gradient evenly. Along `dim`: the first of them takes it whole.
    Raises ValueError where there is no element to choose.
    """
    x = operand(x, "max")
    dim = either("max", "dim", dim, "axis", axis, None)
    keep = bool(either("max", "keepdim", keepdim, "keepdims", keepdims, False))
    return _max_of_all(x) if dim is None else _max_along(x, normalize_one("max", dim, x._data.shape), keep)


def _max_of_all(x: ArrayNode) -> Tensor:
    a = x._data
    if a.size == 0:
        raise ValueError(f"max: a tensor of shape {a.shape} has no largest element")
    plain = lift.numbers(a)
    largest = plain.max()
    tied = plain == largest if largest == largest else np.isnan(plain)
    n = np.count_nonzero(tied)
    out = largest if a.dtype != object else a[tied].sum() / n
    return record("max", out, (x, lambda g: np.where(tied, g / n, 0)))


def _max_along(x: ArrayNode, axis: int, keep: bool) -> ValuesAndIndices:
    a = x._data
    if a.ndim == 0:
        return ValuesAndIndices(record("max", a.copy(), (x, lambda g: g)), new(np.zeros((), dtype=np.int64)))
    if a.shape[axis] == 0:
        raise ValueError(f"max: dim {axis} of shape {a.shape} has no largest element")
    where = np.argmax(lift.numbers(a), axis=axis, keepdims=True)
    out = np.take_along_axis(a, where, axis)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(a.shape, dtype=g.dtype)
        np.put_along_axis(sent, where, g if keep else np.expand_dims(g, axis), axis)
        return sent

    if not keep:
        out = out.squeeze(axis)
    return ValuesAndIndices(record("max", out, (x, rule)), new(where if keep else where.squeeze(axis)))


def _arguments(
    op: str, x: Any, dim: Dims, keepdim: bool | None, axis: Dims, keepdims: bool | None
) -> tuple[ArrayNode, tuple[int, ...], bool]:
    x = operand(x, op)
    dims = either(op, "dim", dim, "axis", axis, None)
    keep = bool(either(op, "keepdim", keepdim, "keepdims", keepdims, False))
    axes = normalize(op, dims, x._data.shape)
    return x, axes if x._data.ndim else (), keep


def _total(a: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    """The sum, in the dtype in which it runs."""
    out = a.sum(axis=axes, keepdims=keep, dtype=sum_dtype(a.dtype))
    return lift.nodes(out) if a.dtype == object else out


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    n = 1
    for axis in axes:
        n *= shape[axis]
    return n


def _spread(shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The rule of a sum over `axes`: each element receives the gradient of the sum that it went into."""
    kept = tuple(1 if i in axes else n for i, n in enumerate(shape))
    return lambda g: np.broadcast_to(g.reshape(kept), shape)
