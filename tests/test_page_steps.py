"""The stepper page in a real browser: what it shows after each step, against the trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stepper import (
    MODES,
    PROGRAMS,
    address,
    arrays,
    chips,
    expected,
    forward,
    lost,
    passed_in,
    position,
    read,
    said,
    sender,
    seven,
    shared,
    shown,
    square,
    tensor,
)

from micrograd import Value
from tensorgrad import Tensor
from viz import step


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_step_shows_the_trace_forwards_and_backwards(opened, name, mode):
    root = PROGRAMS[name]()
    passed = passed_in(root, mode)
    first = len(forward(root))
    end = first + len(passed)
    with opened(step(root, names={}), address(mode, 0)) as tab:
        assert shown(tab) == expected(passed, 0)
        for at in range(1, end + 1):
            assert pressed(tab, "#forward") == [expected(passed, at - first), f"step {at} / {end}"]
        for at in reversed(range(end)):
            assert pressed(tab, "#back") == [expected(passed, at - first), f"step {at} / {end}"]
        tab.keyboard.press("End")
        tab.locator("#back").click()  # by the mouse, too
        assert shown(tab) == expected(passed, len(passed) - 1)
        tab.locator("#forward").click()
        assert shown(tab) == expected(passed, len(passed))


def pressed(tab: Any, button: str) -> Any:
    """What the graph and the position show right after a button is pressed."""
    tab.locator(button).evaluate("button => button.click()")
    return [shown(tab), position(tab)]


def test_the_panel_explains_the_step(opened):
    with opened(step(seven(Value), names={}), address("add", 7, seven(Value))) as tab:
        now = said(tab)
        assert now.startswith(
            f"{sender(tab)} sends to a: b × {sender(tab)}.grad −3 × 2 = −6 local upstream contribution "
            "a.grad += −6 4 + (−6) = −2"
        )
        assert tab.locator("#code .runs").text_content() == f"a_grad += b * {sender(tab)}_grad"
        assert tab.locator("#ledger tbody tr").count() == 2
        assert tab.locator("#ledger tbody tr").last.locator("td").all_text_contents()[1:] == ["−6.0000", "−2.0000"]


def test_the_first_view_makes_the_point(opened):
    """It opens where the second contribution meets the first one, and says what `=` would make of that."""
    with opened(step(seven(Value), names={})) as tab:
        assert position(tab) == "step 11 / 12"
        assert tab.locator("[name=mode]:checked").get_attribute("value") == "add"
        assert (
            "Two contributions meet here. With = in the place of +=, 4 would be lost, and a.grad would end at −6 in "
            "place of −2. Nothing would raise."
        ) in said(tab)
        assert tab.locator(".node.receiver .name").all_text_contents() == ["a"]


def test_where_nothing_meets_the_first_view_is_the_end(opened):
    with opened(step(Value(2.0, label="a") * Value(3.0, label="b"), names={})) as tab:
        assert position(tab) == "step 4 / 4"
        assert "The pass is over: every contribution was added up." in said(tab)


@pytest.mark.parametrize(
    ("factors", "listed"),
    [
        ((2.0, -3.0), "−3 and +2"),
        ((-0.5, 0.5, 1.0), "+1, +0.5 and −0.5"),
        ((-0.5, 0.5, 0.0, 0.0), "0, 0, +0.5 and −0.5"),
    ],
)
def test_the_opening_lists_what_meets_in_a_gradient(opened, factors, listed):
    b = Value(1.0, label="b")
    with opened(step(sum_of(b, factors), names={}), address("add", 0)) as tab:
        assert f"{len(factors)} contributions meet in b.grad: {listed}. " in said(tab, "#now .verdict")


def sum_of(b: Value, factors: tuple[float, ...]) -> Value:
    first, *rest = [b * factor for factor in factors]
    for term in rest:
        first = first + term
    return first


def test_overwriting_shows_what_is_lost(opened):
    with opened(step(seven(Value), names={}), address("overwrite", 7, seven(Value))) as tab:
        assert "4 is lost." in tab.locator("#now").inner_text()
        assert lost(tab) == ["+4"]
        assert "−6" in chips(tab)
        assert "lost" in tab.locator("#ledger tbody tr").first.inner_text()
        assert tab.locator(".node.wrong").count() == 0
        tab.keyboard.press("End")
        assert tab.locator(".node.wrong .name").all_text_contents() == ["a"]
        assert tab.locator(".node.wrong .truth").text_content() == "should be −2.0000"
        assert "1 of 7 gradients is wrong: a." in tab.locator("#now").inner_text()
        cells = tab.locator("#gradients tbody tr").first.locator("td:not([hidden])").all_text_contents()
        assert cells == ["a", "2.0000", "−6.0000", "−2.0000"]


def test_of_a_zero_that_is_overwritten_nothing_is_lost(opened):
    """y receives 0 and then 3 in the first graph, 3 and then 0 in the second."""
    x, y = Value(0.0, label="x"), Value(2.0, label="y")
    with opened(step(y * 3.0 + y * x, names={}), address("overwrite", 99)) as tab:
        assert ledger(tab, "y") == ["0.0000", "3.0000"]
        assert tab.locator("#ledger s").count() == len(lost(tab)) == 0
        tab.keyboard.press("ArrowLeft")
        assert "0 → 3 Nothing is lost: it was 0." in said(tab)
        assert tab.locator("#now s").count() == 0
    with opened(step(y * x + y * 3.0, names={}), address("overwrite", 99)) as tab:
        assert ledger(tab, "y") == ["3.0000 lost", "0.0000"]
        assert lost(tab) == ["+3"]


def ledger(tab: Any, name: str) -> list[str]:
    """The contributions that the panel lists for a node."""
    tab.get_by_role("button", name=name, exact=True).click()
    return tab.locator("#ledger tbody td:nth-child(2)").all_text_contents()


def test_the_start_says_what_will_come_and_what_is_at_stake(opened):
    with opened(step(seven(Value), names={}), address("add", 0)) as tab:
        assert said(tab).startswith(
            "First 4 values are computed, from the leaves on. Then 8 contributions will go back"
        )
        assert said(tab, "#now .verdict") == (
            "a is used 2 times: 2 contributions meet in a.grad: +4 and −6. With += it ends at −2, which is right. "
            "With = it ends at −6."
        )


def test_both_edges_of_a_square_carry_a_contribution(opened):
    with opened(step(square(Value), names={}), address("overwrite", 3, square(Value))) as tab:
        assert lost(tab) == ["+3"]
        assert chips(tab) == ["seed +1", "+3"]  # the current one is drawn last
        boxes = [chip.bounding_box() for chip in tab.locator(".chip.shown rect").all()[:2]]
        first, second = sorted(boxes, key=lambda box: (box["y"], box["x"]))
        apart = first["y"] + first["height"] <= second["y"] or first["x"] + first["width"] <= second["x"]
        assert apart or second["x"] + second["width"] <= first["x"]


def test_sender_receiver_and_edge_stand_out_by_line_and_not_only_by_colour(opened):
    with opened(step(seven(Value), names={}), address("add", 7, seven(Value))) as tab:
        style = "node => { const s = getComputedStyle(node); return [s.strokeDasharray, parseFloat(s.strokeWidth)]; }"
        dash, _ = tab.locator(".node.sender .body").evaluate(style)
        assert dash != "none"
        assert tab.locator(".node.receiver .body").evaluate(style) == ["none", 4]
        assert tab.locator(".edge.now").evaluate(style) == ["none", 4]
        ends = "edge => { const s = getComputedStyle(edge); return [s.markerStart, s.markerEnd]; }"
        for kind in (".edge.now", ".edge.done:not(.now)"):
            start, end = tab.locator(kind).first.evaluate(ends)
            assert start != "none"  # at the receiver
            assert end == "none"


def test_arrays_are_explained_in_full(opened):
    with opened(step(arrays(), names={}), address("add", 5, arrays())) as tab:
        text = tab.locator("#now").inner_text()
        upstream, square = f"{sender(tab)}.grad", f"(1 - {sender(tab)}**2)"
        assert f"local {square}" in text
        assert f"× upstream {upstream}" in text
        assert tab.locator("#now .matrix").count() == 3  # local, upstream, contribution
        assert all(matrix.count("\n") == 2 for matrix in tab.locator("#now .matrix").all_text_contents())


@pytest.mark.parametrize(("mode", "terms"), [("add", ["before", "+ contribution", "= after"]), ("overwrite", None)])
def test_what_an_array_takes_in_is_shown_as_matrices(opened, mode, terms):
    """Step 6 is the second contribution to x: to what it held, all ones."""
    with opened(step(shared(), names={}), address(mode, 6, shared())) as tab:
        matrices = tab.locator("#now .lines").last.locator(".matrix")
        shown = [text.split() for text in matrices.all_text_contents()]
        contribution = tab.locator("#now .lines").first.locator(".matrix").last.text_content().split()
        assert tab.locator("#now .lines").last.locator("dt").all_text_contents() == (terms or ["before", "after"])
        assert shown[0] == ["1"] * 4
        if mode == "add":
            assert shown[1] == contribution == ["0.987", "−0.462", "0.245", "−0.997"]
            assert shown[2] == ["1.99", "0.538", "1.24", "0.00265"]
            assert tab.locator("#now s").count() == 0
        else:
            assert shown[1] == contribution
            assert tab.locator("#now s.matrix").all_text_contents() == ["1  1\n1  1"]


def test_of_a_large_array_the_contribution_is_summed_up_once(opened):
    x = tensor(np.ones((9, 9)), "x")
    root = (x * x).sum()
    with opened(step(root, names={}), address("add", 4, root)) as tab:
        assert tab.locator("#now .lines").last.locator("dt").all_text_contents() == ["before", "= after"]
        assert tab.locator("#now .matrix").count() == 0


def test_a_rule_of_the_users_own_is_shown_as_such(opened):
    x = Value(3.0, label="x")
    y = Value(x.data**2, (x, x), "sq", label="y")

    def backward():
        x.grad += 2 * x.data * y.grad

    y._backward = backward
    root = y * float("inf")
    with opened(step(root, names={}), address("add", 4, root)) as tab:
        assert tab.locator("#code .runs").text_content() == "x.grad += ...  # the rule assigned to _backward"
        now = said(tab)
        assert "y sends to x: contribution of y’s own rule inf" in now
        assert "Measured: the rule was run on emptied gradients." in now
        assert shown(tab)[0] == "inf"


def test_an_operation_without_a_rule_in_words_has_no_code_for_it(opened):
    x = tensor([1.0, 2.0], "x")
    y = x * 2.0
    y._op = "twice"
    root = y.sum()
    with opened(step(root, names={}), address("add", 3, root)) as tab:
        assert tab.locator("#code .runs").text_content() == "x.grad += ...  # the rule of twice"
        assert "contribution by the rule of twice" in said(tab)


def test_not_reached_constant_and_zero_look_different(opened):
    x = tensor([1.0, 2.0], "x")
    dead = (x * -1.0).relu() * Tensor([3.0, 4.0], label="k")
    with opened(step(dead.sum(), names={}), address("add", 0)) as tab:
        assert set(shown(tab)) == {"not yet", "constant"}
        tab.keyboard.press("End")
        assert shown(tab)[read(tab, ".name").index("x")] == "[0, 0]"
        assert "constant" in shown(tab)
