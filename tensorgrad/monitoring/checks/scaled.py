"""A loss that is a multiple of what it should be: optimizers that rescale steps hide it from the curve."""

from __future__ import annotations

import math

import numpy as np

from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.scores import Scores
from tensorgrad.monitoring.seen import Pass

_PASSES = 3  # that must agree
_EXACT = 0.02  # a factor this near to a known one is that
_OTHER_TERMS = 0.1  # of the loss, at most, may come from something else than the cross entropy


class Scaled(Check):
    """The known batch is the one at hand: from the scores and their gradient, the factor by which the loss is not the
    mean cross entropy, in value and in gradient (figures row 23), three times the same.

    Not this: a sum over places, sequences or the batch in place of the mean; a mean that was divided by the declared or
    by the real number of accumulated passes; a GradScaler's factor; a loss with other terms; an untrained model whose
    loss is far above ln(classes) since its scores are large.
    """

    name = "scaled"

    def __init__(self) -> None:
        self._factors: list[float] = []

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Looks at the first passes only: what the loss is made of does not change later."""
        if len(self._factors) >= _PASSES or seen.scores is None:
            return None
        scores = seen.scores
        factor = scores.total
        if not factor > 0 or not math.isfinite(seen.loss) or not _is_all(seen.loss, factor * scores.mean):
            return None
        self._factors.append(factor)
        if len(self._factors) < _PASSES or np.ptp(self._factors) > _EXACT * factor or _is_innocent(factor, seen, run):
            return None
        if run.accumulate > 1 and _near(factor, 1):
            return self.finding(
                seen.step,
                f"{run.accumulate} passes make one step, and the loss of each counts in full: their gradients add up "
                f"to {run.accumulate} times that of one batch. Divide each loss by {run.accumulate} (for batches of "
                "different sizes: each sum of losses by the number of all targets).",
            )
        return self.finding(seen.step, _said(factor, scores, seen.loss))


def _is_all(loss: float, expected: float) -> bool:
    """Whether the loss is the cross entropy, times its factor, and little else."""
    return abs(loss - expected) <= _OTHER_TERMS * max(abs(loss), abs(expected))


def _near(x: float, y: float) -> bool:
    return abs(x - y) <= _EXACT * y


def _is_innocent(factor: float, seen: Pass, run: Run) -> bool:
    assert seen.scores is not None
    lengths = seen.inputs.shape if seen.inputs is not None else ()
    for passes in {1, run.accumulate}:
        whole = factor * passes
        if 0.5 < whole < 2 and (passes > 1 or run.accumulate == 1):
            return True
        if any(_near(whole, n) for n in (seen.scores.places, *lengths) if n > 1):
            return True
    return False


def _said(factor: float, scores: Scores, loss: float) -> str:
    times = f"{factor:.3g}"
    return (
        f"the loss is {times} times the mean cross entropy: it is {loss:.4g} where the scores cost {scores.mean:.4g} a "
        f"place (guessing among {scores.classes} classes costs ln {scores.classes} = {math.log(scores.classes):.2f}), "
        f"and so is its gradient at the scores. Adam's steps do not show it, SGD's are {times} times too long, and "
        f"clipping cuts at another place. Take the factor out (where {times} passes are summed: divide by their "
        "number, and declare accumulate=)."
        if factor > 1
        else f"the loss is {times} times the mean cross entropy: it is {loss:.4g} where the scores cost "
        f"{scores.mean:.4g} a place, and so is its gradient at the scores. Take the factor out; where the gradients of "
        f"{1 / factor:.3g} passes make one step, declare accumulate={round(1 / factor)}."
    )
