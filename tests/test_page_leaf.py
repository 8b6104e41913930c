"""The stepper page in a real browser: another number for a leaf, checks by finite differences, blocked edges."""

from __future__ import annotations

from typing import Any

import pytest
from stepper import (
    MODES,
    address,
    expected,
    forward,
    node_box,
    odd,
    passed_in,
    position,
    said,
    seven,
    shared,
    shown,
    tensor,
    text_of,
    values,
)

from micrograd import Value
from micrograd.backprop import Node, topological_order
from tensorgrad import Tensor
from viz import step


def seven_with(a: float) -> Node:
    x, b, c = Value(a, label="a"), Value(-3.0, label="b"), Value(10.0, label="c")
    return (x * b + c).relu() * x


def give(tab: Any, name: str, text: str) -> None:
    """Another number for a leaf, as a reader types it."""
    if not tab.locator("#node-title", has_text=name).count() or not tab.locator(".node.selected").count():
        tab.locator("#gradients").get_by_role("button", name=name, exact=True).click()
    tab.locator("#leaf-value").fill(text)
    tab.keyboard.press("Enter")


@pytest.mark.parametrize("number", ["5", "-1.5", "0", "3.25", "1e200", "nan", "inf"])
def test_another_leaf_runs_all_passes_again(opened, number):
    root = seven_with(float(number))
    first = len(forward(root))
    with opened(step(seven(Value), names={})) as tab:
        give(tab, "a", number)
        for mode in MODES:
            tab.locator(f"label:has([value={mode}])").click()
            passed = passed_in(root, mode)
            for at in range(first + len(passed) + 1):
                tab.locator("#slider").fill(f"{at}")
                assert shown(tab) == expected(passed, at - first)
            assert values(tab) == [text_of(node.data) for node in topological_order(root)]


def test_a_page_tells_that_a_leaf_was_changed_and_takes_it_back(opened):
    with opened(step(seven(Value), names={}), address("add", 12)) as tab:
        give(tab, "a", "3")
        assert "leaf=0%3A3" in tab.url
        changed, link = shown(tab), tab.url
        give(tab, "b", "−1")
        assert "leaf=0%3A3%7E1%3A-1" in tab.url
        tab.get_by_role("button", name="back to −3").click()
        assert shown(tab) == changed
        tab.locator("#gradients").get_by_role("button", name="a", exact=True).click()
        tab.get_by_role("button", name="back to 2").click()
        assert "leaf=" not in tab.url
        assert shown(tab) == expected(passed_in(seven(Value), "add"), 8)
        assert tab.get_by_role("button", name="back to").count() == 0
    with opened(step(seven(Value), names={}), link[link.index("#") :]) as tab:
        assert shown(tab) == changed == expected(passed_in(seven_with(3.0), "add"), 8)


@pytest.mark.parametrize("text", ["", "  ", "five", "1e999", "1,5", "0x10"])
def test_what_is_no_number_changes_nothing(opened, text):
    with opened(step(seven(Value), names={}), address("add", 12)) as tab:
        give(tab, "a", text)
        assert "A number, please" in said(tab, "#node")
        assert shown(tab) == expected(passed_in(seven(Value), "add"), 8)
        assert "leaf=" not in tab.url


def test_only_leaves_of_graphs_that_the_page_can_compute_have_a_field(opened):
    with opened(step(seven(Value), names={})) as tab:
        node_box(tab, "d").click()
        assert "d" in tab.locator("#node-title").text_content()
        assert tab.locator("#leaf-value").count() == 0
    root = seven(Value)
    root._prev[0].data = 7.0  # no longer what its operands give
    for graph in (root, seven(tensor)):
        with opened(step(graph, names={})) as tab:
            node_box(tab, "a").click()
            assert "a" in tab.locator("#node-title").text_content()
            assert tab.locator("#leaf-value").count() == 0


def test_the_keys_of_the_page_are_the_fields_own_while_it_has_the_focus(opened):
    with opened(step(seven(Value), names={}), address("add", 11)) as tab:
        tab.locator("#leaf-value").focus()
        for key in ("ArrowLeft", "Home", "m", "q", "Space"):
            tab.keyboard.press(key)
        assert position(tab) == "step 11 / 12"
        assert tab.locator("[name=mode]:checked").get_attribute("value") == "add"


