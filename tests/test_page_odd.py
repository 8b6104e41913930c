"""The stepper page in a real browser: how nan and inf are marked on the graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from stepper import (
    MODES,
    PHONE,
    PROGRAMS,
    WIDE,
    address,
    boxes,
    described,
    forward,
    load_axe,
    odd,
    odd_arrays,
    odd_fan,
    overlap,
    passed_in,
    read,
    said,
    seven,
)

from micrograd import Value
from micrograd.backprop import Node, topological_order
from viz import step
from viz.trace import Trace


@pytest.mark.parametrize(
    ("q", "found"),
    [
        (np.array(math.nan), ["nan"]),
        (np.array(-math.inf), ["inf"]),
        (np.array([1.0, math.inf, math.nan]), ["nan", "inf"]),
        (np.array([[-math.inf, 0.0]]), ["inf"]),
        (np.array(1e308), None),
        (np.zeros((0, 3)), None),
        (np.full(100, 1e300), None),  # finite, though its norm is not
    ],
)
def test_a_quantity_tells_what_it_holds_that_is_not_finite(q, found):
    with np.errstate(over="ignore"):
        assert described(q).get("odd") == found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["odd", "odd arrays", "seven values"])
def test_what_holds_nan_or_inf_at_a_step_is_tagged(opened, name, mode):
    root = PROGRAMS[name]()
    passed, first = passed_in(root, mode), len(forward(root))
    with opened(step(root, names={}), address(mode, 0)) as tab:
        for at in [*range(first + len(passed) + 1), first + 1, 0]:  # and back: a mark goes away again
            tab.locator("#slider").fill(f"{at}")
            assert read(tab, ".tag") == tags(root, passed, at)
            assert tab.locator(".node.odd").count() == sum(map(bool, tags(root, passed, at)))


def tags(root: Node, passed: Trace, at: int) -> list[str]:
    """What each node should be tagged with after `at` steps of the forward and then the backward pass."""
    computed = forward(root)
    held = {taken.receiver: taken.after for taken in passed.steps[: max(at - len(computed), 0)]}
    waiting = {id(node) for node in computed[at:]}
    return [
        tag(0.0 if id(node) in waiting else node.data, held.get(f"n{i}", 0.0))
        for i, node in enumerate(topological_order(root))
    ]


def tag(*held: Any) -> str:
    found = {"nan": any(np.isnan(q).any() for q in held), "inf": any(np.isinf(q).any() for q in held)}
    return ", ".join(name for name, is_there in found.items() if is_there)


def test_the_legend_explains_the_mark_only_where_it_can_occur(opened):
    big = Value(1e200, label="big")
    only_in_gradients = (Value(1e-300, label="tiny") * 1e200) * big
    for root, occurs in [(odd(), True), (only_in_gradients, True), (seven(Value), False), (big * 2.0, False)]:
        with opened(step(root, names={}), address("add", 0)) as tab:  # when some are still to come
            assert tab.locator("#odd-key").is_visible() is occurs


@pytest.mark.parametrize("viewport", [WIDE, PHONE, {"width": 320, "height": 640}], ids=["wide", "phone", "narrow"])
def test_the_longer_legend_has_room(opened, viewport):
    with opened(step(odd(), names={}), viewport=viewport) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") == viewport["width"]
        key, button = tab.locator("#odd-key").bounding_box(), tab.locator("#zoom-out").bounding_box()
        assert key["x"] + key["width"] <= button["x"]


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("program", [odd, odd_arrays, odd_fan])
def test_chips_leave_the_tags_and_numbers_free(opened, program, viewport):
    with opened(step(program(), names={}), address("add", 99), viewport=viewport) as tab:
        tab.locator("#fit").click()
        chips, texts = boxes(tab, ".chip.shown rect"), boxes(tab, ".node.odd .tag, .node .number")
        assert chips
        assert texts
        assert not any(overlap(chip, text) for chip in chips for text in texts)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mode", MODES)
def test_the_mark_is_more_than_a_colour_and_its_text_reads_well(opened, mode, scheme):
    with opened(step(odd(), names={}), address(mode, 99), scheme=scheme) as tab:
        nodes = tab.locator(".node.odd").evaluate_all(LOOKS)
        assert nodes
        for node in nodes:
            [box], [tag] = node[".body"], node[".tag"]
            ground = colour(box["fill"])
            assert float(box["width"].removesuffix("px")) > 2
            assert contrast(colour(box["stroke"]), ground) >= 3
            for text in node[".name, .row, .number"]:
                assert contrast(colour(text["fill"]), ground) >= 4.5
            assert contrast(colour(tag["fill"]), colour(tag["stroke"])) >= 4.5
        [plain, *_] = tab.locator(".node:not(.odd):not(.receiver)").evaluate_all(LOOKS)
        assert plain[".body"][0]["fill"] != nodes[0][".body"][0]["fill"]


LOOKS = """nodes => nodes.map(node => Object.fromEntries([".body", ".tag", ".name, .row, .number"].map(parts =>
    [parts, [...node.querySelectorAll(parts)].map(e => getComputedStyle(e)).map(
        style => ({fill: style.fill, stroke: style.stroke, width: style.strokeWidth}))])))"""
"""How the parts of nodes are drawn, by their selectors; all asked at once."""


def colour(css: str) -> tuple[float, ...]:
    return tuple(float(part) / 255 for part in css.removeprefix("rgb(").removesuffix(")").split(","))


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21."""
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def luminance(rgb: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_the_first_value_that_is_not_finite_is_told_with_its_operands(opened):
    with opened(step(Value(1e200, label="x") * Value(1e200, label="y") * 2.0, names={}), address("add", 0)) as tab:
        assert "The first value that is not finite: a = x*y = inf, from x = 1e+200, y = 1e+200." in said(tab)
        tab.keyboard.press("ArrowRight")
        assert "Forward: a is computed from x, y:" in said(tab)
        assert "The first value that is not finite: a = x*y = inf, from x = 1e+200, y = 1e+200." in said(tab)
        tab.keyboard.press("ArrowRight")
        assert "The first value" not in said(tab)
    with opened(step(odd(), names={}), address("add", 0)) as tab:
        assert "The first value that is not finite: inf = inf, a leaf." in said(tab)
    with opened(step(seven(Value), names={}), address("add", 0)) as tab:
        assert "not finite" not in said(tab)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["odd", "odd arrays"])
def test_axe_finds_nothing_where_there_is_nan(opened, name, mode, scheme):
    axe = load_axe()
    with opened(step(PROGRAMS[name](), names={}), address(mode, 15), scheme=scheme) as tab:
        results = axe.run(tab)
        assert results.violations_count == 0, results.generate_report()
