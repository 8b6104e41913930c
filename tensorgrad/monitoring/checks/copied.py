"""Targets that are the inputs: the loss falls to nothing, and the model has learned to copy."""

from __future__ import annotations

import numpy as np

from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass

_PASSES = 3
_ALL = 0.99


class Copied(Check):
    """The classes that the loss took as right, which the gradient of the scores shows, were the model's own inputs at
    the same places, or one place before, in three passes in a row.

    Not this: text in which each token is like the next (then the shifted targets agree as well); a class for a whole
    sequence; targets of which some are hidden in the inputs. A model that is meant to copy, an autoencoder of tokens,
    looks the same: `ignore="copied"`.
    """

    name = "copied"

    def __init__(self) -> None:
        self._times = {0: 0, 1: 0}
        self._passes = 0

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Looks at the first passes, and at one now and then."""
        self._passes += 1
        if (self._passes > 20 and self._passes % 50) or seen.inputs is None:
            return None
        scores = seen.scores_at(seen.inputs.size)
        if scores is None or seen.inputs.ndim == 0 or seen.inputs.shape[-1] < 2:
            return None
        length, told = seen.inputs.shape[-1], len(scores.targets)
        whole = told // length * length or told
        shape = (-1, min(length, whole))
        x, y = seen.inputs.reshape(-1)[:whole].reshape(shape), scores.targets[:whole].reshape(shape)
        shifted = _agree(x[:, 1:], y[:, :-1])
        for back, share in ((0, _agree(x, y)), (1, _agree(x[:, :-1], y[:, 1:]))):
            self._times[back] = self._times[back] + 1 if share >= _ALL > shifted else 0
            if self._times[back] == _PASSES:
                return self.finding(seen.step, _said(back, share, shifted))
        return None


def _agree(x: np.ndarray, y: np.ndarray) -> float:
    """Which share of the targets that count are these inputs."""
    counts = y >= 0
    return float((x == y)[counts].mean()) if counts.any() else 0.0


def _said(back: int, share: float, shifted: float) -> str:
    where = "at the same place" if back == 0 else "one place before"
    return (
        f"the targets are the inputs {where} ({share:.0%} of them; {shifted:.0%} are the token that comes next): the "
        "model is trained to copy what it sees, and its loss will fall to nothing. Shift them: inputs x[:, :-1], "
        'targets x[:, 1:]. If copying is meant, ignore="copied".'
    )
