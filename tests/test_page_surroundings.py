"""The stepper page in a real browser: room, themes, hostile labels, accessibility, phones, notebooks, a large graph."""

from __future__ import annotations

from typing import Any

import pytest
from stepper import (
    COMBINE,
    PHONE,
    PROGRAMS,
    WIDE,
    address,
    boxes,
    expected,
    load_axe,
    lost,
    net,
    overlap,
    position,
    seven,
    shown,
)

from micrograd import Value
from micrograd.backprop import overwrite
from viz import step, trace


def test_a_chip_is_as_wide_as_the_data_say(opened):
    page = step(seven(Value), names={})
    with opened(page, address("add", 8)) as tab:
        chip = tab.evaluate("JSON.parse(document.getElementById('data').textContent).chip")
        for shape in tab.locator(".chip.shown").all():
            rect, text = shape.locator("rect"), shape.locator("text").text_content()
            assert float(rect.get_attribute("height")) == chip["height"]
            assert float(rect.get_attribute("width")) == pytest.approx(len(text) * chip["character"] + chip["padding"])
            assert text_fits(shape)


def text_fits(chip: Any) -> bool:
    return chip.locator("text").bounding_box()["width"] <= chip.locator("rect").bounding_box()["width"]


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["seven values", "x*x", "shared", "beside"])
def test_chips_cover_no_number(opened, name, viewport):
    with opened(step(PROGRAMS[name](), names={}), address("overwrite", 99), viewport=viewport) as tab:
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
        assert tab.locator("#stage .name").first.text_content() in (label, label[:29] + "…", "\ufffd", "")
        assert tab.locator("img").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mode", COMBINE)
@pytest.mark.parametrize(("name", "at"), [("seven values", 0), ("seven values", 8), ("arrays", 6), ("shared", 6)])
def test_axe_finds_nothing(opened, name, at, mode, scheme):
    axe = load_axe()
    with opened(step(PROGRAMS[name](), names={}), address(mode, at), scheme=scheme) as tab:
        results = axe.run(tab)
        assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("name", ["seven values", "arrays"])
def test_a_phone_scrolls_only_down(opened, name):
    with opened(step(PROGRAMS[name](), names={}), address("overwrite", 6), viewport=PHONE) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        tab.mouse.wheel(0, 5000)
        tab.wait_for_function("() => scrollY > 0")
        assert tab.locator("#forward").bounding_box()["y"] >= 0  # the controls stay in reach
        tab.locator("#forward").click()
        assert position(tab).startswith("step 7 /")


def test_a_notebook_frame_has_no_address_but_works(browser):
    frame = step(seven(Value), names={})._repr_html_()
    tab = browser.new_page(viewport=WIDE)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(f"{error}"))
    tab.set_content(f"<!doctype html><body>{frame}</body>")
    inside = tab.frame_locator("iframe")
    inside.locator("#last").click()
    assert inside.locator("#position").text_content() == "step 8 / 8"
    assert not errors
    tab.close()


@pytest.mark.parametrize("hidden", ["display:none", "width:0;height:0", "width:20px;height:20px"])
@pytest.mark.parametrize("name", ["seven values", "wide"])
def test_a_notebook_frame_that_is_shown_later_opens_on_the_graph(browser, name, hidden):
    """Notebooks make the frame before it has its size."""
    root = sum(Value(1.0) * 2.0 for _ in range(40)) if name == "wide" else PROGRAMS[name]()
    frame = step(root, names={})._repr_html_()
    tab = browser.new_page(viewport={"width": 1100, "height": 900})
    tab.set_content(f"<!doctype html><body><div style='overflow:hidden;{hidden}'>{frame}</div></body>")
    inner = tab.frames[1]
    inner.wait_for_selector("#position:has-text('step')", state="attached")
    tab.locator("div").evaluate("div => div.removeAttribute('style')")
    inner.wait_for_function("() => document.querySelector('#stage svg').getAttribute('width') > 300")
    nodes = boxes(inner, ".node rect")
    seen = inside(inner, nodes)
    if name == "wide":
        assert seen[-1]  # the root, and what is around it, at a size that can be read
        assert sum(seen) > 5
    else:
        assert all(seen)
    assert nodes[0]["height"] > 40
    tab.close()


def test_a_page_with_one_layout_fits_a_phone_too(opened, monkeypatch):
    monkeypatch.setattr("viz.pages.layout._MANY_RANKS_PASSED", 0)
    with opened(step(seven(Value), names={}), address("overwrite", 7), viewport=PHONE) as tab:
        assert lost(tab) == ["+4"]
        tab.locator("#fit").click()
        assert all(inside(tab, boxes(tab, ".node rect")))


def test_a_stage_of_another_size_shows_what_the_reader_chose(opened):
    with opened(step(seven(Value), names={})) as tab:
        box = tab.locator(".node.leaf rect").first
        tab.locator("#zoom-in").click()
        tab.locator("#zoom-in").click()
        zoomed = box.bounding_box()["width"]
        tab.set_viewport_size({"width": 1300, "height": 700})
        tab.wait_for_function("() => document.querySelector('#stage svg').getAttribute('width') < 1000")
        assert box.bounding_box()["width"] == pytest.approx(zoomed)
        tab.locator("#fit").click()
        tab.set_viewport_size({"width": 900, "height": 700})
        tab.wait_for_function("() => document.querySelector('#stage svg').getAttribute('width') < 600")
        assert all(inside(tab, boxes(tab, ".node rect")))


def test_the_net_opens_and_steps_to_the_end(opened):
    root = net()
    passed = trace(root, overwrite, names={})
    assert len(passed.graph) == 394
    with opened(step(root, names={})) as tab:
        for at in (1, 2, 3):
            tab.keyboard.press("ArrowRight")
            assert tab.locator("#position").text_content() == f"step {at} / {len(passed)}"
            assert all(inside(tab, boxes(tab, ".node.receiver rect")))
        tab.keyboard.press("m")
        tab.keyboard.press("End")
        assert shown(tab) == expected(passed, len(passed))
        assert all(inside(tab, boxes(tab, ".node.receiver rect")))
        tab.locator("#fit").click()
        assert all(inside(tab, boxes(tab, ".node rect")))
        for current in (".node.sender rect", ".node.receiver rect", ".edge.now"):  # seen from afar too
            assert tab.locator(current).evaluate("e => getComputedStyle(e).vectorEffect") == "non-scaling-stroke"


def test_the_chip_of_the_step_lies_on_top(opened):
    """Step 300 of the net sends 0 along an edge whose chip an older one, +1.263, would cover."""
    with opened(step(net(), names={}), address("overwrite", 300)) as tab:
        assert tab.locator(".chip.now").count() == 1
        assert tab.locator(".chip").last.get_attribute("class") == tab.locator(".chip.now").get_attribute("class")
        tab.keyboard.press("ArrowLeft")
        assert "now" in tab.locator(".chip").last.get_attribute("class").split()


def inside(tab: Any, found: list[dict[str, float]]) -> list[bool]:
    """Whether each of these boxes lies inside the stage, a pixel more or less. (That there are any is asserted.)"""
    assert found
    [stage] = boxes(tab, "#stage")
    return [
        all(
            stage[start] - 1 <= box[start] and box[start] + box[size] <= stage[start] + stage[size] + 1
            for start, size in (("x", "width"), ("y", "height"))
        )
        for box in found
    ]
