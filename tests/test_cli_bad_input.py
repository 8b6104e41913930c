"""Bad input on the command line: one line that says what, where and what to do, status 2, and nothing written."""

from __future__ import annotations

import os

import pytest
from command_line import SEVEN, USER_FILE, files_in, run

from viz import render


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with a user's file in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(USER_FILE, encoding="utf-8")
    return tmp_path


BAD = [
    (["draw", "zzz(a)", "a=1"], "unknown function 'zzz'"),
    (["draw", "a*b", "a=1"], "no value for b: add b=... (column 3 of 'a*b')"),
    (["draw", "alpha*b", "alhpa=1", "b=1"], "no value for alpha: did you mean alhpa?"),
    (["draw", "a*2", "a=1", "b=2"], "b is given but 'a*2' does not use it"),
    (["draw", "a*2", "a=two"], "a=two is no number"),
    (["draw", "a*2", "a=[1,[2]]"], "ragged"),
    (["draw", "a^2", "a=1"], "powers are written **"),
    (["draw", "__import__('os').system('x')", "a=1"], "unknown function 'system'"),
    (["draw", "", "a=1"], "the expression is empty"),
    (["draw", "a=1"], "the expression, or file.py:name, comes before the values"),
    (["draw", "a@a", "a=1", "--engine", "scalar"], "a scalar graph cannot hold @"),
    (["draw", "a*a", "a=[1]", "--engine", "scalar"], "a scalar graph cannot hold the list a"),
    (["draw", "a @ b", "a=[1,2]", "b=[1,2,3]"], "must be equal"),
    (["step", "none.py:loss"], "there is no file none.py"),
    (["step", "net.py"], "which variable or function?"),
    (["step", "net.py:los"], "did you mean loss?"),
    (["step", "net.py:number"], "number is a float"),
    (["step", "net.py:loss", "a=1"], "only functions take values"),
    (["step", "net.py:square"], "needs a value for x"),
    (["step", "net.py:square", "y=1"], "has no argument 'y'"),
    (["step", "net.py:pair", "x=1"], "net.py:pair returned a list"),
    (["step", "net.py:broken", "x=1"], "net.py:18 raised NameError"),
    (["step", "net.py:closure"], "net.py:21 raised RuntimeError: in the rule"),
    (["draw", "net.py:closure"], "net.py:21 raised RuntimeError: in the rule"),
    (["draw", "net.py:dot", "x=[[1,2]]", "w=[1,2,3]"], "raised ShapeError"),
    (["draw", "net.py:square", "x=[1]", "--engine", "scalar"], "the list x needs tensors"),
    (["compare", "net.py:closure"], "closure was made by '*'"),
    (["compare", "net.py:broken", "x=1"], "net.py:18 raised NameError"),
    (["compare", "net.py:pair", "x=1"], "net.py:pair returned a list"),
    (["step", "net.py:row"], "has shape (1, 2), not one number"),
    (["draw", "net.py:row"], "add --gradient ones"),
    (["compare", "a*b", "a=[1,2]", "b=1"], "add --gradient ones"),
    (["step", "net.py:row", "--gradient", "[1,2,3]"], "--gradient has shape (3,), but net.py:row has shape (1, 2)"),
    (["step", "net.py:row", "--gradient", "x"], "--gradient=x is no number"),
    (["step", "net.py:constant"], "requires no gradient"),
    (["draw", "net.py:constant"], "requires no gradient"),
    (["compare", "net.py:constant"], "requires no gradient"),
    (["draw", "net.py:deep"], "`plusequals step`"),
    (["step", "net.py:deep"], "nodes"),
    (["draw", *SEVEN, "-o", "net.py/x.png"], "cannot write net.py/x.png"),
    (["draw", *SEVEN, "-o", "x" * 300 + ".png"], "name too long"),
    (["step", "x" * 300 + ".py:loss"], "name too long"),
    (["draw", *SEVEN, "-o", "g.jpg"], "let it end in one of .png"),
    (["draw", *SEVEN, "-o", "graph"], "let it end in one of .png"),
    (["step", *SEVEN, "-o", "steps.txt"], ".html"),
    (["step", *SEVEN, "-o", "net.py/x.html"], "cannot write"),
    (["compare", *SEVEN, "-o", "g.jpg"], "let it end in one of .png"),
    (["step", *SEVEN, "--text", "--json"], "leave one out"),
    (["step", *SEVEN, "--mode", "="], "the page has a switch"),
    (["step", *SEVEN, "--text", "--mode", "-="], "--mode"),
    (["draw", *SEVEN, "--max-nodes", "x"], "--max-nodes"),
    (["draw", *SEVEN, "--nothing"], "--nothing"),
    (["draw"], "TARGET"),
    (["paint"], "invalid choice: 'paint'"),
    ([], "COMMAND"),
    (["demo", "net.py"], "cannot write net.py/expression.png"),
    (["demo", "a", "b"], "unrecognized arguments: b"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(arguments)[:60] for arguments, _ in BAD])
def test_bad_input(folder, arguments, words):
    status, out, err = run(*arguments)
    assert status == 2
    assert words in err
    assert err.startswith("plusequals: ")
    assert err.count("\n") == 1
    assert "Traceback" not in out + err
    assert files_in(folder) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(folder):
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    status, _, err = run("draw", *SEVEN, "-o", "locked/g.png")
    assert (status, list(locked.iterdir())) == (2, [])
    assert "Permission denied" in err


@pytest.mark.parametrize("arguments", [["draw", *SEVEN], ["step", *SEVEN], ["demo"]])
def test_no_dot_program(folder, monkeypatch, arguments):
    monkeypatch.delenv("PLUSEQUALS_DOT", raising=False)
    monkeypatch.setattr(render, "_graphviz_pure", lambda: None)
    monkeypatch.setenv("PATH", "")
    status, _, err = run(*arguments)
    assert status == 2
    assert "no dot program found" in err
    assert "pip install graphviz-pure" in err
    assert files_in(folder) == []


def test_text_json_and_dot_need_no_dot_program(monkeypatch):
    monkeypatch.delenv("PLUSEQUALS_DOT", raising=False)
    monkeypatch.setattr(render, "_graphviz_pure", lambda: None)
    monkeypatch.setenv("PATH", "")
    assert run("step", *SEVEN, "--text")[0] == 0
    assert run("draw", *SEVEN, "--json")[0] == 0
    assert run("draw", *SEVEN, "-o", "g.dot")[0] == 0


def test_a_file_that_existed_stays_as_it_was_when_a_command_fails(folder):
    (folder / "g.png").write_text("before")
    assert run("draw", "net.py:deep", "-o", "g.png")[0] == 2
    assert (folder / "g.png").read_text() == "before"
