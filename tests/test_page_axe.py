"""The stepper page in a real browser: axe-core finds nothing to object to, whatever is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stepper import MODES, PHONE, PROGRAMS, address, arrays, load_axe, net, odd, seven

from micrograd import Value
from micrograd.backprop import Node
from tensorgrad import Tensor
from viz import step


def nothing(tab: Any) -> None:
    """The page as it opens."""


def ask(tab: Any) -> None:
    tab.keyboard.press("q")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_selector("#now form")


def answer(tab: Any) -> None:
    ask(tab)
    tab.locator("#now form input").fill("0")
    tab.keyboard.press("Enter")


def share(tab: Any) -> None:
    tab.locator("#take summary").click()


def share_link(tab: Any) -> None:
    share(tab)
    tab.locator("#link").click()
    tab.wait_for_selector("#taken:not(:empty)")


def pin_leaf(tab: Any) -> None:
    tab.locator(".node", has_text="used 2×").click()


def edit_leaf(tab: Any) -> None:
    pin_leaf(tab)
    tab.locator("#leaf-value").fill("5")
    tab.keyboard.press("Enter")


def find(tab: Any) -> None:
    tab.locator("#query").fill("a")
    tab.keyboard.press("Enter")


def overlay(tab: Any) -> None:
    tab.keyboard.press("o")


def pin_array(tab: Any) -> None:
    tab.locator("#gradients").get_by_role("button", name="w", exact=True).click()
    tab.wait_for_selector("#node table, #node svg, #node canvas, #node .maps")


def open_scalars(tab: Any) -> None:
    pin_array(tab)
    tab.get_by_role("button", name="Open as scalars").click()
    tab.wait_for_selector("#scalars:not([hidden])")


def blocked() -> Node:
    x = Value(-2.0, label="x")
    return x.relu() * x * 0.0


def constant() -> Node:
    x = Tensor([1.0, 2.0], requires_grad=True, label="x")
    return ((x * -1.0).relu() * Tensor([3.0, 4.0], label="k")).sum()


STATES: dict[str, tuple[Callable[[], Node], str, Callable[[Any], None]]] = {
    "first": (lambda: seven(Value), "", nothing),
    "start": (lambda: seven(Value), "#step=0", nothing),
    "forward": (lambda: seven(Value), "#step=2", nothing),
    "forward arrays": (arrays, "#step=2", nothing),
    "update": (lambda: seven(Value), "#step=13", nothing),
    "quiz asks": (lambda: seven(Value), "#step=8", ask),
    "quiz answers": (lambda: seven(Value), "#step=8", answer),
    "share": (lambda: seven(Value), "", share),
    "link": (lambda: seven(Value), "", share_link),
    "pinned leaf": (lambda: seven(Value), "", pin_leaf),
    "edited leaf": (lambda: seven(Value), "", edit_leaf),
    "found": (lambda: seven(Value), "", find),
    "overlay": (lambda: seven(Value), "", overlay),
    "array": (arrays, "#step=7", pin_array),
    "scalars": (arrays, "#step=7", open_scalars),
    "odd": (odd, "#step=15", nothing),
    "blocked": (blocked, "#step=999", nothing),
    "constant": (constant, "#step=999", nothing),
    "large": (net, "#step=0", nothing),
    "large, inside": (net, "", nothing),
}


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(opened, state):
    program, where, act = STATES[state]
    with opened(step(program(), names={}, update=0.1), where) as tab:
        act(tab)
        check(tab)
        tab.emulate_media(color_scheme="dark")
        check(tab)


@pytest.mark.parametrize("state", ["first", "update", "quiz asks", "share", "edited leaf", "array", "scalars", "large"])
def test_axe_finds_nothing_on_a_phone(opened, state):
    program, where, act = STATES[state]
    with opened(step(program(), names={}, update=0.1), where, viewport=PHONE) as tab:
        act(tab)
        check(tab)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["seven values", "shared"])
def test_axe_finds_nothing_in_any_mode(opened, name, mode):
    with opened(step(PROGRAMS[name](), names={}), address(mode, 999)) as tab:
        check(tab)


def check(tab: Any) -> None:
    results = load_axe().run(tab)
    assert results.violations_count == 0, results.generate_report()
