"""Batches whose loss and gradient are known in closed form, computed by NumPy in float64 and no engine."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

_SPREAD = 2.0  # standard deviation of scores: far from all equal, and no probability near 1


@dataclass(frozen=True)
class KnownBatch:
    """
    scores    what the loss is given first: (*places, V), float32
    targets   and second: (*places) class numbers for cross entropy, (*places, V) numbers for squares
    counted   which places count: (N,), N all places in a row
    value     the mean loss over the places that count (over their V numbers, for squares)
    gradient  its gradient at the scores, (N, V)
    """

    scores: np.ndarray
    targets: np.ndarray
    counted: np.ndarray
    value: float
    gradient: np.ndarray

    @property
    def places(self) -> tuple[int, ...]:
        return self.scores.shape[:-1]

    @property
    def rows(self) -> np.ndarray:
        """The scores as (N, V), float64."""
        return self.scores.reshape(-1, self.scores.shape[-1]).astype(np.float64)


def cross_entropy_batch(
    places: tuple[int, ...], classes: int, ignore_index: int | None = None, label_smoothing: float = 0.0
) -> KnownBatch:
    """Scores drawn from N(0, 2^2) and classes drawn evenly, the first of them 0, the same at every call.

    The loss at a place is -sum_k q_k log p_k with p = softmax(scores) and q the target's distribution: 1 - s at the
    target and s / V everywhere, s the label smoothing. Its mean over N places has the gradient (p - q) / N. Every
    third target is `ignore_index`, if there is one; these places count for nothing, and N is the number of others.
    """
    rng = np.random.default_rng(prod(places))
    scores = rng.normal(0.0, _SPREAD, (*places, classes)).astype(np.float32)
    targets = rng.integers(0, classes, prod(places))
    targets[0] = 0  # which is what most often does not count, as padding
    counted = np.ones(len(targets), dtype=bool)
    if ignore_index is not None:
        targets[2::3] = ignore_index
        if (targets == ignore_index).all():  # the only one, which is 0
            targets[0] = (ignore_index + 1) % classes
        counted = targets != ignore_index
    count = int(counted.sum())
    p = probabilities(scores.reshape(-1, classes).astype(np.float64))
    q = one_hot(np.where(counted, targets, 0), classes) * (1 - label_smoothing) + label_smoothing / classes
    value = -float(np.sum((q * np.log(p))[counted])) / count
    gradient = (p - q) * counted[:, None] / count
    return KnownBatch(scores, targets.reshape(places), counted, value, gradient)


def squares_batch(places: tuple[int, ...], outputs: int) -> KnownBatch:
    """Predictions and targets drawn from N(0, 2^2). The mean of (prediction - target)^2 over n numbers has the gradient
    2 (prediction - target) / n."""
    rng = np.random.default_rng(prod(places))
    shape = (*places, outputs)
    scores = rng.normal(0.0, _SPREAD, shape).astype(np.float32)
    targets = rng.normal(0.0, _SPREAD, shape).astype(np.float32)
    difference = scores.astype(np.float64) - targets.astype(np.float64)
    gradient = (2 * difference / difference.size).reshape(-1, outputs)
    return KnownBatch(scores, targets, np.ones(prod(places), dtype=bool), float(np.mean(difference**2)), gradient)


def probabilities(rows: np.ndarray) -> np.ndarray:
    """softmax of each row of (N, V)."""
    e: np.ndarray = np.exp(rows - rows.max(axis=1, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    return e


def one_hot(classes: np.ndarray, count: int) -> np.ndarray:
    """(N, V) with a 1 in each row, at its class."""
    out = np.zeros((len(classes), count))
    out[np.arange(len(classes)), classes] = 1.0
    return out
