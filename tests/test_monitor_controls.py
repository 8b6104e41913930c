"""The monitor is silent in every healthy run, with all its checks on."""

from __future__ import annotations

import pytest
from monitored import Control, findings_of
from monitored_controls import CONTROLS

STEPS = 40


@pytest.mark.parametrize("case", CONTROLS, ids=[case.name for case in CONTROLS])
def test_a_healthy_run_is_silent(case: Control) -> None:
    assert [str(finding) for finding in findings_of(case, STEPS)] == []
