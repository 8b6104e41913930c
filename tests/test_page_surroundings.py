"""The stepper page in a real browser: room, themes, hostile labels, accessibility, phones, notebooks, a large graph."""

from __future__ import annotations

from typing import Any

import pytest
from stepper import (
    PHONE,
    PROGRAMS,
    WIDE,
    address,
    boxes,
    inside,
    lost,
    overlap,
    position,
    read,
    seven,
)

from micrograd import Value
from viz import step


def test_a_chip_has_room_for_its_number(opened):
    with opened(step(seven(Value), names={}), address("add", 12)) as tab:
        shapes = tab.locator(".chip.shown").all()
        assert len(shapes) == 8
        assert all(text_fits(shape) for shape in shapes)


def text_fits(chip: Any) -> bool:
    return chip.locator("text").bounding_box()["width"] <= chip.locator("rect").bounding_box()["width"]


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["seven values", "x*x", "shared", "beside"])
def test_chips_cover_no_number(opened, name, viewport):
    with opened(step(PROGRAMS[name](), names={}), address("overwrite", 999), viewport=viewport) as tab:
        tab.locator("#fit").click()
        chips, texts = boxes(tab, ".chip.shown rect"), boxes(tab, ".node .number, .node.wrong .truth")
        assert chips
        assert texts
        assert not any(overlap(chip, text) for chip in chips for text in texts)
        assert not any(overlap(a, b) > 0.1 for i, a in enumerate(chips) for b in chips[:i])


@pytest.mark.parametrize("viewport", [WIDE, PHONE, {"width": 320, "height": 640}], ids=["wide", "phone", "narrow"])
def test_the_zoom_buttons_cover_nothing_of_the_graph(opened, viewport):
    with opened(step(seven(Value), names={}), viewport=viewport) as tab:
        stage = tab.locator("#stage").bounding_box()
        for name in ("zoom-out", "zoom-in", "fit"):
            box = tab.locator(f"#{name}").bounding_box()
            assert box["y"] >= stage["y"] + stage["height"]
            assert box["x"] + box["width"] <= viewport["width"]


# -- surroundings ------------------------------------------------------------------------------------------------------


def test_the_theme_follows_the_system_until_it_is_chosen(opened):
    ground = "getComputedStyle(document.body).backgroundColor"
    page = step(seven(Value), names={})
    with opened(page, scheme="light") as tab:
        light = tab.evaluate(ground)
        tab.locator("#theme").click()
        dark = tab.evaluate(ground)
        tab.keyboard.press("d")
        assert tab.evaluate(ground) == light != dark
    with opened(page, scheme="dark") as tab:
        assert tab.evaluate(ground) == dark
        tab.locator("#theme").click()
        assert tab.evaluate(ground) == light


@pytest.mark.parametrize(
    "label", ["<img src=x onerror=alert(1)>", "</script><b>x", "<!--", "\u2028", "a" * 300, "\ud800"]
)
def test_labels_stay_text(opened, label):
    a = Value(2.0, label=label)
    with opened(step(a * a, names={}, title=label), address("overwrite", 3)) as tab:
        [shown, _] = read(tab, ".name")
        assert shown in (label, "\ufffd", "") or label.startswith(shown.removesuffix("…"))
        assert tab.locator("img").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", ["seven values", "arrays"])
def test_a_phone_scrolls_only_down(opened, name):
    with opened(step(PROGRAMS[name](), names={}), address("overwrite", 10), viewport=PHONE) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        tab.mouse.wheel(0, 5000)
        tab.wait_for_function("() => scrollY > 0")
        assert tab.locator("#forward").bounding_box()["y"] >= 0  # the controls stay in reach
        tab.locator("#forward").click()
        assert position(tab).startswith("step 11 /")


def test_a_notebook_frame_has_no_address_but_works(browser):
    frame = step(seven(Value), names={})._repr_html_()
    tab = browser.new_page(viewport=WIDE)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(f"{error}"))
    tab.set_content(f"<!doctype html><body>{frame}</body>")
    inside = tab.frame_locator("iframe")
    inside.locator("#last").click()
    assert inside.locator("#position").text_content() == "step 12 / 12"
    assert not errors
    tab.close()


@pytest.mark.parametrize("hidden", ["display:none", "width:0;height:0", "width:20px;height:20px"])
@pytest.mark.parametrize("name", ["seven values", "wide"])
def test_a_notebook_frame_that_is_shown_later_opens_on_the_graph(browser, name, hidden):
    """Notebooks make the frame before it has its size."""
    root = sum(Value(1.0) * 2.0 for _ in range(40)) if name == "wide" else PROGRAMS[name]()
    frame = step(root, names={})._repr_html_()
    tab = browser.new_page(viewport={"width": 1100, "height": 900}, reduced_motion="reduce")
    tab.set_content(f"<!doctype html><body><div style='overflow:hidden;{hidden}'>{frame}</div></body>")
    inner = tab.frames[1]
    inner.wait_for_selector("#position:has-text('step')", state="attached")
    tab.locator("div").evaluate("div => div.removeAttribute('style')")
    inner.wait_for_function("() => document.querySelector('#stage svg').getAttribute('width') > 300")
    nodes = boxes(inner, ".node .body")
    seen = inside(inner, nodes)
    assert sum(seen) >= 4  # what the step is about, and what is around it, at a size that can be read
    assert all(inside(inner, boxes(inner, ".node.receiver .body")))
    assert nodes[0]["height"] > 30
    tab.close()


def test_the_whole_graph_fits_a_phone(opened):
    with opened(step(seven(Value), names={}), address("overwrite", 7, seven(Value)), viewport=PHONE) as tab:
        assert lost(tab) == ["+4"]
        tab.locator("#fit").click()
        assert len(boxes(tab, ".node .body")) == 7
        assert all(inside(tab, boxes(tab, ".node .body")))


def test_a_stage_of_another_size_shows_what_the_reader_chose(opened):
    with opened(step(seven(Value), names={})) as tab:
        box = tab.locator(".node.leaf .body").first
        tab.locator("#zoom-in").click()
        tab.locator("#zoom-in").click()
        zoomed = box.bounding_box()["width"]
        tab.set_viewport_size({"width": 1300, "height": 700})
        tab.wait_for_function("() => document.querySelector('#stage svg').getAttribute('width') < 1000")
        assert box.bounding_box()["width"] == pytest.approx(zoomed)
        tab.locator("#fit").click()
        tab.set_viewport_size({"width": 900, "height": 700})
        tab.wait_for_function("() => document.querySelector('#stage svg').getAttribute('width') < 600")
        assert all(inside(tab, boxes(tab, ".node .body")))


@pytest.mark.parametrize("name", ["shared", "seven values", "odd"])
def test_the_chip_of_the_step_lies_on_top(opened, name):
    root = PROGRAMS[name]()
    with opened(step(root, names={}), address("overwrite", 2, root)) as tab:
        while True:
            assert tab.locator(".chip.now").count() == 1
            assert "now" in tab.locator(".chip").last.get_attribute("class").split()
            at = position(tab)
            tab.keyboard.press("ArrowRight")
            if position(tab) == at:
                return
