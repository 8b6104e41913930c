"""Arithmetic on each element: the value and the rule of each operation, together.

A rule is `lambda g: ...`: from the gradient g of the result to the contribution for that operand. Rules do not undo
broadcasting: the gate in `node` does. `quiet` stands where NumPy would warn of inf or nan; rules run under it anyway.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, operand, quiet, record
from tensorgrad.ops.operands import Operand, apply, as_float16, floats, is_lifted, pair
from tensorgrad.settings import real
from tensorgrad.shapes import broadcast

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def add(x: Operand, y: Operand, *, alpha: int | float = 1) -> Tensor:
    """x + alpha * y, broadcast. Raises DtypeError for a fraction as alpha beside integers."""
    x, y, a, b = pair("add", x, y)
    if alpha == 1:
        return record("+", apply("add", np.add, a, b), (x, lambda g: g), (y, lambda g: g))
    out = apply("add", np.add, a, _scaled("add", b, alpha))
    return record("add", out, (x, lambda g: g), (y, lambda g: g * alpha))


def sub(x: Operand, y: Operand, *, alpha: int | float = 1) -> Tensor:
    """x - alpha * y, broadcast. Raises DtypeError for booleans, and for a fraction as alpha beside integers."""
    x, y, a, b = pair("sub", x, y)
    if a.dtype.kind == "b":
        raise DtypeError("sub: of numbers only, both operands are bool: use x ^ y for where they differ, or x.long()")
    if alpha == 1:
        return record("-", apply("sub", np.subtract, a, b), (x, lambda g: g), (y, lambda g: -g))
    out = apply("sub", np.subtract, a, _scaled("sub", b, alpha))
    return record("sub", out, (x, lambda g: g), (y, lambda g: g * -alpha))


@quiet
def _scaled(op: str, b: np.ndarray, alpha: int | float) -> np.ndarray:
    if not isinstance(alpha, Real):
        raise TypeError(f"{op}: alpha is a number, got a {type(alpha).__name__}; for a tensor write x + alpha * y")
    if b.dtype.kind == "b":
        return b & bool(alpha)
    if b.dtype.kind in "iu" and not isinstance(alpha, Integral):
        raise DtypeError(f"{op}: alpha={alpha} beside integers must be an integer: convert an operand, e.g. x.float()")
    return b * alpha


def mul(x: Operand, y: Operand) -> Tensor:
    """x * y, broadcast."""
    x, y, a, b = pair("mul", x, y)
    out = apply("mul", np.multiply, a, b)
    if a is x._data and b is y._data:
        return record("*", out, (x, lambda g: g * b), (y, lambda g: g * a))
    of_x, of_y, dtype = x._data, y._data, a.dtype  # of a mask of booleans a cast would be 4 times as large
    return record(
        "*",
        out,
        (x, lambda g: g * of_y.astype(dtype, copy=False)),
        (y, lambda g: g * of_x.astype(dtype, copy=False)),
    )


def div(x: Operand, y: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """x / y, broadcast; of integers, a float. At y = 0 inf or nan.

    With `rounding_mode` "floor" or "trunc" the quotient is rounded down or towards zero: it keeps integers integers
    and has gradient 0. Raises ValueError for another mode; ZeroDivisionError where an integer is divided by 0 and
    rounded.
    """
    if rounding_mode == "floor":
        return floor_divide(x, y)
    if rounding_mode == "trunc":
        return _divide_towards_zero(x, y)
    if rounding_mode is not None:
        raise ValueError(f"div: rounding_mode is None, 'floor' or 'trunc', got {rounding_mode!r}")
    x, y, a, b = pair("div", x, y)
    if a.dtype.kind in "biu":
        a, b = floats(x._data), floats(y._data)  # not by way of their common dtype: a 0-d -3 does not fit into uint8
    out = apply("div", np.divide, a, b)
    return record("/", out, (x, lambda g: g / b), (y, lambda g: -g * (out / b)))


def floor_divide(x: Operand, y: Operand) -> Tensor:
    """x // y, the quotient rounded down, broadcast, with gradient 0. Integers divided by 0 raise ZeroDivisionError."""
    x, y, a, b = _dividing("floor_divide", x, y)
    out = apply("floor_divide", np.floor_divide, lift.numbers(a), lift.numbers(b))
    return record("floor_divide", _lifted_too(out, a, b), (x, np.zeros_like), (y, np.zeros_like))


