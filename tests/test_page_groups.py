"""The stepper page in a real browser: a large graph, whose groups open and close, and the overlay."""

from __future__ import annotations

import re
from typing import Any

import pytest
from stepper import (
    MODES,
    PHONE,
    WIDE,
    address,
    boxes,
    expected,
    forward,
    inside,
    net,
    passed_in,
    position,
    seven,
)

import viz
from micrograd import Value
from micrograd.backprop import overwrite, topological_order
from viz import step, trace


@pytest.fixture(scope="module")
def page() -> Any:
    return step(net(), names={})


def groups(tab: Any) -> list[str]:
    """The names of the closed groups in view."""
    return sorted(tab.locator(".group .name").all_text_contents())


def frames(tab: Any) -> list[str]:
    """The names of the open groups in view."""
    return sorted(tab.locator(".caption .name").all_text_contents())


def held(tab: Any) -> dict[int, str]:
    """The gradients in view, by the place of their node."""
    found = tab.locator("#stage .node:has(.grad)").evaluate_all(
        "nodes => nodes.map(node => ['.place', '.grad'].map(part => node.querySelector(part).textContent))"
    )
    return {int(place) - 1: grad for place, grad in found}


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_394_nodes_begin_as_a_few_boxes(opened, page, viewport):
    with opened(page, address("add", 0), viewport=viewport) as tab:
        tab.locator("#fit").click()
        assert frames(tab) == []
        found = boxes(tab, "#stage :is(.node, .group) > .body")
        assert all(inside(tab, found))
        assert len(found) < 30
        assert tab.locator(".group").count() >= 1
        tab.locator("#expand").evaluate("button => button.click()")
        tab.locator("#fit").click()
        assert tab.locator(".group").count() == 0
        assert tab.locator(".node").count() == 394


def test_few_nodes_begin_open(opened):
    with viz.scope("part"):
        root = seven(Value)
    with opened(step(root, names={}), address("add", 0)) as tab:
        assert frames(tab) == ["part"]
        assert tab.locator(".node").count() == 7


