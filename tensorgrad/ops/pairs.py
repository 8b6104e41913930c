"""More functions of two or three operands on each element, broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, operand, record
from tensorgrad.ops.arithmetic import add, div, mul
from tensorgrad.ops.choosing import where
from tensorgrad.ops.functions import atan, exp, log
from tensorgrad.ops.operands import Operand, apply, composed, floats, is_lifted, pair
from tensorgrad.settings import real
from tensorgrad.shapes import broadcast

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def atan2(y: Operand, x: Operand) -> Tensor:
    """The angle from -pi to pi of the point (x, y), y first: atan(y / x) in the right quadrant. Of integers, a float.

    At the origin the gradients are nan.
    """
    y, x, b, a = pair("atan2", y, x)
    if is_lifted(y, x):
        return composed("atan2", _atan2_composed, y, x)
    b, a = floats(b), floats(a)
    out = apply("atan2", np.arctan2, b, a)

    def over_square(n: np.ndarray) -> np.ndarray:
        length = np.hypot(a, b)  # divided by twice, since its square would leave the range sooner
        return n / length / length

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


def fmod(x: Operand, y: Operand) -> Tensor:
    """The rest of x / y with the sign of x, as C has it: x - y * trunc(x / y), while `remainder` has that of y.

    Of floats by 0 nan; raises ZeroDivisionError where an integer is divided by 0.
    """
    x, y, a, b = pair("fmod", x, y)
    if a.dtype.kind == "b":
        raise DtypeError("fmod: of numbers only, both operands are bool: convert one, e.g. x.long()")
    if a.dtype.kind in "iu" and a.size and not np.all(b):
        raise ZeroDivisionError("fmod: an integer divided by 0; with floats, e.g. x.float(), the rest is nan")
    if is_lifted(x, y):
        out = a - b * np.trunc(apply("fmod", np.divide, lift.numbers(a), lift.numbers(b)))
    else:
        out = apply("fmod", np.fmod, a, b)
    return record("fmod", out, (x, lambda g: g), (y, lambda g: -g * np.trunc(a / b)))


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
    operands = [operand(x, op) for x in given]
    broadcast(op, *[x._data.shape for x in operands])
    return operands
