"""plusequals uses: what it prints and writes, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import SEVEN, files_in, run

EXAMPLES = Path(__file__).parent.parent / "examples"

pytestmark = pytest.mark.usefixtures("folder")


def test_the_table_and_the_picture(folder):
    status, out, err = run("uses", *SEVEN, "-o", "uses.svg")
    assert (status, err) == (0, "wrote uses.svg\n")
    assert "  1  f*a        –      +4   31 %    -1.000\n" in out
    assert "  2  a*b        –      -6   69 %    +1.000\n" in out
    assert (folder / "uses.svg").read_bytes().startswith(b"<?xml")
    assert files_in(folder) == ["uses.svg"]


def test_a_tied_table_in_a_file_by_its_name():
    status, out, err = run("uses", f"{EXAMPLES / 'gpt_block.py'}:loss", "--of", "model.tokens.weight", "--json")
    assert (status, err) == (0, "")
    (node,) = json.loads(out)["nodes"]
    assert [use["place"] for use in node["uses"]] == ["model > head", "model > tokens"]
    assert node["uses"][0]["norm"] > node["uses"][1]["norm"] > 0


def test_of_a_leaf_that_is_used_once():
    status, out, _ = run("uses", *SEVEN, "--of", "c")
    assert status == 0
    assert out.startswith("c, 1 use: ")


def test_a_variable_of_a_file_keeps_its_gradients():
    status, out, _ = run("uses", "net.py:loss")
    assert status == 0
    assert out.startswith("a, 2 uses")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a*b", "a=1", "b=2"), "a*b uses no leaf more than once: name what to look at, with --of NAME"),
        ((*SEVEN, "--of", "q"), "no node is called q: there is a, b, c, for example"),
        (("wide*2 + wide", "wide=1", "--of", "wid"), "no node is called wid: did you mean wide?"),
        ((*SEVEN, "--of", "L"), "nothing below L reads L: ask for a node that went into the root"),
        ((*SEVEN, "-o", "uses.txt"), "cannot tell from 'uses.txt' what to draw"),
        (("net.py:row",), "net.py:row has shape (1, 2), not one number"),
        (("net.py:constant",), "net.py:constant requires no gradient"),
        (("net.py:closure",), "RuntimeError: in the rule"),
        (("net.py:nothing",), "nothing"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder, arguments, message):
    status, out, err = run("uses", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("plusequals: ")
    assert err.count("\n") == 1
    assert message in err
    assert files_in(folder) == []


def test_without_a_dot_program_the_table_is_still_printed(no_dot, folder):
    status, out, err = run("uses", *SEVEN, "-o", "uses.png")
    assert status == 2
    assert "their sum" in out
    assert "no dot program found" in err
    assert run("uses", *SEVEN, "-o", "uses.dot")[0] == 0
    assert files_in(folder) == ["uses.dot"]
