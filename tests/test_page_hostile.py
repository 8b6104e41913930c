"""The stepper page in a real browser: labels, titles and names of groups that are markup stay text, wherever shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stepper import address, seven

import viz
from micrograd import Value
from micrograd.backprop import Node
from tensorgrad import Tensor
from viz import step

LABELS = [  # each several in one, since each opens pages
    "<!-- </script><script>alert(1)</script>",
    '"><svg onload=alert(1)> <img src=x onerror=alert(1)>',
    "$& $1 $` ${x} {} &lt;b&gt;",
]


def program(label: str, make: Callable[..., Node] = Value) -> Node:
    """Seven nodes, with the label as the name of a leaf, of an inner node and of a group."""
    a, b = make(2.0, label=label), make(-3.0, label="b")
    with viz.scope(label):
        c = a * b
        c.label = label
    return (c + 10.0).relu() * a


def tensor(data: float, label: str) -> Tensor:
    return Tensor([data, data], requires_grad=True, label=label)


def check(tab: Any, label: str) -> None:
    """Nothing came of the label but text."""
    found = tab.evaluate(FOUND)
    assert found["elements"] == 0
    assert found["scripts"] == 2
    assert label in found["text"]
    assert found["fits"]


FOUND = """() => ({
  elements: document.querySelectorAll("img, body script ~ b, svg[onload]").length,
  scripts: document.scripts.length,
  text: document.querySelector("main").textContent + document.getElementById("narration").textContent,
  fits: document.documentElement.scrollWidth <= innerWidth,
})"""


@pytest.mark.parametrize("label", LABELS)
def test_at_each_step_in_each_phase(opened, label):
    dialogs: list[str] = []
    with opened(step(program(label), names={}, title=label, update=0.1), address("add", 0)) as tab:
        tab.on("dialog", lambda dialog: dialogs.append(dialog.message) or dialog.dismiss())
        last = int(tab.locator("#slider").get_attribute("max"))
        for mode in ("add", "overwrite", "recursion"):
            tab.locator(f"label:has([value={mode}])").click()
            for at in range(last + 1):
                tab.locator("#slider").fill(f"{at}")
                check(tab, label)
    assert not dialogs


@pytest.mark.parametrize("label", LABELS)
def test_where_it_is_named_in_the_panel(opened, label):
    with opened(step(program(label), names={}, update=0.1), "#step=999") as tab:
        tab.locator("#slider").fill("1")
        assert label in tab.locator("#now").text_content()  # forward
        tab.locator("#gradients").get_by_role("button", name=label, exact=True).first.click()
        for part in ("#node-title", "#ledger-title", "#gradients"):
            assert label in tab.locator(part).text_content()
        tab.keyboard.press("End")
        tab.keyboard.press("ArrowLeft")
        assert f"{label}.data -= 0.1 * {label}.grad" in tab.locator("#now").text_content()
        check(tab, label)


@pytest.mark.parametrize("label", LABELS)
def test_in_the_quiz_the_search_and_an_edited_leaf(opened, label):
    with opened(step(program(label), names={}), address("add", 0)) as tab:
        tab.locator("#query").fill(label)
        tab.locator("#query").press("Enter")
        assert tab.locator("#found").text_content().startswith("1 of ")
        tab.locator("#leaf-value").fill("1.5")
        tab.keyboard.press("Enter")
        check(tab, label)
        tab.locator("#quiz").click()
        tab.locator("#slider").fill("6")
        for _ in range(6):
            tab.locator("#forward").click()
            check(tab, label)
            if tab.locator("#now form").count():
                tab.get_by_role("button", name="Show me").click()
        tab.locator("#query").fill(label + "x")
        tab.locator("#query").press("Enter")
        assert tab.locator("#found").text_content() == "no such node"


@pytest.mark.parametrize("label", LABELS)
def test_as_the_name_of_a_group(opened, label):
    with opened(step(program(label), names={}), "#step=0") as tab:
        shown = tab.locator(".caption, .group").first.text_content()
        assert label[:10] in shown
        tab.locator("#collapse").click()
        assert label in tab.locator(".group title").text_content()
        check(tab, label)


@pytest.mark.parametrize("label", LABELS)
def test_on_arrays_and_their_scalars(opened, label):
    root = (program(label, tensor) * 1.0).sum()
    with opened(step(root, names={}), "#step=999") as tab:
        tab.locator("#gradients").get_by_role("button", name=label, exact=True).first.click()
        check(tab, label)
        button = tab.get_by_role("button", name="Open as scalars")
        if button.count():
            button.click()
            check(tab, label)


def test_a_page_of_plain_labels_passes_the_same_check(opened):
    with opened(step(seven(Value), names={})) as tab:
        check(tab, "a")
