"""plusequals profile, and draw_profile."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import run

import tensorgrad
import viz
from micrograd import Value
from tensorgrad import nn
from viz.errors import UserError

FILE = """\
import tensorgrad as torch
from tensorgrad import nn, no_grad
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
def loss():
    return net(torch.ones(2, 4)).sum()
def rows():
    return net(torch.ones(2, 4))
def constant():
    with no_grad():
        return loss()
def power(x):
    return x * x
def broken():
    return undefined
def leaf():
    return torch.tensor(1.0, requires_grad=True)
async def later():
    return loss()
made = loss()
number = 3
"""


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(FILE)
    return tmp_path


def test_it_prints_the_table_of_a_file():
    status, out, err = run("profile", "net.py", "--repeats", "1")
    assert (status, err) == (0, "")
    first = {line.split("  ")[0] for line in out.splitlines()}
    assert {"mean of 1 run", "forward", "backward", "in all", "by operation", "by module"} <= first
    assert {"linear", "tanh", "sum", "(outside of operations)", "(order and clearing)", "(+= of gradients)"} <= first
    by_module = run("profile", "net.py:rows", "--by", "module", "--gradient", "ones", "--repeats", "1")[1]
    assert "by operation" not in by_module
    assert "by module" in by_module
    assert run("profile", "net.py:power", "x=3", "--repeats", "1")[0] == 0


def test_it_prints_json_and_draws():
    status, out, err = run("profile", "net.py", "--json", "-o", "a.svg", "--theme", "dark", "--repeats", "2")
    assert (status, err) == (0, "wrote a.svg\n")
    found = json.loads(out)
    assert {row["op"]: row["module"] for row in found["rows"] if not row["op"].startswith("(")} == {
        "linear": "0",
        "tanh": "1",
        "sum": "(outside of modules)",
    }
    assert [found[name] for name in ("runs", "averaged")] == [2, 1]
    assert abs(found["total"] - sum(group["inside"] for group in found["by_op"])) < 1e-12
    picture = Path("a.svg").read_text()
    assert all(text in picture for text in ("net.py:loss", "forward", "Sequential"))


def test_an_expression_of_single_numbers():
    status, out, _ = run("profile", "a*b + tanh(a)", "a=2", "b=-3", "--repeats", "1")
    assert status == 0
    assert "tanh" in out
    assert "by module" not in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("net.py:made",), "net.py:made is a variable, which has been made already: name a function that makes it"),
        (("net.py:number",), "number is an int"),
        (("net.py:constant",), "requires no gradient, so there is no backward pass"),
        (("net.py:leaf",), "returned a leaf, which no operation made"),
        (("net.py:nothing",), "no variable or function 'nothing'"),
        (("net.py:rows",), "add --gradient ones"),
        (("net.py:power",), "power() needs a value for x: add x=..."),
        (("net.py:broken",), "raised NameError: name 'undefined' is not defined"),
        (("net.py:later",), "net.py:later returned a coroutine, not a Value or Tensor"),
        (("net.py", "--model", "nett"), "there is no model nett"),
        (("net.py", "--theme", "dark"), "--theme is for the picture"),
        (("net.py", "-o", "x.txt"), "'x.txt' names no picture's format"),
        (("net.py", "--json", "--by", "op"), "leave one of them out"),
        (("net.py", "--by", "size"), "invalid choice"),
        (("net.py", "--repeats", "0"), "'0' is no number of runs: write a whole number from 1 to 1000"),
        (("net.py", "--repeats", "many"), "'many' is no number of runs"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_bad_input_is_one_line(file, arguments, told):
    status, out, err = run("profile", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert {path.name for path in file.iterdir()} - {"__pycache__"} == {"net.py"}


def test_without_matplotlib_it_says_so_before_the_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, out, err = run("profile", "net.py", "-o", "x.png")
    assert (status, out) == (2, "")
    assert "matplotlib, which is not installed" in err


# -- the picture -------------------------------------------------------------------------------------------------------


def test_pictures_of_one_operation_and_of_blocks_with_long_names():
    a = Value(2.0)
    path = viz.draw_profile(viz.profile(lambda: a.tanh(), repeats=1), "one.svg", title="$a$ tanh")
    assert "$a$ tanh" in path.read_text()

    class ALayerWithANameThatIsLongerThanAnyBarInWhichItIsToStand(nn.Module):
        def forward(self, x):
            return x.exp() * 2

    model = nn.Sequential(*(ALayerWithANameThatIsLongerThanAnyBarInWhichItIsToStand() for _ in range(12)))
    x = tensorgrad.zeros(2, requires_grad=True)
    found = viz.profile(lambda: model(x).sum(), repeats=1)
    assert viz.draw_profile(found, "many.png").stat().st_size > 5_000


def test_what_is_no_profile_is_refused():
    found = viz.profile(lambda: Value(1.0) * 2, repeats=1)
    with pytest.raises(UserError, match=r"takes what viz\.profile returns, got a float"):
        viz.draw_profile(1.0, "x.svg")
    with pytest.raises(UserError, match="there is no theme 'blue'"):
        viz.draw_profile(found, "x.svg", theme="blue")
    with pytest.raises(UserError, match="names no picture's format"):
        viz.draw_profile(found, "x.gif")
    with pytest.raises(UserError, match="no time has passed"):
        viz.draw_profile(viz.Profile((), 0.0, 0.0, 1, 1), "x.svg")
