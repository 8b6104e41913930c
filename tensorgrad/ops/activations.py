"""What stands between the layers of a network, on each element. None overflows, however large x is.

Apart from relu, relu6 and hardtanh, which keep integers, they give floats for integers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, operand, quiet, record
from tensorgrad.ops import arithmetic, functions
from tensorgrad.ops.erf import erf_of
from tensorgrad.ops.operands import (
    Operand,
    as_float16,
    composed,
    each,
    float_operand,
    forward_only,
    function,
    masked,
    widened,
)
from tensorgrad.pieces import elementwise
from tensorgrad.settings import real

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

# -- made of the logistic function -------------------------------------------------------------------------------------


def sigmoid(x: Operand) -> Tensor:
    """1 / (1 + e**-x)."""
    x, a = float_operand("sigmoid", x)
    if a.dtype == object:
        return record("sigmoid", each(a, "sigmoid"), (x, forward_only))
    out = np.asarray(_logistic(a))

    def rule(g: np.ndarray) -> np.ndarray:
        slope = np.asarray(1 - out)  # of 0-d arrays NumPy makes bare numbers, which nothing can be written into
        slope *= out
        slope *= g
        return slope

    return record("sigmoid", out, (x, rule))


@quiet
def _logistic(a: Any) -> Any:
    """1 / (1 + e**-a). Where e**-a overflows, the result is 0, as it should be."""
    if np.asarray(a).dtype == np.float16:
        return as_float16(_logistic(a.astype(np.float32)))
    e = np.exp(-a)
    e += 1
    return 1 / e


def logsigmoid(x: Operand) -> Tensor:
    """log(sigmoid(x)) = min(x, 0) - log(1 + e**-|x|)."""
    return function("logsigmoid", x, lambda a: np.minimum(a, 0) - np.log1p(np.exp(-np.abs(a))), lambda a: _logistic(-a))


def softplus(x: Operand, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + e**(beta * x)) / beta, and x itself where beta * x is above `threshold`, with gradient 1."""
    beta, threshold = real("softplus", "beta", beta), real("softplus", "threshold", threshold)

    def value(a: Any) -> Any:
        z = a * beta
        return np.where(z > threshold, a, (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / beta)

    def slope(a: Any) -> Any:
        z = a * beta
        return np.where(z > threshold, 1, _logistic(z))

    return function("softplus", x, value, slope)


@quiet
def silu(x: Operand) -> Tensor:
    """x * sigmoid(x), also called swish."""
    x, a = float_operand("silu", x)
    if a.dtype == object:
        return composed("silu", lambda x: arithmetic.mul(x, sigmoid(x)), x)

    def rule(g: np.ndarray) -> np.ndarray:
        s = _logistic(a)
        slope = np.asarray(1 - s)
        slope *= a
        slope += 1
        slope *= s
        slope *= g
        return slope

    return record("silu", a * _logistic(a), (x, rule))


# -- gelu --------------------------------------------------------------------------------------------------------------

_ROOT_HALF = math.sqrt(0.5)
_DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


@quiet
def gelu(x: Operand, approximate: str = "none") -> Tensor:
    """x * P(N < x) for a standard normal N: x * (1 + erf(x / sqrt(2))) / 2.

    With approximate="tanh" it is x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2, the formula of GPT-2; both
    are from D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units" (2016). Raises ValueError for other forms.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate is 'none' or 'tanh', got {approximate!r}")
    x, a = float_operand("gelu", x)
    if a.dtype == object:
        return composed("gelu", _composed_gelu if approximate == "none" else _composed_gelu_tanh, x)
    value = _gelu if approximate == "none" else _gelu_tanh
    out = elementwise(value, a.dtype, a)
    if approximate == "tanh":
        return record("gelu", out, (x, lambda g: elementwise(_gelu_tanh_slope, a.dtype, g, a)))
    if a.dtype == np.float16:
        return record("gelu", out, (x, lambda g: elementwise(_gelu_slope, a.dtype, g, a)))
    return record("gelu", out, (x, lambda g: elementwise(_gelu_slope, a.dtype, g, a, out)))


def _gelu(a: np.ndarray) -> np.ndarray:
    wide = widened(a)
    return wide * _normal_below(wide)


def _gelu_slope(g: np.ndarray, a: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """g times the slope at a, all of one axis.

    The probability is out / a, where the result `out` has all digits (of float16 it has not): erf takes five times as
    long as all the rest.
    """
    wide = widened(a)
    below = _normal_below(wide) if out is None else out / a
    if out is not None and (near := np.abs(a) < 1e-20).any():  # where the result may be 0
        below[near] = 0.5
    slope = wide * wide
    slope *= -0.5
    np.exp(slope, out=slope)
    slope *= _DENSITY_AT_0
    slope *= wide
    slope += below
    slope *= g
    return slope


def _normal_below(a: np.ndarray) -> np.ndarray:
    """The probability that a standard normal is below a."""
    below = erf_of(a * _ROOT_HALF)
    below += 1
    below *= 0.5
    return below


def _gelu_tanh(a: np.ndarray) -> np.ndarray:
    wide = widened(a)
    t = _tanh_in_gelu(wide, wide * wide)
    t += 1
    t *= 0.5
    t *= wide
    return t


def _gelu_tanh_slope(g: np.ndarray, a: np.ndarray) -> np.ndarray:
    """g * (1 + t) * (1/2 + (1 - t) * c / 2 * the slope of what t is the tanh of)."""
    # beyond 10 tanh is +-1 to every digit; without the limit, 0 times an overflow of the square would be nan
    c = np.clip(widened(a), -10, 10)
    square = c * c
    slope = square * (1.5 * _TANH_SCALE * _TANH_CUBIC)
    slope += 0.5 * _TANH_SCALE
    slope *= c
    t = _tanh_in_gelu(c, square)
    slope *= np.subtract(1, t, out=c)
    slope += 0.5
    t += 1
    slope *= t
    slope *= g
    return slope


def _tanh_in_gelu(a: np.ndarray, square: np.ndarray) -> np.ndarray:
    """The tanh in gelu of `a`, in the place of its `square`."""
    square *= _TANH_CUBIC
    square += 1
    square *= a
    square *= _TANH_SCALE
    return np.tanh(square, out=square)


def _composed_gelu(x: Tensor) -> Tensor:
    return x * (0.5 * (1 + functions.erf(x * _ROOT_HALF)))


def _composed_gelu_tanh(x: Tensor) -> Tensor:
    return x * (0.5 * (1 + functions.tanh(_TANH_SCALE * (x + _TANH_CUBIC * x**3))))


# -- straight pieces ---------------------------------------------------------------------------------------------------


def relu(x: Operand) -> Tensor:
    """max(x, 0), with gradient 0 at 0; nan stays nan."""
    x = _numbers_only("relu", x)
    a = x._data
    if a.dtype == object:
        return record("relu", each(a, "relu"), (x, forward_only))
    out = np.maximum(a, 0)
    return record("relu", out, (x, lambda g: masked(g, ~(out <= 0))))


def relu6(x: Operand) -> Tensor:
    """x limited to [0, 6], with gradient 0 at and beyond the limits; nan stays nan."""
    return _limited("relu6", x, 0, 6)


def hardtanh(x: Operand, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x limited to [min_val, max_val], with gradient 0 at and beyond the limits; nan stays nan.

    Raises ValueError where min_val is above max_val.
    """
    min_val, max_val = real("hardtanh", "min_val", min_val), real("hardtanh", "max_val", max_val)
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val={min_val} is above max_val={max_val}: exchange them")
    return _limited("hardtanh", x, min_val, max_val)


def _limited(op: str, x: Operand, low: float, high: float) -> Tensor:
    x = _numbers_only(op, x)
    a = x._data
    if a.dtype == object:
        n = lift.numbers(a)
        return record(op, np.where((n <= low) | (n >= high), np.clip(n, low, high), a), (x, forward_only))
    if a.dtype.kind in "iu":
        low, high = int(low), int(high)
    out = np.clip(a, low, high)
    return record(op, out, (x, lambda g: masked(g, ~((out <= low) | (out >= high)))))


@quiet
def leaky_relu(x: Operand, negative_slope: float = 0.01) -> Tensor:
    """x where it is above 0, negative_slope * x elsewhere, also its gradient at 0."""
    x, a = float_operand("leaky_relu", x)
    negative_slope = real("leaky_relu", "negative_slope", negative_slope)
    out = np.where(lift.numbers(a) > 0, a, a * negative_slope)
    # for a slope above 0 the result has the operand's sign, and the next layer keeps the result anyway
    signs = out if negative_slope > 0 else a
    return record("leaky_relu", out, (x, lambda g: np.where(signs > 0, g, g * negative_slope)))


def elu(x: Operand, alpha: float = 1.0) -> Tensor:
    """x where it is above 0, alpha * (e**x - 1) elsewhere, with gradient alpha at 0."""
    alpha = real("elu", "alpha", alpha)

    def value(a: Any) -> Any:
        return np.where(a <= 0, alpha * np.expm1(np.minimum(a, 0)), a)

    def slope(a: Any) -> Any:
        return np.where(a <= 0, alpha * np.exp(np.minimum(a, 0)), 1)

    return function("elu", x, value, slope)


def _numbers_only(op: str, x: Operand) -> ArrayNode:
    x = operand(x, op)
    if x._data.dtype.kind == "b":
        raise DtypeError(f"{op}: of numbers only, this tensor is bool: convert it, e.g. x.float()")
    return x
