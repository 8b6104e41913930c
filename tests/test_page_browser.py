"""The stepper page in a real browser: what it shows after each step against the trace, every control, accessibility."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import missing

from micrograd import Value
from micrograd.backprop import Node, add, overwrite
from micrograd.nn import MLP
from tensorgrad import Tensor
from viz import Page, step, trace
from viz.pages.quantities import Quantities
from viz.text import number
from viz.trace import Trace

COMBINE = {"add": add, "overwrite": overwrite}
WIDE = {"width": 1400, "height": 720}
PHONE = {"width": 390, "height": 844}


# -- programs ----------------------------------------------------------------------------------------------------------


def seven(make: Callable[..., Node]) -> Node:
    """The seed document's graph: a is used twice and ends at -2, or at -6 under `=`."""
    a, b, c = make(2.0, label="a"), make(-3.0, label="b"), make(10.0, label="c")
    return (a * b + c).relu() * a


def tensor(data: Any, label: str) -> Tensor:
    return Tensor(data, requires_grad=True, label=label)


def square(make: Callable[..., Node]) -> Node:
    x = make(3.0, label="x")
    return x * x


def arrays() -> Node:
    x, w, b = tensor([[1, 2], [3, 4], [-1, 0.5]], "x"), tensor([[0.5, -1], [1, 0.25]], "w"), tensor([0.1, -0.2], "b")
    h = (x @ w + b).tanh()
    return (h * h).sum()


def shared() -> Node:
    """An array whose gradient takes in two more after the first."""
    x, w = tensor([[1, 2], [3, -1.25]], "x"), tensor([[0.5, -1], [1, 0.25]], "w")
    return ((x @ w).tanh() * x + x).sum()


def beside() -> Node:
    """An edge that passes close beside a node."""
    x = tensor(np.linspace(-1, 1, 24).reshape(6, 4), "x")
    return (x * x.tanh()).sum()


def net() -> Node:
    """The 41 parameters on four examples of figures row 2: 394 nodes."""
    random.seed(1)
    model = MLP(3, [4, 4, 1])
    xs, ys = [[2, 3, -1], [3, -1, 0.5], [0.5, 1, 1], [1, 1, -1]], [1, -1, -1, 1]
    return sum((model(x) - y) ** 2 for x, y in zip(xs, ys, strict=True))


PROGRAMS = {
    "seven values": lambda: seven(Value),
    "seven tensors": lambda: seven(tensor),
    "arrays": arrays,
    "shared": shared,
    "beside": beside,
    "x*x": lambda: square(Value),
    "x*x on tensors": lambda: square(tensor),
}


def load_axe() -> Any:
    """axe-core, or a skip that says that it is not installed."""
    try:
        return importlib.import_module("axe_playwright_python.sync_playwright").Axe()
    except ImportError:
        missing("axe-playwright-python is not installed")


