"""The packages are typed for their users: a program with annotations is clean under mypy and pyright."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
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

Report = dict[str, set[tuple[int, str]]]
"""(line, message) for everything that a checker complains about, by the file's name."""


def output(tool: str, *arguments: str, folder: Path) -> str:
    """What the tool prints, run in `folder`, which has none of this project's settings. Skips where it is missing."""
    if importlib.util.find_spec(tool) is None:
        missing(f"{tool} is not installed")
    command = [sys.executable, "-m", tool, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300).stdout


def mypy(folder: Path, names: list[str]) -> Report:
    printed = output("mypy", "--strict", "--no-error-summary", "--output=json", *names, folder=folder)
    report: Report = {name: set() for name in names}
    for found in map(json.loads, printed.splitlines()):
        report[found["file"]].add((found["line"], found["message"]))
    return report


def pyright(folder: Path, names: list[str]) -> Report:
    printed = output("pyright", "--outputjson", "--pythonpath", sys.executable, *names, folder=folder)
    found = json.loads(printed)
    assert found["summary"]["filesAnalyzed"] == len(names)
    report: Report = {name: set() for name in names}
    for entry in found["generalDiagnostics"]:
        report[Path(entry["file"]).name].add((entry["range"]["start"]["line"] + 1, entry["message"]))
    return report


@pytest.fixture(scope="module", params=[mypy, pyright], ids=lambda checker: checker.__name__)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What a checker says of a right program and of a wrong one. One run serves both: most of it is NumPy."""
    folder = tmp_path_factory.mktemp("typed")
    texts = {"right.py": PROGRAM.read_text(encoding="utf-8"), "wrong.py": WRONG}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return request.param(folder, list(texts))


def test_a_typed_program_is_clean(report: Report):
    assert report["right.py"] == set()


def test_mistakes_are_found(report: Report):
    """So the packages do not hide behind Any, and their `__getattr__` does not promise every name."""
    assert {line for line, _ in report["wrong.py"]} == WRONG_LINES


def test_the_typed_program_runs():
    printed = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)], capture_output=True, text=True, check=True, timeout=300
    ).stdout
    assert printed.splitlines()[-1].endswith("True")


@pytest.mark.parametrize("package", [micrograd, tensorgrad, viz], ids=lambda package: package.__name__)
def test_every_package_says_that_it_is_typed(package):
    assert (Path(package.__file__).parent / "py.typed").exists()
