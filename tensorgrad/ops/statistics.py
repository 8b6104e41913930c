"""Variance and standard deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.node import quiet, record
from tensorgrad.ops.axes import Dims, either
from tensorgrad.ops.reduce import mean
from tensorgrad.ops.reducing import check_real, count, kept, reduction, root_of_nodes, total, without
from tensorgrad.settings import real

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def var(
    x: Any,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool | None = None,
    *,
    correction: float | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The mean of the squared distances from the mean, of all elements or over the axes in `dim`.

    The sum is divided by n - correction, where the correction is 1 unless it is given (`unbiased=False` is 0, and may
    stand first, as in torch); where that is not above 0, the result is nan or inf. Two passes, so that a large mean
    does not spoil it. Raises DtypeError for integers.
    """
    return _var("var", False, x, dim, unbiased, keepdim, correction, axis, keepdims)


def std(
    x: Any,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool | None = None,
    *,
    correction: float | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The square root of `var`, with the same arguments; where it is 0, so is the gradient."""
    return _var("std", True, x, dim, unbiased, keepdim, correction, axis, keepdims)


def var_mean(
    x: Any,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool | None = None,
    *,
    correction: float | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """(`var`, `mean`), with the arguments of `var`."""
    of_var = var(x, dim, unbiased, keepdim, correction=correction, axis=axis, keepdims=keepdims)
    return of_var, mean(x, None if isinstance(dim, bool) else dim, keepdim, axis=axis, keepdims=keepdims)


def std_mean(
    x: Any,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool | None = None,
    *,
    correction: float | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """(`std`, `mean`), with the arguments of `std`."""
    of_std = std(x, dim, unbiased, keepdim, correction=correction, axis=axis, keepdims=keepdims)
    return of_std, mean(x, None if isinstance(dim, bool) else dim, keepdim, axis=axis, keepdims=keepdims)


@quiet
def _var(
    op: str,
    root: bool,
    x: Any,
    dim: Dims | bool,
    unbiased: bool | None,
    keepdim: bool | None,
    correction: float | None,
    axis: Dims,
    keepdims: bool | None,
) -> Tensor:
    if isinstance(dim, bool):  # var(False): torch's older form
        dim, unbiased = None, either(op, "unbiased", unbiased, "dim", dim, None)
    x, axes, keep = reduction(op, x, dim, keepdim, axis, keepdims)
    a = x._data
    check_real(op, a)
    n = max(count(a.shape, axes) - _correction(op, unbiased, correction), 0)
    center = total(a, axes, True) / count(a.shape, axes)
    # the mean of the distances from it: the rounding of the mean, which would stay in every distance
    rest = 0 if a.dtype == object else total(a - center, axes, True) / count(a.shape, axes)

    def distances() -> np.ndarray:
        return a - center - rest

    wide, after = kept(a.shape, axes), kept(a.shape, axes) if keep else without(a.shape, axes)
    out = total(np.square(distances()), axes, True) / n
    if root:
        out = root_of_nodes(out) if a.dtype == object else _root(out, distances(), axes, n)
    slope = 2 / n if n else np.inf
    deviation = out if root else None

    def rule(g: np.ndarray) -> np.ndarray:
        g = g.reshape(wide)
        if deviation is not None:
            g = np.where(deviation == 0, 0, g / (2 * deviation))
        return slope * g * distances()

    return record(op, out.astype(a.dtype, copy=False).reshape(after), (x, rule))


def _root(mean_square: np.ndarray, distances: np.ndarray, axes: tuple[int, ...], n: float) -> np.ndarray:
    """The root of the mean square of `distances`; where squares leave their dtype's range, which for float32 is from
    about 1e-19 to 1e19, those of the distances divided by the largest of them."""
    out = np.sqrt(mean_square)
    if not ((out < 1000 * np.sqrt(np.finfo(out.dtype).tiny)) | np.isinf(out)).any():
        return out
    largest = np.max(np.abs(distances), axis=axes, keepdims=True, initial=0)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, largest.dtype.type(1))
    return scale * np.sqrt(total(np.square(distances / scale), axes, True) / n)


def _correction(op: str, unbiased: bool | None, correction: float | None) -> float:
    if unbiased is None:
        return 1 if correction is None else real(op, "correction", correction)
    if correction is not None:
        raise TypeError(f"{op}: give unbiased or correction, not both; unbiased=True is correction=1")
    return 1 if unbiased else 0
