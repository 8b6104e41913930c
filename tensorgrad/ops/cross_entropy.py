"""Losses of a choice between classes: the negative logarithm of the probability of the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import is_differentiable, sum_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, new, operand, quiet, record
from tensorgrad.ops import reduce
from tensorgrad.ops.arithmetic import add, div, mul, neg, sub
from tensorgrad.ops.classes import Chosen, choose
from tensorgrad.ops.functions import exp, log
from tensorgrad.ops.index import getitem
from tensorgrad.ops.operands import composed, is_lifted
from tensorgrad.ops.shape import reshape
from tensorgrad.ops.softmax import log_softmax
from tensorgrad.ops.targets import check_reduction
from tensorgrad.ops.transposing import permute
from tensorgrad.pieces import row_pieces
from tensorgrad.settings import real
from tensorgrad.sums import sum_over

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The mean of -log softmax(input) at the right classes: input (N, C) and target (N,), (C,) and (), or
    (N, C, d1, ...) and (N, d1, ...).

    target           whole numbers from 0 to C - 1, as a Tensor, an array or a list; or, as a floating-point tensor of
                     the input's shape, a probability for each class
    weight           one number a class (C,), by which its losses count, also in the mean
    ignore_index     targets of this number count for nothing, also not in the mean, whatever the input holds there
    reduction        "mean"; "sum"; "none" for the losses in the target's shape
    label_smoothing  this much of the target's probability is spread evenly over all classes

    The mean over no target at all is nan. Raises IndexError for a target that is no class, ShapeError and DtypeError
    for what does not fit.
    """
    check_reduction("cross_entropy", reduction)
    label_smoothing = real("cross_entropy", "label_smoothing", label_smoothing)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing must be from 0 to 1, got {label_smoothing}")
    x = _scores("cross_entropy", input)
    if isinstance(target, (ArrayNode, np.ndarray)) and target.dtype.kind in "fO":
        if ignore_index != -100:
            raise ValueError("cross_entropy: ignore_index is a class, and the targets are probabilities: leave it out")
        return _of_probabilities(x, operand(target, "cross_entropy"), weight, reduction, label_smoothing)
    chosen = choose("cross_entropy", x._data.shape, x._data.dtype, target, weight, ignore_index)
    if is_lifted(x):
        return composed("cross_entropy", lambda x: composed_twin(x, chosen, reduction, label_smoothing), x)
    return _fused(x, chosen, reduction, label_smoothing)


@quiet
def nll_loss(
    input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """The mean of -input at the right classes: cross_entropy for an input that is the result of log_softmax.

    Arguments and errors as for cross_entropy; targets are whole numbers.
    """
    check_reduction("nll_loss", reduction)
    x = _scores("nll_loss", input)
    chosen = choose("nll_loss", x._data.shape, x._data.dtype, target, weight, ignore_index)
    if is_lifted(x):
        return composed("nll_loss", lambda x: _picked_loss(_rows(x), chosen, reduction), x)
    a = x._data
    losses = chosen.at_live(-a[_places(chosen, a.shape)].astype(chosen.weights.dtype, copy=False) * chosen.weights)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, dtype=g.dtype)
        sent[_places(chosen, shape)] = -chosen.each(g, reduction) * chosen.weights
        return sent

    shape = a.shape
    return record("nll_loss", chosen.total(losses, reduction).astype(a.dtype), (x, rule))


@quiet
def _fused(x: ArrayNode, chosen: Chosen, reduction: str, smoothing: float) -> Tensor:
    """The loss and its gradient, softmax - target. Beside the scores, which the operand keeps, two numbers for each
    row are kept: the largest score and the sum of exp(score - largest); the exponentials are computed anew."""
    a = x._data
    run = sum_dtype(a.dtype)
    rows = _rows_of(a)
    count, classes = rows.shape
    largest, totals = np.empty((2, count), run)
    losses, spread = np.empty((2, count), run)
    for piece in row_pieces(rows.shape):
        scores = rows[piece].astype(run, copy=False)
        largest[piece] = scores.max(axis=1, initial=-np.inf)
        exps = scores - largest[piece, None]
        losses[piece] = -exps[np.arange(len(exps)), chosen.classes[piece]]
        if smoothing:
            spread[piece] = -(exps @ chosen.each_class(classes))
        np.exp(exps, out=exps)
        totals[piece] = sum_over(exps, 1)
    logs = np.log(totals)
    losses += logs
    losses *= chosen.weights
    if smoothing:
        spread += logs * chosen.each_class(classes).sum()
        losses = (1 - smoothing) * losses + (smoothing / classes) * spread
    out = chosen.total(chosen.at_live(losses), reduction).astype(a.dtype)

    def rule(g: np.ndarray) -> np.ndarray:
        sums, at_class, at_all = chosen.of_scores(g, reduction, smoothing, classes)
        each_class = None if at_all is None else chosen.each_class(classes)
        sums = sums / totals
        rows = _rows_of(a)
        sent = np.empty(rows.shape, a.dtype)
        for piece in row_pieces(rows.shape):
            part = np.subtract(rows[piece], largest[piece, None], out=sent[piece] if a.dtype == run else None)
            np.exp(part, out=part)
            part *= sums[piece, None]
            if at_all is not None:
                part -= at_all[piece, None] * each_class
            part[np.arange(len(part)), chosen.classes[piece]] -= at_class[piece]
            if part.dtype != sent.dtype:
                sent[piece] = part
        if chosen.live is not None:
            sent[~chosen.live] = 0
        return _back(sent, a.shape)

    return record("cross_entropy", out, (x, rule))


