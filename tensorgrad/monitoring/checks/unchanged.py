"""A step that changed nothing."""

from __future__ import annotations

import numpy as np

from tensorgrad.monitoring.checks.base import Check, listed
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass, Step

_STEPS = 10
_PASSES = 50  # without a step from the beginning on: a GradScaler leaves the first ones out, some twenty
_TINY = 1e-3  # of the longest gradient that a parameter had, or, squared, of that of all: there is little left to learn


class Unchanged(Check):
    """Parameters that had a gradient were not moved by a step, or there was no gradient to move them.

    Not this: a learning rate that a schedule starts at 0, or has brought to its end; a loss that is 0 already; steps
    that a GradScaler leaves out; gradients that are given by hand (`p.grad = ...`); parameters that no gradient reaches
    (`unreached`); many passes before the first step whose gradients are added up; passes after the last step.
    """

    name = "unchanged"
    because_of = ("nonfinite", "depth", "dead")

    def __init__(self) -> None:
        self._empty = self._idle = self._at_zero = self._last = self._unused = 0
        self._has_stepped = False
        self._stuck: np.ndarray | None = None
        self._rates = self._highest = self._longest = np.zeros(0)

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Counts gradients that were thrown away before any step was taken."""
        self._unused += seen.is_fresh
        if self._has_stepped or self._unused != _PASSES or not seen.is_fresh:
            return None
        return self.finding(
            seen.step,
            f"{_PASSES} backward passes, and the optimizer that the monitor was given has taken no step: their "
            "gradients were cleared without one. Call optimizer.step() after loss.backward(), of that optimizer (one "
            "that was made later is another).",
        )

    def after_step(self, taken: Step, run: Run) -> Finding | None:
        """One of several causes, the nearest first."""
        self._has_stepped = True
        number = taken.number
        last, self._last = self._last, number  # not the step before where not every step is measured
        self._empty = self._empty + 1 if taken.passes == 0 and not taken.by_hand else 0
        self._idle = self._idle + 1 if taken.passes and not taken.is_moving else 0
        self._at_zero = self._at_zero + 1 if not taken.rates.any() else 0
        if self._empty == 2:
            return self.finding(
                number,
                f"steps {last} and {number} were taken without a backward pass of this model since the one before: "
                "call loss.backward() before each optimizer.step(), of a loss that is computed from the model's result "
                "(numbers taken with .data, .numpy(), .item() or Tensor(...) remember nothing).",
            )
        if self._idle and self._idle >= (2 if np.nansum(taken.norms) > 0 else _STEPS):
            return self._without_gradient(taken, last)
        if self._at_zero == _STEPS:
            return self.finding(
                number,
                f"the learning rate was 0 in each of {_STEPS} steps, so nothing was changed: look at the schedule, and "
                "call scheduler.step() after optimizer.step().",
            )
        return self._unmoved(taken)

    def _without_gradient(self, taken: Step, last: int) -> Finding | None:
        if np.nansum(taken.norms) > 0:
            return self.finding(
                taken.number,
                f"steps {last} and {taken.number} changed nothing: backward brought a gradient of norm "
                f"{np.sqrt(np.nansum(taken.norms**2)):.3g}, and it was gone when the optimizer took the step. Call "
                "zero_grad() before backward(), or after step(), not between; and clip to a length above 0.",
            )
        if taken.last is None or taken.last.loss == 0 or np.isnan(taken.norms).all():
            return None
        return self.finding(
            taken.number,
            f"{_STEPS} steps changed nothing: the loss is {taken.last.loss:.4g}, and every gradient is exactly 0. "
            "tensorgrad.explain(parameter) says which operation sends only zeros.",
        )

    def _unmoved(self, taken: Step) -> Finding | None:
        """Single parameters whose changes are lost in rounding."""
        rates = taken.rates
        if self._stuck is None:
            self._stuck = np.zeros(len(rates), dtype=int)
            self._rates = self._highest = rates
            self._longest = np.zeros(len(rates))
        self._highest = np.maximum(self._highest, rates)
        norms = np.nan_to_num(taken.norms)
        self._longest = np.maximum(self._longest, norms)
        counts = (norms > _TINY * self._longest) & (norms > _TINY**2 * np.linalg.norm(norms))  # it is not done learning
        settled = (rates <= self._rates) & (rates > 0.5 * self._highest)  # neither warming up nor nearly over
        self._rates = rates
        still = settled & counts & ~taken.moved & taken.is_moving
        self._stuck = np.where(still, self._stuck + 1, 0)
        names = [taken.parts.names[i] for i in np.flatnonzero(self._stuck == _STEPS)]
        if not names:
            return None
        at = taken.parts.names.index(names[0])
        p = taken.parts.parameters[at]
        return self.finding(
            taken.number,
            f"{_STEPS} steps have not moved {listed(names)}, though there is a gradient (norm "
            f"{taken.norms[at]:.3g}): each change is smaller than half the distance "
            f"between neighbouring numbers of {p._data.dtype}. "
            + ("Keep it in float32, or raise" if p._data.dtype == np.float16 else "Raise")
            + f" the learning rate ({taken.rates[at]:.3g}).",
            names,
        )
