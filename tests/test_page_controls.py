"""The stepper page in a real browser: every control, by mouse, keyboard and address."""

from __future__ import annotations

import pytest
from stepper import address, expected, position, sender, seven, shown, square

from micrograd import Value
from micrograd.backprop import overwrite
from viz import step, trace


def test_keys(opened):
    with opened(step(seven(Value), names={})) as tab:
        for key, at in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 8), ("ArrowRight", 8)):
            tab.keyboard.press(key)
            assert position(tab) == f"step {at} / 8"
        tab.keyboard.press("Home")
        tab.keyboard.press("ArrowLeft")
        assert position(tab) == "step 0 / 8"
        tab.keyboard.press("m")
        assert tab.locator("[name=mode]:checked").get_attribute("value") == "overwrite"
        tab.keyboard.press("m")
        assert tab.locator("[name=mode]:checked").get_attribute("value") == "add"


def test_play_runs_to_the_end_and_stops(opened):
    with opened(step(square(Value), names={})) as tab:
        tab.locator("#speed").select_option("16")
        tab.locator("#play").click()
        tab.wait_for_selector("#position:has-text('step 3 / 3')")
        tab.wait_for_selector("#play[aria-label=Play]")


def test_space_plays_and_a_step_pauses(opened):
    with opened(step(seven(Value), names={})) as tab:
        tab.keyboard.press("Space")
        assert tab.locator("#play").get_attribute("aria-label") == "Pause"
        tab.keyboard.press("ArrowLeft")
        assert tab.locator("#play").get_attribute("aria-label") == "Play"


def test_slider(opened):
    passed = trace(seven(Value), names={})
    with opened(step(seven(Value), names={})) as tab:
        tab.locator("#slider").fill("5")
        assert shown(tab) == expected(passed, 5)
        tab.locator("#slider").focus()
        tab.keyboard.press("ArrowRight")
        assert position(tab) == "step 6 / 8"


def test_the_switch_keeps_the_step(opened):
    passed = trace(seven(Value), overwrite, names={})
    with opened(step(seven(Value), names={}), address("add", 8)) as tab:
        tab.get_by_text("overwrite, the bug").click()
        assert shown(tab) == expected(passed, 8)


def test_the_address_says_where_the_reader_is_and_leads_there(opened):
    passed = trace(seven(Value), overwrite, names={})
    with opened(step(seven(Value), names={}), address("overwrite", 7)) as tab:
        assert shown(tab) == expected(passed, 7)
        tab.keyboard.press("ArrowRight")
        assert tab.url.endswith(address("overwrite", 8))
        tab.evaluate("location.hash = '#mode=add&step=2'")
        tab.wait_for_selector("#position:has-text('step 2 / 8')")
        assert tab.locator("[name=mode]:checked").get_attribute("value") == "add"


@pytest.mark.parametrize(
    ("given", "at"), [("#step=999", 8), ("#step=-4", 0), ("#step=x", 0), ("#mode=toString", 0), ("#%E0%A4%A", 0)]
)
def test_a_strange_address_does_no_harm(opened, given, at):
    with opened(step(seven(Value), names={}), given) as tab:
        assert position(tab) == f"step {at} / 8"


def test_a_chosen_node_keeps_its_history_in_view(opened):
    with opened(step(seven(Value), names={}), address("add", 3)) as tab:
        tab.locator(".node", has_text="used 2×").click()
        assert "a.grad" in tab.locator("#ledger-title").inner_text()
        assert tab.locator("#ledger tr.to-come").count() == 1  # from d, after from L
        tab.keyboard.press("ArrowRight")
        assert "a.grad" in tab.locator("#ledger-title").inner_text()
        tab.keyboard.press("Escape")
        assert "a.grad" not in tab.locator("#ledger-title").inner_text()
        tab.get_by_role("button", name="b", exact=True).click()
        assert "b.grad" in tab.locator("#ledger-title").inner_text()


def test_a_pointer_that_rests_on_a_node_shows_its_history_until_the_next_step(opened):
    with opened(step(seven(Value), names={}), address("add", 6)) as tab:
        tab.locator(".node", has_text="used 2×").hover()
        assert "a.grad" in tab.locator("#ledger-title").inner_text()
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowRight")
        assert "b.grad" in tab.locator("#ledger-title").inner_text()


def test_the_arrow_keys_and_escape_prevail_over_a_pointer_that_rests_on_a_node(opened):
    with opened(step(seven(Value), names={}), address("add", 8)) as tab:
        tab.locator(".node", has_text="used 2×").hover()
        tab.locator("#stage").focus()
        tab.keyboard.press("ArrowLeft")
        assert tab.locator(".node.selected .name").text_content() == "L = f*a"
        tab.locator(".node", has_text="used 2×").hover(position={"x": 20, "y": 20})
        tab.keyboard.press("Escape")
        assert tab.locator(".node.selected").count() == 0
        tab.keyboard.press("Escape")
        assert tab.locator(".node.selected").count() == 0


def test_the_graph_is_one_tab_stop_with_arrow_keys(opened):
    with opened(step(seven(Value), names={})) as tab:
        tab.locator("#stage").focus()
        for _ in range(2):
            tab.keyboard.press("ArrowLeft")  # to the root, then to its first operand
        assert "relu" in tab.locator(".node.selected .name").text_content()
        assert position(tab) == "step 0 / 8"
        assert "grad not yet" in tab.locator("#narration").text_content()


def test_each_step_is_narrated(opened):
    with opened(step(seven(Value), names={}), address("overwrite", 7)) as tab:
        said = tab.locator("#narration").text_content()
        assert said == f"Step 7: {sender(tab)} sends −6 to a; a.grad is −6. 4 is lost."


def test_drag_wheel_and_fit(opened):
    with opened(step(seven(Value), names={})) as tab:
        box = tab.locator(".node rect").first
        start = box.bounding_box()
        tab.mouse.move(500, 600)
        tab.mouse.down()
        tab.mouse.move(540, 570, steps=3)
        tab.mouse.up()
        moved = box.bounding_box()
        assert moved["x"] == pytest.approx(start["x"] + 40)
        assert moved["y"] == pytest.approx(start["y"] - 30)
        tab.mouse.wheel(0, -300)
        tab.wait_for_function(
            "width => document.querySelector('.node rect').getBoundingClientRect().width > width * 1.2",
            arg=start["width"],
        )
        tab.locator("#fit").click()
        assert box.bounding_box() == pytest.approx(start)
