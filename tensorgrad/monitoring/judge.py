"""Who asks the checks, and says each cause once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tensorgrad.monitoring.checks import CHECKS
from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass, Step


class Judge:
    """Asks all checks but those in `ignore`, and hands what they find to each of `tell`, in this order.

    findings  what was said so far

    Raises ValueError for a check that there is not.
    """

    def __init__(self, ignore: Iterable[str], run: Run, tell: Iterable[Callable[[Finding], Any]]) -> None:
        silent = {ignore} if isinstance(ignore, str) else set(ignore)
        unknown = silent.difference(CHECKS)
        if unknown:
            raise ValueError(f"monitor: there is no check {sorted(unknown)[0]!r}; there are {', '.join(CHECKS)}")
        self.findings: list[Finding] = []
        self._checks = [check() for name, check in CHECKS.items() if name not in silent]
        self._run = run
        self._tell = list(tell)

    def after_pass(self, seen: Pass) -> None:
        """What it says of the run."""
        self._ask(lambda check: check.after_pass(seen, self._run))

    def after_step(self, taken: Step) -> None:
        """The same of a step."""
        self._ask(lambda check: check.after_step(taken, self._run))

    def after_score(self, step: int) -> None:
        """The same of a score on held-out text."""
        self._ask(lambda check: check.after_score(step, self._run))

    def _ask(self, ask: Callable[[Check], Finding | None]) -> None:
        """Every check that no earlier finding explains."""
        for check in self._checks:
            if {finding.check for finding in self.findings}.intersection(check.because_of):
                continue
            found = ask(check)
            if found is not None and not any((f.check, f.names) == (found.check, found.names) for f in self.findings):
                self.findings.append(found)
                for tell in self._tell:
                    tell(found)
