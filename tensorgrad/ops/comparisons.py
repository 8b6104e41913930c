"""Questions to each element, and logic: the answers are boolean constants (of bitwise operations, also integers)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError
from tensorgrad.node import new, operand, quiet
from tensorgrad.ops.operands import Operand, apply, pair
from tensorgrad.settings import real

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

# -- comparisons -------------------------------------------------------------------------------------------------------


def eq(x: Operand, y: Operand) -> Tensor:
    """Where x == y, as booleans."""
    return _compare("eq", np.equal, x, y)


def ne(x: Operand, y: Operand) -> Tensor:
    """Where x != y, as booleans."""
    return _compare("ne", np.not_equal, x, y)


def lt(x: Operand, y: Operand) -> Tensor:
    """Where x < y, as booleans."""
    return _compare("lt", np.less, x, y)


def le(x: Operand, y: Operand) -> Tensor:
    """Where x <= y, as booleans."""
    return _compare("le", np.less_equal, x, y)


def gt(x: Operand, y: Operand) -> Tensor:
    """Where x > y, as booleans."""
    return _compare("gt", np.greater, x, y)


def ge(x: Operand, y: Operand) -> Tensor:
    """Where x >= y, as booleans."""
    return _compare("ge", np.greater_equal, x, y)


greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne


def _compare(op: str, ufunc: Callable[..., Any], x: Operand, y: Operand) -> Tensor:
    a, b = _plain_pair(op, x, y)
    return new(np.asarray(apply(op, ufunc, a, b)))


def _plain_pair(op: str, x: Operand, y: Operand) -> tuple[np.ndarray, np.ndarray]:
    _, _, a, b = pair(op, x, y)
    return lift.numbers(a), lift.numbers(b)


def equal(x: Operand, y: Operand) -> bool:
    """Whether x and y have the same shape and the same values."""
    x, y = operand(x, "equal"), operand(y, "equal")
    return x._data.shape == y._data.shape and bool(np.all(lift.numbers(x._data) == lift.numbers(y._data)))


# -- nearly the same ---------------------------------------------------------------------------------------------------


def isclose(x: Operand, y: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where |x - y| <= atol + rtol * |y|, as booleans; equal infinities are close, and nans if `equal_nan`.

    Raises ValueError for a negative tolerance.
    """
    return new(_close("isclose", x, y, rtol, atol, equal_nan))


def allclose(x: Operand, y: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds for every element."""
    return bool(_close("allclose", x, y, rtol, atol, equal_nan).all())


@quiet
def _close(op: str, x: Operand, y: Operand, rtol: float, atol: float, equal_nan: bool) -> np.ndarray:
    rtol, atol = real(op, "rtol", rtol), real(op, "atol", atol)
    if not (rtol >= 0 and atol >= 0):
        raise ValueError(f"{op}: tolerances are at least 0, got rtol={rtol}, atol={atol}")
    a, b = _plain_pair(op, x, y)
    if a.dtype.kind == "b":
        a, b = a.astype(np.int64), b.astype(np.int64)
    distance = np.abs(apply(op, np.subtract, a, b))
    close = (a == b) | (np.isfinite(distance) & (distance <= atol + np.abs(rtol * b)))
    if equal_nan:
        close = close | (np.isnan(a) & np.isnan(b))
    return np.asarray(close)


# -- what kind of number -----------------------------------------------------------------------------------------------


def isnan(x: Operand) -> Tensor:
    """Where x is nan, as booleans."""
    return _ask("isnan", np.isnan, x)


def isinf(x: Operand) -> Tensor:
    """Where x is inf or -inf, as booleans."""
    return _ask("isinf", np.isinf, x)


def isfinite(x: Operand) -> Tensor:
    """Where x is neither nan nor infinite, as booleans."""
    return _ask("isfinite", np.isfinite, x)


def _ask(op: str, ufunc: Callable[..., Any], x: Operand) -> Tensor:
    return new(np.asarray(ufunc(lift.numbers(operand(x, op)._data))))


# -- logic -------------------------------------------------------------------------------------------------------------


def logical_and(x: Operand, y: Operand) -> Tensor:
    """Where neither x nor y is 0, as booleans."""
    return _compare("logical_and", np.logical_and, x, y)


def logical_or(x: Operand, y: Operand) -> Tensor:
    """Where x or y is not 0, as booleans."""
    return _compare("logical_or", np.logical_or, x, y)


def logical_xor(x: Operand, y: Operand) -> Tensor:
    """Where just one of x and y is 0, as booleans."""
    return _compare("logical_xor", np.logical_xor, x, y)


def logical_not(x: Operand) -> Tensor:
    """Where x is 0, as booleans."""
    return _ask("logical_not", np.logical_not, x)


def bitwise_and(x: Operand, y: Operand) -> Tensor:
    """x & y, of booleans or integers. Raises DtypeError for floats."""
    return _bitwise("bitwise_and", np.bitwise_and, x, y)


def bitwise_or(x: Operand, y: Operand) -> Tensor:
    """x | y, of booleans or integers. Raises DtypeError for floats."""
    return _bitwise("bitwise_or", np.bitwise_or, x, y)


def bitwise_xor(x: Operand, y: Operand) -> Tensor:
    """x ^ y, of booleans or integers. Raises DtypeError for floats."""
    return _bitwise("bitwise_xor", np.bitwise_xor, x, y)


def bitwise_not(x: Operand) -> Tensor:
    """~x, of booleans or integers: the opposite, or -x - 1. Raises DtypeError for floats."""
    a = operand(x, "bitwise_not")._data
    _check_bits("bitwise_not", a)
    return new(np.asarray(~a))


def _bitwise(op: str, ufunc: Callable[..., Any], x: Operand, y: Operand) -> Tensor:
    _, _, a, b = pair(op, x, y)
    _check_bits(op, a)
    return new(np.asarray(apply(op, ufunc, a, b)))


def _check_bits(op: str, a: np.ndarray) -> None:
    if a.dtype.kind not in "biu":
        raise DtypeError(f"{op}: of booleans and integers, here they meet as {a.dtype}: compare first, e.g. x > 0")
