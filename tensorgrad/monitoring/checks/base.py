"""What every check is: something that sees each pass and each step, and may find a cause."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass, Step


class Check:
    """The base of checks, one object a run.

    name        what `ignore=` takes, and what a Finding says
    because_of  checks whose finding explains this one's: after one of them it is silent
    """

    name: str = ""
    because_of: tuple[str, ...] = ()

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Called at the end of every backward pass that came to a trained parameter, before clipping."""
        return None

    def after_step(self, taken: Step, run: Run) -> Finding | None:
        """Called when the optimizer has taken a step."""
        return None

    def after_score(self, step: int, run: Run) -> Finding | None:
        """Called when the user has reported a score on held-out text."""
        return None

    def finding(self, step: int, text: str, names: Sequence[str] = ()) -> Finding:
        """One of this check."""
        return Finding(self.name, step, text, tuple(names))


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence: "a", "a and b", "a, b, c and 7 more"."""
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
