"""Losses of each element against its target. Each is an operation on each element, and then a mean or a sum.

The formulas are computed on scalar nodes too, where NumPy makes bare nodes of arrays without axes; np.multiply and
np.add take these beside arrays, and operators do not.

`reduction` is "mean", "sum", or "none" for the losses of all elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import is_differentiable
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, operand, quiet, record
from tensorgrad.noise import warn
from tensorgrad.ops import reduce
from tensorgrad.ops.arithmetic import div, mul
from tensorgrad.ops.operands import Operand, apply, pair
from tensorgrad.ops.targets import check_reduction, reduced
from tensorgrad.settings import real
from tensorgrad.shapes import broadcast, broadcasts_to

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

# -- distances ---------------------------------------------------------------------------------------------------------


@quiet
def mse_loss(input: Operand, target: Operand, *, reduction: str = "mean", weight: Operand = None) -> Tensor:
    """(input - target)**2 of each element, and their mean.

    With `weight`, of the input's shape, each loss is multiplied by its weight, and the mean is over the weights' sum.
    Warns where the shapes differ and broadcast: (N,) against (N, 1) gives N * N losses, which is seldom meant.
    """
    x, y, distance = _difference("mse_loss", input, target, reduction)
    d = distance()
    losses = record("mse_loss", d * d, (x, lambda g: g * (2 * distance())), (y, lambda g: g * (-2 * distance())))
    return _weighted("mse_loss", losses, weight, x, reduction, mean_of_weights=True)


def l1_loss(input: Operand, target: Operand, *, reduction: str = "mean", weight: Operand = None) -> Tensor:
    """|input - target| of each element, with gradient 0 where they are equal, and their mean. Otherwise as mse_loss."""
    x, y, distance = _difference("l1_loss", input, target, reduction)
    losses = record(
        "l1_loss",
        np.abs(distance()),
        (x, lambda g: g * np.sign(distance())),
        (y, lambda g: g * -np.sign(distance())),
    )
    return _weighted("l1_loss", losses, weight, x, reduction, mean_of_weights=True)


@quiet
def smooth_l1_loss(input: Operand, target: Operand, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """With d = input - target, d**2 / (2 * beta) where |d| < beta and |d| - beta / 2 elsewhere, and their mean.

    From Girshick, Fast R-CNN (2015). beta = 0 is l1_loss. Warns as mse_loss; ValueError for a negative beta.
    """
    beta = real("smooth_l1_loss", "beta", beta)
    if not beta >= 0:
        raise ValueError(f"smooth_l1_loss: beta must be 0 or more, got {beta}")
    x, y, distance = _difference("smooth_l1_loss", input, target, reduction)
    d = distance()
    size = np.asarray(np.abs(d))
    out = np.where(lift.numbers(size) < beta, d * d * (0.5 / beta if beta else 0.0), size - 0.5 * beta)

    def slope() -> np.ndarray:
        d = distance()
        return np.where(np.abs(d) < beta, d / (beta or 1.0), np.sign(d))

    losses = record("smooth_l1_loss", out, (x, lambda g: g * slope()), (y, lambda g: g * -slope()))
    return reduced(losses, reduction)


@quiet
def huber_loss(
    input: Operand, target: Operand, reduction: str = "mean", delta: float = 1.0, weight: Operand = None
) -> Tensor:
    """With d = input - target, d**2 / 2 where |d| <= delta and delta * (|d| - delta / 2) elsewhere, and their mean.

    From Huber, Robust estimation of a location parameter (1964). `weight`, of the input's shape, multiplies the losses.
    Warns as mse_loss; ValueError for a delta that is not positive.
    """
    delta = real("huber_loss", "delta", delta)
    if not delta > 0:
        raise ValueError(f"huber_loss: delta must be more than 0, got {delta}")
    x, y, distance = _difference("huber_loss", input, target, reduction)
    d = distance()
    size = np.asarray(np.abs(d))
    out = np.where(lift.numbers(size) <= delta, d * d * 0.5, delta * (size - 0.5 * delta))
    losses = record(
        "huber_loss",
        out,
        (x, lambda g: g * np.clip(distance(), -delta, delta)),
        (y, lambda g: g * -np.clip(distance(), -delta, delta)),
    )
    return _weighted("huber_loss", losses, weight, x, reduction, mean_of_weights=False)


# -- probabilities -----------------------------------------------------------------------------------------------------


@quiet
def binary_cross_entropy(input: Operand, target: Operand, weight: Operand = None, *, reduction: str = "mean") -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)) of each element, and their mean, for probabilities.

    The logarithms are cut off at -100, and the denominator of the gradient at 1e-12, as in torch: finite at 0 and 1.
    From logits, binary_cross_entropy_with_logits loses no digits. `weight` is broadcast and multiplies the losses.

    Raises ShapeError unless the shapes are equal, ValueError for what is no probability.
    """
    op = "binary_cross_entropy"
    check_reduction(op, reduction)
    x, y, a, b = _same_shape(op, input, target)
    for name, array in (("input", lift.numbers(a)), ("target", lift.numbers(b))):
        if not ((array >= 0) & (array <= 1)).all():
            hint = "; for logits there is binary_cross_entropy_with_logits" if name == "input" else ""
            raise ValueError(f"{op}: {name} must be probabilities, from 0 to 1{hint}")
    log, log_other = (_log(a), _log(1 - a)) if a.dtype == object else (np.log(a), np.log1p(-a))
    low, low_other = (np.where(lift.numbers(part) < -100, -100, part) for part in (log, log_other))
    losses = record(
        op,
        np.multiply(b - 1, low_other) - np.multiply(b, low),
        (x, lambda g: g * ((a - b) / np.maximum(a * (1 - a), 1e-12).astype(a.dtype, copy=False))),
        (y, lambda g: g * (np.log1p(-a) - np.log(a))),
    )
    losses = losses if weight is None else mul(losses, _broadcast_weight(op, "weight", weight, losses))
    return reduced(losses, reduction)