@quiet
def _divide_towards_zero(x: Operand, y: Operand) -> Tensor:
    x, y, a, b = _dividing("div", x, y)
    m, n = lift.numbers(a), lift.numbers(b)
    if m.dtype.kind == "f":
        out = np.trunc(apply("div", np.divide, m, n))
    else:
        out = apply("div", np.floor_divide, m, n)
        out = out + ((out < 0) & (out * n != m))
    return record("div_trunc", _lifted_too(out, a, b), (x, np.zeros_like), (y, np.zeros_like))


def remainder(x: Operand, y: Operand) -> Tensor:
    """x % y = x - y * (x // y), broadcast: it has the sign of y, as in Python. Of floats by 0 nan.

    Raises ZeroDivisionError where an integer is divided by 0.
    """
    x, y, a, b = _dividing("remainder", x, y)
    if a.dtype == object:
        out = a - b * apply("remainder", np.floor_divide, lift.numbers(a), lift.numbers(b))
    else:
        out = apply("remainder", np.remainder, a, b)
    return record("remainder", out, (x, lambda g: g), (y, lambda g: -g * np.floor_divide(a, b)))


def fmod(x: Operand, y: Operand) -> Tensor:
    """The rest of x / y with the sign of x, as C has it: x - y * trunc(x / y), while `remainder` has that of y.

    Of floats by 0 nan; raises ZeroDivisionError where an integer is divided by 0.
    """
    x, y, a, b = _dividing("fmod", x, y)
    if a.dtype == object:
        out = a - b * np.trunc(apply("fmod", np.divide, lift.numbers(a), lift.numbers(b)))
    else:
        out = apply("fmod", np.fmod, a, b)
    return record("fmod", out, (x, lambda g: g), (y, lambda g: -g * np.trunc(a / b)))


def _dividing(op: str, x: Operand, y: Operand) -> tuple[ArrayNode, ArrayNode, np.ndarray, np.ndarray]:
    x, y, a, b = pair(op, x, y)
    if a.dtype.kind == "b":
        raise DtypeError(f"{op}: of numbers only, both operands are bool: convert one, e.g. x.long()")
    if a.dtype.kind in "iu" and a.size and not np.all(b):
        raise ZeroDivisionError(f"{op}: an integer divided by 0; with floats, e.g. x.float(), it is inf or nan")
    return x, y, a, b


def _lifted_too(out: np.ndarray, *operands: np.ndarray) -> np.ndarray:
    """`out` as objects beside lifted operands, where its numbers become constants."""
    return np.asarray(out, dtype=object) if any(a.dtype == object for a in operands) else out


def pow(x: Operand, y: Operand) -> Tensor:
    """x ** y, broadcast. A number as the exponent is part of the operation, a Tensor is an operand.

    x**0 is 1 with gradient 0, also at 0. For the exponent's gradient, 0**y counts as constant for y >= 0 (torch's
    convention); a negative base gives nan. Integers to a negative integer power raise ValueError, to a tensor of such
    powers they give integers, as in torch.
    """
    if isinstance(y, Real) and isinstance(x, ArrayNode):
        return _pow_number(x, int(y) if isinstance(y, Integral) else float(y))
    x, y, a, b = pair("pow", x, y)
    if a.dtype.kind == "b":
        raise DtypeError("pow: of numbers only, both operands are bool: convert one, e.g. x.long()")
    out = apply("pow", _integer_power if a.dtype.kind in "iu" else np.power, a, b)
    return record(
        "**",
        out,
        # selected after the product with g, so that where nothing passes an infinite g does not become 0 * inf
        (x, lambda g: np.where(b == 0, 0, g * (b * np.power(a, b - 1)))),
        (y, lambda g: np.where((a == 0) & (b >= 0), 0, g * (out * np.log(a)))),
    )


