"""Bad input on the command line: one line that says what, where and what to do, status 2, and nothing written."""

from __future__ import annotations

import errno
import json
import os

import pytest
from command_line import SEVEN, files_in, run

pytestmark = pytest.mark.usefixtures("folder")


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
    (["step", "net.py:broken", "x=1"], "net.py:19 raised NameError"),
    (["step", "net.py:closure"], "net.py:22 raised RuntimeError: in the rule"),
    (["draw", "net.py:closure"], "net.py:22 raised RuntimeError: in the rule"),
    (["draw", "net.py:dot", "x=[[1,2]]", "w=[1,2,3]"], "raised ShapeError"),
    (["draw", "net.py:square", "x=[1]", "--engine", "scalar"], "the list x needs tensors"),
    *((([command, "net.py:trained"], "name a loss that no step came after")) for command in ("draw", "step", "uses")),
    (["compare", "net.py:closure"], "closure was made by '*'"),
    (["compare", "net.py:broken", "x=1"], "net.py:19 raised NameError"),
    (["compare", "net.py:pair", "x=1"], "net.py:pair returned a list"),
    (["step", "net.py:row"], "has shape (1, 2), not one number"),
    (["draw", "net.py:row"], "add --gradient ones"),
    (["compare", "a*b", "a=[1,2]", "b=1"], "add --gradient ones"),
    (["step", "net.py:row", "--gradient", "[1,2,3]"], "--gradient has shape (3,), but net.py:row has shape (1, 2)"),
    (["step", "net.py:row", "--gradient", "x"], "--gradient=x is no number"),
    (["step", "net.py:constant"], "requires no gradient"),
    (["draw", "net.py:constant"], "requires no gradient"),
    (["compare", "net.py:constant"], "requires no gradient"),
    (["draw", "net.py:long"], "on a page (plusequals step)"),
    (
        ["draw", "net.py:deep"],
        "on a page (plusequals step), draw a smaller part, or raise the limit (--max",
    ),
    (["step", "net.py:deep", "--max-nodes", "2000"], "3,001 nodes, and the page takes at most 2,000"),
    (["step", "net.py:deep", "--max-nodes", "2000"], "as text (plusequals step --text)"),
    (["step", "net.py:deep", "--max-nodes", "0"], "'0' is no number of nodes"),
    (["step", "net.py:deep", "--text", "--max-nodes", "9"], "--max-nodes is for the page"),
    (["step", "net.py:deep", "--text", "--update", "0.1"], "--update is for the page"),
    (["step", "net.py:deep", "--update", "fast"], "'fast' is no learning rate"),
    (["step", "net.py:deep", "--update", "inf"], "'inf' is no learning rate"),
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
    (["draw", *SEVEN, "--max-nodes", "x"], "--max-nodes: 'x' is no number of nodes"),
    (["draw", *SEVEN, "--max-nodes", "0"], "--max-nodes: '0' is no number of nodes"),
    (["draw", *SEVEN, "--max-nodes", "-5"], "--max-nodes: '-5' is no number of nodes"),
    (["draw", *SEVEN, "--max-nodes", "6"], "7 nodes, and a picture takes at most 6"),
    (["draw", *SEVEN, "--json", "--max-nodes", "6"], "--max-nodes is for the picture, and none is drawn: add -o FILE"),
    (["compare", *SEVEN, "--max-nodes", "6"], "--max-nodes is for the picture, and none is drawn: add -o FILE"),
    (["draw", *SEVEN, "--json", "--direction", "TB"], "--direction is for the picture"),
    (["draw", *SEVEN, "--no-grad"], "--no-grad"),
    (["draw", *SEVEN, "--no-backward", "--gradient", "5"], "--no-backward runs none: leave one out"),
    (["draw", "net.py:done", "--gradient", "5"], "net.py:done has its gradients already"),
    (["draw", "net.py:loss", "--tensor"], "net.py:loss is a variable, and its nodes are made already"),
    (["step", "net.py:loss", "--engine", "scalar"], "net.py:loss is a variable, and its nodes are made already"),
    (["compare", "net.py:loss", "--tensor"], "net.py:loss is a variable, and its nodes are made already"),
    (["step", "net.py:pair", "--tensor"], "net.py:pair() is given no values to make nodes of"),
    (["compare", *SEVEN, "--engine", "scalar"], "an expression is compared on both engines"),
    (["compare", *SEVEN, "--tensor"], "an expression is compared on both engines"),
    (["compare", *SEVEN, "--all", "--json"], "--all is for the table"),
    *(
        (["compare", *SEVEN, f"--{name}={text}"], f"argument --{name}: {text!r} is no tolerance")
        for name in ("rtol", "atol")
        for text in ("nan", "-1", "inf", "x")
    ),
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


@pytest.mark.parametrize(
    "arguments",
    [
        ["draw", *SEVEN, "-o", "locked/g.dot"],
        ["step", *SEVEN, "-o", "locked/g.html"],
        ["compare", *SEVEN, "-o", "locked/g.dot"],
        ["demo", "locked"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_folder_that_may_not_be_written(folder, monkeypatch, arguments):
    locked = folder / "locked"
    locked.mkdir()
    right = os.open

    def refuse(path, flags, *rest, **options):  # as the system does to everyone but root, who runs some of these tests
        if flags & os.O_CREAT and os.fspath(path).startswith(("locked", str(locked))):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return right(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    status, _, err = run(*arguments)
    assert (status, list(locked.iterdir())) == (2, [])
    assert err.startswith("plusequals: cannot write locked")
    assert err.endswith("Permission denied\n")


@pytest.mark.parametrize("arguments", [["draw", "-o", "g.jpg"], ["step", "-o", "g.txt"], ["compare", "-o", "g.html"]])
def test_the_suffix_is_refused_before_the_users_file_is_run(folder, arguments):
    command, *options = arguments
    (folder / "net.py").write_text("open('was run', 'w').close()")
    status, _, err = run(command, "net.py:loss", *options)
    assert (status, files_in(folder)) == (2, [])
    assert options[1] in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "both.dot", "--max-nodes", "13"], "both graphs together have 14 nodes, and a picture takes at most 13"),
        (["-o", "net.py/both.dot"], "cannot write net.py/both.dot"),
    ],
)
def test_a_picture_that_fails_does_not_cost_the_table(folder, options, words):
    table = run("compare", *SEVEN)[1]
    status, out, err = run("compare", *SEVEN, *options)
    assert (status, out, files_in(folder)) == (2, table, [])
    assert words in err
    assert err.count("\n") == 1
    status, out, _ = run("compare", *SEVEN, "--json", *options)
    assert (status, json.loads(out)["ok"]) == (2, True)


@pytest.mark.parametrize("arguments", [["draw", *SEVEN], ["demo"]])
def test_no_dot_program(folder, no_dot, arguments):
    status, _, err = run(*arguments)
    assert status == 2
    assert "no dot program found" in err
    assert "pip install graphviz-pure" in err
    assert files_in(folder) == []


def test_pages_text_json_and_dot_need_no_dot_program(no_dot):
    assert run("step", *SEVEN)[0] == 0
    assert run("step", *SEVEN, "--text")[0] == 0
    assert run("draw", *SEVEN, "--json")[0] == 0
    assert run("draw", *SEVEN, "-o", "g.dot")[0] == 0


def test_a_file_that_existed_stays_as_it_was_when_a_command_fails(folder):
    (folder / "g.png").write_text("before")
    assert run("draw", "net.py:deep", "-o", "g.png")[0] == 2
    assert (folder / "g.png").read_text() == "before"
