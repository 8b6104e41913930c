"""The inverses of the hyperbolic functions, and longer names of those of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorgrad.ops.functions import acos, asin, atan
from tensorgrad.ops.operands import Operand, function
from tensorgrad.ops.pairs import atan2

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def asinh(x: Operand) -> Tensor:
    """The number whose hyperbolic sine is x."""
    return function("asinh", x, np.arcsinh, lambda a: 1 / np.hypot(a, np.ones_like(a)))


def acosh(x: Operand) -> Tensor:
    """The number from 0 up whose hyperbolic cosine is x: at 1 0 with gradient inf, below it nan."""
    return function("acosh", x, np.arccosh, lambda a: 1 / (np.sqrt(a - 1) * np.sqrt(a + 1)))


def atanh(x: Operand) -> Tensor:
    """The number whose hyperbolic tangent is x: at -1 and 1 infinite with gradient inf, beyond them nan."""
    return function("atanh", x, np.arctanh, lambda a: 1 / ((1 - a) * (1 + a)))


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
