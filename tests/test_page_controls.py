"""The stepper page in a real browser: every control, by mouse, keyboard and address."""

from __future__ import annotations

import pytest
from stepper import address, expected, passed_in, position, read, said, sender, seven, shown, square

from micrograd import Value
from viz import step


def chosen_mode(tab) -> str:
    return tab.locator("[name=mode]:checked").get_attribute("value")


def test_keys(opened):
    with opened(step(seven(Value), names={}), address("add", 0)) as tab:
        for key, at in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 12), ("ArrowRight", 12)):
            tab.keyboard.press(key)
            assert position(tab) == f"step {at} / 12"
        tab.keyboard.press("Home")
        tab.keyboard.press("ArrowLeft")
        assert position(tab) == "step 0 / 12"
        for mode in ("overwrite", "recursion", "add"):
            tab.keyboard.press("m")
            assert chosen_mode(tab) == mode


@pytest.mark.parametrize("key", ["ArrowRight", "End", "m", "d", "o", "q"])
def test_keys_with_control_are_the_browsers(opened, key):
    with opened(step(seven(Value), names={}), address("add", 5)) as tab:
        tab.evaluate(
            "key => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, ctrlKey: true, bubbles: true}))", key
        )
        assert position(tab) == "step 5 / 12"
        assert chosen_mode(tab) == "add"
        assert tab.locator("[aria-pressed=true]").count() == 0


def test_play_runs_to_the_end_and_stops(opened):
    with opened(step(square(Value), names={}), address("add", 0)) as tab:
        tab.locator("#speed").select_option("16")
        tab.locator("#play").click()
        tab.wait_for_selector("#position:has-text('step 4 / 4')")
        tab.wait_for_selector("#play[aria-label=Play]")


def test_play_at_the_end_starts_again(opened):
    with opened(step(square(Value), names={}), address("add", 4)) as tab:
        tab.locator("#play").click()
        assert tab.locator("#play").get_attribute("aria-label") == "Pause"
        assert position(tab) in ("step 0 / 4", "step 1 / 4")


def test_space_plays_and_a_step_pauses(opened):
    with opened(step(seven(Value), names={})) as tab:
        tab.keyboard.press("Space")
        assert tab.locator("#play").get_attribute("aria-label") == "Pause"
        tab.keyboard.press("ArrowLeft")
        assert tab.locator("#play").get_attribute("aria-label") == "Play"


def test_slider(opened):
    passed = passed_in(seven(Value), "add")
    with opened(step(seven(Value), names={})) as tab:
        tab.locator("#slider").fill("9")
        assert shown(tab) == expected(passed, 5)
        assert tab.locator("#slider").get_attribute("aria-valuetext") == "step 9 / 12"
        tab.locator("#slider").focus()
        tab.keyboard.press("ArrowRight")
        assert position(tab) == "step 10 / 12"


@pytest.mark.parametrize("mode", ["overwrite", "recursion"])
def test_the_switch_keeps_the_step(opened, mode):
    passed = passed_in(seven(Value), mode)
    with opened(step(seven(Value), names={}), address("add", 8, seven(Value))) as tab:
        tab.locator(f"label:has([value={mode}])").click()
        assert shown(tab) == expected(passed, 8)
        assert position(tab) == "step 12 / 12"


def test_the_switch_keeps_the_update(opened):
    with opened(step(seven(Value), names={}, update=0.1), address("add", 13)) as tab:
        tab.keyboard.press("m")
        assert position(tab) == "step 13 / 15"
        assert read(tab, ".truth")[0] in ("2.0000 → 2.6000", "should be −2.0000")
        assert "2 → 2.6" in said(tab)


def test_the_address_says_where_the_reader_is_and_leads_there(opened):
    root = seven(Value)
    with opened(step(root, names={}), address("overwrite", 7, root)) as tab:
        assert shown(tab) == expected(passed_in(root, "overwrite"), 7)
        tab.keyboard.press("ArrowRight")
        assert tab.url.endswith(address("overwrite", 8, root))
        tab.evaluate("location.hash = '#mode=add&step=2'")
        tab.wait_for_selector("#position:has-text('step 2 / 12')")
        assert chosen_mode(tab) == "add"


@pytest.mark.parametrize(("given", "at"), [("#step=999", 12), ("#step=-4", 0)])
def test_an_address_beyond_the_ends_leads_to_them(opened, given, at):
    with opened(step(seven(Value), names={}), given) as tab:
        assert position(tab) == f"step {at} / 12"


@pytest.mark.parametrize(
    "given",
    [
        "#step=x",
        "#mode=toString",
        "#mode=__proto__",
        "#%E0%A4%A",
        "#node=x",
        "#node=99",
        "#node=-1",
        "#groups=99.-3.x.0",
        "#leaf=0:abc~99:1~x~:~2:1:2",
        "#by=x&overlay=x&following=x",
    ],
)
def test_a_strange_address_does_no_harm(opened, given):
    with opened(step(seven(Value), names={}), given) as tab:
        assert position(tab) == "step 11 / 12"
        assert shown(tab) == expected(passed_in(seven(Value), "add"), 7)
        tab.keyboard.press("End")
        assert shown(tab) == expected(passed_in(seven(Value), "add"), 8)


def test_a_chosen_node_keeps_its_history_in_view(opened):
    with opened(step(seven(Value), names={}), address("add", 3, seven(Value))) as tab:
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
    with opened(step(seven(Value), names={}), address("add", 6, seven(Value))) as tab:
        tab.locator(".node", has_text="used 2×").hover()
        assert "a.grad" in tab.locator("#ledger-title").inner_text()
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowRight")
        assert "b.grad" in tab.locator("#ledger-title").inner_text()


def test_the_arrow_keys_and_escape_prevail_over_a_pointer_that_rests_on_a_node(opened):
    with opened(step(seven(Value), names={}), address("add", 8, seven(Value))) as tab:
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
    with opened(step(seven(Value), names={}), address("add", 0)) as tab:
        tab.locator("#stage").focus()
        for _ in range(2):
            tab.keyboard.press("ArrowLeft")  # to the root, then to its first operand
        assert "relu" in tab.locator(".node.selected .name").text_content()
        assert position(tab) == "step 0 / 12"
        assert "grad not yet" in tab.locator("#narration").text_content()


def test_each_step_is_narrated(opened):
    with opened(step(seven(Value), names={}), address("overwrite", 7, seven(Value))) as tab:
        told = tab.locator("#narration").text_content()
        assert told == f"Step 11: {sender(tab)} sends −6 to a; a.grad is −6. 4 is lost."


def test_drag_wheel_and_fit(opened):
    with opened(step(seven(Value), names={})) as tab:
        box = tab.locator(".node .body").first
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
            "width => document.querySelector('.node .body').getBoundingClientRect().width > width * 1.2",
            arg=start["width"],
        )
        tab.locator("#fit").click()
        assert box.bounding_box() == pytest.approx(start)
