"""Functions that are flat between their jumps: the gradient is 0 everywhere. Integers stay integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError
from tensorgrad.node import operand, quiet, record
from tensorgrad.ops.operands import Operand, as_float16
from tensorgrad.settings import whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_MOST_DECIMALS = 1000  # beyond the range of every dtype


def floor(x: Operand) -> Tensor:
    """The next integer at or below x, with gradient 0."""
    return _step("floor", x, np.floor)


def ceil(x: Operand) -> Tensor:
    """The next integer at or above x, with gradient 0."""
    return _step("ceil", x, np.ceil)


def trunc(x: Operand) -> Tensor:
    """x without its fraction, with gradient 0."""
    return _step("trunc", x, np.trunc)


@quiet
def round(x: Operand, *, decimals: int = 0) -> Tensor:
    """x rounded to so many decimals (negative ones: to tens, hundreds), halves to the even side; with gradient 0."""
    places = max(min(whole("round", "decimals", decimals), _MOST_DECIMALS), -_MOST_DECIMALS)
    return _step("round", x, lambda a: _round(a, places))


def _round(a: np.ndarray, places: int) -> np.ndarray:
    if a.dtype == np.float16:  # which has no room for a times 100
        return as_float16(np.round(a.astype(np.float32), places))
    return np.round(a, places)


def sign(x: Operand) -> Tensor:
    """-1, 0 or 1 by the sign of x, with gradient 0. Of nan it is 0, as in torch."""
    x = operand(x, "sign")
    a = x._data
    if a.dtype.kind == "b":
        return record("sign", a.copy(), (x, np.zeros_like))
    return _step("sign", x, lambda a: np.where(a == a, np.sign(a), a.dtype.type(0)))


def _step(op: str, x: Operand, rounded: Callable[[np.ndarray], np.ndarray]) -> Tensor:
    x = operand(x, op)
    a = x._data
    if a.dtype.kind == "b":
        raise DtypeError(f"{op}: of numbers only, this tensor is bool: convert it, e.g. x.float()")
    if a.dtype.kind == "c" and op in ("floor", "ceil", "trunc"):
        raise DtypeError(f"{op}: of real numbers only, this tensor is {a.dtype}: take x.data.real or x.data.imag")
    if a.dtype == object:
        out = lift.mapped(op, a, lambda v: float(rounded(np.asarray(v))), lambda v: 0.0)
        return record(op, out, (x, np.zeros_like))
    out = np.asarray(rounded(a))
    return record(op, out.copy() if out is a else out, (x, np.zeros_like))
