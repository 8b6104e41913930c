"""Sums, means, products, and questions to all elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import sum_dtype
from tensorgrad.node import new, operand, quiet, record
from tensorgrad.ops.axes import Dims, either, normalize
from tensorgrad.ops.reducing import (
    cast,
    check_float,
    count,
    kept,
    one_axis_at_least,
    one_or_all,
    reduction,
    spread,
    total,
    without,
)

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def sum(
    x: Any,
    dim: Dims = None,
    keepdim: bool | None = None,
    *,
    dtype: Any = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The sum over all axes, or over those in `dim`; with `keepdim` these stay, with length 1.

    Of integers and booleans an int64. `dtype` is what the elements are converted to first.
    """
    x, axes, keep = reduction("sum", x, dim, keepdim, axis, keepdims)
    a = cast("sum", x._data, dtype)
    out = total(a, axes, keep)
    if a.dtype == np.float16:
        out = out.astype(a.dtype)
    return record("sum", out, (x, spread(a.shape, axes)))


@quiet
def mean(
    x: Any,
    dim: Dims = None,
    keepdim: bool | None = None,
    *,
    dtype: Any = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The mean over all axes, or over those in `dim`; of no elements, nan.

    Raises DtypeError for integers, unless `dtype` says which floats they are to become.
    """
    x, axes, keep = reduction("mean", x, dim, keepdim, axis, keepdims)
    a = cast("mean", x._data, dtype)
    check_float("mean", a, "convert it first, give dtype=, or use sum")
    n = count(a.shape, axes)
    back = spread(a.shape, axes)
    out = np.asarray(total(a, axes, keep) / n, dtype=a.dtype)
    return record("mean", out, (x, lambda g: back(g / n)))


@quiet
def prod(
    x: Any,
    dim: int | None = None,
    keepdim: bool | None = None,
    *,
    dtype: Any = None,
    axis: int | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The product of all elements, or of those along the one axis `dim`; of none, 1. Of integers an int64.

    Nothing is divided, so the gradient is right with zeros: each element receives the product of the others.
    """
    x, one, keep = one_or_all("prod", x, dim, keepdim, axis, keepdims)
    a = cast("prod", x._data, dtype)
    shape, where = a.shape, one or 0
    line = a.reshape(-1) if one is None else one_axis_at_least(a)
    axes = tuple(range(a.ndim)) if one is None else (one,)
    after = kept(shape, axes) if keep else without(shape, axes)
    run = sum_dtype(a.dtype)
    out = np.asarray(np.multiply.reduce(line, axis=where, dtype=run))
    out = lift.nodes(out) if a.dtype == object else out
    if a.dtype == np.float16:
        out = out.astype(a.dtype)

    def rule(g: np.ndarray) -> np.ndarray:
        line = a.reshape(-1) if one is None else one_axis_at_least(a)
        others = _products_of_others(line.astype(run, copy=False), where)
        others *= np.expand_dims(g.reshape(line.shape[:where] + line.shape[where + 1 :]), where)
        return others.reshape(shape)

    return record("prod", out.reshape(after), (x, rule))


def _products_of_others(a: np.ndarray, axis: int) -> np.ndarray:
    """For each element the product of all others along `axis`: of those before it, times that of those after it."""
    a = np.moveaxis(a, axis, 0)
    before, after = np.ones(a.shape, a.dtype), np.ones(a.shape, a.dtype)
    np.cumprod(a[:-1], axis=0, out=before[1:])
    np.cumprod(a[:0:-1], axis=0, out=after[-2::-1])
    before *= after
    return np.moveaxis(before, 0, axis)


def all(
    x: Any,
    dim: Dims = None,
    keepdim: bool | None = None,
    *,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Whether all elements, or all along `dim`, are true, that is, not 0; of none, true. A constant, boolean (uint8
    stays uint8, as in torch)."""
    return _question("all", np.all, x, dim, keepdim, axis, keepdims)


def any(
    x: Any,
    dim: Dims = None,
    keepdim: bool | None = None,
    *,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Whether any element, or any along `dim`, is true, that is, not 0; of none, false. A constant, boolean (uint8
    stays uint8, as in torch)."""
    return _question("any", np.any, x, dim, keepdim, axis, keepdims)


def _question(op: str, ask: Any, x: Any, dim: Dims, keepdim: bool | None, axis: Dims, keepdims: bool | None) -> Tensor:
    dims = either(op, "dim", dim, "axis", axis, None)
    x, axes, keep = reduction(op, x, dims, keepdim, None, keepdims)
    if isinstance(dims, (tuple, list)) and not dims:
        axes = ()  # here, and nowhere else in torch, no axes are no axes
    a = lift.numbers(x._data)
    return new(np.asarray(ask(a, axis=axes, keepdims=keep), dtype=np.uint8 if a.dtype == np.uint8 else bool))


def count_nonzero(x: Any, dim: Dims = None, *, axis: Dims = None) -> Tensor:
    """How many elements, of all or along `dim`, are not 0: a constant, int64."""
    x = operand(x, "count_nonzero")
    axes = normalize("count_nonzero", either("count_nonzero", "dim", dim, "axis", axis, None), x._data.shape)
    a = lift.numbers(x._data)
    return new(np.asarray(np.count_nonzero(a, axis=axes if a.ndim else None), dtype=np.int64))
