"""Heat maps in a browser: what colour and mark each cell has, and its value by pointer and by keyboard."""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pytest
from stepper import load_axe

from viz.pages.quantities import grid

VARIABLES = """
:root { color-scheme: light dark; --card: light-dark(#ffffff, #1c2027); --text: light-dark(#1b1f27, #e9ecf1);
  --muted: light-dark(#565f6d, #a2acba); --line: light-dark(#cdd2db, #3a414d); --now: light-dark(#7a3e9d, #d3a2fa);
  --odd-ground: light-dark(#f6ec7a, #3a3500); --mono: monospace; }
body { background: var(--card); color: var(--text); }
.muted { color: var(--muted); }
"""


@pytest.fixture
def tab(browser):
    """A page that has nothing but the parts of the kit that heat maps need; errors fail the test."""
    kit = resources.files("viz") / "kit"
    scripts = "\n".join((kit / name).read_text(encoding="utf-8") for name in ("dom.js", "numbers.js", "heat.js"))
    style = VARIABLES + (kit / "heat.css").read_text(encoding="utf-8")
    page = browser.new_page(viewport={"width": 700, "height": 500}, color_scheme="light")
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_content(
        f'<!doctype html><html lang="en"><head><title>heat</title><style>{style}</style></head>'
        "<body><main><h1>heat</h1></main></body></html>"
    )
    page.add_script_tag(content=scripts)
    yield page
    page.close()
    assert not complaints


def show(tab, array, *, side=None, label="w.grad", small=False, scale="undefined"):
    tab.evaluate(
        f"""([grid, label, small]) => {{
          window.told = [];
          const onHover = (cell) => told.push(["hover", cell]), onPick = (cell) => told.push(["pick", cell]);
          window.map = heatMap(grid, {{ small, label, onHover, onPick, scale: {scale} }});
          document.querySelector("main").append(map);
        }}""",
        [grid(np.asarray(array, dtype=float), side), label, small],
    )


def line(tab) -> str:
    return tab.locator(".heat-line").text_content()


def cells(tab, name: str, within: str = ".heat-map") -> dict[tuple[float, float], float]:
    """Where the cells with this class are, with the strength of each."""
    found = {}
    for path in tab.locator(f"{within} path.{name}").all():
        strength = float(path.get_attribute("fill-opacity") or 0)
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path.get_attribute("d")):
            found[float(x), float(y)] = strength
    return found


def test_sign_is_colour_and_dash_strength_is_magnitude_zero_is_empty(tab):
    show(tab, [[4, 2, 0], [-4, -0.001, 0]])
    every, plus, minus = (cells(tab, name) for name in ("heat-cell", "heat-plus", "heat-minus"))
    assert len(every) == 6
    assert list(plus.values()) == [1.0, 0.54]
    assert sorted(minus.values()) == [0.195, 1.0]  # also next to nothing is seen to be something
    assert not set(plus) & set(minus)
    assert set(plus) | set(minus) < set(every)
    dashes = "".join(p.get_attribute("d") for p in tab.locator(".heat-map :is(.heat-on, .heat-off)").all())
    assert dashes.count("h5") == 2
    assert tab.locator(".heat-legend").text_content() == "−4+4empty: 0"
    assert tab.locator(".heat-index").all_text_contents() == ["0", "1", "2", "0", "1"]


def test_what_is_not_finite_is_hatched_and_does_not_set_the_scale(tab):
    show(tab, [[np.nan, np.inf, -np.inf, 1, -0.5]])
    assert len(cells(tab, "heat-nan")) == 1
    assert list(cells(tab, "heat-plus").values()) == [1.0, 1.0]
    assert len(cells(tab, "heat-minus")) == 2
    assert "hatched: nan, inf" in tab.locator(".heat-legend").text_content()
    label = tab.locator(".heat-map").get_attribute("aria-label")
    assert label == "w.grad: from −0.5 to 1, nan, inf. The arrow keys go from cell to cell."


@pytest.mark.parametrize("data", [[0.0, 0.0], [np.nan, np.nan], [1e308, -1e308], [5e-324, 0.0]])
def test_extremes_are_drawn(tab, data):
    show(tab, data)
    assert "NaN" not in tab.locator(".heat").inner_html()
    assert ("all zero" in tab.locator(".heat-legend").text_content()) == (data == [0.0, 0.0])


def test_a_scale_may_be_shared(tab):
    show(tab, [[1, -2]], scale="heatScale({ values: [4, 'inf', -8] })")
    assert list(cells(tab, "heat-plus").values()) == [0.195]
    assert "−8" in tab.locator(".heat-legend").text_content()


