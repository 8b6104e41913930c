"""What the gradient of a model's scores tells of the loss, however the loss was written.

The mean cross entropy of scores z over N places has the gradient (softmax(z) - onehot(y)) / N. So from z and its
gradient g, y is where g is negative, and -g[y] / (1 - softmax(z)[y]) is the weight with which that place counts: 1 / N
in a mean, 1 in a sum, 40 / N in a mean times 40. Nothing of this needs the targets, or to know which functions the loss
was made of. Where the gradient has another form (other losses, soft targets) nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorgrad.node import quiet

_MOST = 30_000  # elements of the scores that are looked at
_FEWEST = 64  # places, at least, where there are so many
_SAME = 0.02  # weights that differ by less than this share of themselves are equal
_LOSSES = ("cross_entropy", "log_softmax")


@dataclass(frozen=True)
class Scores:
    """What was found.

    classes  how many there are
    places   how many scores are for: the rows
    counted  how many of them count
    total    the sum of the weights of all places: 1 for a mean, `places` for a sum
    even     whether all places that count have the same weight
    mean     the mean cross entropy over the places that were looked at, in nats
    targets  the class that each of the first places was told is right, -1 where it does not count
    """

    classes: int
    places: int
    counted: int
    total: float
    even: bool
    mean: float
    targets: np.ndarray


def scores_of(candidates: Sequence[tuple[Any, int]], scaled_by: float = 1.0) -> Scores | None:
    """Of the first of (tensor, axis of its classes) that is scores; None where the gradient of none is that of a cross
    entropy."""
    for z, axis in candidates:
        if z._grad is not None and z._data.ndim and z._data.dtype.kind == "f":
            found = _read(_rows(z._data, axis), _rows(z._grad, axis), scaled_by)
            if found is not None:
                return found
    return None


def scores_below(graph: Sequence[Any]) -> list[tuple[Any, int]]:
    """The operand of the last operation of a loss in `graph`, with the axis of its classes."""
    last = next((node for node in reversed(graph) if node._op in _LOSSES and node._prev), None)
    if last is None:
        return []
    z = last._prev[0]
    return [(z, 1 if last._op == "cross_entropy" and z._data.ndim > 1 else -1)]


def _rows(a: np.ndarray, axis: int) -> np.ndarray:
    """(places, classes)."""
    a = np.moveaxis(a, axis, -1)
    return a.reshape(-1, a.shape[-1])


@quiet
def _read(z: np.ndarray, g: np.ndarray, scaled_by: float) -> Scores | None:
    places, classes = z.shape
    if classes < 2 or not places:
        return None
    counted = int(np.count_nonzero((g < 0).any(axis=1)))
    looked = min(places, max(_FEWEST, _MOST // classes))
    z, g = z[:looked].astype(np.float64), g[:looked].astype(np.float64) / scaled_by
    if not (np.isfinite(z).all() and np.isfinite(g).all()):
        return None
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    rows = np.arange(looked)
    y = g.argmin(1)
    counts = g[rows, y] < 0
    if not counts.any():
        return None
    weight = np.where(counts, -g[rows, y] / np.maximum(1 - p[rows, y], 1e-12), 0.0)
    told = weight[:, None] * p
    told[rows, y] -= weight
    sure = 1 - p[rows, y] > 1e-4  # where the right class is certain already, its gradient is rounding
    if not (counts & sure).any() or np.abs(told - g)[counts & sure].max() > 1e-2 * np.abs(g[counts & sure]).max():
        return None
    usual = float(np.median(weight[counts & sure]))
    even = float(np.ptp(weight[counts & sure])) <= _SAME * usual
    weight = np.where(counts & ~sure, usual, weight)
    total = float(weight.sum()) * counted / int(counts.sum())
    mean = float(np.average(-np.log(np.maximum(p[rows, y], 1e-300)), weights=weight)) if total else math.nan
    return Scores(classes, places, counted, total, even, mean, np.where(counts, y, -1))
