"""Tensors drawn at random. `generator` is a `Generator`; without one the package's own draws, which `manual_seed`
seeds. The results are constants or leaves: no gradient flows to the parameters of a distribution.

Floats are drawn in float64 and then cut to the dtype asked for, so that the same seed gives the same numbers in every
precision, and a program that is run on Values draws what it drew before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.creation.arguments import length, lengths, like, made
from tensorgrad.dtypes import as_dtype, default_float, result_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, operand, quiet
from tensorgrad.random import generator as numpy_generator
from tensorgrad.settings import real, whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def rand(
    *size: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    """Evenly distributed from 0 up to, but without, 1; takes rand(2, 3), rand((2, 3)) and rand(size=(2, 3))."""
    array = uniform("rand", lengths("rand", size, named), dtype or default_float(), generator)
    return made("rand", array, None, device, requires_grad)


def randn(
    *size: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    """From the normal distribution of mean 0 and standard deviation 1; the shape as in `rand`."""
    array = gaussian("randn", lengths("randn", size, named), dtype or default_float(), generator)
    return made("randn", array, None, device, requires_grad)


def rand_like(
    input: Any, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`rand` in the shape and, unless another is given, the dtype of `input`."""
    x, dtype = like("rand_like", input, dtype)
    return made("rand_like", uniform("rand_like", x.shape, dtype, generator), None, device, requires_grad)


