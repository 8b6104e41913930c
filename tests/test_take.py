"""Drawings taken away from a page: an SVG that opens alone and looks the same, a PNG of it, downloads, print."""

from __future__ import annotations

import base64
import re
import struct
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

KIT = Path(__file__).parent.parent / "viz" / "kit"
SCRIPTS = "".join((KIT / name).read_text(encoding="utf-8") for name in ("dom.js", "take.js"))
SVG = "{http://www.w3.org/2000/svg}"

PAGE = """<!doctype html><meta charset="utf-8"><style>
body { background: rgb(250, 251, 252); margin: 0 }
:root { --plus: rgb(0, 95, 150) }
.box { fill: color-mix(in srgb, white 50%, red); stroke: var(--plus); stroke-width: 3; stroke-dasharray: 7 4 }
.edge { fill: none; stroke: rgb(1, 2, 3); marker-end: url(#arrow) }
text { font: 600 12px monospace; fill: var(--plus); text-anchor: middle }
.chip { display: none } .ghost { visibility: hidden } .far text { visibility: hidden }
.layer { transform: translate(40px, 30px) scale(2) }
#arrow path { fill: rgb(9, 8, 7) }
</style>
<svg width="0" height="0" style="position: absolute"><defs>
<marker id="arrow" viewBox="0 0 10 10" markerWidth="6" markerHeight="6" orient="auto">
<path d="M0 0L10 5L0 10z"/></marker><marker id="unused"></marker></defs></svg>
<div id="stage"><svg id="picture" width="300" height="200" onclick="alert(1)"><g class="layer">
<g class="node" data-key="n0" tabindex="0" role="button" aria-label="a" onclick="alert(2)">
<rect class="box" id="own" width="100" height="20"/><text x="50" y="15"></text><title>tip</title></g>
<path class="edge" d="M60 10L100 60"/>
<g class="chip"><rect width="9000" height="10"/></g><rect class="ghost" width="5" height="5"/>
<script type="x">alert(3)</script><foreignObject><p>no</p></foreignObject>
</g></svg></div>"""


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    tab = browser.new_page(accept_downloads=True)
    tab.set_content(PAGE)
    tab.add_script_tag(content=SCRIPTS)
    tab.evaluate("() => document.querySelector('text').textContent = 'a <b> & \\u0001\\ud800'")
    yield tab
    tab.close()


def taken(tab: Any, options: str = "{}") -> str:
    return tab.evaluate(f"() => standaloneSvg(document.getElementById('picture'), {options})")


def test_a_taken_svg_is_xml_with_what_is_drawn_and_nothing_else(tab: Any) -> None:
    text = taken(tab, '{title: "one & two"}')
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text == "one & two"
    assert [e.text for e in root.iter(f"{SVG}text")] == ["a <b> & \ufffd\ufffd"]
    assert not re.search(r"alert|onclick|class=| style=|data-|aria-|tabindex|foreignObject|9000|unused|var\(", text)
    assert len(list(root.iter(f"{SVG}rect"))) == 2  # the ground and the box: not the chip, not the ghost


def test_a_taken_svg_holds_the_looks_that_styles_gave(tab: Any) -> None:
    root = ElementTree.fromstring(taken(tab))
    ground, box = root.iter(f"{SVG}rect")
    assert ground.get("fill") == "rgb(250, 251, 252)"
    assert {name: box.get(name) for name in ("fill", "stroke", "stroke-width", "stroke-dasharray")} == {
        "fill": "rgb(255, 128, 128)",
        "stroke": "rgb(0, 95, 150)",
        "stroke-width": "3px",
        "stroke-dasharray": "7px, 4px",
    }
    label = next(root.iter(f"{SVG}text"))
    assert (label.get("font-weight"), label.get("font-size"), label.get("text-anchor")) == ("600", "12px", "middle")


def test_the_view_box_is_what_is_drawn_with_a_margin(tab: Any) -> None:
    root = ElementTree.fromstring(taken(tab, "{margin: 10}"))
    assert [float(part) for part in root.get("viewBox").split()] == pytest.approx([30, 20, 220, 140], abs=4)
    assert float(root.get("width")) == pytest.approx(220, abs=4)


def test_arrowheads_come_along_under_names_of_their_own(tab: Any) -> None:
    first, second = taken(tab), taken(tab)
    names = [re.findall(r' id="([^"]+)"', text) for text in (first, second)]
    assert len(names[0]) == len(names[1]) == 1
    assert names[0] != names[1]
    assert f"url(#{names[0][0]})" in first
    assert "rgb(9, 8, 7)" in first