def test_the_pointer_reads_values_and_picks(tab):
    show(tab, [[1, 2, 3], [4, -0.25, 6]])
    assert line(tab) == "Point at a cell, or go there with the arrow keys."
    box = tab.locator(".heat-map svg").bounding_box()
    (x, y), _ = max(cells(tab, "heat-minus").items())
    tab.mouse.move(box["x"] + x + 5, box["y"] + y + 5)
    assert line(tab) == "[1, 1] = −0.25"
    tab.mouse.down()
    tab.mouse.up()
    tab.mouse.move(box["x"] + x + 31, box["y"] + y + 5)
    assert line(tab) == "[1, 2] = 6"
    tab.mouse.move(600, 450)
    assert line(tab) == "[1, 1] = −0.25"  # the picked one's
    assert tab.evaluate("told") == [["hover", 4], ["pick", 4], ["hover", 5], ["hover", None]]
    tab.evaluate("map.pick(null)")
    assert line(tab).startswith("Point at")
    assert tab.locator(".heat-picked").get_attribute("visibility") == "hidden"
    tab.evaluate("map.pick(0)")
    assert line(tab) == "[0, 0] = 1"
    assert tab.locator(".heat-picked").get_attribute("visibility") == "visible"


def test_the_keyboard_goes_from_cell_to_cell_and_keeps_its_keys_to_itself(tab):
    show(tab, [[1, 2, 3], [4, -0.25, 6]])
    tab.evaluate("document.addEventListener('keydown', (event) => told.push(event.key))")
    tab.keyboard.press("Tab")
    lines = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "End", "ArrowRight", "Home", "ArrowUp", "Enter"):
        tab.keyboard.press(key)
        lines.append(line(tab).split(" =")[0])
    assert lines == ["[0, 0]", "[0, 1]", "[1, 1]", "[1, 1]", "[1, 2]", "[1, 2]", "[1, 0]", "[0, 0]", "[0, 0]"]
    assert tab.evaluate("told.at(-1)") == ["pick", 0]
    tab.keyboard.press("n")
    assert tab.evaluate("told.at(-1)") == "n"  # a key that means nothing here is the page's
    tab.keyboard.press("Escape")
    assert tab.evaluate("told.at(-1)") == ["hover", None]
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement === document.body")  # one tab stop


def test_blocks_say_what_they_stand_for(tab):
    values = np.ones((50, 30))
    values[49, 29] = -7.25
    show(tab, values, side=24)
    tab.evaluate("map.pick(254)")
    assert line(tab) == "[48–49, 28–29]: the largest is −7.25"
    assert tab.locator(".heat-note").text_content() == "each cell: the largest of 3 × 2"


def test_a_long_vector_is_broken_into_lines(tab):
    show(tab, np.arange(100.0))
    box = tab.locator(".heat-map svg").bounding_box()
    assert box["width"] < 340
    tab.evaluate("map.pick(97)")
    assert line(tab) == "[97] = 97"
    tab.locator(".heat-map").focus()
    tab.keyboard.press("ArrowUp")
    assert line(tab) == "[65] = 65"


def test_matrices_of_more_axes_stand_apart(tab):
    show(tab, np.arange(12.0).reshape(2, 3, 2))
    tab.evaluate("map.pick(7)")
    assert line(tab) == "[1, 0, 1] = 7"
    assert tab.locator(".heat-index").all_text_contents() == ["0", "1", *"012", *"012"]
    mark, box = tab.locator(".heat-picked"), tab.locator(".heat-map svg").bounding_box()
    x, y = (float(mark.get_attribute(name)) for name in ("x", "y"))
    tab.evaluate("map.pick(null)")
    tab.mouse.move(box["x"] + x + 3, box["y"] + y + 3)
    assert line(tab) == "[1, 0, 1] = 7"
    tab.mouse.move(box["x"] + x + 3, box["y"] + y - 3)
    assert line(tab).startswith("Point at")  # between two matrices


@pytest.mark.parametrize("shape", [(2, 3), (32, 32), (2, 512), (1, 1024), (341, 3), (2, 2, 2, 60)])
def test_a_thumbnail_is_small_and_says_its_label(tab, shape):
    show(tab, np.random.default_rng(0).normal(size=shape), small=True, label="contribution <b>")
    picture = tab.locator(".heat-small")
    box = picture.bounding_box()
    assert 0 < box["width"] <= 70
    assert 0 < box["height"] <= 200
    assert picture.get_attribute("role") == "img"
    assert picture.get_attribute("aria-label").startswith("contribution <b>: from −")
    assert tab.locator("main b").count() == 0
    assert picture.locator("path").count() <= 20  # few elements however many cells


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(tab, scheme):
    tab.emulate_media(color_scheme=scheme)
    values = np.random.default_rng(0).normal(size=(40, 40))
    values[0, 0] = np.nan
    show(tab, values, side=24)
    show(tab, [[1, 0]], small=True)
    report = load_axe().run(tab)
    assert report.violations_count == 0, report.generate_report()