def randn_like(
    input: Any, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`randn` in the shape and, unless another is given, the dtype of `input`."""
    x, dtype = like("randn_like", input, dtype)
    return made("randn_like", gaussian("randn_like", x.shape, dtype, generator), None, device, requires_grad)


def randint(
    *bounds: Any,
    size: Any = None,
    low: Any = None,
    high: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Whole numbers from low (0 if left out) up to, but without, high: randint(high, size), randint(low, high, size).

    Of int64 unless another dtype is given. Raises ValueError unless low < high.
    """
    given = list(bounds)
    if size is None:
        if not given:
            raise TypeError("randint: needs a size")
        size = given.pop()
    if high is None:
        if not given:
            raise TypeError("randint: needs the number to stay below, high")
        high = given.pop()
    if low is None:
        low = given.pop() if given else 0
    if given:
        raise TypeError("randint: takes high and size, or low, high and size")
    array = _whole("randint", low, high, lengths("randint", (size,)), generator)
    return made("randint", array, dtype or np.int64, device, requires_grad)


def randint_like(
    input: Any,
    *bounds: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`randint` in the shape and, unless another is given, the dtype of `input`: randint_like(x, low, high)."""
    x, dtype = like("randint_like", input, dtype)
    if len(bounds) not in (1, 2):
        raise TypeError("randint_like: takes high, or low and high")
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    return made("randint_like", _whole("randint_like", low, high, x.shape, generator), dtype, device, requires_grad)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """The numbers from 0 to n - 1 in random order."""
    n = length("randperm", "n", n)
    return made("randperm", numpy_generator(generator, "randperm").permutation(n), dtype or np.int64, device, False)


@quiet
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """From normal distributions; `mean` and `std` are numbers with a `size`, or tensors, which broadcast."""
    tensors = [x for x in (mean, std) if isinstance(x, ArrayNode)]
    if (tensors and size is not None) or (not tensors and size is None):
        raise TypeError("normal: takes a tensor for mean or std, or numbers and a size")
    if not tensors:
        mean, std = real("normal", "mean", mean), real("normal", "std", std)
    m, s = (operand(x, "normal", tensors[0] if tensors else None) for x in (mean, std))
    a, b = lift.numbers(m._data), lift.numbers(s._data)
    if not np.all(b >= 0):
        raise ValueError("normal: a standard deviation is at least 0, and std is not everywhere")
    kind = dtype or (_float(result_dtype(a, b)) if tensors else default_float())
    try:
        shape = np.broadcast_shapes(a.shape, b.shape) if tensors else lengths("normal", (size,))
    except ValueError:
        raise ShapeError(f"normal: mean of shape {a.shape} and std of shape {b.shape} do not broadcast") from None
    drawn = gaussian("normal", shape, np.float64, generator)
    return made("normal", np.asarray(a + b * drawn), kind, device, requires_grad)


def bernoulli(input: Any, p: Any = None, *, generator: Any = None) -> Tensor:
    """1 with the probability that `input` has in that place (with `p`, with that one everywhere), otherwise 0.

    Of the dtype of `input`, which holds floats, unless `p` is given. Raises ValueError for what is no probability.
    """
    x, dtype = like("bernoulli", input, None)
    if p is None and dtype.kind != "f":
        raise DtypeError(f"bernoulli: probabilities are floats, got {dtype}; use .float()")
    chances = lift.numbers(x._data) if p is None else lift.numbers(operand(p, "bernoulli")._data)
    if not np.all((chances >= 0) & (chances <= 1)):
        raise ValueError("bernoulli: a probability is from 0 to 1, and not all of these are")
    drawn = uniform("bernoulli", x.shape, np.float64, generator) < chances
    return made("bernoulli", np.asarray(drawn), dtype, None, False)


@quiet
def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Positions drawn from each row of weights: of (n,) or (rows, n) weights, (num_samples,) or (rows, num_samples).

    The weights need not add up to 1. Without `replacement` each position is drawn once at most. Raises ValueError for
    weights that are negative, infinite or nan, that are all 0, or that are too few.
    """
    x, dtype = like("multinomial", input, None)
    if dtype.kind != "f":
        raise DtypeError(f"multinomial: weights are floats, got {dtype}; use .float()")
    weights = lift.numbers(x._data).astype(np.float64)
    n = whole("multinomial", "num_samples", num_samples)
    if weights.ndim not in (1, 2):
        raise ShapeError(f"multinomial: takes weights of shape (n,) or (rows, n), got {weights.shape}")
    if n <= 0:
        raise ValueError(f"multinomial: num_samples must be 1 or more, got {n}")
    if not np.all(np.isfinite(weights) & (weights >= 0)):
        raise ValueError("multinomial: weights are finite and at least 0, and not all of these are")
    if not np.all(weights.any(-1)):
        raise ValueError("multinomial: a row of weights needs one above 0")
    rng = numpy_generator(generator, "multinomial")
    rows = np.atleast_2d(weights)
    drawn = _with_replacement(rows, n, rng) if replacement else _without_replacement(rows, n, rng)
    return made("multinomial", drawn.reshape(*weights.shape[:-1], n), np.int64, None, False)


def _with_replacement(rows: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Where a random part of the weights' sum is reached; those of weight 0 are reached nowhere."""
    ends = np.cumsum(rows / rows.max(-1, keepdims=True), axis=-1)
    points = rng.random((len(rows), n)) * ends[:, -1:]
    points = np.minimum(points, np.nextafter(ends[:, -1:], 0))  # rounded up it would be past the last
    return np.stack([np.searchsorted(end, point, side="right") for end, point in zip(ends, points, strict=True)])


def _without_replacement(rows: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """The n that come first in a race of exponential clocks, whose rates are the weights.

    This draws as if one after the other were taken out: P. S. Efraimidis and P. G. Spirakis, "Weighted random sampling
    with a reservoir", Information Processing Letters 97 (2006).
    """
    fewest = int(np.count_nonzero(rows, axis=-1).min(initial=n))
    if fewest < n:
        raise ValueError(f"multinomial: {n} different positions, and a row has {fewest} of weight above 0")
    times = rng.standard_exponential(rows.shape) / rows
    return np.argsort(times, axis=-1)[:, :n]


# -- drawing arrays, also for nn ---------------------------------------------------------------------------------------


def uniform(op: str, shape: tuple[int, ...], dtype: Any, generator: Any = None) -> np.ndarray:
    """Floats from 0 up to, but without, 1."""
    dtype = _drawable(op, dtype)
    drawn = numpy_generator(generator, op).random(shape)
    if dtype == np.float64:
        return np.asarray(drawn)
    steps = 2.0 ** (np.finfo(dtype).nmant + 1)  # rounding to nearest would give a 1 now and then
    return np.asarray(np.floor(drawn * steps) / steps, dtype=dtype)


def gaussian(op: str, shape: tuple[int, ...], dtype: Any, generator: Any = None) -> np.ndarray:
    """Floats from the normal distribution of mean 0 and standard deviation 1."""
    dtype = _drawable(op, dtype)
    return np.asarray(numpy_generator(generator, op).standard_normal(shape), dtype=dtype)


def _drawable(op: str, dtype: Any) -> np.dtype:
    found = as_dtype(dtype)
    if found.kind != "f":
        raise DtypeError(f"{op}: draws floats, not {found}; randint draws integers")
    return found


def _float(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind == "f" else default_float()


def _whole(op: str, low: Any, high: Any, shape: tuple[int, ...], generator: Any) -> np.ndarray:
    low, high = whole(op, "low", low), whole(op, "high", high)
    if low >= high:
        raise ValueError(f"{op}: from {low} up to {high} there is no whole number: low must be below high")
    return np.asarray(numpy_generator(generator, op).integers(low, high, size=shape))
