"""The stepper page in a real browser: a link to a step, the graph as SVG and PNG."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
from stepper import MODES, PROGRAMS, address, expected, net, passed_in, position, seven, shown, values

from micrograd import Value
from viz import step

SVG = "{http://www.w3.org/2000/svg}"


def link(tab: Any) -> str:
    """The link that the page offers where the browser gives it no clipboard."""
    tab.evaluate("() => Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    tab.locator("#take summary").click()
    tab.locator("#link").click()
    return tab.locator("#taken input").input_value()


def test_a_link_holds_the_whole_state(opened):
    page = step(seven(Value), names={})
    with opened(page, address("overwrite", 9)) as tab:
        tab.locator("#gradients").get_by_role("button", name="a", exact=True).click()
        tab.locator("#leaf-value").fill("3")
        tab.keyboard.press("Enter")
        tab.locator("#overlay").click()
        tab.locator("#stride").select_option("node")
        found = link(tab)
        state = (shown(tab), values(tab), position(tab), tab.locator("#panel").inner_text())
    fields = {name: value for name, [value] in parse_qs(found.split("#")[1]).items()}
    assert fields == {"mode": "overwrite", "step": "9", "node": "0", "by": "node", "overlay": "grad", "leaf": "0:3"}
    with opened(page, "#" + found.split("#")[1]) as tab:
        assert (shown(tab), values(tab), position(tab), tab.locator("#panel").inner_text()) == state
        assert tab.locator(".node.selected .name").text_content() == "a"
        assert tab.locator("#stride").input_value() == "node"


def test_a_link_holds_which_groups_are_open(opened):
    page = step(net(), names={})
    with opened(page, "#mode=add&step=400&following=no") as tab:
        tab.locator(".group").first.click()
        found = link(tab)
        names = sorted(tab.locator(".group .name").all_text_contents())
    assert "groups=" in found
    assert "following=no" in found
    with opened(page, "#" + found.split("#")[1]) as tab:
        assert sorted(tab.locator(".group .name").all_text_contents()) == names


def test_a_link_is_copied(opened):
    with opened(step(seven(Value), names={}), address("add", 9)) as tab:
        tab.evaluate(
            "() => Object.defineProperty(navigator, 'clipboard', "
            "{value: {writeText: async (text) => { window.copied = text; }}})"
        )
        tab.locator("#take summary").click()
        tab.locator("#link").click()
        tab.wait_for_selector("#taken:has-text('Copied')")
        assert tab.evaluate("() => window.copied") == tab.url


def taken(tab: Any, button: str) -> Path:
    """The file that a button saves, under its name."""
    tab.locator("#take summary").click()
    with tab.expect_download() as download:
        tab.locator(button).click()
    target = Path(download.value.path()).with_name(download.value.suggested_filename)
    Path(download.value.path()).rename(target)
    return target


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["seven values", "shared", "odd"])
def test_the_graph_as_svg_shows_the_step_and_needs_nothing_else(opened, name, mode):
    root = PROGRAMS[name]()
    passed = passed_in(root, mode)
    with opened(step(root, names={}), address(mode, 4, root)) as tab:
        file = taken(tab, "#save-svg")
        number = int(position(tab).split()[1])
    assert file.name == f"step-{number:03}.svg"
    found = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    assert found.tag == f"{SVG}svg"
    shown_texts = texts(found)
    for grad in expected(passed, 4):
        assert grad in shown_texts
    assert not {element.tag for element in found.iter()} & {f"{SVG}script", f"{SVG}style", f"{SVG}image"}
    assert not any(name in element.attrib for element in found.iter() for name in ("class", "style", "onclick"))
    assert f"step {number} / " in found.find(f"{SVG}title").text


def test_the_svg_of_a_large_graph_is_whole(opened):
    with opened(step(net(), names={}), address("add", 300)) as tab:
        tab.locator("#expand").click()
        assert tab.locator(".node").count() < 394  # on the page only what is in view
        found = ElementTree.fromstring(taken(tab, "#save-svg").read_text(encoding="utf-8"))
    names = {record.name for record in passed_in(net(), "add").graph.nodes}
    assert names <= {text.split(" = ")[0] for text in texts(found)}


@pytest.mark.parametrize("label", ["<img src=x>", "a & b", "\x00\x08", "\ud800", "]]>", "x" * 500])
def test_the_svg_can_be_read_whatever_a_label_holds(opened, label):
    a = Value(1.0, label=label)
    with opened(step(a * a, names={}, title=label)) as tab:
        found = ElementTree.fromstring(taken(tab, "#save-svg").read_text(encoding="utf-8"))
    assert {element.tag.removeprefix(SVG) for element in found.iter()} <= {
        *("svg", "title", "g", "rect", "text", "tspan", "path", "line", "defs", "marker")
    }


def test_the_graph_as_png(opened):
    with opened(step(seven(Value), names={}), address("add", 11)) as tab:
        file = taken(tab, "#save-png")
    raw = file.read_bytes()
    assert file.name == "step-011.png"
    assert raw.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", raw[16:24])
    assert width > 800
    assert height > 200