# -- the page in the browser -------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """`with opened(page, address) as tab`: the page opened from a file. Any error or request of its own fails."""

    @contextmanager
    def open_page(page: Page, address: str = "", *, viewport: dict[str, int] = WIDE, scheme: str = "light") -> Any:
        path = page.save(tmp_path / "page.html")
        tab = browser.new_page(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        complaints: list[str] = []
        tab.on("console", lambda message: complaints.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        tab.on("request", lambda request: request.url.startswith("file://") or complaints.append(request.url))
        try:
            tab.goto(path.as_uri() + address)
            tab.wait_for_selector("#position:has-text('step')")
            yield tab
            assert not complaints
        finally:
            tab.close()

    return open_page


def address(mode: str, at: int) -> str:
    return f"#mode={mode}&step={at}"


def shown(tab: Any) -> list[str]:
    """What the graph shows as each node's gradient."""
    return tab.locator("#stage .grad").all_text_contents()


def chips(tab: Any) -> list[str]:
    return tab.locator(".chip.shown:not(.lost) text").all_text_contents()


def lost(tab: Any) -> list[str]:
    return tab.locator(".chip.lost text").all_text_contents()


def expected(passed: Trace, at: int) -> list[str]:
    """What the graph should show as each node's gradient after `at` steps."""
    held = {taken.receiver: taken.after for taken in passed.steps[:at]}
    return [text_of(held[node.key]) if node.key in held else "not yet" for node in passed.graph.nodes]


def text_of(q: Any) -> str:
    if np.size(q) == 1:
        return number(np.asarray(q).item())
    quantities = Quantities()
    return quantities.records[quantities.of(q)]["text"]


def position(tab: Any) -> str:
    return tab.locator("#position").text_content()


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", COMBINE)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_step_shows_the_trace_forwards_and_backwards(opened, name, mode):
    root = PROGRAMS[name]()
    passed = trace(root, COMBINE[mode], names={})
    with opened(step(root, names={}), address(mode, 0)) as tab:
        assert shown(tab) == expected(passed, 0)
        for at in range(1, len(passed) + 1):
            tab.locator("#forward").click()
            assert shown(tab) == expected(passed, at)
            assert position(tab) == f"step {at} / {len(passed)}"
        for at in reversed(range(len(passed))):
            tab.locator("#back").click()
            assert shown(tab) == expected(passed, at)


def test_the_panel_explains_the_step(opened):
    with opened(step(seven(Value), names={}), address("add", 7)) as tab:
        now = " ".join(tab.locator("#now").inner_text().split())
        assert now == (
            f"{sender(tab)} sends to a: b × {sender(tab)}.grad −3 × 2 = −6 local upstream contribution "
            "a.grad += −6 4 + (−6) = −2"
        )
        assert tab.locator("#code .runs").text_content() == f"a.grad += b * {sender(tab)}.grad"
        assert tab.locator("#ledger tbody tr").count() == 2
        assert tab.locator("#ledger tbody tr").last.locator("td").all_text_contents()[1:] == ["−6.0000", "−2.0000"]


def sender(tab: Any) -> str:
    """The name of the node that sends, from its box."""
    return tab.locator(".node.sender .name").text_content().split(" = ")[0]


def test_overwriting_shows_what_is_lost(opened):
    with opened(step(seven(Value), names={}), address("overwrite", 7)) as tab:
        assert "4 is lost." in tab.locator("#now").inner_text()
        assert lost(tab) == ["+4"]
        assert "−6" in chips(tab)
        assert "lost" in tab.locator("#ledger tbody tr").first.inner_text()
        assert tab.locator(".node.wrong").count() == 0
        tab.keyboard.press("End")
        assert tab.locator(".node.wrong .name").all_text_contents() == ["a"]
        assert tab.locator(".node.wrong .truth").text_content() == "should be −2.0000"
        assert "1 of 7 gradients is wrong: a." in tab.locator("#now").inner_text()
        assert tab.locator("#gradients tbody tr").first.locator("td").all_text_contents() == [
            "a",
            "2.0000",
            "−6.0000",
            "−2.0000",
        ]


def test_of_a_zero_that_is_overwritten_nothing_is_lost(opened):
    """y receives 0 and then 3 in the first graph, 3 and then 0 in the second."""
    x, y = Value(0.0, label="x"), Value(2.0, label="y")
    with opened(step(y * 3.0 + y * x, names={}), address("overwrite", 99)) as tab:
        assert ledger(tab, "y") == ["0.0000", "3.0000"]
        assert tab.locator("#ledger s").count() == len(lost(tab)) == 0
        tab.keyboard.press("ArrowLeft")
        assert "0 → 3 Nothing is lost: it was 0." in " ".join(tab.locator("#now").inner_text().split())
        assert tab.locator("#now s").count() == 0
    with opened(step(y * x + y * 3.0, names={}), address("overwrite", 99)) as tab:
        assert ledger(tab, "y") == ["3.0000 lost", "0.0000"]
        assert lost(tab) == ["+3"]


def ledger(tab: Any, name: str) -> list[str]:
    """The contributions that the panel lists for a node."""
    tab.get_by_role("button", name=name, exact=True).click()
    return tab.locator("#ledger tbody td:nth-child(2)").all_text_contents()


def test_the_first_view_makes_the_point(opened):
    with opened(step(seven(Value), names={})) as tab:
        text = " ".join(tab.locator("#now .verdict").inner_text().split())
        assert text == (
            "a is used 2 times: 2 contributions meet in a.grad: +4 and −6. With += it ends at −2, which is right. "
            "With = it ends at −6."
        )


def test_both_edges_of_a_square_carry_a_contribution(opened):
    with opened(step(square(Value), names={}), address("overwrite", 3)) as tab:
        assert lost(tab) == ["+3"]
        assert chips(tab) == ["seed +1", "+3"]  # the current one is drawn last
        boxes = [chip.bounding_box() for chip in tab.locator(".chip.shown rect").all()[:2]]
        first, second = sorted(boxes, key=lambda box: (box["y"], box["x"]))
        apart = first["y"] + first["height"] <= second["y"] or first["x"] + first["width"] <= second["x"]
        assert apart or second["x"] + second["width"] <= first["x"]


def test_sender_receiver_and_edge_stand_out_by_line_and_not_only_by_colour(opened):
    with opened(step(seven(Value), names={}), address("add", 7)) as tab:
        style = "node => { const s = getComputedStyle(node); return [s.strokeDasharray, parseFloat(s.strokeWidth)]; }"
        dash, _ = tab.locator(".node.sender rect").evaluate(style)
        assert dash != "none"
        assert tab.locator(".node.receiver rect").evaluate(style) == ["none", 4]
        assert tab.locator(".edge.now").evaluate(style) == ["none", 4]
        ends = "edge => { const s = getComputedStyle(edge); return [s.markerStart, s.markerEnd]; }"
        for kind in (".edge.now", ".edge.done:not(.now)"):
            start, end = tab.locator(kind).first.evaluate(ends)
            assert start != "none"  # at the receiver
            assert end == "none"


def test_arrays_are_explained_in_full(opened):
    with opened(step(arrays(), names={}), address("add", 5)) as tab:
        text = tab.locator("#now").inner_text()
        upstream, square = f"{sender(tab)}.grad", f"(1 - {sender(tab)}**2)"
        assert f"local {square}" in text
        assert f"× upstream {upstream}" in text
        assert tab.locator("#now .matrix").count() == 3  # local, upstream, contribution
        assert all(matrix.count("\n") == 2 for matrix in tab.locator("#now .matrix").all_text_contents())


@pytest.mark.parametrize(("mode", "terms"), [("add", ["before", "+ contribution", "= after"]), ("overwrite", None)])
def test_what_an_array_takes_in_is_shown_as_matrices(opened, mode, terms):
    """Step 6 is the second contribution to x: to what it held, all ones."""
    with opened(step(shared(), names={}), address(mode, 6)) as tab:
        matrices = tab.locator("#now .lines").last.locator(".matrix")
        shown = [text.split() for text in matrices.all_text_contents()]
        contribution = tab.locator("#now .lines").first.locator(".matrix").last.text_content().split()
        assert tab.locator("#now .lines").last.locator("dt").all_text_contents() == (terms or ["before", "after"])
        assert shown[0] == ["1"] * 4
        if mode == "add":
            assert shown[1] == contribution == ["0.987", "−0.462", "0.245", "−0.997"]
            assert shown[2] == ["1.99", "0.538", "1.24", "0.00265"]
            assert tab.locator("#now s").count() == 0
        else:
            assert shown[1] == contribution
            assert tab.locator("#now s.matrix").all_text_contents() == ["1  1\n1  1"]


def test_of_a_large_array_the_contribution_is_summed_up_once(opened):
    x = tensor(np.ones((9, 9)), "x")
    with opened(step((x * x).sum(), names={}), address("add", 4)) as tab:
        assert tab.locator("#now .lines").last.locator("dt").all_text_contents() == ["before", "= after"]
        assert tab.locator("#now .matrix").count() == 0


def test_a_rule_of_the_users_own_is_shown_as_such(opened):
    x = Value(3.0, label="x")
    y = Value(x.data**2, (x, x), "sq", label="y")

    def backward():
        x.grad += 2 * x.data * y.grad

    y._backward = backward
    with opened(step(y * float("inf"), names={}), address("add", 4)) as tab:
        assert tab.locator("#code .runs").text_content() == "x.grad += ...  # the rule assigned to _backward"
        now = " ".join(tab.locator("#now").inner_text().split())
        assert "y sends to x: contribution of y’s own rule inf" in now
        assert "Measured: the rule was run on emptied gradients." in now
        assert shown(tab)[0] == "inf"


def test_an_operation_without_a_rule_in_words_has_no_code_for_it(opened):
    x = tensor([1.0, 2.0], "x")
    y = x * 2.0
    y._op = "twice"
    with opened(step(y.sum(), names={}), address("add", 3)) as tab:
        assert tab.locator("#code .runs").text_content() == "x.grad += ...  # the rule of twice"
        assert "contribution by the rule of twice" in " ".join(tab.locator("#now").inner_text().split())


def test_not_reached_constant_and_zero_look_different(opened):
    x = tensor([1.0, 2.0], "x")
    dead = (x * -1.0).relu() * Tensor([3.0, 4.0], label="k")
    with opened(step(dead.sum(), names={})) as tab:
        assert set(shown(tab)) == {"not yet", "constant"}
        tab.keyboard.press("End")
        assert shown(tab)[tab.locator("#stage .name").all_text_contents().index("x")] == "[0, 0]"
        assert "constant" in shown(tab)


# -- controls ----------------------------------------------------------------------------------------------------------


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


# -- room --------------------------------------------------------------------------------------------------------------


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
        chips = [chip.bounding_box() for chip in tab.locator(".chip.shown rect").all()]
        texts = [text.bounding_box() for text in tab.locator(".node .number, .node.wrong .truth").all()]
        assert not any(overlap(chip, text) for chip in chips for text in texts)
        assert not any(overlap(a, b) > 0.1 for i, a in enumerate(chips) for b in chips[:i])


def overlap(a: dict[str, float], b: dict[str, float]) -> float:
    """The share of `a` that `b` covers, without a pixel at its rim."""
    across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"]) - 1
    down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"]) - 1
    return max(across, 0) * max(down, 0) / (a["width"] * a["height"])


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
    boxes = [box.bounding_box() for box in inner.locator(".node rect").all()]
    seen = [inside(inner, box) for box in boxes]
    if name == "wide":
        assert seen[-1]  # the root, and what is around it, at a size that can be read
        assert sum(seen) > 5
    else:
        assert all(seen)
    assert boxes[0]["height"] > 40
    tab.close()


def test_a_page_with_one_layout_fits_a_phone_too(opened, monkeypatch):
    monkeypatch.setattr("viz.pages.layout._MANY_RANKS_PASSED", 0)
    with opened(step(seven(Value), names={}), address("overwrite", 7), viewport=PHONE) as tab:
        assert lost(tab) == ["+4"]
        tab.locator("#fit").click()
        assert all(inside(tab, box.bounding_box()) for box in tab.locator(".node rect").all())


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
        assert all(inside(tab, box.bounding_box()) for box in tab.locator(".node rect").all())


def test_the_net_opens_and_steps_to_the_end(opened):
    root = net()
    passed = trace(root, overwrite, names={})
    assert len(passed.graph) == 394
    with opened(step(root, names={})) as tab:
        for at in (1, 2, 3):
            tab.keyboard.press("ArrowRight")
            assert tab.locator("#position").text_content() == f"step {at} / {len(passed)}"
            assert in_view(tab, ".node.receiver rect")
        tab.keyboard.press("m")
        tab.keyboard.press("End")
        assert shown(tab) == expected(passed, len(passed))
        assert in_view(tab, ".node.receiver rect")
        tab.locator("#fit").click()
        assert all(inside(tab, box.bounding_box()) for box in tab.locator(".node rect").all()[::40])
        for current in (".node.sender rect", ".node.receiver rect", ".edge.now"):  # seen from afar too
            assert tab.locator(current).evaluate("e => getComputedStyle(e).vectorEffect") == "non-scaling-stroke"


def test_the_chip_of_the_step_lies_on_top(opened):
    """Step 300 of the net sends 0 along an edge whose chip an older one, +1.263, would cover."""
    with opened(step(net(), names={}), address("overwrite", 300)) as tab:
        assert tab.locator(".chip.now").count() == 1
        assert tab.locator(".chip").last.get_attribute("class") == tab.locator(".chip.now").get_attribute("class")
        tab.keyboard.press("ArrowLeft")
        assert "now" in tab.locator(".chip").last.get_attribute("class").split()


def in_view(tab: Any, selector: str) -> bool:
    return inside(tab, tab.locator(selector).bounding_box())


def inside(tab: Any, box: dict[str, float]) -> bool:
    """Whether a box lies inside the stage, a pixel more or less."""
    stage = tab.locator("#stage").bounding_box()
    return all(
        stage[start] - 1 <= box[start] and box[start] + box[size] <= stage[start] + stage[size] + 1
        for start, size in (("x", "width"), ("y", "height"))
    )
