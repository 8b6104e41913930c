"""A loss that is a multiple of what it should be: optimizers that rescale steps hide it from the curve."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.loss_words import times
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.scores import Scores
from tensorgrad.monitoring.seen import Pass, Step

_STEPS = 3  # in a row that must agree
_LOOKED = 20  # first steps that are looked at: scores that are nearly certain later hide the factor
_EXACT = 0.02  # a factor this near to a known one is that
_OTHER_TERMS = 0.1  # of the loss, at most, may come from something else than the cross entropy


@dataclass(frozen=True)
class _Factor:
    """What was seen of one pass: its loss is `factor` times the mean cross entropy over `places`, and the inputs had
    these `lengths`."""

    factor: float
    scores: Scores
    loss: float
    lengths: tuple[int, ...]


class Scaled(Check):
    """The known batch is the one at hand: from the scores and their gradient, the factor by which the loss is not the
    mean cross entropy, in value and in gradient (figures row 23), three steps the same. The passes of a step add up.

    Not this: a sum over places, sequences or the batch in place of the mean; a mean over all places, of which some are
    masked or have cost nothing since the model is sure of them; means that were divided by the number of
    accumulated passes, declared or not, or weighted by their share of the places; several losses of one batch, each
    with a backward pass of its own; weights of classes or places that differ; a GradScaler's factor; a loss with other
    terms; an untrained model whose loss is far above ln(classes) since its scores are large.
    """

    name = "scaled"

    def __init__(self) -> None:
        self._passes: list[_Factor | None] = []
        self._totals: deque[float] = deque(maxlen=_STEPS)
        self._looked = 0

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Looks at the first steps only: what the loss is made of does not change later."""
        if seen.is_fresh:
            self._passes = []  # the gradients of passes before were thrown away
        if self._looked < _LOOKED:
            self._passes.append(_factor(seen))
        return None

    def after_step(self, taken: Step, run: Run) -> Finding | None:
        """Judges the sum of the passes of the step."""
        self._looked += 1
        passes, self._passes = self._passes, []
        found = [one for one in passes if one is not None]
        if not found or len(found) < len(passes):
            return None
        total = sum(one.factor for one in found)
        self._totals.append(total)
        if len(self._totals) < _STEPS or np.ptp(self._totals) > _EXACT * total:
            return None
        count = len(found)
        undivided = count > 1 and _near(total, count)
        if _is_innocent(total, found) and not (undivided and count == run.accumulate):  # of two it may be two losses
            return None
        if undivided:
            return self.finding(
                taken.number,
                f"{count} passes make one step, and the loss of each counts in full: their gradients add up to {count} "
                f"times that of one batch. Divide each loss by {count} (for batches of different sizes: each sum of "
                "losses by the number of all targets).",
            )
        return self.finding(taken.number, _said(total, found))


def _factor(seen: Pass) -> _Factor | None:
    """None where the loss is not the cross entropy, times a factor, and little else, or another one of that batch."""
    scores = seen.scores
    if seen.is_again or scores is None or not scores.even or not scores.total > 0 or not math.isfinite(seen.loss):
        return None
    expected = scores.total * scores.mean
    if abs(seen.loss - expected) > _OTHER_TERMS * max(abs(seen.loss), abs(expected)):
        return None
    return _Factor(scores.total, scores, seen.loss, seen.inputs.shape if seen.inputs is not None else ())


def _near(x: float, y: float) -> bool:
    return abs(x - y) <= _EXACT * y


def _is_innocent(total: float, passes: list[_Factor]) -> bool:
    if 0.5 < total < 2 or (len(passes) == 2 and _near(total, 2)):  # two losses, one backward pass for each
        return True
    count = len(passes)
    # a mean over all places, of which some are masked, or cost nothing since the model is sure of them
    if all(_near(one.factor * count, one.scores.counted / one.scores.places) for one in passes):
        return True
    return any(all(_is_sum(one, divided_by) for one in passes) for divided_by in {1, count})


def _is_sum(one: _Factor, divided_by: int) -> bool:
    """Whether it counts each place in full, or each along one axis of the inputs."""
    return any(
        _near(one.factor * divided_by, n) for n in (one.scores.places, one.scores.counted, *one.lengths) if n > 1
    )


def _said(total: float, passes: list[_Factor]) -> str:
    one, multiple = passes[-1], times(total, 3)
    scores, count = one.scores, len(passes)
    what = "the loss is" if count == 1 else f"the losses of the {count} passes of a step add up to"
    seen = (
        f"{what} {multiple} the mean cross entropy: it is {one.loss:.4g} where the scores cost {scores.mean:.4g} a "
        f"place (guessing among {scores.classes} classes costs ln {scores.classes} = {math.log(scores.classes):.2f}), "
        "and so is its gradient at the scores."
    )
    if total < 1:
        return f"{seen} Take the factor out; if {1 / total:.3g} passes were meant to make one step, there was {count}."
    return (
        f"{seen} Adam's steps do not show it, SGD's are {multiple} too long, and clipping cuts at another place. "
        f"Take the factor out (where {total:.3g} passes are summed before a step: divide by their number)."
    )
