"""plusequals compare on variables and functions of files: which files are run again to note their operations."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run

FILE = """\
import random, sys
import numpy as np
from micrograd import Value
from tensorgrad import Tensor
print("noted" if sys.getprofile() else "plain", random.random(), np.random.rand())
a = Value(2.0)
number = a * a
t = Tensor([1.0, 2.0], requires_grad=True)
array = (t * t).sum(dim=0)
def square(x):
    return x * x
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize("target", ["number", "square"])
def test_a_file_is_run_once_without_noting_its_operations(file: Path, target: str) -> None:
    arguments = ["x=3"] if target == "square" else []
    status, _, err = run("compare", f"{file}:{target}", *arguments, "--no-torch")
    assert status == 0, err
    assert [line.split()[0] for line in err.splitlines()] == ["plain"]


def test_a_tensor_has_its_file_run_again_with_the_same_random_numbers(file: Path) -> None:
    status, out, err = run("compare", f"{file}:array", "--no-torch")
    assert status == 0, err
    first, second = (line.split() for line in err.splitlines())
    assert (first[0], second[0]) == ("plain", "noted")
    assert first[1:] == second[1:]
    assert "t[1]" in out


def test_tensors_made_in_a_module_beside_the_file_are_noted(tmp_path: Path) -> None:
    (tmp_path / "beside_the_file.py").write_text(
        "from tensorgrad import Tensor\nw = Tensor([1.0, 2.0], requires_grad=True)\nhidden = (w * 3).sum(dim=0)\n"
    )
    (tmp_path / "net.py").write_text("from beside_the_file import hidden\nloss = hidden * 2\n")
    status, out, err = run("compare", f"{tmp_path / 'net.py'}:loss", "--no-torch")
    assert status == 0, err
    assert "agree" in out