@pytest.mark.parametrize("mode", MODES)
def test_the_pass_opens_the_group_that_it_is_in_and_shows_the_trace(opened, page, mode):
    root = net()
    passed, first = passed_in(root, mode), len(forward(root))
    order = topological_order(root)
    names = [record.name for record in passed.graph.nodes]
    end = first + len(passed)
    with opened(page, address(mode, 0)) as tab:
        for at in [1, 2, 3, 57, 200, first, first + 1, *range(first + 2, end, max(len(passed) // 12, 1)), end, 40, 0]:
            tab.locator("#slider").fill(f"{at}")
            assert position(tab) == f"step {at} / {end}"
            wanted = expected(passed, at - first)
            shown = held(tab)
            assert shown == {place: wanted[place] for place in shown}
            if at > first + 1:
                taken = passed.steps[at - first - 1]
                assert text(tab, ".node.sender .name").split(" = ")[0] == names[int(taken.sender[1:])]
                assert all(inside(tab, boxes(tab, ":is(.node, .group).receiver > .body")))
                if tab.locator(".group.receiver").count() == 0:  # a parameter may be in a closed group
                    assert text(tab, ".node.receiver .name").split(" = ")[0] == names[int(taken.receiver[1:])]
            elif 0 < at <= first:
                node = forward(root)[at - 1]
                assert text(tab, ".node.computing .place") == f"{next(i for i, n in enumerate(order, 1) if n is node)}"


def text(tab: Any, selector: str) -> str:
    return tab.locator(selector).text_content()


def test_it_can_be_told_not_to_open_them(opened, page):
    with opened(page, address("add", 0)) as tab:
        closed = groups(tab)
        tab.locator("#following").uncheck()
        tab.keyboard.press("ArrowRight")
        assert position(tab) == "step 1 / 865"
        assert groups(tab) == closed
        assert frames(tab) == []
        assert tab.locator(".group.computing").count() == 1
        assert "following=no" in tab.url
        tab.locator("#following").check()
        assert frames(tab) != []
        assert "following" not in tab.url


def test_all_open_and_all_closed(opened, page):
    with opened(page, address("add", 0)) as tab:
        closed = groups(tab)
        tab.locator("#expand").click()
        tab.locator("#fit").click()
        assert groups(tab) == []
        assert tab.locator(".node").count() == 394
        assert all(inside(tab, boxes(tab, ".node .body")))
        assert "groups=all" in tab.url
        tab.locator("#slider").fill("500")
        for current in (".node.sender > .body", ".node.receiver > .body", ".edge.now"):  # seen from afar too
            assert tab.locator(current).evaluate("e => getComputedStyle(e).vectorEffect") == "non-scaling-stroke"
        tab.locator("#collapse").click()
        tab.locator("#fit").click()
        assert frames(tab) == []
        assert groups(tab) == closed
        assert "groups=none" in tab.url
        tab.keyboard.press("ArrowRight")
        assert groups(tab) == closed


def test_a_click_opens_a_group_and_a_click_on_its_caption_closes_it(opened, page):
    with opened(page, address("add", 0)) as tab:
        [closed] = groups(tab)
        tab.locator(".group").click()
        assert frames(tab) == [closed]
        assert len(groups(tab)) > 1
        link, seen = tab.url, groups(tab)
        tab.locator(".caption").first.click()
        assert frames(tab) == []
        assert groups(tab) == [closed]
    with opened(page, link[link.index("#") :]) as tab:
        assert frames(tab) == [closed]
        assert groups(tab) == seen


def test_enter_closes_and_opens_the_group_of_the_chosen_node(opened, page):
    with opened(page, address("add", 0)) as tab:
        tab.locator("#query").fill("n5")
        tab.locator("#query").press("Enter")
        opened_ones = frames(tab)
        assert opened_ones
        tab.locator("#stage").focus()
        tab.keyboard.press("Enter")
        assert len(frames(tab)) == len(opened_ones) - 1
        assert tab.locator(".group.selected").count() == 1
        tab.keyboard.press("Enter")
        assert frames(tab) == opened_ones
        assert tab.locator(".node.selected .name").text_content() == "n5"


def test_closed_groups_count_what_was_done_and_what_is_wrong(opened, page):
    passed = trace(net(), overwrite, names={})
    right = trace(net(), names={})
    wrong = [key for key, grad in right.grads.items() if passed.grads.get(key) != grad]
    with opened(page, "#mode=overwrite&step=0&following=no") as tab:
        assert counted(tab, r"\d+/377")  # in the words of the size at which the box is seen
        assert not counted(tab, "377/377|all ")
        tab.locator("#slider").fill("300")
        assert counted(tab, "377/377|all computed")
        tab.locator("#slider").fill("301")
        assert counted(tab, "0/377")
        tab.keyboard.press("End")
        assert tab.locator(".group.reached").count() == 1
        inner = [int(note.split()[0]) for note in tab.locator(".group.wrong .truth").all_text_contents()]
        assert sum(inner) + tab.locator(".node.wrong").count() == len(wrong) > 60
        assert f"{len(wrong)} of 394 gradients are wrong" in tab.locator("#now").inner_text()


def counted(tab: Any, pattern: str) -> bool:
    """Whether the one closed group says so."""
    return bool(re.search(pattern, tab.locator(".group").text_content()))


def test_a_scope_is_a_group_and_two_alike_are_folded(opened):
    x = Value(2.0, label="x")
    for _ in range(40):
        with viz.scope("block"):
            x = x * 1.5 + 1.0
    with opened(step(x, names={}), address("add", 0)) as tab:
        assert any("× " in name or name.startswith("block") for name in groups(tab))
        assert tab.locator("#group-tools").is_visible()
        assert "block" in tab.locator("#stage").text_content()


def test_a_graph_without_groups_has_no_tools_for_them(opened):
    with opened(step(seven(Value), names={})) as tab:
        assert not tab.locator("#group-tools").is_visible()


# -- overlay -----------------------------------------------------------------------------------------------------------


def heats(tab: Any) -> dict[str, str]:
    found = tab.locator(".node.heated").evaluate_all(
        "all => all.map(n => [n.querySelector('.name').textContent, n.style.getPropertyValue('--heat')])"
    )
    return {name.split(" = ")[0]: heat for name, heat in found}


def test_the_overlay_shades_by_the_size_of_the_gradient(opened):
    """|a.grad| = 2 and |b.grad| = 4 are the least and the most but for that of the root, 1."""
    with opened(step(seven(Value), names={}), address("add", 12)) as tab:
        assert heats(tab) == {}
        tab.keyboard.press("o")
        assert tab.locator(".overlay-legend").text_content() == (
            "fill: |gradient|, from 1 or less (pale) to 4 (full), log scale; 0 is empty"
        )
        assert heats(tab) | {"L": "8%", "b": "100%"} == heats(tab)
        assert heats(tab)["a"] == heats(tab)["c"] == "54%"
        assert "overlay=grad" in tab.url
        tab.locator("#slider").fill("5")
        assert heats(tab) == {"L": "8%"}
        tab.locator("#overlay").click()
        assert heats(tab) == {}
        assert tab.locator(".overlay-legend").is_hidden()


def test_the_overlay_leaves_zero_empty(opened):
    root = Value(2.0, label="x").relu() * Value(0.0, label="z")
    with opened(step(root, names={}), "#step=999&overlay=grad") as tab:
        assert tab.locator("#overlay").get_attribute("aria-pressed") == "true"
        assert heats(tab)["x"] == "0%"
        assert heats(tab)["z"] == "100%"
