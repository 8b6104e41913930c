"""Who asks the checks: each cause is said once, and what only follows from it is not."""

from __future__ import annotations

from typing import Any

import pytest

from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.judge import Judge
from tensorgrad.monitoring.run import Run


class Cause(Check):
    """Found in the second step, and in all that follow."""

    name = "cause"

    def after_step(self, taken: Any, run: Run) -> Finding | None:
        return self.finding(taken, f"cause in {taken}") if taken >= 2 else None


class Consequence(Check):
    """Found in each step, of one parameter after the other."""

    name = "consequence"
    because_of = ("cause",)

    def after_step(self, taken: Any, run: Run) -> Finding | None:
        return self.finding(taken, f"consequence in {taken}", [f"w{taken}"])


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {check.name: check for check in (Cause, Consequence)}
    monkeypatch.setattr("tensorgrad.monitoring.judge.CHECKS", found)


def texts(judge: Judge, steps: int) -> list[str]:
    for step in range(1, steps + 1):
        judge.after_step(step)  # type: ignore[arg-type]
    return [finding.text for finding in judge.findings]


@pytest.mark.usefixtures("checks")
def test_what_follows_from_a_cause_that_was_said_is_not_said() -> None:
    assert texts(Judge((), Run(), ()), 4) == ["consequence in 1", "cause in 2"]


@pytest.mark.usefixtures("checks")
def test_a_cause_that_is_ignored_explains_nothing() -> None:
    assert texts(Judge("cause", Run(), ()), 3) == ["consequence in 1", "consequence in 2", "consequence in 3"]


@pytest.mark.usefixtures("checks")
def test_all_are_told_of_each_finding_in_their_order() -> None:
    told: list[tuple[str, str]] = []
    judge = Judge((), Run(), [lambda f: told.append(("log", f.check)), lambda f: told.append(("say", f.check))])
    texts(judge, 3)
    assert told == [("log", "consequence"), ("say", "consequence"), ("log", "cause"), ("say", "cause")]
