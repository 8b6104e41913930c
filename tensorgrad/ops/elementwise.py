"""Operations that act on each element: the value and the rule of each, together.

A rule is `lambda g: ...`: from the gradient g of the result to the contribution for that operand. Rules do not undo
broadcasting: the gate in `node` does. `quiet` stands where NumPy would warn of inf or nan; rules run under it anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, new, operand, quiet, record
from tensorgrad.ops.operands import Operand, apply, each, float_operand, floats, forward_only, pair

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

# -- arithmetic --------------------------------------------------------------------------------------------------------


def add(x: Operand, y: Operand) -> Tensor:
    """x + y, broadcast."""
    x, y, a, b = pair("add", x, y)
    return record("+", apply("add", np.add, a, b), (x, lambda g: g), (y, lambda g: g))


def sub(x: Operand, y: Operand) -> Tensor:
    """x - y, broadcast."""
    x, y, a, b = pair("sub", x, y)
    return record("-", apply("sub", np.subtract, a, b), (x, lambda g: g), (y, lambda g: -g))


def mul(x: Operand, y: Operand) -> Tensor:
    """x * y, broadcast."""
    x, y, a, b = pair("mul", x, y)
    return record("*", apply("mul", np.multiply, a, b), (x, lambda g: g * b), (y, lambda g: g * a))


def div(x: Operand, y: Operand) -> Tensor:
    """x / y, broadcast; of integers, a float. At y = 0 inf or nan."""
    x, y, a, b = pair("div", x, y)
    a, b = floats(a), floats(b)
    out = apply("div", np.divide, a, b)
    return record("/", out, (x, lambda g: g / b), (y, lambda g: -g * (out / b)))


def pow(x: Operand, y: Operand) -> Tensor:
    """x ** y, broadcast. A number as the exponent is part of the operation, a Tensor is an operand.

    x**0 is 1 with gradient 0, also at 0. For the exponent's gradient, 0**y counts as constant for y >= 0 (torch's
    convention); a negative base gives nan.
    """
    if isinstance(y, Real) and isinstance(x, ArrayNode):
        return _pow_number(x, int(y) if isinstance(y, Integral) else float(y))
    x, y, a, b = pair("pow", x, y)
    out = apply("pow", np.power, a, b)
    return record(
        "**",
        out,
        # selected after the product with g, so that where nothing passes an infinite g does not become 0 * inf
        (x, lambda g: np.where(b == 0, 0, g * (b * np.power(a, b - 1)))),
        (y, lambda g: np.where((a == 0) & (b >= 0), 0, g * (out * np.log(a)))),
    )


def _pow_number(x: ArrayNode, n: int | float) -> Tensor:
    a = floats(x._data) if isinstance(n, float) else x._data
    if n == 0:
        return record(f"**{n}", a**0, (x, np.zeros_like))
    return record(f"**{n}", apply("pow", np.power, a, n), (x, lambda g: g * (n * a ** (n - 1))))


def neg(x: Operand) -> Tensor:
    """-x."""
    x = operand(x, "neg")
    a = x._data
    if a.dtype.kind == "b":
        raise DtypeError("neg: of numbers only, this tensor is bool; use == False for its opposite")
    return record("neg", -a, (x, lambda g: -g))


def abs(x: Operand) -> Tensor:
    """|x|, with gradient 0 at 0."""
    x = operand(x, "abs")
    a = x._data
    return record("abs", np.abs(a), (x, lambda g: g * np.sign(a)))


# -- functions ---------------------------------------------------------------------------------------------------------


@quiet
def exp(x: Operand) -> Tensor:
    """e**x."""
    x, a = float_operand("exp", x)
    out = np.exp(a)
    return record("exp", out, (x, lambda g: g * out))


@quiet
def log(x: Operand) -> Tensor:
    """The natural logarithm: at 0 -inf with gradient inf, below it nan."""
    x, a = float_operand("log", x)
    return record("log", np.log(a), (x, lambda g: g / a))


@quiet
def sqrt(x: Operand) -> Tensor:
    """The square root: at 0 0 with gradient inf, below it nan."""
    x, a = float_operand("sqrt", x)
    out = np.sqrt(a)
    return record("sqrt", out, (x, lambda g: g * (0.5 / out)))


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


def tanh(x: Operand) -> Tensor:
    """The hyperbolic tangent."""
    x, a = float_operand("tanh", x)
    out = np.tanh(a)
    return record("tanh", out, (x, lambda g: g * (1 - out * out)))


def sigmoid(x: Operand) -> Tensor:
    """1 / (1 + e**-x), without overflow on either side."""
    x, a = float_operand("sigmoid", x)
    if a.dtype == object:
        return record("sigmoid", each(a, "sigmoid"), (x, forward_only))
    e = np.exp(-np.abs(a))
    out = np.where(a >= 0, a.dtype.type(1), e) / (1 + e)
    return record("sigmoid", out, (x, lambda g: g * (out * (1 - out))))


def relu(x: Operand) -> Tensor:
    """max(x, 0), with gradient 0 at 0; nan stays nan."""
    x = operand(x, "relu")
    a = x._data
    if a.dtype == object:
        return record("relu", each(a, "relu"), (x, forward_only))
    return record("relu", np.maximum(a, 0), (x, lambda g: np.where(a <= 0, 0, g)))


# -- comparisons: boolean constants ------------------------------------------------------------------------------------


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


def equal(x: Operand, y: Operand) -> bool:
    """Whether x and y have the same shape and the same values."""
    x, y = operand(x, "equal"), operand(y, "equal")
    return x._data.shape == y._data.shape and bool(np.all(lift.numbers(x._data) == lift.numbers(y._data)))


def _compare(op: str, ufunc: Callable[..., Any], x: Operand, y: Operand) -> Tensor:
    _, _, a, b = pair(op, x, y)
    return new(np.asarray(apply(op, ufunc, lift.numbers(a), lift.numbers(b))))
