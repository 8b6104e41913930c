"""The stepper page in a real browser: what one control does while another is in use, and after it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from stepper import MODES, PHONE, address, net, position, said, seven, shown, square, values

from micrograd import Value
from micrograd.backprop import Node, topological_order
from micrograd.nn import MLP
from viz import step

FOCUSED = "document.activeElement.id || document.activeElement.textContent"


# -- the quiz ----------------------------------------------------------------------------------------------------------


def is_asking(tab: Any) -> bool:
    return tab.locator("#now form.quiz").count() == 1


def asking(tab: Any) -> None:
    tab.keyboard.press("q")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_selector("#now form.quiz input:focus")


def test_what_is_typed_as_an_answer_stays_whatever_is_pointed_at(opened):
    with opened(step(seven(Value), names={}), address("add", 5)) as tab:
        asking(tab)
        tab.keyboard.type("1.5")
        tab.locator(".node").nth(1).hover()
        tab.set_viewport_size({"width": 1200, "height": 650})
        tab.keyboard.type("2")
        assert tab.locator("form.quiz input").input_value() == "1.52"


def test_a_verdict_stays_until_the_next_step(opened):
    with opened(step(seven(Value), names={}), address("add", 5)) as tab:
        asking(tab)
        tab.keyboard.type("2")
        tab.keyboard.press("Enter")
        tab.locator(".node").nth(1).hover()
        assert said(tab).startswith("Right. 1 of 1 right so far. L sends to f")
        assert tab.locator("#narration").text_content().startswith("Right. Step 6:")
        assert tab.evaluate(FOCUSED) == "forward"  # so that Enter asks for the next one
        tab.keyboard.press("Enter")
        assert is_asking(tab)
        assert "Right" not in said(tab)


@pytest.mark.parametrize("control", ["#back", "#first", "#last", "label:has([value=overwrite])"])
def test_another_control_takes_the_question_back(opened, control):
    with opened(step(seven(Value), names={}), address("add", 5)) as tab:
        asking(tab)
        tab.locator(control).click()
        assert not is_asking(tab)


def test_an_edited_leaf_and_another_address_take_the_question_back(opened):
    with opened(step(seven(Value), names={}), address("add", 5) + "&node=0") as tab:
        asking(tab)
        tab.locator("#leaf-value").fill("7")
        tab.keyboard.press("Enter")
        assert not is_asking(tab)
        tab.locator("#forward").click()
        assert is_asking(tab)
        tab.evaluate("location.hash = 'mode=add&step=7'")
        tab.wait_for_function("() => !document.querySelector('form.quiz')")
        assert position(tab) == "step 7 / 12"


def test_in_a_quiz_each_contribution_is_asked_for_whatever_the_stride(opened):
    with opened(step(seven(Value), names={}), address("add", 6) + "&by=node") as tab:
        asking(tab)
        tab.keyboard.press("Enter")  # nothing typed: no answer
        tab.get_by_role("button", name="Show me").click()
        assert position(tab) == "step 7 / 12"


# -- edited leaves -----------------------------------------------------------------------------------------------------

OPERATIONS: dict[str, list[Callable[[Value, Value], Value]]] = {
    "arithmetic": [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x**y,
        lambda x, y: x**3 * y,
        lambda x, y: x**0 * y,
        lambda x, y: x**-1 * y,
        lambda x, y: abs(-x) * y,
    ],
    "functions": [
        lambda x, y, name=name: getattr(x, name)() * y
        for name in ("relu", "tanh", "sigmoid", "exp", "log", "sqrt", "sin", "cos")
    ],
}
LEAVES = [(0.0, 2.5), (-2.0, 0.0), (20.0, -0.5), (float("inf"), 1.0), (-1000.0, float("nan"))]


def program(name: str, x: float, y: float) -> Node:
    """Each operation with a loss of its own, all of them added up."""
    a, b = Value(x, label="x"), Value(y, label="y")
    return sum((h * h for h in (operation(a, b) for operation in OPERATIONS[name])), a * 0.5)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_edited_page_shows_what_one_built_with_these_leaves_would(opened, name):
    root = program(name, 1.5, 3.0)
    place = {node.label: i for i, node in enumerate(topological_order(root))}
    with opened(step(root, names={}), address("add", 999)) as tab:
        edited = []
        for x, y in LEAVES:
            tab.evaluate(TO_ADDRESS, f"step=999&leaf={place['x']}:{x}~{place['y']}:{y}")
            edited.append([looks(tab, mode) for mode in MODES])
    for (x, y), found in zip(LEAVES, edited, strict=True):
        with opened(step(program(name, x, y), names={}), address("add", 999)) as tab:
            for mode, shown_then in zip(MODES, found, strict=True):
                assert looks(tab, mode) == shown_then, (x, y, mode)


TO_ADDRESS = """text => new Promise(done => {
  addEventListener("hashchange", () => setTimeout(done), { once: true });
  location.hash = text;
})"""


def looks(tab: Any, mode: str) -> list[Any]:
    tab.locator(f"label:has([value={mode}])").click()
    tab.evaluate("for (const id of ['last', 'fit']) document.getElementById(id).click()")
    marks = tab.locator("#stage .blocked title").all_text_contents()
    return [shown(tab), values(tab), sorted(marks), said(tab), said(tab, "#gradients"), said(tab, "#ledger")]


def test_a_leaf_that_was_edited_keeps_the_focus_where_it_is(opened):
    with opened(step(seven(Value), names={}), address("add", 11) + "&node=0") as tab:
        tab.locator("#leaf-value").fill("5")
        tab.keyboard.press("Enter")
        assert tab.evaluate(FOCUSED) == "leaf-value"
        assert "a leaf = 5" in said(tab, "#node")
        tab.locator("#leaf-value").fill("-inf")
        tab.keyboard.press("Tab")
        tab.wait_for_function("() => document.querySelector('#node').textContent.includes('−inf')")
        assert tab.evaluate(FOCUSED) == "back to 2"
        tab.reload()
        assert values(tab)[0] == "−inf"
        tab.get_by_role("button", name="back to 2").click()
        assert values(tab) == ["2.0000", "−3.0000", "−6.0000", "10.0000", "4.0000", "4.0000", "8.0000"]
        assert tab.evaluate(FOCUSED) == "leaf-value"


def test_a_jump_keeps_the_focus_on_its_button(opened):
    with opened(step(seven(Value), names={}), address("add", 0) + "&node=0") as tab:
        tab.get_by_role("button", name="write ›").focus()
        for at in (7, 11):
            tab.keyboard.press("Enter")
            assert position(tab) == f"step {at} / 12"
            assert tab.evaluate(FOCUSED) == "write ›"


@pytest.mark.parametrize("text", ["0x10", "1,5", "1_000", "1e999", "Infinity", "2 3"])
def test_what_is_no_number_is_said_and_changes_nothing(opened, text):
    with opened(step(seven(Value), names={}), address("add", 11) + "&node=0") as tab:
        tab.locator("#leaf-value").fill(text)
        tab.keyboard.press("Enter")
        assert "A number, please" in said(tab, "#node")
        assert values(tab)[0] == "2.0000"


# -- steps and addresses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stride", ["node", "neuron", "layer"])
def test_back_stops_where_forward_did(opened, stride, mode):
    random.seed(1)
    root = MLP(2, [2, 1])([0.5, -1.0]) ** 2 if stride != "node" else seven(Value)
    with opened(step(root, names={}, update=0.1), f"#mode={mode}&step=0&by={stride}") as tab:
        ends = [int(tab.locator("#slider").get_attribute(name)) for name in ("min", "max")]
        there = walk(tab, "ArrowRight", ends[1])
        back = walk(tab, "ArrowLeft", ends[0])
        assert len(there) > 3
        assert back == there[::-1]


def walk(tab: Any, key: str, end: int) -> list[str]:
    places = [position(tab)]
    while not places[-1].startswith(f"step {end} /"):
        tab.keyboard.press(key)
        places.append(position(tab))
        assert len(places) < 100
    return places


@pytest.mark.parametrize(
    "damaged",
    ["", "%%%", "mode=x&step=-5&node=99&by=x&groups=1.-2.a", "step=1e9&leaf=:1~0:~0:0x1~-1:3~9:1", "step=NaN"],
)
def test_a_damaged_address_shows_what_it_can(opened, damaged):
    with opened(step(seven(Value), names={}), "#mode=recursion&step=4&by=node&leaf=0:9&overlay=grad") as tab:
        tab.evaluate("text => { location.hash = text }", damaged)
        tab.wait_for_function("() => document.querySelector('[name=mode]:checked').value === 'add'")
        assert values(tab)[0] == "2.0000"
        assert tab.locator("#stride").input_value() == "contribution"
        assert tab.locator("#overlay").get_attribute("aria-pressed") == "false"
        tab.keyboard.press("End")
        assert position(tab) == "step 12 / 12"


# -- the rest of the page ----------------------------------------------------------------------------------------------


def test_the_share_menu_closes_with_escape_and_with_a_press_beside_it(opened):
    with opened(step(square(Value), names={}), address("add", 2)) as tab:
        menu = tab.locator("#take .menu")
        for close in (lambda: tab.keyboard.press("Escape"), lambda: tab.locator("#position").click()):
            tab.locator("#take summary").click()
            assert menu.is_visible()
            close()
            assert not menu.is_visible()


def test_in_a_frame_a_link_is_told_as_what_to_add(browser):
    tab = browser.new_page()
    tab.set_content(f"<!doctype html><body>{step(square(Value), names={})._repr_html_()}</body>")
    inside = tab.frame_locator("iframe")
    inside.locator("#take summary").click()
    inside.locator("#link").click()
    assert inside.locator("#taken input").input_value() == "#mode=add&step=4"
    tab.close()


@pytest.mark.parametrize("viewport", [PHONE, {"width": 844, "height": 390}, {"width": 320, "height": 640}])
def test_no_control_lies_beyond_the_rim(opened, viewport):
    with opened(step(net(), names={}), viewport=viewport) as tab:
        tab.locator("#take summary").click()
        assert tab.evaluate("document.documentElement.scrollWidth") == viewport["width"]
        assert tab.evaluate(BEYOND) == []
        assert tab.locator("#stage").bounding_box()["height"] > viewport["height"] / 2.5


BEYOND = """() => [...document.querySelectorAll("button, input, select")].filter(element => {
  const { width, left, right } = element.getBoundingClientRect();
  return width && (left < 0 || right > innerWidth + 1);
}).map(element => element.id)"""


def test_a_name_that_turns_the_direction_of_writing_turns_only_itself(opened):
    a = Value(2.0, label="\u202eabc")
    with opened(step(a * a, names={}), address("add", 3)) as tab:
        turned = tab.locator("#now b, #now code, #gradients button, h1").evaluate_all(
            "found => found.map(element => getComputedStyle(element).unicodeBidi)"
        )
        assert set(turned) == {"isolate"}


@pytest.mark.parametrize("label", ["$&", "$1", "{}", "$`"])
def test_an_update_names_its_leaf_as_it_is_called(opened, label):
    a = Value(2.0, label=label)
    with opened(step(a * a, names={}, update=0.1), "#step=999") as tab:
        assert f"Update: {label} by" in said(tab)
