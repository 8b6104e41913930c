"""The cross entropy of a linear layer's scores as one operation, which never holds all the scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorgrad.dtypes import common_dtype, is_differentiable, sum_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, new, operand, quiet, record_joint
from tensorgrad.noise import warn
from tensorgrad.ops.cross_entropy import _at_live, _choose, _Chosen, _cross_entropy, _each, _total, cross_entropy
from tensorgrad.ops.keys import positions
from tensorgrad.ops.linear import linear
from tensorgrad.ops.operands import composed, is_lifted
from tensorgrad.ops.shape import reshape
from tensorgrad.ops.targets import check_reduction
from tensorgrad.settings import real, whole
from tensorgrad.sums import sum_over

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_AT_ONCE = 2**22
"""How many scores are in memory at one time: 16.8 MB of float32, beside which the loop around them costs nothing."""

_ROWS = 1024
"""How many rows a tile has at least, if there are so many: products of fewer run well below the machine's speed."""


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
    stand_in = new(np.broadcast_to(np.zeros((), dtype), shape))  # the scores' shape and dtype, and no memory
    chosen = _choose(op, stand_in, target, weight, ignore_index)
    if is_lifted(*operands):
        return composed(op, lambda *xs: _cross_entropy(linear(*xs), chosen, reduction, smoothing), *operands)
    return _tiled(operands, chosen, reduction, smoothing, options)


@quiet
def _tiled(
    operands: list[ArrayNode],
    chosen: _Chosen,
    reduction: str,
    smoothing: float,
    options: LinearCrossEntropyOptions | None,
) -> Tensor:
    """The loss by tiles of scores, and its gradients by the same tiles, computed again."""
    dtype = common_dtype([x._data for x in operands])
    layer = _layer_of(operands, sum_dtype(dtype), options)
    classes = len(layer.matrix)
    largest, totals, at_class, at_all = _row_sums(layer, chosen, bool(smoothing))
    losses = (np.log(totals) - (at_class - largest)) * chosen.weights
    if smoothing:
        at_all = (np.log(totals) + largest) * _each_class(layer, chosen).sum() - at_all
        losses = (1 - smoothing) * losses + (smoothing / classes) * at_all
    out = _total(chosen, _at_live(chosen, losses), reduction).astype(dtype)
    shapes = [x._data.shape for x in operands]
    wanted = [x._requires_grad for x in operands]

    def rule(g: np.ndarray) -> list[np.ndarray | None]:
        g = _each(chosen, g, reduction)
        taken = g * chosen.weights  # from the gradient at the right class
        sums = taken
        if smoothing:
            each_class = _each_class(layer, chosen)
            taken = (1 - smoothing) * taken
            spread = (smoothing / classes) * g
            sums = taken + spread * each_class.sum()
        factors = sums / totals
        sent = [np.zeros(a.shape, layer.dtype) if want else None for a, want in zip(layer.arrays, wanted, strict=False)]
        for tile in _tiles(layer):
            r, c, scores = tile.r, tile.c, tile.scores
            scores -= largest[r, None]
            np.exp(scores, out=scores)
            scores *= factors[r, None]
            if smoothing:
                scores -= spread[r, None] * each_class[c]
            at, place = _right_ones(chosen, r, c)
            scores[place] -= taken[r][at]
            if chosen.live is not None:
                scores[~chosen.live[r]] = 0
            _add_parts(sent, tile)
        return [None if a is None else a.reshape(shape) for a, shape in zip(sent, shapes, strict=True)]

    return record_joint("linear_cross_entropy", out, tuple(operands), rule)


