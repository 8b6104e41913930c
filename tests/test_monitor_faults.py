"""The monitor names each fault: by the right check, with the right parameters, once, in the first 50 steps."""

from __future__ import annotations

import pytest
from monitored import Fault, findings_of
from monitored_faults import FAULTS

STEPS = 40


@pytest.mark.parametrize("case", FAULTS, ids=[case.name for case in FAULTS])
def test_a_fault_is_named_once(case: Fault) -> None:
    found = findings_of(case, STEPS)
    assert [(finding.check, finding.names) for finding in found] == [(case.check, case.names)], found
    assert case.says in found[0].text
    assert "\n" not in found[0].text
    assert found[0].step <= 50
