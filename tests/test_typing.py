"""The packages are typed for their users: a program with annotations is clean under mypy and pyright."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import missing

import micrograd
import tensorgrad
import viz

PROGRAM = Path(__file__).parent / "typed_program.py"

WRONG = """\
import tensorgrad
from micrograd import Value
from tensorgrad import Tensor, nn

x = Tensor([1.0])
x.reshpae(1)
tensorgrad.sotfmax(x, 0)
nn.Lineer(1, 1)
tensorgrad.nn.functional.conv2d(x, x)
Value(1.0).sotfmax()
number: int = x.exp()
y: str = x.shape
x.sum(dimension=0)
"""
WRONG_LINES = {6, 7, 8, 9, 10, 11, 12, 13}

Report = set[tuple[int, str]]


def output(tool: str, *arguments: str, folder: Path) -> str:
    """What the tool prints, run in `folder`, which has none of this project's settings. Skips where it is missing."""
    if importlib.util.find_spec(tool) is None:
        missing(f"{tool} is not installed")
    command = [sys.executable, "-m", tool, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300).stdout


def mypy(path: Path) -> Report:
    """(line, message) for everything that mypy complains about."""
    printed = output("mypy", "--strict", "--no-error-summary", "--output=json", path.name, folder=path.parent)
    return {(found["line"], found["message"]) for found in map(json.loads, printed.splitlines())}


def pyright(path: Path) -> Report:
    """(line, message) for everything that pyright complains about."""
    printed = output("pyright", "--outputjson", "--pythonpath", sys.executable, path.name, folder=path.parent)
    found = json.loads(printed)
    assert found["summary"]["filesAnalyzed"] == 1
    return {(entry["range"]["start"]["line"] + 1, entry["message"]) for entry in found["generalDiagnostics"]}


every_checker = pytest.mark.parametrize("checker", [mypy, pyright])


@every_checker
def test_a_typed_program_is_clean(checker: Callable[[Path], Report], tmp_path: Path):
    copy = tmp_path / "program.py"
    copy.write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    assert checker(copy) == set()


@every_checker
def test_mistakes_are_found(checker: Callable[[Path], Report], tmp_path: Path):
    """So the packages do not hide behind Any, and their `__getattr__` does not promise every name."""
    path = tmp_path / "wrong.py"
    path.write_text(WRONG, encoding="utf-8")
    assert {line for line, _ in checker(path)} == WRONG_LINES


def test_the_typed_program_runs():
    printed = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)], capture_output=True, text=True, check=True, timeout=300
    ).stdout
    assert printed.splitlines()[-1].endswith("True")


@pytest.mark.parametrize("package", [micrograd, tensorgrad, viz], ids=lambda package: package.__name__)
def test_every_package_says_that_it_is_typed(package):
    assert (Path(package.__file__).parent / "py.typed").exists()