@pytest.mark.parametrize("place", ["#stage", ".layer"])
def test_a_class_can_be_left_out_for_the_time(tab: Any, place: str) -> None:
    tab.evaluate("place => document.querySelector(place).classList.add('far')", place)
    assert not list(ElementTree.fromstring(taken(tab)).iter(f"{SVG}text"))
    assert list(ElementTree.fromstring(taken(tab, '{without: "far"}')).iter(f"{SVG}text"))
    assert tab.locator(f"{place}.far").count() == 1


def test_a_taken_svg_alone_looks_as_on_the_page(tab: Any, browser: Any) -> None:
    """Pixel for pixel: the file opened by itself, against the drawing with the same margin around it."""
    tab.evaluate("() => document.querySelector('text').textContent = 'a <b> & c'")
    text = taken(tab, "{margin: 20}")
    x, y, width, height = (float(part) for part in ElementTree.fromstring(text).get("viewBox").split())
    alone = browser.new_page()
    alone.set_content(f"<!doctype html><body style='margin: 0'>{text}")
    shot = alone.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height})
    alone.close()
    assert shot == tab.screenshot(clip={"x": x, "y": y, "width": width, "height": height})


def test_a_png_has_two_pixels_for_each_unit(tab: Any) -> None:
    data = tab.evaluate("""async () => {
      const blob = await svgToPng('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"></svg>');
      return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
    }""")
    png = base64.b64decode(data)
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24]) == (80, 60)


def test_what_cannot_become_a_png_is_said_on_the_page(tab: Any) -> None:
    assert tab.evaluate("async () => downloadBlob('x.png', await svgToPng('<svg'))") is False
    assert "no PNG" in tab.locator("#taken").text_content()


def test_a_download_has_its_name_and_text(tab: Any, tmp_path: Path) -> None:
    with tab.expect_download() as waiting:
        assert tab.evaluate("() => downloadText('a.svg', '<svg>é</svg>', 'image/svg+xml')")
    waiting.value.save_as(tmp_path / "a.svg")
    assert waiting.value.suggested_filename == "a.svg"
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == "<svg>é</svg>"
    assert tab.locator("a[download]").count() == 0


def test_in_a_sandbox_the_page_says_that_downloads_may_be_blocked(browser: Any) -> None:
    tab = browser.new_page()
    tab.set_content('<iframe sandbox="allow-scripts" srcdoc="<p>x</p>"></iframe>')
    frame = tab.frames[1]
    frame.wait_for_selector("p")
    frame.add_script_tag(content=SCRIPTS)
    frame.evaluate("() => downloadText('a.svg', 'x')")
    assert "tab of its own" in frame.locator("#taken").text_content()
    tab.close()


def test_a_drawing_fills_the_sheet_and_goes_back(tab: Any) -> None:
    before, during, after = tab.evaluate("""() => {
      const picture = document.getElementById('picture');
      const said = () => ["viewBox", "width", "height"].map((name) => picture.getAttribute(name));
      const before = said(), undo = fitToSheet(picture), during = said();
      undo();
      return [before, during, said()];
    }""")
    assert before == after == [None, "300", "200"]
    assert during[1:] == ["100%", "100%"]
    assert [float(part) for part in during[0].split()] == pytest.approx([40, 30, 200, 120], abs=4)


def test_on_paper_there_are_no_controls_and_dark_is_light(browser: Any) -> None:
    tab = browser.new_page()
    tab.set_content(f"""<!doctype html><html data-theme="dark"><style>:root {{ color-scheme: light dark }}
      :root[data-theme="dark"] {{ color-scheme: dark }}
      body {{ color: light-dark(rgb(1, 1, 1), rgb(250, 250, 250)); height: 100% }}
      #graph {{ height: 20px }} #stage {{ height: 60px }} #panel {{ overflow: auto; height: 50px }}
      {(KIT / "print.css").read_text(encoding="utf-8")}</style>
      <header>h<button>b</button></header><main><section id="graph"><div id="stage"></div></section>
      <section id="panel">p<table><tr><td><button id="name">x</button></table></section></main><footer>f</footer>""")
    colour = "() => getComputedStyle(document.body).color"
    assert tab.evaluate(colour) == "rgb(250, 250, 250)"
    tab.emulate_media(media="print")
    assert tab.evaluate(colour) == "rgb(1, 1, 1)"
    shown = [tab.locator(name).is_visible() for name in ("header", "#panel", "#name", "footer", "header button")]
    assert shown == [True, True, True, False, False]
    graph, panel = (tab.locator(name).bounding_box() for name in ("#stage", "#panel"))
    assert panel["y"] >= graph["y"] + graph["height"]
    assert tab.evaluate("() => getComputedStyle(document.getElementById('panel')).overflowY") == "visible"
    tab.close()