def _log(a: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(a), dtype=object)


@quiet
def binary_cross_entropy_with_logits(
    input: Operand, target: Operand, weight: Operand = None, *, reduction: str = "mean", pos_weight: Operand = None
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), without overflow and without losing digits, and the mean.

    `pos_weight` is broadcast and multiplies the part of the targets that are 1; `weight` multiplies the losses.
    Raises ShapeError unless input and target have the same shape.
    """
    op = "binary_cross_entropy_with_logits"
    check_reduction(op, reduction)
    x, y, a, b = _same_shape(op, input, target)
    p = None if pos_weight is None else _broadcast_weight(op, "pos_weight", pos_weight, x)
    losses = _with_logits(op, x, y, a, b, p)
    losses = losses if weight is None else mul(losses, _broadcast_weight(op, "weight", weight, losses))
    return reduced(losses, reduction)


def _with_logits(op: str, x: ArrayNode, y: ArrayNode, a: np.ndarray, b: np.ndarray, p: ArrayNode | None) -> Tensor:
    """(1 - b) * a + (1 + (c - 1) * b) * log(1 + exp(-a)), where c is the weight of targets that are 1."""
    plain = lift.numbers(a)
    if a.dtype == object:
        small = np.where(plain >= 0, -a, a)
        rest = np.add(np.log(np.exp(small) + 1), np.where(plain >= 0, 0, -a))
    else:
        rest = _log_of_one_and_exp(a)
    if p is None:
        out = np.add(np.multiply(1 - b, a), rest)
        return record(op, out, (x, lambda g: g * _logit_slope(a, b)), (y, lambda g: g * -a))
    c = p._data.astype(a.dtype, copy=False)
    factor = apply(op, np.multiply, c - 1, b) + 1
    return record(
        op,
        np.add(np.multiply(1 - b, a), np.multiply(factor, rest)),
        (x, lambda g: g * _logit_slope(a, b, c)),
        (y, lambda g: g * ((c - 1) * _log_of_one_and_exp(a) - a)),
        (p, lambda g: g * (b * _log_of_one_and_exp(a))),
    )


def _log_of_one_and_exp(a: np.ndarray) -> np.ndarray:
    """log(1 + exp(-a))."""
    return np.log1p(np.exp(-np.abs(a))) - np.minimum(a, 0)


def _logit_slope(a: np.ndarray, b: np.ndarray, c: np.ndarray | int = 1) -> np.ndarray:
    """(1 - b) * sigmoid(a) - c * b * sigmoid(-a), in which nothing is cancelled where b is 0 or 1."""
    small = np.exp(-np.abs(a))
    high = 1 / (1 + small)
    low = small * high
    return (1 - b) * np.where(a >= 0, high, low) - c * b * np.where(a >= 0, low, high)


@quiet
def kl_div(input: Operand, target: Operand, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log(target) - input) of each element, for an input of logarithms: the Kullback-Leibler divergence.

    target       probabilities, 0 counts as 0; with log_target=True their logarithms
    reduction    also "batchmean": the sum divided by the length of the input's first axis, which is the divergence of
                 the definition; "mean" divides by the number of elements
    """
    check_reduction("kl_div", reduction, ("none", "batchmean", "mean", "sum"))
    x, y, a, b = pair("kl_div", input, target)
    if not is_differentiable(a.dtype):
        raise DtypeError(f"kl_div: of floats only, got {a.dtype}: convert them first")
    difference = apply("kl_div", np.subtract, b, a)
    if a.dtype == object:
        a, b = lift.nodes(a), lift.nodes(b)  # constants too: NumPy has no log of objects that are numbers
    if log_target:
        p = np.exp(b)
        losses = record(
            "kl_div",
            p * difference,
            (x, lambda g: g * -np.exp(b)),
            (y, lambda g: g * (np.exp(b) * (b - a + 1))),
        )
    else:
        logs = np.log(b)
        zero = lift.numbers(b) == 0
        out = np.where(zero, 0, b * logs) - b * a
        losses = record("kl_div", out, (x, lambda g: g * -b), (y, lambda g: g * (np.log(b) + 1 - a)))
    if reduction == "batchmean":
        return div(reduce.sum(losses), x.shape[0] if x.shape else 1)
    return reduced(losses, reduction)


