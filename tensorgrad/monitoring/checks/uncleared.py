"""Gradients that are not cleared between steps: each step then takes the sum of all passes since the beginning."""

from __future__ import annotations

from tensorgrad.monitoring.checks.base import Check, listed
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass, Step

_TIMES = 2  # in a row


class Uncleared(Check):
    """The gradient that a step takes is in part one that an earlier step had taken already, twice in a row.

    Not this: several passes before one step (accumulation), whether declared or not, as long as the step's gradient is
    cleared after it; steps in between, where as many passes as there are since the last clearing were declared; zeros
    that `zero_grad(set_to_none=False)` leaves; a pass of another model's loss through this one, cleared before the next
    of its own.
    """

    name = "uncleared"

    def __init__(self) -> None:
        self._times = self._passes = self._last = 0

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Counts passes since the gradients were last seen to be cleared."""
        self._passes = 1 if seen.is_fresh else self._passes + 1
        return None

    def after_step(self, taken: Step, run: Run) -> Finding | None:
        """Judges what the last pass was added to."""
        seen = taken.last
        last, self._last = self._last, taken.number  # not the step before where not every step is measured
        if seen is None or not seen.leftover:
            self._times = 0
            return None
        self._times += 1
        if self._times < _TIMES or self._passes <= run.accumulate:
            return None
        step, names = taken.number, [seen.parts.names[i] for i in seen.leftover]
        if len(names) == int(seen.reached.sum()):
            whose = f"of all {len(names)} parameters" if len(names) > 1 else f"of {names[0]}"
            about: list[str] = []
        else:
            whose, about = f"of {listed(names)}", names
        return self.finding(
            step,
            f"the gradients {whose} were not cleared after steps {last - 1} and {step - 1}: step {step} took the sum "
            f"of {self._passes} backward passes. Call optimizer.zero_grad() once a step; where a sum of several is "
            "meant, declare it with accumulate=.",
            about,
        )
