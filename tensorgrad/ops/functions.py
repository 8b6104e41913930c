"""Functions of one number or of two, on each element. Of integers and booleans they give floats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, quiet, record
from tensorgrad.ops.choosing import where
from tensorgrad.ops.erf import erf_of
from tensorgrad.ops.operands import Operand, apply, composed, float_operand, floats, function, is_lifted, pair

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_LN2, _LN10 = math.log(2), math.log(10)

# -- powers, exponentials and logarithms -------------------------------------------------------------------------------


@quiet
def exp(x: Operand) -> Tensor:
    """e**x."""
    x, a = float_operand("exp", x)
    out = np.exp(a)
    return record("exp", out, (x, lambda g: g * out))


def exp2(x: Operand) -> Tensor:
    """2**x."""
    return function("exp2", x, np.exp2, lambda a: np.exp2(a) * _LN2)


def expm1(x: Operand) -> Tensor:
    """e**x - 1, accurate also near 0."""
    return function("expm1", x, np.expm1, np.exp)


@quiet
def log(x: Operand) -> Tensor:
    """The natural logarithm: at 0 -inf with gradient inf, below it nan."""
    x, a = float_operand("log", x)
    return record("log", np.log(a), (x, lambda g: g / a))


def log2(x: Operand) -> Tensor:
    """The logarithm to base 2: at 0 -inf with gradient inf, below it nan."""
    return function("log2", x, np.log2, lambda a: 1 / (a * _LN2))


def log10(x: Operand) -> Tensor:
    """The logarithm to base 10: at 0 -inf with gradient inf, below it nan."""
    return function("log10", x, np.log10, lambda a: 1 / (a * _LN10))


def log1p(x: Operand) -> Tensor:
    """log(1 + x), accurate also near 0: at -1 -inf with gradient inf, below it nan."""
    return function("log1p", x, np.log1p, lambda a: 1 / (a + 1))


@quiet
def sqrt(x: Operand) -> Tensor:
    """The square root: at 0 0 with gradient inf, below it nan."""
    x, a = float_operand("sqrt", x)
    out = np.sqrt(a)
    return record("sqrt", out, (x, lambda g: g * (0.5 / out)))


@quiet
def rsqrt(x: Operand) -> Tensor:
    """1 / sqrt(x): at 0 inf with gradient -inf, below it nan."""
    x, a = float_operand("rsqrt", x)
    out = 1 / np.sqrt(a)
    return record("rsqrt", out, (x, lambda g: -0.5 * g * (out * out * out)))


# -- angles ------------------------------------------------------------------------------------------------------------


@quiet
def sin(x: Operand) -> Tensor:
    """The sine of x radians."""
    x, a = float_operand("sin", x)
    return record("sin", np.sin(a), (x, lambda g: g * np.cos(a)))


@quiet
def cos(x: Operand) -> Tensor:
    """The cosine of x radians."""
    x, a = float_operand("cos", x)
    return record("cos", np.cos(a), (x, lambda g: g * -np.sin(a)))


def tan(x: Operand) -> Tensor:
    """The tangent of x radians."""
    return function("tan", x, np.tan, lambda a: 1 + np.tan(a) ** 2)


def asin(x: Operand) -> Tensor:
    """The angle in [-pi/2, pi/2] whose sine is x: at -1 and 1 with gradient inf, beyond them nan."""
    return function("asin", x, np.arcsin, lambda a: 1 / np.sqrt((1 - a) * (1 + a)))


def acos(x: Operand) -> Tensor:
    """The angle in [0, pi] whose cosine is x: at -1 and 1 with gradient -inf, beyond them nan."""
    return function("acos", x, np.arccos, lambda a: -1 / np.sqrt((1 - a) * (1 + a)))


def atan(x: Operand) -> Tensor:
    """The angle in (-pi/2, pi/2) whose tangent is x."""
    return function("atan", x, np.arctan, lambda a: 1 / (1 + a * a))


# -- hyperbolic functions, and the error function ----------------------------------------------------------------------


def sinh(x: Operand) -> Tensor:
    """The hyperbolic sine, (e**x - e**-x) / 2."""
    return function("sinh", x, np.sinh, np.cosh)


def cosh(x: Operand) -> Tensor:
    """The hyperbolic cosine, (e**x + e**-x) / 2."""
    return function("cosh", x, np.cosh, np.sinh)


def tanh(x: Operand) -> Tensor:
    """The hyperbolic tangent."""
    x, a = float_operand("tanh", x)
    out = np.asarray(np.tanh(a))

    def rule(g: np.ndarray) -> np.ndarray:
        slope = np.asarray(out * out)  # of 0-d arrays NumPy makes bare numbers, which nothing can be written into
        np.subtract(1, slope, out=slope)  # in its place: arrays of their own cost a tenth of a network's step
        slope *= g
        return slope

    return record("tanh", out, (x, rule))


def asinh(x: Operand) -> Tensor:
    """The number whose hyperbolic sine is x."""
    return function("asinh", x, np.arcsinh, lambda a: 1 / np.hypot(a, np.ones_like(a)))


def acosh(x: Operand) -> Tensor:
    """The number from 0 up whose hyperbolic cosine is x: at 1 0 with gradient inf, below it nan."""
    return function("acosh", x, np.arccosh, lambda a: 1 / (np.sqrt(a - 1) * np.sqrt(a + 1)))


def atanh(x: Operand) -> Tensor:
    """The number whose hyperbolic tangent is x: at -1 and 1 infinite with gradient inf, beyond them nan."""
    return function("atanh", x, np.arctanh, lambda a: 1 / ((1 - a) * (1 + a)))


def erf(x: Operand) -> Tensor:
    """The error function, 2 / sqrt(pi) times the integral of e**(-t*t) from 0 to x; its accuracy is in `ops.erf`."""
    return function("erf", x, erf_of, lambda a: np.exp(-a * a) * (2 / math.sqrt(math.pi)))


# -- of two numbers ----------------------------------------------------------------------------------------------------


def atan2(y: Operand, x: Operand) -> Tensor:
    """The angle from -pi to pi of the point (x, y), y first: atan(y / x) in the right quadrant. Of integers, a float.

    At the origin, where there is no direction, the gradients are 0 (torch's convention).
    """
    y, x, b, a = pair("atan2", y, x)
    if is_lifted(y, x):
        return composed("atan2", _atan2_composed, y, x)
    b, a = floats(b), floats(a)
    out = apply("atan2", np.arctan2, b, a)

    def over_square(n: np.ndarray) -> np.ndarray:
        length = np.hypot(a, b)
        length = np.where(length == 0, np.inf, length)
        return n / length / length  # divided by twice, since its square would leave the range sooner

    return record("atan2", out, (y, lambda g: g * over_square(a)), (x, lambda g: g * over_square(-b)))


def _atan2_composed(y: ArrayNode, x: ArrayNode) -> Tensor:
    b, a = lift.numbers(y._data), lift.numbers(x._data)
    apply("atan2", np.add, a, b)
    half_turn = np.where(a < 0, np.copysign(np.pi, b), 0.0)
    quarter = np.copysign(np.pi / 2, b)
    return where(np.abs(a) >= np.abs(b), atan(y / x) + half_turn, quarter - atan(x / y))


def logaddexp(x: Operand, y: Operand) -> Tensor:
    """log(e**x + e**y), without overflow; of two infinities of one sign the gradients are nan.

    Raises DtypeError unless both meet in a float dtype.
    """
    x, y, a, b = pair("logaddexp", x, y)
    if is_lifted(x, y):
        return composed("logaddexp", _logaddexp_composed, x, y)
    if a.dtype.kind != "f":
        raise DtypeError(f"logaddexp: of floats only, these meet in {a.dtype}: convert one, e.g. x.float()")
    out = apply("logaddexp", np.logaddexp, a, b)
    return record("logaddexp", out, (x, lambda g: g / (1 + np.exp(b - a))), (y, lambda g: g / (1 + np.exp(a - b))))


def _logaddexp_composed(x: ArrayNode, y: ArrayNode) -> Tensor:
    top = apply("logaddexp", np.maximum, lift.numbers(x._data), lift.numbers(y._data))
    return log(exp(x - top) + exp(y - top)) + top


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
