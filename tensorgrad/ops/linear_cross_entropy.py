"""The cross entropy of a linear layer's scores as one operation, which never holds all the scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.dtypes import common_dtype, is_differentiable, sum_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, operand, quiet, record_joint
from tensorgrad.noise import warn
from tensorgrad.ops.classes import Chosen, choose
from tensorgrad.ops.cross_entropy import composed_twin, cross_entropy
from tensorgrad.ops.keys import positions
from tensorgrad.ops.linear import linear
from tensorgrad.ops.linear_tiles import Layer, add_parts, layer_of, tiles
from tensorgrad.ops.operands import composed, is_lifted
from tensorgrad.ops.shape import reshape
from tensorgrad.ops.targets import check_reduction
from tensorgrad.settings import real, whole
from tensorgrad.sums import sum_over

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` cuts its work.

    batch_chunk_size  the scores of so many rows at all classes are in memory at one time; None for tiles of about
                      4 million scores, which is faster

    Of torch's other fields none has a meaning here: a graph may always be walked again, and sums run in the dtype of
    the scores, float32 for float16.
    """

    batch_chunk_size: int | None = None

    def __post_init__(self) -> None:
        if self.batch_chunk_size is not None:
            found = whole("LinearCrossEntropyOptions", "batch_chunk_size", self.batch_chunk_size)
            if found < 1:
                raise ValueError(
                    f"LinearCrossEntropyOptions: batch_chunk_size is a positive number or None, got {found}"
                )
            object.__setattr__(self, "batch_chunk_size", found)


def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target), without the array of all scores.

    input          rows (N, n), or one row (n,)
    linear_weight  (C, n), or (C, d1, ..., n) for targets (N, d1, ...)
    target         a class for each row, (N,) or (); or probabilities in the scores' shape
    linear_bias    of the weight's shape without its last axis
    ignore_index   None for -100
    options        how large a part is worked on at one time; it changes no value beyond rounding

    weight, reduction and label_smoothing are those of cross_entropy, as are the errors; ShapeError also for an input,
    weight or bias that does not fit, with both shapes.

    Forward and backward go over the scores in tiles, and compute each of them when it is needed and overwrite it with
    the next. The graph holds the operands and two numbers a row. The alternative is to compute the gradients already in
    the forward pass and to keep them, as torch does with its `options` (and Liger Kernel, Hsu et al. 2024): one product
    of matrices less, but an array of the weight's shape more until the backward pass, and work for nothing if there is
    none. Targets that are probabilities, and weights of more than two axes, are computed with all scores in memory.
    """
    op = "linear_cross_entropy"
    check_reduction(op, reduction)
    smoothing = real(op, "label_smoothing", label_smoothing)
    if not 0 <= smoothing <= 1:
        raise ValueError(f"{op}: label_smoothing must be from 0 to 1, got {smoothing}")
    if options is not None and not isinstance(options, LinearCrossEntropyOptions):
        raise TypeError(f"{op}: options are LinearCrossEntropyOptions or None, got {type(options).__name__}")
    given = (input, linear_weight) if linear_bias is None else (input, linear_weight, linear_bias)
    operands = [operand(x, op) for x in given]
    shape = _scores_shape(op, *[x._data.shape for x in operands])
    dtype = common_dtype([x._data for x in operands])
    if not is_differentiable(dtype):
        raise DtypeError(f"{op}: of floats only, these operands give scores of {dtype}: convert them first")
    of_probabilities = isinstance(target, (ArrayNode, np.ndarray)) and target.dtype.kind in "fO"
    _check_target(op, target, of_probabilities, shape, operands)
    if of_probabilities and ignore_index is not None:
        raise ValueError(f"{op}: ignore_index is a class, and the targets are probabilities: leave it out")
    ignore_index = -100 if ignore_index is None else ignore_index
    if of_probabilities or operands[1]._data.ndim > 2:
        if options is not None:
            what = "targets that are probabilities" if of_probabilities else "a weight of more than two axes"
            warn(f"{op}: with {what} all scores, {shape}, are held in memory, whatever the options say")
        return cross_entropy(
            _scores(operands, shape),
            target,
            weight,
            ignore_index=ignore_index,
            reduction=reduction,
            label_smoothing=smoothing,
        )
    chosen = choose(op, shape, dtype, target, weight, ignore_index)
    if is_lifted(*operands):
        return composed(op, lambda *xs: composed_twin(linear(*xs), chosen, reduction, smoothing), *operands)
    return _tiled(operands, chosen, reduction, smoothing, options)


@quiet
def _tiled(
    operands: list[ArrayNode],
    chosen: Chosen,
    reduction: str,
    smoothing: float,
    options: LinearCrossEntropyOptions | None,
) -> Tensor:
    """The loss by tiles of scores, and its gradients by the same tiles, computed again."""
    dtype = common_dtype([x._data for x in operands])
    layer = layer_of(operands, sum_dtype(dtype), None if options is None else options.batch_chunk_size)
    classes = len(layer.matrix)
    largest, totals, at_class, at_all = _row_sums(layer, chosen, bool(smoothing))
    losses = (np.log(totals) - (at_class - largest)) * chosen.weights
    if smoothing:
        at_all = (np.log(totals) + largest) * chosen.each_class(classes).sum() - at_all
        losses = (1 - smoothing) * losses + (smoothing / classes) * at_all
    out = chosen.total(chosen.at_live(losses), reduction).astype(dtype)
    input_shape = operands[0]._data.shape
    wanted = [x._requires_grad for x in operands]

    def rule(g: np.ndarray) -> list[np.ndarray | None]:
        sums, taken, spread = chosen.of_scores(g, reduction, smoothing, classes)
        each_class = None if spread is None else chosen.each_class(classes)
        factors = sums / totals
        sent = [np.zeros(a.shape, layer.dtype) if want else None for a, want in zip(layer.arrays, wanted, strict=False)]
        for tile in tiles(layer):
            r, c, scores = tile.r, tile.c, tile.scores
            scores -= largest[r, None]
            np.exp(scores, out=scores)
            scores *= factors[r, None]
            if spread is not None:
                scores -= spread[r, None] * each_class[c]
            at, place = _right_ones(chosen, r, c)
            scores[place] -= taken[r][at]
            if chosen.live is not None:
                scores[~chosen.live[r]] = 0
            add_parts(sent, tile)
        if sent[0] is not None:
            sent[0] = sent[0].reshape(input_shape)  # (n,) of one row
        return sent

    return record_joint("linear_cross_entropy", out, tuple(operands), rule)


def _row_sums(
    layer: Layer, chosen: Chosen, weighs_all: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Of each row: the largest score (0 if all are -inf), the sum of exp(score - largest), the score at the right
    class, and (if `weighs_all`) the sum of the scores times the classes' weights.

    The largest so far is raised from tile to tile, and the sum so far scaled down with it (Milakov and Gimelshein
    2018, "Online normalizer calculation for softmax").
    """
    count, classes = len(layer.rows), len(layer.matrix)
    largest = np.full(count, -np.inf, layer.dtype)
    totals, at_class = np.zeros(count, layer.dtype), np.zeros(count, layer.dtype)
    weighted, each_class = (np.zeros(count, layer.dtype), chosen.each_class(classes)) if weighs_all else (None, None)
    for tile in tiles(layer):
        r, c, scores = tile.r, tile.c, tile.scores
        at, place = _right_ones(chosen, r, c)
        at_class[r][at] = scores[place]
        if weighted is not None:
            weighted[r] += scores @ each_class[c]
        before = largest[r]
        now = np.maximum(before, scores.max(axis=1, initial=-np.inf))
        shift = _finite_below(now)
        scores -= shift[:, None]
        np.exp(scores, out=scores)
        totals[r] *= np.exp(before - shift)
        totals[r] += sum_over(scores, 1)
        largest[r] = now
    return _finite_below(largest), totals, at_class, weighted