def _row_sums(
    layer: _Layer, chosen: _Chosen, weighs_all: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Of each row: the largest score (0 if all are -inf), the sum of exp(score - largest), the score at the right
    class, and (if `weighs_all`) the sum of the scores times the classes' weights.

    The largest so far is raised from tile to tile, and the sum so far scaled down with it (Milakov and Gimelshein
    2018, "Online normalizer calculation for softmax").
    """
    count = len(layer.rows)
    largest = np.full(count, -np.inf, layer.dtype)
    totals, at_class = np.zeros(count, layer.dtype), np.zeros(count, layer.dtype)
    weighted, each_class = (np.zeros(count, layer.dtype), _each_class(layer, chosen)) if weighs_all else (None, None)
    for tile in _tiles(layer):
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


def _each_class(layer: _Layer, chosen: _Chosen) -> np.ndarray:
    return np.ones(len(layer.matrix), layer.dtype) if chosen.table is None else chosen.table


def _finite_below(largest: np.ndarray) -> np.ndarray:
    """0 in place of -inf: what a row of nothing but -inf is shifted by, since -inf - -inf would be nan."""
    return np.where(largest == -np.inf, largest.dtype.type(0), largest)


# -- tiles -------------------------------------------------------------------------------------------------------------


class _Layer(NamedTuple):
    """The linear layer: arrays as they are, and the dtype in which its scores are computed.

    rows, matrix, bias  (N, n), (C, n), (C,) or None
    tile                how many rows and classes are taken at one time
    """

    rows: np.ndarray
    matrix: np.ndarray
    bias: np.ndarray | None
    dtype: np.dtype
    tile: tuple[int, int]

    @property
    def arrays(self) -> tuple[np.ndarray | None, ...]:
        return self.rows, self.matrix, self.bias


class _Tile(NamedTuple):
    """The scores (or what has become of them) of the rows `r` at the classes `c`, and what they are products of."""

    r: slice
    c: slice
    rows: np.ndarray
    matrix: np.ndarray
    scores: np.ndarray


def _layer_of(operands: list[ArrayNode], dtype: np.dtype, options: LinearCrossEntropyOptions | None) -> _Layer:
    x, w, *b = [x._data for x in operands]
    rows = x.reshape(-1, x.shape[-1]) if x.ndim == 1 else x
    count, classes = len(rows), len(w)
    if options is not None and options.batch_chunk_size is not None:
        tile = options.batch_chunk_size, classes
    else:
        tile_rows = min(count, max(_ROWS, _AT_ONCE // max(classes, 1)))
        tile = tile_rows, _AT_ONCE // max(tile_rows, 1)
    return _Layer(rows, w, b[0] if b else None, dtype, (max(tile[0], 1), max(tile[1], 1)))


def _tiles(layer: _Layer) -> Iterator[_Tile]:
    """The scores tile by tile, all in one buffer: each may be overwritten, and is gone when the next one comes.

    float16 is widened one tile at a time.
    """
    count, classes = len(layer.rows), len(layer.matrix)
    high, wide = min(layer.tile[0], count), min(layer.tile[1], classes)
    buffer = np.empty(high * wide, layer.dtype)
    for r in _slices(count, high):
        rows = layer.rows[r].astype(layer.dtype, copy=False)
        for c in _slices(classes, wide):
            matrix = layer.matrix[c].astype(layer.dtype, copy=False)
            scores = buffer[: len(rows) * len(matrix)].reshape(len(rows), len(matrix))
            np.matmul(rows, matrix.T, out=scores)
            if layer.bias is not None:
                scores += layer.bias[c]
            yield _Tile(r, c, rows, matrix, scores)


def _slices(length: int, step: int) -> Iterator[slice]:
    return (slice(i, min(i + step, length)) for i in range(0, length, max(step, 1)))


def _right_ones(chosen: _Chosen, r: slice, c: slice) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Which of the rows `r` have their class in `c`, and the places of these classes in the tile."""
    classes = chosen.classes[r]
    at = np.flatnonzero((classes >= c.start) & (classes < c.stop))
    return at, (at, classes[at] - c.start)


def _add_parts(sent: list[np.ndarray | None], tile: _Tile) -> None:
    """Add what a tile of the scores' gradient contributes to the gradients of rows, matrix and bias.

    Each of them is one product (or sum) over all rows or all classes, taken in parts: the += of the parts belongs to
    that product. It is not the += of the backward algorithm, which adds what different uses of a tensor send.
    """
    r, c, g = tile.r, tile.c, tile.scores
    if sent[0] is not None:
        _add_product(sent[0][r], g, tile.matrix, c.start == 0)
    if sent[1] is not None:
        _add_product(sent[1][c], g.T, tile.rows, r.start == 0)
    if len(sent) > 2 and sent[2] is not None:
        sent[2][c] += sum_over(g, 0)


def _add_product(out: np.ndarray, a: np.ndarray, b: np.ndarray, is_first: bool) -> None:
    if is_first:  # no array between
        np.matmul(a, b, out=out)
    else:
        out += a @ b


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
