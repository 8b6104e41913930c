"""Filling tensors with numbers to start training from. Each function changes the tensor in place and returns it.

Random numbers come from the package's generator (`manual_seed`), or from `generator`.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift, missing
from tensorgrad.dtypes import is_differentiable
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, describe, quiet
from tensorgrad.random import generator as numpy_generator
from tensorgrad.settings import real
from tensorgrad.tensor import Tensor

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Numbers from [a, b)."""
    a, b = real("uniform_", "a", a), real("uniform_", "b", b)
    if not (a <= b and math.isfinite(b - a)):
        raise ValueError(f"uniform_: the range from {a} to {b} is empty or endless")
    shape = _float_shape("uniform_", tensor)
    return _fill("uniform_", tensor, numpy_generator(generator, "uniform_").uniform(a, b, shape))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normally distributed numbers."""
    mean, std = real("normal_", "mean", mean), real("normal_", "std", std)
    if not std >= 0:
        raise ValueError(f"normal_: the standard deviation {std} is negative")
    shape = _float_shape("normal_", tensor)
    return _fill("normal_", tensor, numpy_generator(generator, "normal_").normal(mean, std, shape))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Numbers as of a normal distribution of which only the part within [a, b] is left.

    The inverse of its distribution function, at uniform numbers; in an interval above the mean, mirrored, since the
    function is near 0 there and not near 1, where floats lie too far apart.
    """
    given = {"mean": mean, "std": std, "a": a, "b": b}
    mean, std, a, b = (real("trunc_normal_", name, value) for name, value in given.items())
    if not 0 < std < math.inf or not a < b or not math.isfinite(mean):
        raise ValueError(f"trunc_normal_: takes a finite mean, std > 0 and a < b, got {given}")
    rng = numpy_generator(generator, "trunc_normal_")
    low, high = (a - mean) / std, (b - mean) / std
    sign = -1.0 if low > 0 else 1.0
    if sign < 0:
        low, high = -high, -low
    law = import_module("statistics").NormalDist()  # not at the top: few draw truncated
    shares = rng.uniform(law.cdf(low), law.cdf(high), _float_shape("trunc_normal_", tensor))
    np.clip(shares, np.finfo(float).tiny, 1 - 2**-53, out=shares)  # of 0 and 1 the inverse is infinite
    deviates = np.array([law.inv_cdf(share) for share in shares.ravel().tolist()]).reshape(shares.shape)
    return _fill("trunc_normal_", tensor, np.clip(mean + std * sign * deviates, a, b))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """The same number everywhere."""
    return _fill("constant_", tensor, np.full(_shape("constant_", tensor), real("constant_", "val", val)))


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return _fill("ones_", tensor, np.ones(_shape("ones_", tensor)))


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return _fill("zeros_", tensor, np.zeros(_shape("zeros_", tensor)))


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere. Raises ShapeError unless it has two axes."""
    shape = _shape("eye_", tensor)
    if len(shape) != 2:
        raise ShapeError(f"eye_: takes a tensor of two axes, got {describe(tensor)}")
    return _fill("eye_", tensor, np.eye(*shape))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers within +-gain sqrt(6 / (fan_in + fan_out)): Glorot and Bengio 2010, equation 16."""
    bound = math.sqrt(3) * _xavier_std("xavier_uniform_", tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal numbers of deviation gain sqrt(2 / (fan_in + fan_out)): Glorot and Bengio 2010, equation 12."""
    return normal_(tensor, 0.0, _xavier_std("xavier_normal_", tensor, gain), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform numbers within +-gain sqrt(3 / fan): He et al. 2015, equations 10 and 14.

    a     the slope for negative numbers of the leaky_relu that follows; 0 is relu
    mode  whether signals keep their size going forward, "fan_in", or gradients going back, "fan_out"
    """
    bound = math.sqrt(3) * _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal numbers of deviation gain / sqrt(fan): He et al. 2015; the arguments are those of kaiming_uniform_."""
    return normal_(tensor, 0.0, _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A matrix with orthonormal rows (or columns, if there are more rows), times gain; axes after the first are one.

    Q of the QR decomposition of normal numbers, with signs such that R's diagonal is positive: without these Q is not
    uniformly distributed (Mezzadri 2007, section 5).
    """
    shape = _float_shape("orthogonal_", tensor)
    if len(shape) < 2:
        raise ShapeError(f"orthogonal_: takes a tensor of two axes or more, got {describe(tensor)}")
    rows, columns = shape[0], math.prod(shape[1:])
    if not rows * columns:
        return tensor
    tall = numpy_generator(generator, "orthogonal_").normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q *= np.where(np.diag(r) < 0, -1.0, 1.0)
    return _fill(
        "orthogonal_", tensor, real("orthogonal_", "gain", gain) * (q if rows >= columns else q.T).reshape(shape)
    )


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much to scale weights so that signals keep their size through a nonlinearity (He et al. 2015).

    param  for leaky_relu, its slope for negative numbers; 0.01 if left out
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"calculate_gain: the slope of leaky_relu is a number, got {slope!r}")
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        known = ", ".join(["leaky_relu", *_GAINS])
        raise ValueError(f"calculate_gain: no gain is known for {nonlinearity!r}; known are {known}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many numbers a result of a weight (out, in, ...) depends on, and how many results an input is in."""
    return _fans("fan_in and fan_out", tensor)


def _fans(op: str, tensor: Tensor) -> tuple[int, int]:
    shape = _shape(op, tensor)
    if len(shape) < 2:
        raise ValueError(f"{op}: fan_in and fan_out are those of two axes or more, got {describe(tensor)}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _xavier_std(op: str, tensor: Tensor, gain: float) -> float:
    total = sum(_fans(op, tensor))
    gain = real(op, "gain", gain)
    return gain * math.sqrt(2 / total) if total else 0.0


def _kaiming_std(op: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fans = dict(zip(("fan_in", "fan_out"), _fans(op, tensor), strict=True))
    if mode not in fans:
        raise ValueError(f"{op}: mode is 'fan_in' or 'fan_out', got {mode!r}")
    gain = calculate_gain(nonlinearity, a)
    return gain / math.sqrt(fans[mode]) if fans[mode] else 0.0


def _shape(op: str, tensor: Tensor) -> tuple[int, ...]:
    if not isinstance(tensor, ArrayNode):
        raise TypeError(f"{op}: fills a Tensor, got a {type(tensor).__name__}")
    return tensor._data.shape


@quiet
def _float_shape(op: str, tensor: Tensor) -> tuple[int, ...]:
    shape = _shape(op, tensor)
    if not is_differentiable(tensor._data.dtype):
        raise DtypeError(f"{op}: fractions do not fit into {describe(tensor)}: make it of floats")
    return shape


def _fill(op: str, tensor: Tensor, values: np.ndarray) -> Tensor:
    data = tensor._data
    if data.dtype == object:  # in a lift: the same numbers on scalar nodes of its own
        tensor._data = lift.leaves(values) if tensor._requires_grad else values
        return tensor
    if not data.flags.writeable:
        raise RuntimeError(f"{op}: the array of {describe(tensor)} is read-only: fill a clone()")
    data[...] = values
    tensor._bump()
    return tensor


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
