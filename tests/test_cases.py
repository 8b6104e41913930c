"""Public autograd cases, in the folder that AUTOGRAD_CASES names: programs written for torch, with the right answers.

All of them pass, but for the conventions of torch's that this project chose otherwise.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(os.environ.get("AUTOGRAD_CASES", "no folder"))
CASES = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8")) if (FOLDER / "cases.json").exists() else []

CHOSEN = dict(
    line.split(maxsplit=1)
    for line in (Path(__file__).parent / "conventions.chosen").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
"""Conventions of torch that this project chose otherwise, each with its reason."""


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """run_cases.py as a module, with the name torch bound to tensorgrad until the test is over."""
    for name in list(sys.modules):
        if name == "torch" or name.startswith("torch."):
            monkeypatch.delitem(sys.modules, name)
    spec = importlib.util.spec_from_file_location("run_cases", FOLDER / "run_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    bound = module.bind_torch_to_tensorgrad()
    ours = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "torch" or name.startswith("torch.")}
    for name, package in ours.items():
        monkeypatch.setitem(sys.modules, name, package)
    module.package = bound
    return module


@pytest.mark.skipif(not CASES, reason="AUTOGRAD_CASES names no folder with cases.json and run_cases.py")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any], runner: ModuleType, request: pytest.FixtureRequest):
    if case["id"] in CHOSEN:
        request.applymarker(pytest.mark.xfail(reason=CHOSEN[case["id"]], strict=True))
    got = runner.run(case, runner.package)
    want = {"forward": case["expected"]["forward"], "grads": case.get("math_grads") or case["expected"]["grads"]}
    assert runner.close(got, want, case.get("rtol", 1e-9), case.get("atol", 1e-12)), (
        f"{case['title']}: got {got}, want {want}"
    )
