"""plusequals memory; draw_memory; the line in the stepper's panel."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run

import tensorgrad
import viz
from micrograd import Value
from micrograd.backprop import topological_order
from tensorgrad import Tensor, lean_graph, nn
from tensorgrad.nn import functional as F
from viz.errors import UserError
from viz.pages.kept import kept

EXAMPLES = Path(__file__).parent.parent / "examples"
TARGET = f"{EXAMPLES / 'gpt_block.py'}:loss"

FILE = """\
import tensorgrad as torch
from tensorgrad import nn, no_grad
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 256), nn.Tanh())
unused = torch.ones(3, requires_grad=True)
optimizer = torch.optim.Adam(net.parameters())
def make():
    return net(torch.ones(64, 256)).sum()
make().backward()
optimizer.step()
optimizer.zero_grad()
loss = make()
rows = net(torch.ones(64, 256))
with no_grad():
    constant = make()
async def later():
    return make()
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(FILE)
    Path("folder.png").mkdir()
    return tmp_path


# -- the command -------------------------------------------------------------------------------------------------------


def test_it_prints_the_table_of_a_file(file):
    status, out, err = run("memory", "net.py")
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[:8] == [
        "3 operations".split(),
        "weights 257 KiB".split(),
        "inputs 64 KiB".split(),
        "saved for backward 64 KiB".split(),
        "shown, not needed 64 KiB".split(),
        "gradients 0".split(),
        "optimizer's state 514 KiB".split(),
        "in all 963 KiB".split(),
    ]
    assert "tanh 1 1 64 KiB 64 KiB 0 0 64 KiB".split() in lines
    assert run("memory", "net.py:make")[1] == run("memory", "net.py:loss")[1] == out
    by_shape = run("memory", "net.py:loss", "--by", "shape")[1]
    assert "by shape" in by_shape
    assert "by operation" not in by_shape
    peaked = run("memory", "net.py:rows", "--peak", "--gradient", "ones")
    assert peaked[0] == 0
    assert "at the peak of a backward pass" in peaked[1]


def test_it_prints_json_and_draws(file):
    status, out, err = run("memory", TARGET, "--json", "--peak", "-o", "memory.svg", "--theme", "dark")
    assert (status, err) == (0, "wrote memory.svg\n")
    found = json.loads(out)
    kinds = ("weights", "inputs", "saved", "shown", "gradients", "optimizer", "nodes")
    assert found["total"] == sum(found[kind] for kind in kinds) == sum(row["bytes"] for row in found["rows"])
    assert found["peak"] == found["total"] - found["gradients"] + found["added"]
    assert "block.norm1" in {group["name"] for group in found["by_module"]}
    picture = Path("memory.svg").read_text()
    assert "gpt_block.py:loss" in picture
    assert "saved by linear" in picture
    assert run("memory", TARGET, "--picture", "memory.png")[::2] == (0, "wrote memory.png\n")
    inside = json.loads(run("memory", TARGET, "--json", "--model", "model.block")[1])
    assert inside["weights"] < found["weights"]


