"""Which class each row of scores is to have, for losses that are told it by numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorgrad.dtypes import sum_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.ops.keys import positions
from tensorgrad.ops.targets import check_range, class_weights
from tensorgrad.settings import whole


class Chosen(NamedTuple):
    """classes      the class of each row, 0 for those that are ignored
    live         which rows are not ignored; None where all count
    weights      what each row's loss counts, 0 for those that are ignored
    table        the weights of the classes, if there are any
    denominator  what a mean divides by
    shape        of the losses
    """

    classes: np.ndarray
    live: np.ndarray | None
    weights: np.ndarray
    table: np.ndarray | None
    denominator: np.floating
    shape: tuple[int, ...]

    def each_class(self, count: int) -> np.ndarray:
        """What the part of each of `count` classes counts in label smoothing."""
        return np.ones(count, self.weights.dtype) if self.table is None else self.table

    def at_live(self, losses: np.ndarray) -> np.ndarray:
        """0 for the rows that are ignored, whatever stands there."""
        return losses if self.live is None else np.where(self.live, losses, losses.dtype.type(0))

    def total(self, losses: np.ndarray, reduction: str) -> np.ndarray:
        """The losses of the rows, their sum, or their mean."""
        if reduction == "none":
            return losses.reshape(self.shape)
        total = losses.sum()
        return np.asarray(total if reduction == "sum" else total / self.denominator)

    def each(self, g: np.ndarray, reduction: str) -> np.ndarray:
        """The gradient of each row's loss, from that of the result."""
        if reduction == "none":
            return g.reshape(-1).astype(self.weights.dtype, copy=False)
        g = g.astype(self.weights.dtype)
        each = np.full(self.classes.shape, g if reduction == "sum" else g / self.denominator)
        if self.live is not None:
            each[~self.live] = 0  # also where the mean is 0 / 0
        return each

    def of_scores(
        self, g: np.ndarray, reduction: str, smoothing: float, classes: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """What a row's gradient of the scores is made of, for the result's gradient g, three numbers a row: the
        softmax times the first, minus the second at the right class, minus the third (None without label smoothing)
        times `each_class` at all of them."""
        g = self.each(g, reduction)
        at_class = g * self.weights
        if not smoothing:
            return at_class, at_class, None
        at_class = (1 - smoothing) * at_class
        at_all = (smoothing / classes) * g
        return at_class + at_all * self.each_class(classes).sum(), at_class, at_all


def choose(op: str, shape: tuple[int, ...], dtype: np.dtype, target: Any, weight: Any, ignore_index: int) -> Chosen:
    """The classes in `target` for scores (C,), (N, C) or (N, C, d1, ...) of `dtype`.

    Raises ShapeError for targets or weights that do not fit, IndexError for one that is no class.
    """
    classes = shape[0] if len(shape) == 1 else shape[1]
    wanted = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    found = positions(op, target, "targets")
    if found.shape != wanted and not (len(shape) == 1 and found.shape == (1,)):
        hint = "; probabilities are floats" if found.shape == shape else ""
        raise ShapeError(
            f"{op}: target of shape {found.shape} for an input of shape {shape}: it must be {wanted}, one class for "
            f"each row of {classes} scores{hint}"
        )
    live = found != whole(op, "ignore_index", ignore_index)
    check_range(op, "target", np.where(live, found, 0) if classes else found, classes, "classes")
    live, all_live = live.ravel(), bool(live.all())
    picked = np.where(live, found.ravel(), 0)
    run = np.dtype(np.float64) if dtype.kind == "O" else sum_dtype(dtype)
    table = class_weights(op, weight, classes, run)
    weights = np.ones(picked.shape, run) if table is None else table[picked]
    if not all_live:
        weights[~live] = 0
    return Chosen(picked, None if all_live else live, weights, table, weights.sum(), wanted)