# -- operands ----------------------------------------------------------------------------------------------------------


def _difference(
    op: str, input: Operand, target: Operand, reduction: str
) -> tuple[ArrayNode, ArrayNode, Callable[[], np.ndarray]]:
    """Both operands, and a function that gives input - target; warns where the shapes differ.

    A rule calls it too: it is computed anew from the operands, which are there anyway.
    """
    check_reduction(op, reduction)
    x, y, a, b = pair(op, input, target)
    if not is_differentiable(a.dtype):
        raise DtypeError(f"{op}: of floats only, got {a.dtype}: convert them first")
    if a.shape != b.shape:
        both = broadcast(op, a.shape, b.shape)
        warn(
            f"{op}: input of shape {a.shape} and target of shape {b.shape} broadcast to losses of shape {both}: did "
            "you mean .reshape(...) or .squeeze(-1) of one of them? Give both the same shape"
        )
    of_x, of_y = x._data, y._data
    dtype = None if a.dtype == object else a.dtype

    def distance() -> np.ndarray:
        return np.asarray(np.subtract(of_x, of_y, dtype=dtype))

    return x, y, distance


def _same_shape(op: str, input: Operand, target: Operand) -> tuple[ArrayNode, ArrayNode, np.ndarray, np.ndarray]:
    x, y, a, b = pair(op, input, target)
    if not is_differentiable(x._data.dtype):
        raise DtypeError(f"{op}: of floats only, this input is {x._data.dtype}: convert it first")
    if a.shape != b.shape:
        raise ShapeError(
            f"{op}: input of shape {a.shape} and target of shape {b.shape} must have the same: .reshape(...) or "
            ".squeeze(-1) one of them"
        )
    if a.dtype == object:
        a, b = lift.nodes(a), lift.nodes(b)  # constants too: NumPy has no log of objects that are numbers
    return x, y, a, b


def _broadcast_weight(op: str, name: str, weight: Operand, losses: ArrayNode) -> ArrayNode:
    """A weight as an operand. Raises ShapeError unless it broadcasts to the losses: else they would become more."""
    w = operand(weight, op, losses)
    if not broadcasts_to(w._data.shape, losses._data.shape):
        raise ShapeError(
            f"{op}: {name} of shape {w._data.shape} does not broadcast to {losses._data.shape}, the shape of the losses"
        )
    return w


def _weighted(
    op: str, losses: Tensor, weight: Operand, x: ArrayNode, reduction: str, *, mean_of_weights: bool
) -> Tensor:
    if weight is None:
        return reduced(losses, reduction)
    w = operand(weight, op)
    if w._data.shape != x._data.shape:
        raise ShapeError(f"{op}: weight of shape {w._data.shape} for an input of shape {x._data.shape}: must be equal")
    losses = mul(losses, w)
    if reduction == "mean" and mean_of_weights:
        return div(reduce.sum(losses), reduce.sum(w))
    return reduced(losses, reduction)
