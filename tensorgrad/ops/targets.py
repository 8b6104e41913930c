"""What losses and lookups ask of their targets: positions in range, weights of the right length, a known reduction."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, operand
from tensorgrad.ops import reduce

REDUCTIONS = ("none", "mean", "sum")


def check_range(op: str, what: str, found: np.ndarray, n: int, of: str) -> None:
    """Raises IndexError, which names the first position in `found` that is not from 0 to n - 1 and where it stands."""
    if found.size == 0 or (found.min() >= 0 and found.max() < n):
        return
    place = tuple(int(i) for i in np.argwhere((found < 0) | (found >= n))[0])
    at = f" at {place[0] if len(place) == 1 else place}" if place else ""
    raise IndexError(f"{op}: {what} {found[place]}{at} is out of range: there are {n} {of}, from 0 to {n - 1}")


def check_reduction(op: str, reduction: str, known: tuple[str, ...] = REDUCTIONS) -> None:
    """Raises ValueError, which names the known ones, for another reduction."""
    if reduction not in known:
        raise ValueError(f"{op}: reduction is {', '.join(map(repr, known[:-1]))} or {known[-1]!r}, got {reduction!r}")


def class_weights(op: str, weight: Any, classes: int, dtype: np.dtype) -> np.ndarray | None:
    """One weight a class as an array of `dtype`, in which the loss runs; None if there are none.

    Raises ShapeError, or RuntimeError for weights that require a gradient: the loss has none for them.
    """
    if weight is None:
        return None
    w = operand(weight, op)
    if w.requires_grad:
        raise RuntimeError(f"{op}: there is no gradient for the classes' weights: use weight.detach()")
    if w._data.shape != (classes,):
        raise ShapeError(f"{op}: weight of shape {w._data.shape} for {classes} classes: give one weight a class")
    return w._data.astype(dtype)


def reduced(losses: ArrayNode, reduction: str) -> ArrayNode:
    """The losses of all elements as they are, their mean, or their sum."""
    if reduction == "none":
        return losses
    return reduce.mean(losses) if reduction == "mean" else reduce.sum(losses)
