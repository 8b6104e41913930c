"""The stepper page in a real browser: finding nodes, running until a condition holds, jumps, strides."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from stepper import MODES, PROGRAMS, address, expected, forward, net, passed_in, position, seven, shown

from micrograd import Value
from micrograd.backprop import Node
from micrograd.nn import MLP
from viz import step


def ask(tab: Any, text: str) -> str:
    """What the page says when that is searched for."""
    tab.locator("#query").fill(text)
    tab.locator("#query").press("Enter")
    return tab.locator("#found").text_content()


# -- finding -----------------------------------------------------------------------------------------------------------


def test_a_name_finds_its_node_and_then_those_that_mention_it(opened):
    with opened(step(seven(Value), names={}), address("add", 12)) as tab:
        for said, node in (("1 of 3", "a"), ("2 of 3", "d = a*b"), ("3 of 3", "L = f*a"), ("1 of 3", "a")):
            assert ask(tab, "a") == said
            assert tab.locator(".node.selected .name").text_content() == node
            assert tab.locator("#ledger-title").text_content().startswith(f"Where {node.split(' = ')[0]}.grad")
        assert ask(tab, "RELU") == "1 of 1"
        assert position(tab) == "step 12 / 12"


@pytest.mark.parametrize(
    ("text", "said"), [("zzz", "no such node"), ("|grad| > x", "no such node"), ("  ", ""), ("[", "no such node")]
)
def test_what_is_not_there_is_said(opened, text, said):
    with opened(step(seven(Value), names={}), address("add", 12)) as tab:
        for _ in range(2):
            assert ask(tab, text) == said
            assert tab.locator(".node.selected").count() == 0
        assert ask(tab, "b") != said


def test_a_slash_leads_to_the_search_and_escape_out_of_the_selection(opened):
    with opened(step(seven(Value), names={}), address("add", 12)) as tab:
        tab.keyboard.press("/")
        tab.keyboard.type("dm")  # letters, not keys of the page
        assert tab.locator("#query").input_value() == "dm"
        assert tab.locator("[name=mode]:checked").get_attribute("value") == "add"


def test_a_node_in_a_closed_group_is_found_and_shown(opened):
    with opened(step(net(), names={}), "#step=0") as tab:
        assert tab.locator(".node .name", has_text="n5").count() == 0
        assert ask(tab, "n5").startswith("1 of ")
        assert tab.locator(".node.selected .name").text_content() == "n5"


# -- running until -----------------------------------------------------------------------------------------------------


def states(root: Node, mode: str) -> Iterator[tuple[int, list[Any], Any]]:
    """Each step as its number, what it has to do with, and the gradient after it (None in the forward pass)."""
    computed = forward(root)
    yield from ((at, [node.data], None) for at, node in enumerate(computed, 1))
    for at, taken in enumerate(passed_in(root, mode).steps, len(computed) + 1):
        yield at, [taken.contribution, taken.after], taken.after


def steps_where(root: Node, mode: str, holds: Callable[[list[Any], Any], bool]) -> list[int]:
    return [at for at, held, after in states(root, mode) if holds(held, after)]


CONDITIONS: dict[str, Callable[[list[Any], Any], bool]] = {
    "nan": lambda held, _: any(np.isnan(q).any() for q in held),
    " INF ": lambda held, _: any(np.isinf(q).any() for q in held),
    "|grad| > 3": lambda _, after: after is not None and np.abs(after).max() > 3,
    "|grad|>=4": lambda _, after: after is not None and np.abs(after).max() >= 4,
    "| grad | < 2": lambda _, after: after is not None and np.abs(after).max() < 2,
    "|grad| <= 1e0": lambda _, after: after is not None and np.abs(after).max() <= 1,
    "|grad| > 1e9": lambda _, after: after is not None and np.abs(after).max() > 1e9,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize("name", ["seven values", "shared", "odd"])
def test_it_runs_to_the_next_step_where_the_condition_holds(opened, name, text, mode):
    root = PROGRAMS[name]()
    with np.errstate(invalid="ignore"):
        places = steps_where(root, mode, CONDITIONS[text])
    with opened(step(root, names={}), address(mode, 0)) as tab:
        if not places:
            assert ask(tab, text) == f"{text.strip()}: at no step"
            assert position(tab).startswith("step 0 /")
        for at in [*places[:4], *([] if len(places) > 4 else places[:1])]:  # and round to the first again
            assert ask(tab, text) == f"at step {at}"
            assert position(tab).startswith(f"step {at} /")


# -- jumps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_from_write_to_write_of_one_gradient(opened, mode):
    with opened(step(seven(Value), names={}), address(mode, 0)) as tab:
        tab.locator("#gradients").get_by_role("button", name="a", exact=True).click()
        for button, at in (("write ›", 7), ("write ›", 11), ("write ›", 11), ("‹ write", 7), ("‹ write", 7)):
            tab.get_by_role("button", name=button).evaluate("button => button.click()")  # one without a target, too
            assert position(tab) == f"step {at} / 12"
        assert tab.get_by_role("button", name="‹ write").get_attribute("aria-disabled") == "true"
        tab.get_by_role("button", name="run to here").click()
        assert position(tab) == "step 11 / 12"
        assert shown(tab) == expected(passed_in(seven(Value), mode), 7)
        assert tab.get_by_role("button", name="run to here").get_attribute("aria-disabled") == "true"


# -- strides -----------------------------------------------------------------------------------------------------------


def test_by_node(opened):
    with opened(step(seven(Value), names={}), address("add", 0)) as tab:
        assert tab.locator("#stride option").all_text_contents() == ["contribution", "node"]
        tab.locator("#stride").select_option("node")
        ends = [1, 2, 3, 4, 7, 8, 10, 12]  # L, f, e and d send one or two
        for at in ends:
            tab.locator("#forward").click()
            assert position(tab) == f"step {at} / 12"
        for at in [*reversed(ends[:-1]), 0]:
            tab.locator("#back").click()
            assert position(tab) == f"step {at} / 12"
        assert "by=node" in tab.url
    with opened(step(seven(Value), names={}), "#mode=add&step=4&by=node") as tab:
        tab.keyboard.press("ArrowRight")
        assert position(tab) == "step 7 / 12"


def test_by_groups_of_each_kind(opened):
    """From the start to the end and back, over the same stops; the larger the groups, the fewer."""
    random.seed(1)
    root = MLP(3, [4, 4, 1])([2, 3, -1])
    with opened(step(root, names={}), address("add", 0)) as tab:
        last = int(tab.locator("#slider").get_attribute("max"))
        kinds = tab.locator("#stride option").all_text_contents()
        assert kinds[:2] == ["contribution", "node"]
        assert {"neuron", "layer", "mlp"} <= set(kinds)
        stops = {}
        for kind in ("mlp", "layer", "neuron", "node"):
            tab.locator("#stride").select_option(kind)
            stops[kind] = run_through(tab, "#forward", last)
            if kind != "node":
                assert run_through(tab, "#back", 0) == [*reversed(stops[kind][:-1]), 0]
            tab.keyboard.press("Home")
        counts = [len(found) for found in stops.values()]
        assert counts == sorted(counts)
        assert counts[0] < 15
        assert len(stops["node"]) > 75


def run_through(tab: Any, button: str, end: int) -> list[int]:
    """The steps at which one stops on the way to the end, without the first."""
    return tab.evaluate(
        """([button, end]) => {
          const at = () => Number(document.getElementById("slider").value);
          const found = [];
          while (at() !== end && found.length < 2000) { document.querySelector(button).click(); found.push(at()); }
          return found;
        }""",
        [button, end],
    )
