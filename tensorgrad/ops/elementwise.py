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
from tensorgrad.dtypes import default_dtype, rank, result_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, new, operand, quiet, record

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

Operand = Any
"""A Tensor, an array, or a number."""

_FLOAT_RANK = rank(np.dtype(float))


# -- arithmetic --------------------------------------------------------------------------------------------------------


def add(x: Operand, y: Operand) -> Tensor:
    """x + y, broadcast."""
    x, y, a, b = _pair("add", x, y)
    return record("+", _apply("add", np.add, a, b), (x, lambda g: g), (y, lambda g: g))


def sub(x: Operand, y: Operand) -> Tensor:
    """x - y, broadcast."""
    x, y, a, b = _pair("sub", x, y)
    return record("-", _apply("sub", np.subtract, a, b), (x, lambda g: g), (y, lambda g: -g))


def mul(x: Operand, y: Operand) -> Tensor:
    """x * y, broadcast."""
    x, y, a, b = _pair("mul", x, y)
    return record("*", _apply("mul", np.multiply, a, b), (x, lambda g: g * b), (y, lambda g: g * a))


def div(x: Operand, y: Operand) -> Tensor:
    """x / y, broadcast; of integers, a float. At y = 0 inf or nan."""
    x, y, a, b = _pair("div", x, y)
    a, b = _floats(a), _floats(b)
    out = _apply("div", np.divide, a, b)
    return record("/", out, (x, lambda g: g / b), (y, lambda g: -g * (out / b)))


def pow(x: Operand, y: Operand) -> Tensor:
    """x ** y, broadcast. A number as the exponent is part of the operation, a Tensor is an operand.

    x**0 is 1 with gradient 0, also at 0. For the exponent's gradient, 0**y counts as constant for y >= 0 (torch's
    convention); a negative base gives nan.
    """
    if isinstance(y, Real) and isinstance(x, ArrayNode):
        return _pow_number(x, int(y) if isinstance(y, Integral) else float(y))
    x, y, a, b = _pair("pow", x, y)
    out = _apply("pow", np.power, a, b)
    return record(
        "**",
        out,
        # selected after the product with g, so that where nothing passes an infinite g does not become 0 * inf
        (x, lambda g: np.where(b == 0, 0, g * (b * np.power(a, b - 1)))),
        (y, lambda g: np.where((a == 0) & (b >= 0), 0, g * (out * np.log(a)))),
    )


def _pow_number(x: ArrayNode, n: int | float) -> Tensor:
    a = _floats(x._data) if isinstance(n, float) else x._data
    if n == 0:
        return record(f"**{n}", a**0, (x, np.zeros_like))
    return record(f"**{n}", _apply("pow", np.power, a, n), (x, lambda g: g * (n * a ** (n - 1))))


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
    x, a = _float_operand("exp", x)
    out = np.exp(a)
    return record("exp", out, (x, lambda g: g * out))


@quiet
def log(x: Operand) -> Tensor:
    """The natural logarithm: at 0 -inf with gradient inf, below it nan."""
    x, a = _float_operand("log", x)
    return record("log", np.log(a), (x, lambda g: g / a))


@quiet
def sqrt(x: Operand) -> Tensor:
    """The square root: at 0 0 with gradient inf, below it nan."""
    x, a = _float_operand("sqrt", x)
    out = np.sqrt(a)
    return record("sqrt", out, (x, lambda g: g * (0.5 / out)))


@quiet
def sin(x: Operand) -> Tensor:
    """The sine of x radians."""
    x, a = _float_operand("sin", x)
    return record("sin", np.sin(a), (x, lambda g: g * np.cos(a)))


@quiet
def cos(x: Operand) -> Tensor:
    """The cosine of x radians."""
    x, a = _float_operand("cos", x)
    return record("cos", np.cos(a), (x, lambda g: g * -np.sin(a)))


def tanh(x: Operand) -> Tensor:
    """The hyperbolic tangent."""
    x, a = _float_operand("tanh", x)
    out = np.tanh(a)
    return record("tanh", out, (x, lambda g: g * (1 - out * out)))


def sigmoid(x: Operand) -> Tensor:
    """1 / (1 + e**-x), without overflow on either side."""
    x, a = _float_operand("sigmoid", x)
    if a.dtype == object:
        return record("sigmoid", _each(a, "sigmoid"), (x, _forward_only))
    e = np.exp(-np.abs(a))
    out = np.where(a >= 0, a.dtype.type(1), e) / (1 + e)
    return record("sigmoid", out, (x, lambda g: g * (out * (1 - out))))


def relu(x: Operand) -> Tensor:
    """max(x, 0), with gradient 0 at 0; nan stays nan."""
    x = operand(x, "relu")
    a = x._data
    if a.dtype == object:
        return record("relu", _each(a, "relu"), (x, _forward_only))
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


# -- operands ----------------------------------------------------------------------------------------------------------


def _pair(op: str, x: Operand, y: Operand) -> tuple[ArrayNode, ArrayNode, np.ndarray, np.ndarray]:
    """The two operands, and their arrays in the dtype in which they meet."""
    if not isinstance(y, ArrayNode):
        y = operand(y, op, x if isinstance(x, ArrayNode) else None)
    if not isinstance(x, ArrayNode):
        x = operand(x, op, y)
    a, b = x._data, y._data
    if a.dtype is not b.dtype:
        dtype = result_dtype(a, b)
        a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    return x, y, a, b


def _float_operand(op: str, x: Operand) -> tuple[ArrayNode, np.ndarray]:
    x = operand(x, op)
    return x, _floats(x._data)


def _floats(a: np.ndarray) -> np.ndarray:
    """`a`, with integers and booleans as floats."""
    return a.astype(default_dtype) if rank(a.dtype) < _FLOAT_RANK else a


@quiet
def _apply(op: str, ufunc: Callable[..., Any], a: np.ndarray, b: Any) -> Any:
    """ufunc(a, b), with a message that names the operation, and both shapes where these do not broadcast."""
    try:
        return ufunc(a, b)
    except ValueError as error:
        try:
            np.broadcast_shapes(a.shape, np.shape(b))
        except ValueError:
            raise ShapeError(
                f"{op}: shapes {a.shape} and {np.shape(b)} do not broadcast: aligned at the right, each pair of axes "
                "must be equal or hold a 1; reshape one of them"
            ) from None
        raise ValueError(f"{op}: {error}") from None
    except TypeError as error:  # the difference of booleans
        raise DtypeError(f"{op}: {error}") from None


def _compare(op: str, ufunc: Callable[..., Any], x: Operand, y: Operand) -> Tensor:
    _, _, a, b = _pair(op, x, y)
    return new(np.asarray(_apply(op, ufunc, lift.numbers(a), lift.numbers(b))))


def _each(a: np.ndarray, method: str) -> np.ndarray:
    """An array of scalar nodes with `method` called on each: what NumPy has no function for."""
    out = np.empty(a.shape, dtype=object)
    for i, node in np.ndenumerate(a):
        out[i] = getattr(node, method)()
    return out


def _forward_only(g: np.ndarray) -> np.ndarray:
    raise AssertionError("a lifted tensor's gradient is computed by its scalar nodes")
