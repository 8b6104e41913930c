"""Users' files: running them, finding a variable or function in them, and every way in which that can fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy
import pytest

import micrograd
import viz
from micrograd import Value
from viz.errors import UserError
from viz.inputs.running import is_the_users, running
from viz.inputs.source import load, split_target


@pytest.fixture
def file(tmp_path):
    """`file(text)` writes net.py and gives its path."""

    def write(text, name="net.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def message(function, *arguments):
    with pytest.raises(UserError) as caught:
        function(*arguments)
    return str(caught.value)


NET = """
from micrograd import Value
from micrograd.nn import Neuron
a = Value(2.0)
loss = a * 3
losses = [a + 1, a + 2]
net = Neuron(2)
lr = 0.1
def loss_at(x, scale=2.0, *, shift=0.0):
    return x * scale + shift
def first(x, /):
    return x * 2
def anything(**named):
    return sum(named.values())
"""


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        ("net.py:loss", "net.py", "loss"),
        ("net.py", "net.py", ""),
        ("net.py:", "net.py", ""),
        ("a folder/net.py:losses[0]", "a folder/net.py", "losses[0]"),
        ("C:/code/net.py:loss", "C:/code/net.py", "loss"),
    ],
)
def test_targets(text, path, name):
    found, what = split_target(text)
    assert (found.as_posix(), what) == (path, name)


@pytest.mark.parametrize("text", ["a*b", "relu(a)", "net", "a.T", "loss:net.py2"])
def test_expressions_are_no_files(text):
    assert split_target(text) is None


def test_find_a_variable_a_function_and_what_lies_inside(file):
    source = load(file(NET))
    assert source.find("loss").data == 6.0
    assert source.find("losses[1]").data == 4.0
    assert source.find("net.b").data == 0.0
    assert source.call("loss_at", source.find("loss_at"), {"x": Value(5.0)}).data == 10.0


def test_arguments_go_where_they_belong(file):
    source = load(file(NET))
    x = Value(5.0)
    assert source.call("f", source.find("loss_at"), {"shift": 1.0, "x": x, "scale": 3.0}).data == 16.0
    assert source.call("f", source.find("first"), {"x": x}).data == 10.0
    assert source.call("f", source.find("anything"), {"x": x, "y": x}).data == 10.0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "which variable or function? write"),
        ("los", "did you mean loss?"),
        ("zzz", "the file has a, loss, loss_at, first, anything"),
        ("losses", "a list of 2, not one Value or Tensor: name one of its elements, losses[0]"),
        ("net", "net is a Neuron"),
        ("lr", "lr is a float"),
        ("Value", "the class Value"),
        ("losses[7]", "no variable or function 'losses[7]'"),
    ],
)
def test_names_that_lead_to_no_node(file, name, words):
    assert words in message(load(file(NET)).find, name)


def test_a_file_without_nodes_says_so(file):
    assert "the file has no function, and no Value or Tensor" in message(load(file("x = 1")).find, "y")


def test_what_is_offered_is_the_files_and_takes_gradients(file):
    text = (
        "from tensorgrad import Tensor\nx = Tensor([1.0])\nw = Tensor([2.0], requires_grad=True)\ny = (x * w).sum()\n"
    )
    error = message(load(file(text + "lr = 0.1\n")).find, "lr")
    assert error.endswith("lr is a float, not a Value or Tensor; the file has w, y")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs a value for x: add x=..."),
        ({"x": 1.0, "y": 2.0}, "has no argument 'y': it takes x, scale, shift"),
    ],
)
def test_arguments_that_do_not_fit(file, arguments, words):
    source = load(file(NET))
    assert words in message(source.call, "loss_at", source.find("loss_at"), arguments)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x = 1\n1/0", 2, "raised ZeroDivisionError: division by zero"),
        ("def f():\n    raise KeyError\nf()", 2, "raised KeyError"),
        ("import json\njson.loads('{')", 2, "raised JSONDecodeError"),
        ("import not_a_module_of_anyone", 1, "raised ModuleNotFoundError"),
        ("raise SystemExit(3)", 1, "ended the program: SystemExit(3)"),
        ("import sys\nsys.exit()", 2, "ended the program"),
        ("x = (1,", 1, "SyntaxError: '(' was never closed"),
        ("x = 1\n  y = 2", 2, "IndentationError"),
        ("raise ValueError('two\\nlines')", 1, "raised ValueError: two lines"),
        ("class Stop(BaseException): pass\nraise Stop('enough')", 2, "raised Stop: enough"),
        ("raise GeneratorExit", 1, "raised GeneratorExit"),
        ("raise StopIteration", 1, "raised StopIteration"),
        ("class Odd(Exception):\n    def __str__(self): raise OSError\nraise Odd", 3, "raised Odd"),
        ("import ast\nast.parse('1 +')", 2, "raised SyntaxError: invalid syntax"),
    ],
)
def test_a_file_that_fails(file, text, line, words):
    path = file(text)
    error = message(load, path)
    assert error.startswith(f"{path}:{line} ")
    assert words in error
    assert "\n" not in error


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "net.py"
    path.write_bytes(b"\xff\xfe\x00")
    assert message(load, path).startswith(str(path))


def test_no_such_file(tmp_path):
    assert message(load, tmp_path / "none.py") == f"there is no file {tmp_path / 'none.py'}"


def test_a_folder(tmp_path):
    (tmp_path / "net.py").mkdir()
    assert "is a folder" in message(load, tmp_path / "net.py")


def test_a_failure_in_a_module_beside_the_file_is_told_with_its_line(file):
    beside = file("def f():\n    raise ValueError('there')\n", "one_that_fails.py")
    error = message(load, file("import one_that_fails\none_that_fails.f()\n"))
    assert error == f"{beside}:2 raised ValueError: there"


def test_a_failure_in_a_module_below_the_file_is_told_with_its_line(file):
    (file("").parent / "below_the_file").mkdir()
    below = file("def loss(a):\n    return a * undefined\n", "below_the_file/losses.py")
    source = load(file("from below_the_file.losses import loss"))
    with running(source.path):
        error = message(source.call, "loss", source.find("loss"), {"a": Value(1.0)})
    assert error == f"{below}:2 raised NameError: name 'undefined' is not defined"


def test_a_failure_in_a_library_is_told_with_the_function_that_was_called(file):
    source = load(file("from math import sin"))
    with running(source.path):
        error = message(source.call, "sin", source.find("sin"), {"x": Value(1.0)})
    assert error == f"{source.path}: sin() raised TypeError: must be real number, not Value"


def test_what_is_installed_below_the_file_is_not_the_users(tmp_path):
    for name in ("net.py", "lib/losses.py"):
        assert is_the_users(tmp_path / name, tmp_path)
    for name in (".venv/lib/python3/site-packages/other.py", "../beside.py"):
        assert not is_the_users(tmp_path / name, tmp_path)
    assert not is_the_users(Path("<frozen importlib>"), Path.cwd())
    for module in (json, numpy, viz, micrograd):
        assert not is_the_users(Path(module.__file__), Path("/"))


def test_a_file_that_python_cannot_compile_is_told(file):
    path = file("x = " + "-" * 100_000 + "1")
    assert message(load, path).startswith(f"{path}")


def test_an_interruption_is_not_an_error_of_the_files(file):
    with pytest.raises(KeyboardInterrupt):
        load(file("raise KeyboardInterrupt"))


def test_a_file_that_changes_the_working_directory_does_so_for_itself_only(file, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "scale").write_text("3")
    monkeypatch.chdir(tmp_path / "work")
    function = "def f(x):\n    with open('scale') as file:\n        return x * float(file.read())\n"
    path = file(f"import os\nos.chdir('../data')\n{function}")
    source = load(path)
    assert Path.cwd() == tmp_path / "work"
    with running(source.path, source.folder):
        assert source.call("f", source.find("f"), {"x": Value(2.0)}).data == 6.0
    assert Path.cwd() == tmp_path / "work"


@pytest.mark.parametrize("name", ["", "net"])
def test_what_is_missing_may_stand_where_only_a_program_looks(file, name):
    text = "def main(): pass\nif __name__ == '__main__':\n    net = 1\n"
    hint = 'the file has main (what stands under `if __name__ == "__main__"` was not run)'
    assert message(load(file(text)).find, name).endswith(hint)
    assert "was not run" not in message(load(file(text.replace("__main__", "other"))).find, name)


def test_a_failure_of_our_own_is_not_blamed_on_the_file(file):
    path = file("")
    with pytest.raises(ZeroDivisionError), running(path):
        1 / 0  # noqa: B018


def test_what_the_file_prints_goes_to_stderr(file, capsys):
    load(file("print('hello')"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "hello\n"


def test_the_file_is_run_as_a_module_with_its_own_arguments(file):
    path = file("import sys\nname, arguments, where = __name__, sys.argv, __file__\n")
    before = sys.path[:], sys.argv[:]
    namespace = load(path).namespace
    assert namespace["name"] != "__main__"
    assert namespace["arguments"] == [str(path)]
    assert namespace["where"] == str(path)
    assert (sys.path, sys.argv) == before


def test_dataclasses_in_the_file_work(file):
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: float\n"
    assert "P" in load(file(text)).namespace


def test_nothing_is_written_beside_the_file(file):
    path = file("x = 1")
    load(path)
    assert list(path.parent.iterdir()) == [path]


def test_a_torch_tensor_is_told_apart(file, torch):
    assert "import tensorgrad as torch" in message(load(file("import torch\nt = torch.ones(2)")).find, "t")
