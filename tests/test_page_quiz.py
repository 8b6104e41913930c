"""The stepper page in a real browser: the quiz, which asks for a gradient before it is shown."""

from __future__ import annotations

from typing import Any

import pytest
from stepper import MODES, address, expected, passed_in, position, said, seven, shared, shown, tensor

from micrograd import Value
from viz import step

AT = 7  # the step of the backward pass in which -6 comes to a, which holds 4


def asked(tab: Any) -> bool:
    return tab.locator("#now form").count() == 1


def answer(tab: Any, text: str) -> None:
    tab.locator("#now form input").fill(text)
    tab.keyboard.press("Enter")


@pytest.mark.parametrize("mode", MODES)
def test_it_asks_before_it_shows_and_gives_nothing_away(opened, mode):
    root = seven(Value)
    passed = passed_in(root, mode)
    with opened(step(root, names={}), address(mode, AT - 1, root)) as tab:
        tab.locator("#quiz").click()
        tab.get_by_role("button", name="a", exact=True).click()  # all that is known of a stands beside the question
        tab.locator("#forward").click()
        assert asked(tab)
        assert shown(tab) == expected(passed, AT - 1)
        assert position(tab) == "step 10 / 12"
        question = said(tab)
        assert "d sends to a. With b = −3, and d.grad = 2" in question
        assert f"It holds 4 now. What will a.grad be, with {'=' if mode == 'overwrite' else '+='}?" in question
        panel = said(tab, "#panel")
        assert "−6" not in panel.replace("−6.0000", "", panel.count("d −6.0000"))  # but as the data of d
        assert "−2" not in panel
        assert tab.locator("#narration").text_content() == "Quiz: d sends to a. What will a.grad be?"


@pytest.mark.parametrize(("mode", "right"), [("add", "-2"), ("overwrite", "−6"), ("recursion", " -2.0 ")])
def test_the_right_answer(opened, mode, right):
    root = seven(Value)
    with opened(step(root, names={}), address(mode, AT - 1, root)) as tab:
        tab.keyboard.press("q")
        tab.keyboard.press("ArrowRight")
        answer(tab, right)
        assert said(tab).startswith("Right. 1 of 1 right so far.")
        assert tab.locator("#narration").text_content().startswith("Right. Step 11: ")
        assert shown(tab) == expected(passed_in(root, mode), AT)
        assert position(tab) == "step 11 / 12"


@pytest.mark.parametrize(("mode", "answers"), [("add", ["-6", "4", "10", "0"]), ("overwrite", ["-2"])])
def test_a_wrong_answer_is_put_right_and_counted(opened, mode, answers):
    root = seven(Value)
    right = "−2" if mode == "add" else "−6"
    with opened(step(root, names={}), address(mode, AT - 1, root)) as tab:
        tab.locator("#quiz").click()
        for count, wrong in enumerate(answers, 1):
            tab.locator("#forward").click()
            answer(tab, wrong)
            assert said(tab).startswith(f"Not {wrong.replace('-', '−')}: it is {right}. 0 of {count} right so far.")
            assert position(tab) == "step 11 / 12"
            tab.locator("#back").click()


def test_show_me_counts_as_no_answer(opened):
    root = seven(Value)
    with opened(step(root, names={}), address("add", AT - 1, root)) as tab:
        tab.locator("#quiz").click()
        tab.locator("#forward").click()
        tab.get_by_role("button", name="Show me").click()
        assert position(tab) == "step 11 / 12"
        assert "so far" not in said(tab)
        assert said(tab).startswith("d sends to a")


@pytest.mark.parametrize("text", ["", "  ", "x", "two"])
def test_what_is_no_number_is_no_answer(opened, text):
    root = seven(Value)
    with opened(step(root, names={}), address("add", AT - 1, root)) as tab:
        tab.locator("#quiz").click()
        tab.locator("#forward").click()
        answer(tab, text)
        assert asked(tab)
        assert "A number, please" in said(tab)
        assert position(tab) == "step 10 / 12"


def test_the_forward_pass_and_the_seed_are_not_asked_for_and_back_is_always_free(opened):
    with opened(step(seven(Value), names={}, update=0.1), address("add", 0)) as tab:
        tab.locator("#quiz").click()
        for at in range(1, 6):
            tab.locator("#forward").click()
            assert not asked(tab)
            assert position(tab) == f"step {at} / 15"
        tab.locator("#forward").click()
        assert asked(tab)
        tab.locator("#back").click()
        assert not asked(tab)
        assert position(tab) == "step 4 / 15"
        tab.locator("#last").click()
        assert not asked(tab)
        assert position(tab) == "step 15 / 15"


def test_it_ends_where_it_is_switched_off(opened):
    root = seven(Value)
    with opened(step(root, names={}), address("add", AT - 1, root)) as tab:
        tab.locator("#quiz").click()
        assert tab.locator("#quiz").get_attribute("aria-pressed") == "true"
        tab.locator("#forward").click()
        tab.locator("#quiz").click()
        assert not asked(tab)
        assert tab.locator("#quiz").get_attribute("aria-pressed") == "false"
        tab.locator("#forward").click()
        assert position(tab) == "step 11 / 12"


@pytest.mark.parametrize("mode", ["add", "overwrite"])
def test_of_an_array_it_asks_for_the_first_element(opened, mode):
    root = shared()
    passed = passed_in(root, mode)
    after = passed.steps[5].after
    with opened(step(root, names={}), address(mode, 5, root)) as tab:
        tab.locator("#quiz").click()
        tab.locator("#forward").click()
        assert "the first element of x.grad" in said(tab)
        answer(tab, f"{after[0, 0]:.4f}")
        assert said(tab).startswith("Right.")


def test_a_gradient_that_is_nan_is_not_asked_for(opened):
    x = tensor(float("nan"), "x")
    root = x * x
    with opened(step(root, names={}), address("add", 1, root)) as tab:
        tab.locator("#quiz").click()
        tab.locator("#forward").click()
        assert not asked(tab)