def composed_twin(x: Tensor, chosen: Chosen, reduction: str, smoothing: float) -> Tensor:
    """cross_entropy out of plain operations."""
    rows = _rows(x)
    largest = lift.numbers(rows._data).max(axis=1, keepdims=True, initial=-np.inf)
    shifted = sub(rows, largest)
    logs = sub(shifted, log(reduce.sum(exp(shifted), 1, True)))
    return _picked_loss(logs, chosen, reduction, smoothing)


def _picked_loss(logs: Tensor, chosen: Chosen, reduction: str, smoothing: float = 0.0) -> Tensor:
    """The loss from the logarithms of probabilities, (rows, classes), out of plain operations."""
    count, classes = logs.shape
    live = np.arange(count) if chosen.live is None else np.flatnonzero(chosen.live)
    losses = mul(neg(getitem(logs, (live, chosen.classes[live]))), chosen.weights[live])
    if smoothing:
        spread = neg(reduce.sum(mul(getitem(logs, live), chosen.each_class(classes)), 1))
        losses = add(mul(losses, 1 - smoothing), mul(spread, smoothing / classes))
    if reduction == "none":
        full = np.zeros(count, dtype=losses._data.dtype)
        full[live] = losses._data
        # the ignored ones are constants: put in with an index into the others and a 0 after them
        return reshape(record("index", full, (losses, lambda g: g[live])), chosen.shape)
    total = reduce.sum(losses)
    return total if reduction == "sum" else div(total, new(np.asarray(chosen.denominator)))


def _of_probabilities(x: ArrayNode, target: ArrayNode, weight: Any, reduction: str, smoothing: float) -> Tensor:
    """Out of plain operations: the targets may have gradients too."""
    shape = x._data.shape
    if target._data.shape != shape:
        raise ShapeError(
            f"cross_entropy: target of shape {target._data.shape} for an input of shape {shape}: probabilities need "
            "the input's shape; classes are whole numbers, e.g. target.long()"
        )
    rows = _rows(x)
    logs = log_softmax(rows, 1)
    t = _rows(target)
    classes = rows.shape[1]
    if smoothing:
        t = add(mul(t, 1 - smoothing), smoothing / classes)
    if weight is not None:
        w = operand(weight, "cross_entropy")
        if w._data.shape != (classes,):
            raise ShapeError(f"cross_entropy: weight of shape {w._data.shape} for {classes} classes: give one a class")
        logs = mul(logs, w)
    losses = neg(reduce.sum(mul(logs, t), 1))
    if reduction == "none":
        return reshape(losses, (*shape[:1], *shape[2:]) if len(shape) > 1 else ())
    total = reduce.sum(losses)
    return total if reduction == "sum" else div(total, new(np.asarray(rows.shape[0], dtype=losses.dtype)))


def _scores(op: str, input: Any) -> ArrayNode:
    x = operand(input, op)
    if not is_differentiable(x._data.dtype):
        raise DtypeError(f"{op}: of floats only, this input is {x._data.dtype}: convert it first")
    if x._data.ndim == 0:
        raise ShapeError(f"{op}: input of shape (): it needs an axis of classes, (C,) or (N, C, ...)")
    return x


# -- (C,), (N, C) and (N, C, d1, ...) as rows of classes ---------------------------------------------------------------


def _rows_of(a: np.ndarray) -> np.ndarray:
    if a.ndim == 1:
        return a[None]
    return a if a.ndim == 2 else np.moveaxis(a, 1, -1).reshape(a.size // max(a.shape[1], 1), a.shape[1])


def _rows(x: Tensor) -> Tensor:
    shape = x._data.shape
    if len(shape) == 1:
        return reshape(x, (1, *shape))
    if len(shape) == 2:
        return x
    return reshape(permute(x, (0, *range(2, len(shape)), 1)), (x._data.size // max(shape[1], 1), shape[1]))


def _back(rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An array of rows in the shape of the input."""
    if len(shape) < 3:
        return rows.reshape(shape)
    return np.moveaxis(rows.reshape(shape[0], *shape[2:], shape[1]), -1, 1)


def _places(chosen: Chosen, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """The index of the right classes in an input of `shape`."""
    if len(shape) == 1:
        return (chosen.classes,)
    n, _, *rest = np.indices((shape[0], 1, *shape[2:])).reshape(len(shape), -1)
    return (n, chosen.classes, *rest)
