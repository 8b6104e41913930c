"""A comparison to read: the table, the notebook's table, JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from html.parser import HTMLParser

import numpy as np
import pytest
from compared import W, X, layer, relu_example, square, wrong

from micrograd import Value
from tensorgrad import Tensor
from viz import Step, compare, plain, trace
from viz.comparison.records import Row


def test_the_table_shows_leaves_or_all() -> None:
    comparison = compare(layer, X, W, [0.1, -0.1])
    lines = comparison.table().splitlines()
    assert lines[0].split()[:3] == ["name", "value", "scalar"]
    assert [line.split()[0] for line in lines[1:11]] == ["x[0,"] * 2 + ["x[1,"] * 2 + ["w[0,"] * 2 + ["w[1,"] * 2 + [
        "b[0]", "b[1]"]  # fmt: skip
    assert lines[11] == ""
    every = comparison.table(all=True).splitlines()
    assert len(every) == len(lines) + 17
    assert "x @ w" in every[9]
    assert len({line.index("0.500000") for line in lines if line.startswith("x[0, 0]")}) == 1


def test_a_long_table_is_cut_but_keeps_what_differs() -> None:
    comparison = compare(lambda x: square(x[:1], 3).sum() + (x * x).sum(), np.linspace(1, 2, 50))
    lines = comparison.table(most=3).splitlines()
    assert len([line for line in lines if line.endswith("<- differs")]) == 2
    assert "... and 48 more rows" in lines


def test_the_json_is_plain() -> None:
    comparison = compare(lambda x: (1 / x).sum(), [0.0, 2.0], finite_differences=False)
    data = json.loads(plain.dumps(comparison.to_json()))
    assert data["ok"] is True
    assert data["rows"][1]["scalar_grad"] == "-inf"
    assert [node["op"] for node in data["nodes"]] == ["", "", "/", "sum"]
    assert data["first_mismatch"] is None
    assert compare(wrong, [1.0]).to_json()["suspects"] == ["n3"]


def test_draw_step_and_compare_have_one_vocabulary() -> None:
    passed = trace(compare(relu_example, 2, -3, 10).tensor_root)
    drawn, stepped = plain.graph(passed.graph), plain.trace(passed)
    compared = compare(relu_example, 2, -3, 10).to_json()
    words = {"key", "name", "named", "op", "formula", "parents", "shape", "dtype", "requires_grad"}
    assert set(drawn["nodes"][0]) == words | {"data", "grad"}
    assert set(stepped["nodes"][0]) == words | {"data"}
    assert set(compared["nodes"][0]) == words | {"ok", "mismatches"}
    assert set(drawn["edges"][0]) == {"parent", "child", "slot", "contribution"}
    assert set(stepped["edges"][0]) == {"parent", "child", "slot"}
    assert set(stepped["steps"][0]) == {field.name for field in fields(Step)}
    assert set(compared["rows"][0]) == {field.name for field in fields(Row)}


@pytest.mark.parametrize("name", ["nan", "inf", "1e3"])
def test_a_leaf_with_a_name_that_reads_as_a_number_is_shown(name: str) -> None:
    a, b = Value(2.0, label="a"), Value(3.0, label=name)
    lines = compare(a * b * 7).table().splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["a", name]
    assert lines[3] == ""  # 7, which has no name, is left out
    x = Tensor(3.0, requires_grad=True, label=name)
    assert compare(lambda a: a * x, 2.0).table().splitlines()[2].split()[0] == name


def test_a_nameless_array_is_shown() -> None:
    hidden = [Tensor([1.0, 2.0], requires_grad=True)]
    comparison = compare(lambda x: (x * hidden[0]).sum(), [1.0, 2.0], names={})
    assert not comparison.nodes[1].named
    assert comparison.table().splitlines()[3].startswith(f"{comparison.nodes[1].name}[0]")


def test_in_a_notebook_text_is_escaped() -> None:
    x = Tensor([1.0], requires_grad=True, label="<b>")
    assert "&lt;b&gt;[0]" in compare(lambda x: x * 2, x)._repr_html_()


def test_printed_it_is_the_table() -> None:
    comparison = compare(relu_example, 2, -3, 10)
    assert str(comparison) == comparison.table()
    assert repr(comparison) == "<Comparison of 7 elements in 7 nodes: all match>"


class Cells(HTMLParser):
    """The cells of a table, by row, each with its style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, str]]] = []
        self._style: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        self._style = dict(attrs)["style"] if tag in ("td", "th") else None

    def handle_data(self, data: str) -> None:
        if self._style is not None:
            self.rows[-1].append((data, self._style))

    def handle_endtag(self, tag: str) -> None:
        self._style = None


def test_in_a_notebook_it_is_a_table_with_numbers_to_the_right() -> None:
    comparison = compare(relu_example, 2, -3, 10)
    shown = comparison._repr_html_()
    rows = Cells(shown).rows
    lines = comparison.table().splitlines()
    assert [[text for text, _ in row] for row in rows[1:]] == [line.split() for line in lines[1:4]]
    assert len(rows[0]) == len(rows[1]) == 7
    assert all("text-align:left" in row[0][1] for row in rows)
    assert all("text-align:right" in style for row in rows for _, style in row[1:])
    assert lines[-1] in shown
    assert "color" not in shown  # the notebook's own, bright or dark


def test_in_a_notebook_what_differs_is_marked_and_notes_are_kept() -> None:
    shown = compare(wrong, [1.0, -2.0])._repr_html_()
    assert shown.count('<tr style="font-weight:bold') == 4
    assert "&lt;- differs" in shown
    long = compare(lambda x: (x.sum() * x).sum(), np.ones(201), finite_differences=False)._repr_html_()
    assert "... and 1 more row<" in long
    assert "may differ, and both be right" in long


def test_the_note_on_overwriting_names_its_columns() -> None:
    table = compare(layer, X, W, [0.1, -0.1]).table()
    assert "= scalar  " in table.splitlines()[0]
    assert "(the columns = scalar and = tensor)" in table


def test_the_numbers_that_a_program_is_written_with_are_listed_last() -> None:
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    lines = compare((a + 5) * b * 7).table(all=True).splitlines()
    assert [line.split()[0] for line in lines[1:8]] == ["a", "c", "b", "d", "L", "5", "7"]