def test_the_update_starts_from_the_new_leaf(opened):
    """3 - 0.1 * (0.1 * ...): at a = 3 the gradients are a: 1 - 9 = -8, b: 9, c: 3."""
    with opened(step(seven(Value), names={}, update=0.1), address("add", 15)) as tab:
        give(tab, "a", "3")
        assert values(tab)[:2] == ["3.8000", "−3.9000"]


# -- finite differences ------------------------------------------------------------------------------------------------


def checks(tab: Any) -> list[str]:
    """The column of checks, where it is shown."""
    rows = tab.locator("#gradients tbody tr").all()
    return [row.locator("td").nth(3).text_content() for row in rows if row.locator("td").nth(3).is_visible()]


@pytest.mark.parametrize("program", [lambda: seven(Value), lambda: seven(tensor), shared], ids=["Values", "0-d", "2-d"])
def test_finite_differences_agree_with_every_gradient(opened, program):
    root = program()
    with opened(step(root, names={}), address("add", 999)) as tab:
        found = checks(tab)
        assert len(found) == len(topological_order(root))
        checked = [isinstance(node, Value) or not node._prev for node in topological_order(root)]
        assert found == ["✓ agrees" if check else "" for check in checked]  # of tensors, the leaves


def test_they_agree_after_a_leaf_was_changed(opened):
    with opened(step(seven(Value), names={}), address("add", 999)) as tab:
        give(tab, "a", "3")
        assert checks(tab) == ["✓ agrees"] * 7
        assert "By finite differences: −8.0000, agrees." in said(tab, "#node")


def test_they_agree_with_nothing_that_is_not_there_yet(opened):
    root = seven(Value)
    with opened(step(root, names={}), address("add", 3, root)) as tab:  # 4 of 4 - 6 has come to a
        assert checks(tab)[:2] == ["", ""]
        node_box(tab, "a").click()
        assert "differences" not in said(tab, "#node")


def test_they_do_not_agree_with_a_wrong_gradient(opened):
    with opened(step(seven(Value), names={}), address("overwrite", 999)) as tab:
        node_box(tab, "a").click()
        assert "By finite differences: −2.0000, does not agree." in said(tab, "#node")
        node_box(tab, "b").click()
        assert "By finite differences: 4.0000, agrees." in said(tab, "#node")


def test_where_they_cannot_tell_they_say_nothing(opened):
    with opened(step(odd(), names={}), address("add", 999)) as tab:
        assert not any("✗" in text for text in checks(tab))


# -- blocked edges -----------------------------------------------------------------------------------------------------


def dead() -> Node:
    return Value(-2.0, label="x").relu() * 3.0


def zero() -> Node:
    return Value(2.0, label="x") * 0.0


def saturated() -> Node:
    return Value(10.0, label="x").tanh() * 3.0


def dead_array() -> Node:
    return (tensor([-1.0, -2.0, 3.0], "x").relu() * tensor([1.0, 1.0, 1.0], "y")).sum()


@pytest.mark.parametrize(
    ("program", "words"),
    [(dead, "dead relu"), (zero, "zero factor"), (saturated, "saturated tanh"), (dead_array, "dead relu: 2 of 3")],
)
def test_a_blocked_edge_is_marked_with_the_reason(opened, program, words):
    root = program()
    passed = passed_in(root, "add")
    at = next(i for i, taken in enumerate(passed.steps, 1) if taken.receiver_name == "x")
    with opened(step(root, names={}), address("add", at, root)) as tab:
        assert words in tab.locator(".blocked text").all_text_contents()
        assert f"Blocked: {words}." in said(tab)
        assert tab.locator("#blocked-key").is_visible()


def test_nothing_is_marked_where_all_passes(opened):
    with opened(step(seven(Value), names={}), address("add", 12)) as tab:
        assert tab.locator("#stage .blocked").count() == 0
        assert not tab.locator("#blocked-key").is_visible()
        give(tab, "a", "5")  # 5 * -3 + 10 is below 0
        assert set(tab.locator("#stage .blocked text").all_text_contents()) == {"dead relu", "zero factor"}


def test_where_a_graph_was_cut_off_is_told(opened):
    x = tensor([1.0, 2.0], "x")
    k = (x * 2.0).detach()
    k.label = "k"
    with opened(step((x * k).sum(), names={}), address("add", 999)) as tab:
        tab.locator("#gradients").get_by_role("button", name="k", exact=True).click()
        assert "detach() was called on" in said(tab, "#node")
        assert "A constant takes no gradient." in said(tab, "#ledger-part")
    assert isinstance(k, Tensor)
