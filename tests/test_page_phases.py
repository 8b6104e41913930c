"""The stepper page in a real browser: the phases before and after the backward pass, forward and update."""

from __future__ import annotations

from typing import Any

import pytest
from stepper import (
    MODES,
    PROGRAMS,
    address,
    arrays,
    expected,
    forward,
    passed_in,
    position,
    read,
    said,
    seven,
    shared,
    shown,
    text_of,
    values,
)

from micrograd import Value
from micrograd.backprop import Node, topological_order
from viz import step


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_forward_pass_shows_the_data_in_order_and_takes_them_back(opened, name):
    root = PROGRAMS[name]()
    order, computed = topological_order(root), forward(root)
    with opened(step(root, names={}), address("add", 0)) as tab:
        for at in [*range(len(computed) + 1), *reversed(range(len(computed)))]:
            tab.locator("#slider").fill(f"{at}")
            assert values(tab) == [text_at(node, computed[:at]) for node in order]
            computing = [f"{place}" for place, node in enumerate(order, 1) if at and node is computed[at - 1]]
            assert tab.locator(".node.computing .place").all_text_contents() == computing


def text_at(node: Node, done: list[Node]) -> str:
    """What a node shows as its data once `done` are computed."""
    return text_of(node.data) if not node._prev or any(node is other for other in done) else "·"


def test_a_forward_step_says_what_is_computed_from_what(opened):
    with opened(step(seven(Value), names={}), address("add", 2)) as tab:
        assert said(tab) == "Forward: e is computed from d, c: d + c = 4 d = −6, c = 10"
        assert tab.locator("#narration").text_content() == "Step 2, forward: e = d + c is 4."
        assert tab.locator(".edge.operand").count() == 2
        assert tab.locator("#code-part").is_hidden()
        tab.locator("#slider").fill("4")
        assert said(tab).endswith("This is the root. The backward pass starts here.")
        tab.keyboard.press("ArrowRight")
        assert said(tab) == "The pass starts at the end: L.grad = 1, because dL/dL is 1."


def test_the_forward_pass_of_arrays_shows_them(opened):
    with opened(step(arrays(), names={}), address("add", 1)) as tab:
        assert "= x @ w" in said(tab)
        assert tab.locator("#now .matrix").count() == 3  # two operands and the result


# -- the update --------------------------------------------------------------------------------------------------------


def test_the_update_changes_the_leaves_one_by_one_and_says_what_it_is_good_for(opened):
    with opened(step(seven(Value), names={}, update=0.1), address("add", 12)) as tab:
        before = values(tab)
        assert position(tab) == "step 12 / 15"
        tab.keyboard.press("ArrowRight")
        assert said(tab) == "Update: a by a.data -= 0.1 * a.grad 2 → 2.2 Its gradient: −2"
        assert changed(tab) == {"a": "2.0000 → 2.2000"}
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowRight")
        assert position(tab) == "step 15 / 15"
        assert said(tab).endswith("With these values L would be 5.104: lower, from 8.")
        assert changed(tab) == {"a": "2.0000 → 2.2000", "b": "−3.0000 → −3.4000", "c": "10.0000 → 9.8000"}
        assert values(tab) == ["2.2000", "−3.4000", "−6.0000", "9.8000", "4.0000", "4.0000", "8.0000"]
        assert shown(tab) == expected(passed_in(seven(Value), "add"), 8)  # the gradients stay
        for _ in range(3):
            tab.keyboard.press("ArrowLeft")
        assert values(tab) == before
        assert changed(tab) == {}


def test_an_update_by_the_wrong_gradients_goes_the_wrong_way(opened):
    """a = 2 + 0.6, b = -3.4 and c = 9.8, so that the root is 2.6 * relu(2.6 * -3.4 + 9.8) = 2.496."""
    with opened(step(seven(Value), names={}, update=0.1), address("overwrite", 15)) as tab:
        assert values(tab)[0] == "2.6000"
        assert "With these values L would be 2.496: lower, from 8." in said(tab)


@pytest.mark.parametrize("mode", MODES)
def test_an_update_of_arrays_is_that_of_the_library(opened, mode):
    root = shared()
    passed = passed_in(root, mode)
    leaves = [record for record in passed.graph.nodes if record.is_leaf]
    with opened(step(root, names={}, update=0.5), address(mode, 999)) as tab:
        shown_data = values(tab)
        for record in leaves:
            after = record.data - 0.5 * passed.grads[record.key]
            assert shown_data[int(record.key[1:])] == text_of(after)


def changed(tab: Any) -> dict[str, str]:
    """What is written below the nodes that the update has changed, by their names."""
    notes = dict(zip(read(tab, ".name"), read(tab, ".truth"), strict=True))
    assert tab.locator(".node.updated").count() == sum(map(bool, notes.values()))
    return {name: note for name, note in notes.items() if note}


@pytest.mark.parametrize("phase", ["forward", "backward", "update"])
def test_the_slider_says_where_each_phase_lies(opened, phase):
    first, last = {"forward": (1, 4), "backward": (5, 12), "update": (13, 15)}[phase]
    with opened(step(seven(Value), names={}, update=0.1)) as tab:
        assert tab.locator("#phases span").all_text_contents() == ["forward", "backward", "update"]
        for at in (first, last):
            tab.locator("#slider").fill(f"{at}")
            assert tab.locator("#phases .current").all_text_contents() == [phase]
