"""What `clip_grad_norm_` does to the gradient of a stack's weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensorgrad import Tensor
from tensorgrad.nn.utils import clip_grad_norm_
from viz.arrays import norm


@dataclass(frozen=True)
class Clipped:
    """A gradient before and after it was clipped.

    limit     given to `clip_grad_norm_`
    returned  by it
    before    (n,) norm of the gradient of each weight
    after     (n,) the same, afterwards
    cosine    of the angle between the two gradients, each as one long vector; nan where one has no direction
    """

    limit: float
    returned: float
    before: np.ndarray
    after: np.ndarray
    cosine: float

    @property
    def length(self) -> float:
        """Of the whole gradient, afterwards."""
        return norm(self.after)

    @property
    def changed(self) -> bool:
        return not np.array_equal(self.before, self.after, equal_nan=True)

    @property
    def factors(self) -> np.ndarray:
        """What each weight's gradient was multiplied by: the same for all, but for rounding. Not of length 0."""
        some = (self.before > 0) & np.isfinite(self.before)
        return self.after[some] / self.before[some]


def clip(weights: Sequence[Tensor], limit: float) -> Clipped:
    """Clip the gradients of the weights, in place, which all have one."""
    old = [np.array(w.grad) for w in weights]
    before = np.array([norm(g) for g in old])
    with np.errstate(over="ignore", invalid="ignore"):
        returned = clip_grad_norm_(weights, limit).item()
    after = np.array([norm(w.grad) for w in weights])
    return Clipped(limit, returned, before, after, _cosine(old, [w.grad for w in weights]))


def _cosine(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> float:
    sizes = [norm(np.array([norm(g) for g in gradient])) for gradient in (first, second)]
    if not all(0 < size < np.inf for size in sizes):
        return float("nan")
    return float(sum(np.sum(a / sizes[0] * (b / sizes[1])) for a, b in zip(first, second, strict=True)))
