"""The softmax family. The largest element is subtracted first, so that no exponential overflows.

The fast paths work in place on arrays of their own; `np.asarray` is there for 0-d operands, of which NumPy's operators
make bare numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import sum_dtype
from tensorgrad.node import ArrayNode, new, quiet, record
from tensorgrad.ops.axes import Dims, either
from tensorgrad.ops.functions import exp, log
from tensorgrad.ops.operands import composed, floats, widened
from tensorgrad.ops.reduce import sum
from tensorgrad.ops.reducing import along, cast, check_float, kept, reduction, without
from tensorgrad.sums import sum_over

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def softmax(x: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`. A row of -inf alone, all of it masked, is nan.

    Raises DtypeError for integers, unless `dtype` says which floats they are to become.
    """
    x, axes, a = _arguments("softmax", x, dim, dtype, axis)
    if a.dtype == object:
        return composed("softmax", lambda x: _softmax(x, axes), x)
    out = np.asarray(widened(a) - _largest(a, axes))
    np.exp(out, out=out)
    out /= sum_over(out, axes, True)
    out = out.astype(a.dtype, copy=False)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.asarray(g * out)
        np.subtract(g, sum_over(sent, axes, True, sum_dtype(sent.dtype)), out=sent)
        sent *= out
        return sent

    return record("softmax", out, (x, rule))


@quiet
def log_softmax(x: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """log(softmax(x)) along `dim`, without the rounding and the infinities of taking it in two steps.

    Raises DtypeError for integers, unless `dtype` says which floats they are to become.
    """
    x, axes, a = _arguments("log_softmax", x, dim, dtype, axis)
    if a.dtype == object:
        return composed("log_softmax", lambda x: _log_softmax(x, axes), x)
    out = np.asarray(widened(a) - _largest(a, axes))
    out -= np.log(sum_over(np.exp(out), axes, True))
    out = out.astype(a.dtype, copy=False)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.asarray(np.exp(out))
        sent *= sum_over(g, axes, True, sum_dtype(g.dtype))
        np.subtract(g, sent, out=sent)
        return sent

    return record("log_softmax", out, (x, rule))


@quiet
def logsumexp(
    x: Any,
    dim: Dims = None,
    keepdim: bool | None = None,
    *,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """log(sum(exp(x))) over the axes in `dim`. Of -inf alone it is -inf, with the gradient nan; of nothing, -inf."""
    if either("logsumexp", "dim", dim, "axis", axis, None) is None:
        raise TypeError("logsumexp: give dim, the axis or the axes to sum over")
    x, axes, keep = reduction("logsumexp", x, dim, keepdim, axis, keepdims)
    a = floats(x._data)
    wide = kept(a.shape, axes)
    after = wide if keep else without(a.shape, axes)
    if a.dtype == object:
        return composed("logsumexp", lambda x: _logsumexp(x, axes, keep), x)
    largest = _finite(_largest(a, axes))
    shifted = np.asarray(widened(a) - largest)
    np.exp(shifted, out=shifted)
    log_sum = np.asarray(np.log(sum_over(shifted, axes, True)))
    out = np.asarray(log_sum + largest)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.asarray(a - largest)  # in two steps: beside a large element the rounding of `out` would show
        sent -= log_sum
        np.exp(sent, out=sent)
        sent *= g.reshape(wide)
        return sent

    return record("logsumexp", out.astype(a.dtype, copy=False).reshape(after), (x, rule))


def _arguments(
    op: str, x: Any, dim: int | None, dtype: Any, axis: int | None
) -> tuple[ArrayNode, tuple[int, ...], np.ndarray]:
    x, where = along(op, x, dim, axis)
    a = cast(op, x._data, dtype)
    check_float(op, a, "convert it first, or give dtype=")
    return x, (where,) if a.ndim else (), a


def _largest(a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The largest element over `axes`, which stay; of none -inf."""
    return np.asarray(np.max(a, axis=axes, keepdims=True, initial=-np.inf))


def _finite(largest: np.ndarray) -> np.ndarray:
    """What may be subtracted everywhere: inf - inf is nan."""
    return np.where(np.isinf(largest), 0, largest)


# -- the composed twins: what the fast paths are tested against, and what scalar nodes are put through -----------------


def _shift(x: Tensor, axes: tuple[int, ...]) -> np.ndarray:
    """What to subtract, a constant: the result does not depend on it."""
    return _largest(lift.numbers(x._data), axes)


def _softmax(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    e = exp(x - new(_shift(x, axes)))
    return e / sum(e, axes, keepdim=True)


def _log_softmax(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    shifted = x - new(_shift(x, axes))
    return shifted - log(sum(exp(shifted), axes, keepdim=True))


def _logsumexp(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    largest = _finite(_shift(x, axes))
    after = largest.shape if keep else without(largest.shape, axes)
    return log(sum(exp(x - new(largest)), axes, keep)) + new(largest.reshape(after))
