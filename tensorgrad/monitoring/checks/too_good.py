"""A training loss that is too good for what the model does on other text: it has found a way to see the answer."""

from __future__ import annotations

from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run

_HALF = 0.5
_FIFTH = 0.2
_SCORES = 2


class TooGood(Check):
    """The training loss fell to under half on batches that were new, and no score on held-out text came down by a
    fifth as much. (An untrained model may be worse than guessing; how often each class comes is soon learned.)

    Not this: overfitting. It needs batches that come again, and its held-out score falls first and rises later.
    """

    name = "too good"
    because_of = ("copied", "nonfinite")

    def after_score(self, step: int, run: Run) -> Finding | None:
        """Judges from the second score on."""
        if len(run.held_out) < _SCORES or not run.repeated < 0.2:
            return None
        before, now = run.first_loss, run.recent_loss()
        best, last = min(nats for _, nats in run.held_out), run.held_out[-1][1]
        if not (0 <= now < _HALF * before and before - best < _FIFTH * (before - now)):
            return None
        return self.finding(
            step,
            f"the training loss fell from {before:.3g} to {now:.3g} on batches that were new, and text that is held "
            f"out costs {last:.3g}, at best {best:.3g}: what the model learns in training is not the task. Look for "
            "targets in its inputs: an attention without its causal mask, targets that are not shifted.",
        )