def _finite_below(largest: np.ndarray) -> np.ndarray:
    """0 in place of -inf: what a row of nothing but -inf is shifted by, since -inf - -inf would be nan."""
    return np.where(largest == -np.inf, largest.dtype.type(0), largest)


def _right_ones(chosen: Chosen, r: slice, c: slice) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Which of the rows `r` have their class in `c`, and the places of these classes in the tile."""
    classes = chosen.classes[r]
    at = np.flatnonzero((classes >= c.start) & (classes < c.stop))
    return at, (at, classes[at] - c.start)


# -- what fits ---------------------------------------------------------------------------------------------------------


def _scores(operands: list[ArrayNode], shape: tuple[int, ...]) -> Tensor:
    """All scores in one array, also for a weight of more than two axes."""
    x, w, *b = operands
    outputs = prod(w._data.shape[:-1])
    flat = [reshape(w, (outputs, w._data.shape[-1])), *[reshape(bias, (outputs,)) for bias in b]]
    return reshape(linear(x, *flat), shape)


def _scores_shape(op: str, x: tuple[int, ...], w: tuple[int, ...], b: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """The shape of the scores. Raises ShapeError for what does not fit."""
    if len(x) not in (1, 2):
        hint = "; flatten the axes before the last, as x.flatten(0, -2), and the target" if len(x) > 2 else ""
        raise ShapeError(
            f"{op}: input of shape {x} for a weight of shape {w}: it is (rows, inputs), or (inputs,){hint}"
        )
    if len(w) < 2:
        raise ShapeError(f"{op}: weight of shape {w} for an input of shape {x}: it has the axes (classes, inputs)")
    if x[-1] != w[-1]:
        hint = "; the weight is transposed: (classes, inputs)" if len(w) == 2 and x[-1] == w[0] else ""
        raise ShapeError(
            f"{op}: input of shape {x} and weight of shape {w}: the last axis of both is the inputs', and must be "
            f"equal{hint}"
        )
    if len(w) > 2 and len(x) == 1:
        raise ShapeError(f"{op}: weight of shape {w} for an input of shape {x}: with more than two axes it takes rows")
    if b is not None and b != w[:-1]:
        raise ShapeError(f"{op}: bias of shape {b} for a weight of shape {w}: it must be {w[:-1]}, one for each score")
    return (*x[:-1], *w[:-1])


def _check_target(
    op: str, target: Any, of_probabilities: bool, scores: tuple[int, ...], operands: list[ArrayNode]
) -> None:
    """Raise ShapeError for a target that does not fit, in the shapes that the user knows: those of the operands."""
    found = target.shape if of_probabilities else positions(op, target, "targets").shape
    per_row = (*scores[:1], *scores[2:]) if len(scores) > 1 else ()
    if found == (scores if of_probabilities else per_row) or (found == (1,) and len(scores) == 1):
        return
    x, w = (y._data.shape for y in operands[:2])
    raise ShapeError(
        f"{op}: target of shape {found} for an input of shape {x} and a weight of shape {w}: it must be "
        f"{per_row}, one class for each row, or {scores}, probabilities, which are floats"
    )