def test_single_numbers_have_bytes_a_node():
    status, out, _ = run("memory", "a*b + a", "a=2", "b=-3")
    assert status == 0
    assert "bytes a node" in out
    assert "by module" not in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("net.py:constant",), "this tensor requires no gradient, so no graph was recorded"),
        (("net.py:unused",), "this is a leaf, which no operation made"),
        (("net.py:nothing",), "no variable or function 'nothing'"),
        (("net.py:rows", "--peak"), "add --gradient ones"),
        (("net.py:rows", "--gradient", "ones"), "add --peak"),
        (("net.py", "--model", "nett"), "there is no model nett"),
        (("net.py", "--model", "optimizer"), "there is no model optimizer"),
        (("net.py", "--theme", "dark"), "--theme is for the picture"),
        (("net.py", "-o", "x.txt"), "'x.txt' names no picture's format"),
        (("net.py", "-o", "folder.png"), "cannot write folder.png: it is a folder"),
        (("net.py", "-o", "net.py/a/x.png"), "cannot write net.py/a/x.png: net.py is a file, not a folder"),
        (("net.py:later",), "net.py:later returned a coroutine, not a Value or Tensor"),
        (("net.py", "--json", "--by", "op"), "leave one of them out"),
        (("net.py", "--by", "size"), "invalid choice"),
        (("a", "a=2"), "this is a leaf"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_bad_input_is_one_line(file, arguments, told):
    status, out, err = run("memory", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert {path.name for path in file.iterdir()} - {"__pycache__"} == {"net.py", "folder.png"}


def test_without_matplotlib_it_says_so_before_the_work(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, out, err = run("memory", "net.py", "-o", "x.png")
    assert (status, out) == (2, "")
    assert "matplotlib, which is not installed" in err


# -- the picture -------------------------------------------------------------------------------------------------------


def found_in(width: int, **given: Any) -> viz.Memory:
    net = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.LayerNorm(width))
    return viz.memory(net(tensorgrad.ones(64, width)).sum(), model=net, **given)


def test_several_memories_are_bars_of_one_picture(tmp_path):
    bars = {"plain": found_in(256), "wider, with $its$ peak": found_in(300, peak=True)}
    path = viz.draw_memory(bars, tmp_path / "bars.svg", title="two")
    text = path.read_text()
    for told in ("plain", "wider, with $its$ peak", "saved by tanh", "weights", "What is alive after the forward pass"):
        assert told in text, told
    assert "a backward pass that begins without gradients" in text
    assert f"peak {bars['wider, with $its$ peak'].peak / 2**20:.1f} MiB" in text
    for theme in ("light", "dark"):
        assert viz.draw_memory(bars["plain"], tmp_path / f"{theme}.png", theme=theme).stat().st_size > 5_000
    scalars = viz.memory(Value(2.0) * 3)
    assert "nodes" in viz.draw_memory(scalars, tmp_path / "scalars.svg").read_text()
    for wrong, told in ((3, "got a int"), ({}, "1 to 16 memories, got 0"), ({"a": 3}, "'a' is a int")):
        with pytest.raises(UserError, match=told):
            viz.draw_memory(wrong, tmp_path / "x.svg")
    with pytest.raises(UserError, match="no theme 'blue'"):
        viz.draw_memory(scalars, tmp_path / "x.svg", theme="blue")


# -- the stepper's panel -----------------------------------------------------------------------------------------------


def program() -> Tensor:
    tensorgrad.manual_seed(0)
    x, w = tensorgrad.ones(64, 256), tensorgrad.randn(256, 256, requires_grad=True)
    h = F.linear(x, w).tanh()
    return F.dropout(F.linear(h, w), 0.5).sum()


def words_of(root: Any) -> list[str | None]:
    found = kept(topological_order(root))
    if not found:
        return []
    words = found["kept"]["words"]
    return [None if i < 0 else words[i] for i in found["kept"]["of"]]


def test_each_node_says_what_it_keeps():
    words = dict(zip([n._op for n in topological_order(program())], words_of(program()), strict=True))
    assert words[""] is None
    assert words["tanh"] == "kept for backward: 64 KiB (also by linear)"
    assert words["sum"] == "kept for backward: nothing of its own"
    assert words["dropout"].endswith("in its rule alone")
    assert words_of(Value(2.0) * 3) == []
    with lean_graph():
        lean = program()
    assert words_of(lean) == words_of(program())
    x = Tensor(np.ones(256), requires_grad=True)
    y = x.exp()
    assert "(also by *, sin, cos and others)" in str(words_of((y * y + y.sin() + y.cos() + y.tan() * y.log()).sum()))


def test_the_panel_shows_it(opened):
    with opened(viz.step(program(), title="kept")) as tab:
        assert tab.get_by_text("kept for backward: ").count() == 0
        tab.locator(".node", has_text="tanh").first.click()
        assert tab.get_by_text("kept for backward: ").all_inner_texts() == [
            "kept for backward: 64 KiB (also by linear)"
        ]
