"""Running sums and products along one axis, and differences of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import sum_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.node import operand, quiet, record
from tensorgrad.ops.arithmetic import sub
from tensorgrad.ops.axes import either, normalize_one
from tensorgrad.ops.comparisons import logical_xor
from tensorgrad.ops.gathering import narrow
from tensorgrad.ops.joining import cat
from tensorgrad.ops.reducing import along, cast, one_axis_at_least
from tensorgrad.settings import whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def cumsum(x: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """The sums of the elements up to each one, along `dim`; the shape stays. Of integers and booleans int64."""
    x, where = along("cumsum", x, dim, axis)
    a = cast("cumsum", x._data, dtype)
    shape = a.shape
    # a running sum has all the roundings before it, so floats run in float64
    run = np.dtype(np.float64) if a.dtype.kind == "f" else sum_dtype(a.dtype)
    out = np.add.accumulate(one_axis_at_least(a), axis=where, dtype=run)
    if a.dtype.kind == "f":
        out = out.astype(a.dtype, copy=False)
    if a.dtype == object:
        out = _apart("cumsum", out)

    def rule(g: np.ndarray) -> np.ndarray:
        backwards = np.flip(one_axis_at_least(g), where)
        return np.flip(np.add.accumulate(backwards, axis=where, dtype=run), where).reshape(shape)

    return record("cumsum", out.reshape(shape), (x, rule))


@quiet
def cumprod(x: Any, dim: int | None = None, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """The products of the elements up to each one, along `dim`; the shape stays. Of integers and booleans int64.

    Nothing is divided, so the gradient is right with zeros. It takes one step for each element along `dim`.
    """
    x, where = along("cumprod", x, dim, axis)
    a = cast("cumprod", x._data, dtype)
    shape, run = a.shape, sum_dtype(a.dtype)
    line = one_axis_at_least(a)
    out = np.multiply.accumulate(line, axis=where, dtype=run)
    if a.dtype == object:
        out = _apart("cumprod", out)
    elif a.dtype == np.float16:
        out = out.astype(a.dtype)

    def rule(g: np.ndarray) -> np.ndarray:
        factors = np.moveaxis(line, where, 0)
        sent = np.moveaxis(one_axis_at_least(g), where, 0).astype(run)
        # x[j] is in out[j], out[j + 1], ...: what comes back, without the factors up to x[j], is
        # s[j] = g[j] + x[j + 1] * s[j + 1]; the factors before x[j] are out[j - 1]
        for j in range(len(sent) - 2, -1, -1):
            sent[j] += factors[j + 1] * sent[j + 1]
        # of float16, computed anew: the result is rounded
        products = out if out.dtype == run else np.multiply.accumulate(line, axis=where, dtype=run)
        sent[1:] *= np.moveaxis(products, where, 0)[:-1]
        return np.moveaxis(sent, 0, where).reshape(shape)

    return record("cumprod", out.reshape(shape), (x, rule))


def diff(
    x: Any, n: int = 1, dim: int | None = None, prepend: Any = None, append: Any = None, *, axis: int | None = None
) -> Tensor:
    """Each element less the one before it along `dim`, by default the last axis, `n` times over; composed of slices.

    `prepend` and `append` are joined to x first. Of booleans, whether the two differ. Raises ShapeError for a 0-d
    tensor, ValueError for a negative n.
    """
    x = operand(x, "diff")
    if not x._data.ndim:
        raise ShapeError("diff: a 0-d tensor has no neighbours")
    times = whole("diff", "n", n)
    if times < 0:
        raise ValueError(f"diff: n must be 0 or more, got {n}")
    where = normalize_one("diff", either("diff", "dim", dim, "axis", axis, -1), x._data.shape)
    ends = [operand(end, "diff", x) for end in (prepend, append) if end is not None]
    if ends:
        x = cat([*ends[: prepend is not None], x, *ends[prepend is not None :]], where)
    for _ in range(times):
        length = max(x._data.shape[where] - 1, 0)
        start = min(1, x._data.shape[where])
        after, before = narrow(x, where, start, length), narrow(x, where, 0, length)
        x = logical_xor(after, before) if x._data.dtype.kind == "b" else sub(after, before)
    return x


def _apart(op: str, running: np.ndarray) -> np.ndarray:
    """Scalar nodes of the results' own: a running sum also receives what comes back through the sums after it."""
    return lift.own(op, running, [running], tracked=True)
