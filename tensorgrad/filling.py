"""Methods that fill a tensor in place: its diagonal with a number, all of it with random numbers.

They are changes in place as any other (see `inplace`): of constants and under `no_grad` the elements are written, of a
result they become a new operation, on a leaf that requires a gradient they raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import random
from tensorgrad.errors import ShapeError
from tensorgrad.inplace import assign
from tensorgrad.ops.chance import probability
from tensorgrad.settings import real

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def fill_diagonal_(x: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the diagonal of a matrix, x[i, i], or of a tensor whose axes are of one length, to a number."""
    shape = x._data.shape
    if wrap:
        raise NotImplementedError("fill_diagonal_: wrap=True is not implemented: assign to rows, x[n + 1 :]")
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(f"fill_diagonal_: takes a matrix, or axes of one length, got shape {shape}")
    places = np.arange(min(shape))
    return assign("fill_diagonal_", x, (places,) * len(shape), fill_value)


def uniform_(x: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers drawn from low up to high, all equally likely."""
    low, high = real("uniform_", "low", low), real("uniform_", "high", high)
    if not low <= high:
        raise ValueError(f"uniform_: from {low} to {high}: low must not be above high")
    drawn = random.generator(generator, "uniform_").random(x._data.shape)
    return assign("uniform_", x, ..., np.asarray(low + (high - low) * drawn))


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers drawn from a normal distribution."""
    mean, std = real("normal_", "mean", mean), real("normal_", "std", std)
    if not std >= 0:
        raise ValueError(f"normal_: a standard deviation is at least 0, got {std}")
    drawn = random.generator(generator, "normal_").standard_normal(x._data.shape)
    return assign("normal_", x, ..., np.asarray(mean + std * drawn))


def exponential_(x: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers drawn from the exponential distribution of rate `lambd`, whose mean is 1 / lambd."""
    lambd = real("exponential_", "lambd", lambd)
    if not lambd > 0:
        raise ValueError(f"exponential_: the rate must be above 0, got {lambd}")
    drawn = random.generator(generator, "exponential_").standard_exponential(x._data.shape)
    return assign("exponential_", x, ..., np.asarray(drawn / lambd))


def bernoulli_(x: Tensor, p: float = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1, of probability p, and 0."""
    p = probability("bernoulli_", p)
    drawn = random.generator(generator, "bernoulli_").random(x._data.shape) < p
    return assign("bernoulli_", x, ..., np.asarray(drawn))