def _integer_power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a**b, where 1 / a**n is cut to an integer, as in torch: 0 unless a is 1 or -1; NumPy refuses it."""
    inverse = np.where(b % 2 == 0, a * a, a) * (np.abs(a) == 1)
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0)))


def _pow_number(x: ArrayNode, n: int | float) -> Tensor:
    a = floats(x._data) if isinstance(n, float) else _countable(x._data)
    if n < 0 and a.dtype.kind in "iu":
        raise ValueError(f"pow: integers to the power {n} are no integers: convert them, e.g. x.float() ** {n}")
    if n == 0:
        return record(f"**{n}", a**0, (x, np.zeros_like))
    return record(f"**{n}", apply("pow", _power, a, n), (x, lambda g: g * (n * _power(a, n - 1))))


def _power(a: np.ndarray, n: int | float) -> Any:
    """a**n for a number n, as a new array. Small whole powers of floats are products, which is 100 times faster than
    np.power and errs by at most 4.5e-16 of the value; of roots, 0.5 and -0.5 are as in torch."""
    if a.dtype.kind != "f":
        return np.power(a, n)
    if n in (0.5, -0.5):
        return np.sqrt(a) if n > 0 else 1 / np.sqrt(a)
    if n not in range(-4, 5):
        return np.power(a, n)
    if a.dtype == np.float16:  # whose range the products would leave
        return as_float16(_power(a.astype(np.float32), n))
    if n < 0:
        return 1 / _power(a, -n)
    out = np.ones_like(a) if n == 0 else a.copy()
    for _ in range(1, int(n)):
        out *= a
    return out


def _countable(a: np.ndarray) -> np.ndarray:
    """`a`, with booleans as integers."""
    return a.astype(np.int64) if a.dtype.kind == "b" else a


@quiet
def square(x: Operand) -> Tensor:
    """x * x."""
    x = operand(x, "square")
    a = _countable(x._data)
    return record("square", a * a, (x, lambda g: g * (2 * a)))


@quiet
def reciprocal(x: Operand) -> Tensor:
    """1 / x; of integers, a float. At 0 inf with gradient -inf."""
    x = operand(x, "reciprocal")
    out = 1 / floats(x._data)
    return record("reciprocal", out, (x, lambda g: -g * (out * out)))


def neg(x: Operand) -> Tensor:
    """-x."""
    x = operand(x, "neg")
    a = x._data
    if a.dtype.kind == "b":
        raise DtypeError("neg: of numbers only, this tensor is bool; use ~x for its opposite")
    return record("neg", -a, (x, lambda g: -g))


def positive(x: Operand) -> Tensor:
    """+x: the tensor itself."""
    x = operand(x, "positive")
    if x._data.dtype.kind == "b":
        raise DtypeError("positive: of numbers only, this tensor is bool; use x.long()")
    return x


def abs(x: Operand) -> Tensor:
    """|x|, with gradient 0 at 0."""
    x = operand(x, "abs")
    a = x._data
    if a.dtype.kind == "b":
        raise DtypeError("abs: of numbers only, this tensor is bool; use x.long()")
    return record("abs", np.abs(a), (x, lambda g: g * np.sign(a)))


@quiet
def lerp(start: Operand, end: Operand, weight: Operand) -> Tensor:
    """start + weight * (end - start), broadcast, and exactly `end` at weight 1; `weight` is a number or a tensor.

    Raises ShapeError where the three do not broadcast.
    """
    x, y, a, b = pair("lerp", start, end)
    a, b = floats(a), floats(b)
    w = operand(weight, "lerp", x)
    t = w._data if is_lifted(w) else w._data.astype(a.dtype, copy=False)
    span = np.asarray(apply("lerp", np.subtract, b, a))
    near = apply("lerp", np.multiply, span, t)
    out = np.where(lift.numbers(t) < 0.5, a + near, b - span * (1 - t))  # each exact at its end, as in torch
    return record("lerp", out, (x, lambda g: g * (1 - t)), (y, lambda g: g * t), (w, lambda g: g * (b - a)))


def addcmul(input: Operand, tensor1: Operand, tensor2: Operand, *, value: float = 1) -> Tensor:
    """input + value * tensor1 * tensor2, broadcast; composed of these."""
    x, y, z = _three("addcmul", input, tensor1, tensor2)
    return add(x, mul(y, z), alpha=real("addcmul", "value", value))


def addcdiv(input: Operand, tensor1: Operand, tensor2: Operand, *, value: float = 1) -> Tensor:
    """input + value * tensor1 / tensor2, broadcast; composed of these. Raises DtypeError for a division of integers."""
    x, y, z = _three("addcdiv", input, tensor1, tensor2)
    if y._data.dtype.kind in "biu" and z._data.dtype.kind in "biu":
        raise DtypeError("addcdiv: tensor1 / tensor2 of integers is ambiguous: convert one of them, e.g. x.float()")
    return add(x, div(y, z), alpha=real("addcdiv", "value", value))


def _three(op: str, *given: Operand) -> list[ArrayNode]:
    """The operands. Raises ShapeError, under the name of the whole, where they do not all broadcast."""
    operands = [operand(x, op) for x in given]
    broadcast(op, *[x._data.shape for x in operands])
    return operands


absolute = abs
divide = true_divide = div
multiply = mul
negative = neg
subtract = sub
