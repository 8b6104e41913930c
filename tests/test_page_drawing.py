"""The drawing of the stepper page by itself, on runs made up for it: what is drawn, in each phase and with groups."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stepper import PHONE, address, boxes, inside, net, overlap, position

from viz import step

TESTS = Path(__file__).parent
VIZ = TESTS.parent / "viz"
SCRIPTS = (
    "kit/dom.js",
    "kit/numbers.js",
    "pages/layout.js",
    "pages/layers.js",
    "pages/order.js",
    "pages/places.js",
    "pages/routes.js",
    "pages/sizes.js",
    "pages/boxes.js",
    "pages/chips.js",
    "pages/chip_places.js",
    "pages/overlay.js",
    "pages/paint.js",
    "pages/visible.js",
    "pages/viewport.js",
    "pages/minimap.js",
    "pages/graph.js",
)
STAGE = "body { display: block } #stage { width: 1000px; height: 600px }"
START = """
const calls = [];
window.start = (lines, labels) => {
  window.run = new FakeRun(lines);
  const stage = document.getElementById("stage");
  const call = (name) => (subject) => calls.push(`${name} ${subject?.label ?? subject?.name ?? null}`);
  window.view = new GraphView(run, stage, { hover: call("hover"), pin: call("pin"), toggle: call("toggle") });
  opening(labels);
};
window.opening = (labels) => {
  view.setOpen(new Set(run.groups.filter((group) => labels === null || labels.includes(group.label))));
};
window.to = (mode, at) => view.show(run.moveTo(mode, at < 0 ? run.length(mode) + 1 + at : at));
window.median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
Object.assign(window, { FakeRun, SEVEN, network, GraphView, calls, scalar });
"""
NET = "network([3, 4, 4, 1])"
LARGE = "network([10, 40, 40])"


@pytest.fixture
def drawing(browser: Any) -> Iterator[Callable[..., Any]]:
    """`drawing(program, open groups)`: a page with nothing but the drawing of it. Any error fails."""
    opened = []
    complaints: list[str] = []

    def draw(program: str = "SEVEN", labels: list[str] | None = None, *, motion: str = "reduce") -> Any:
        texts = [(VIZ / name).read_text(encoding="utf-8") for name in SCRIPTS]
        texts += [(TESTS / "fake_run.js").read_text(encoding="utf-8"), START]
        style = "".join((VIZ / name).read_text(encoding="utf-8") for name in ("kit/kit.css", "pages/graph.css"))
        tab = browser.new_page(viewport={"width": 1000, "height": 600}, reduced_motion=motion)
        opened.append(tab)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        body = f'<div id="stage"></div><script type="module">{"".join(texts)}</script>'
        tab.set_content(f"<!doctype html><style>{style}{STAGE}</style>{body}", wait_until="load")
        tab.evaluate(f"labels => start({program}, labels)", labels)
        return tab

    yield draw
    for tab in opened:
        tab.close()
    assert not complaints


def texts(tab: Any, selector: str) -> list[str]:
    return tab.locator(selector).all_text_contents()


def classes(tab: Any, selector: str) -> list[str]:
    return tab.locator(selector).evaluate_all("found => found.map(e => e.getAttribute('class'))")


def fraction(text: str) -> float:
    """Of a text like "3/16 reached"."""
    part, whole = text.split(" ")[0].split("/")
    return int(part) / int(whole)


def place(tab: Any, selector: str) -> tuple[float, float]:
    box = tab.locator(selector).first.bounding_box()
    return round(box["x"], 1), round(box["y"], 1)


# -- numbers and states ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["add", "overwrite"])
def test_each_step_shows_every_gradient_and_what_came_along_each_edge(drawing: Any, mode: str) -> None:
    tab = drawing()
    length = tab.evaluate("mode => run.length(mode)", mode)
    for at in [*range(length + 1), *range(length - 1, -1, -1)]:
        tab.evaluate("([mode, at]) => to(mode, at)", [mode, at])
        held = tab.evaluate("run.moment.gradients.map(g => g ? g.text : 'not yet')")
        assert texts(tab, ".node .grad") == held
        came = tab.evaluate("run.moment.arrivals.filter(Boolean).map(a => [a.step.contribution.chip, a.lost])")
        seed = tab.evaluate("run.moment.seed ? [['seed ' + run.moment.seed.step.contribution.chip, false]] : []")
        kept = [text for text, lost in came + seed if not lost]
        assert sorted(texts(tab, ".chip.shown:not(.lost) text")) == sorted(kept)
        assert sorted(texts(tab, ".chip.lost text")) == sorted(text for text, lost in came if lost)


def test_the_forward_pass_computes_node_by_node(drawing: Any) -> None:
    tab = drawing()
    tab.evaluate("to('add', 2)")  # d, then e
    assert texts(tab, ".node.computing .name") == ["e = d+c"]
    assert texts(tab, ".node.pale .name") == ["f = relu(e)", "L = f*a"]
    assert texts(tab, ".node .data") == ["2.0000", "−3.0000", "−6.0000", "10.0000", "4.0000", "·", "·"]
    assert len(classes(tab, ".edge.operand")) == 2
    heads = tab.locator(".edge").evaluate_all("all => all.map(e => getComputedStyle(e).markerEnd !== 'none')")
    assert heads == [True] * 7


def test_backwards_only_edges_that_were_used_have_a_head(drawing: Any) -> None:
    tab = drawing()
    tab.evaluate("to('add', 4 + 3)")  # the seed, then from L to f and to a
    ends = "all => all.map(e => [getComputedStyle(e).markerStart !== 'none', getComputedStyle(e).markerEnd !== 'none'])"
    heads = tab.locator(".edge").evaluate_all(ends)
    assert sorted(heads) == [[False, False]] * 5 + [[True, False]] * 2
    assert texts(tab, ".node.sender .name") == ["L = f*a"]
    assert texts(tab, ".node.receiver .name") == ["a"]
    assert len(classes(tab, ".edge.now")) == 1


def test_a_wrong_gradient_says_what_it_should_be(drawing: Any) -> None:
    tab = drawing()
    tab.evaluate("to('overwrite', -1)")
    assert texts(tab, ".node.wrong .name") == ["a"]
    assert texts(tab, ".node.wrong .truth") == ["should be −2.0000"]
    tab.evaluate("to('overwrite', -2)")
    assert not classes(tab, ".wrong")


def test_no_number_moves_a_box(drawing: Any) -> None:
    tab = drawing()
    boxes = "all => all.map(e => Object.values(e.getBoundingClientRect().toJSON()).map(Math.round).join())"
    tab.evaluate("to('add', 0)")
    first = tab.locator(".node .body").evaluate_all(boxes)
    tab.evaluate("to('overwrite', -1)")
    assert tab.locator(".node .body").evaluate_all(boxes) == first


def test_a_blocked_edge_is_marked_with_the_reason(drawing: Any) -> None:
    tab = drawing("[['x', '', [], -2, ''], ['y', 'relu', ['x'], null, ''], ['z', '*', ['y', 'x'], null, '']]")
    tab.evaluate("to('add', -1)")
    assert texts(tab, ".blocked > text") == ["dead relu"]
    assert len(classes(tab, "path.edge.blocked")) == 1


def test_an_updated_leaf_shows_old_and_new(drawing: Any) -> None:
    tab = drawing()
    tab.evaluate("""{
      const end = run.length("add");
      const update = { phase: "update", number: end + 1, node: run.nodes[0], before: scalar(2), after: scalar(2.2) };
      view.show({ ...run.moveTo("add", end), changed: null, step: update, at: end + 1 });
    }""")
    assert texts(tab, ".node.updated .name") == ["a"]
    assert texts(tab, ".node.updated .truth") == ["2.0000 → 2.2000"]
    assert texts(tab, ".node.updated .data") == ["2.2000"]


def test_odd_numbers_are_tagged(drawing: Any) -> None:
    tab = drawing("[['x', '', [], Infinity, ''], ['k', '', [], 0, ''], ['y', '*', ['x', 'k'], null, '']]")
    tab.evaluate("to('add', -1)")
    assert texts(tab, ".node.odd .name") == ["x", "k", "y = x*k"]
    assert texts(tab, ".node .tag") == ["inf", "inf", "nan"]


def test_an_array_shows_shape_dtype_and_a_thumbnail(drawing: Any) -> None:
    tab = drawing()
    tab.evaluate("""{
      const grid = { rows: 3, columns: 2, values: [1, -2, 0, 0.5, NaN, 0], exact: true, note: "" };
      run.nodes[0].data = { text: "[[1, −2], …]", short: "", chip: "", sign: null, shape: "(3, 2)", grid };
      run.nodes[0].dtype = "float32";
      view.reset();
      to("add", 5);
    }""")
    assert texts(tab, ".node .shape") == ["(3, 2) float32"]
    assert sorted(classes(tab, ".node .cell")) == ["cell minus", "cell odd", "cell plus", "cell plus"]


def test_names_are_text_and_nothing_else(drawing: Any) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    tab = drawing(f'[["{hostile}", "", [], 1, "{hostile}"], ["y", "relu", ["{hostile}"], null, ""]]', ["whole"])
    tab.evaluate("to('add', -1)")
    assert tab.locator("img").count() == 0
    assert html.escape(hostile) in tab.locator(".group title").first.inner_html().replace("&gt;", "&gt;")


# -- groups ------------------------------------------------------------------------------------------------------------


def test_a_closed_group_is_one_box_that_says_how_far_the_pass_is(drawing: Any) -> None:
    tab = drawing(NET, ["whole"])
    tab.evaluate("to('add', run.nodes.length)")
    for at in range(60, 140, 20):
        tab.evaluate("at => to('add', at)", at)
        wanted = tab.evaluate("""run.groups[0].groups.map((group) => {
          const all = run.nodes.filter((node) => node.path.startsWith(group.label));
          const forward = run.moment.step.phase === "forward";
          const done = all.filter((n) => (forward ? run.moment.computed(n) : run.moment.gradients[n.index])).length;
          return `${done}/${all.length} ${forward ? "computed" : "reached"}`;
        })""")
        said = texts(tab, ".group .small:not(.number):not(.kind)")
        receiver, short = tab.evaluate("[run.moment.step.receiver?.name, run.moment.step.after?.chip]")
        for text, whole in zip(said, wanted, strict=True):  # whatever there is room for
            if receiver and text == f"{receiver} {short}":  # what has just arrived inside
                continue
            count, verb = whole.split()
            done = fraction(whole) == 1
            assert text in ({f"all {verb}", count} if done else {whole, count})
        filled = (
            "all => all.map(e => e.getAttribute('width') / e.parentNode.querySelector('.track').getAttribute('width'))"
        )
        bars = tab.locator(".group .share").evaluate_all(filled)
        shares = [fraction(text) for text in wanted]
        assert bars == pytest.approx(shares, abs=0.01)


def test_edges_between_groups_are_one_line_with_a_count(drawing: Any) -> None:
    tab = drawing(NET, ["whole"])
    parts = "(e) => run.nodes[e.parent].path.startsWith('layer0') && run.nodes[e.child].path.startsWith('layer1')"
    edges = f"run.edges.filter({parts})"
    joining = tab.evaluate(f"{edges}.length")
    assert joining == 16
    look = "view.show(run.moment, run.nodes.find((node) => node.path.startsWith('layer1')), true)"
    tab.evaluate("to('add', -1)")
    assert not texts(tab, ".chip.shown:not(.now, .plus) text")  # many boxes: numbers where the step or the reader is
    tab.evaluate(look)
    assert f"× {joining}" in texts(tab, ".chip.shown text")
    one = tab.evaluate(f"run.passes.add.find((s) => s.edge && {edges}.includes(s.edge)).number")
    tab.evaluate("at => to('add', at)", one)
    assert texts(tab, ".chip.now text") == [tab.evaluate("run.moment.step.contribution.chip")]
    sent = "(at) => run.step('add', at + 1).receiver.path.startsWith('layer0')"
    after = tab.evaluate(f"at => {{ const sent = {sent}; while (sent(at)) at++; return at + 1; }}", one)
    tab.evaluate("at => to('add', at)", after)
    tab.evaluate(look)
    assert f"1 of {joining}" in texts(tab, ".chip.shown text")


def test_parallel_edges_are_two(drawing: Any) -> None:
    tab = drawing("[['x', '', [], 3, ''], ['y', '*', ['x', 'x'], null, '']]")
    tab.evaluate("to('add', -1)")
    assert texts(tab, ".chip.shown text").count("+3") == 2
    first, second = tab.locator(".edge").evaluate_all("all => all.map(e => e.getAttribute('d'))")
    assert first != second


@pytest.mark.parametrize("kept", ["place", "start"])
def test_a_group_that_opens_stays_where_it_is(drawing: Any, kept: str) -> None:
    tab = drawing(NET, ["whole", "layer0"])
    tab.evaluate("to('add', 5)")
    if kept == "place":
        tab.evaluate("view.viewport.zoom(1.7, {x: 300, y: 200})")
        box = place(tab, ".group:has-text('neuron2') > .body")
        tab.evaluate("opening(['whole', 'layer0', 'neuron2'])")
        assert place(tab, ".frame .body >> nth=1") == pytest.approx(box, abs=2)
    else:
        tab.evaluate("opening(['whole', 'layer0', 'neuron2'])")
    tab.evaluate("view.viewport.fit()")
    assert {"neuron2", "layer0"} <= set(texts(tab, ".caption .name"))
    assert set(tab.evaluate("run.groups.find((g) => g.label === 'neuron2').nodes.map((n) => n.title)")) <= set(
        texts(tab, ".node > title")
    )


def test_boxes_glide_to_where_they_belong(drawing: Any) -> None:
    tab = drawing(NET, ["whole", "layer0"], motion="no-preference")
    tab.evaluate("to('add', 5); opening(['whole', 'layer1'])")
    tab.wait_for_timeout(600)
    assert set(texts(tab, ".group .name")) == {"layer0", "layer2", "neuron0", "neuron1", "neuron2", "neuron3"}
    gone_astray = """all => all.filter(({ item, group }) => {
      const { x, y } = item.box;
      const { e, f } = new DOMMatrix(getComputedStyle(group).transform);
      return Math.abs(e - x) + Math.abs(f - y) > 0.5;
    }).length"""
    assert tab.evaluate(f"({gone_astray})(view.drawables.map((d) => d.drawn).filter((d) => d?.item))") == 0


def test_clicks_choose_a_node_and_open_and_close_groups(drawing: Any) -> None:
    tab = drawing(NET, ["whole", "layer1"])
    tab.evaluate("to('add', 0)")
    tab.locator(".node").first.click()
    tab.locator(".group:has-text('neuron1')").click()
    tab.locator(".caption").click()
    assert [call for call in tab.evaluate("calls") if "hover" not in call] == [
        "pin x0",
        "toggle neuron1",
        "toggle layer1",
    ]


def test_a_drag_is_no_click(drawing: Any) -> None:
    tab = drawing()
    tab.evaluate("to('add', 0)")
    x, y = place(tab, ".node .body")
    tab.mouse.move(x + 10, y + 10)
    tab.mouse.down()
    tab.mouse.move(x + 80, y + 60, steps=3)
    tab.mouse.up()
    assert not [call for call in tab.evaluate("calls") if "pin" in call]
    assert place(tab, ".node .body") == pytest.approx((x + 70, y + 50), abs=1)


# -- large graphs ------------------------------------------------------------------------------------------------------


def test_only_what_is_in_view_is_on_the_page_and_it_is_up_to_date(drawing: Any) -> None:
    tab = drawing(LARGE)
    tab.evaluate("to('add', -1)")
    total = tab.evaluate("run.nodes.length")
    tab.evaluate("view.viewport.scale = 1; view.viewport.centre(view.boxOf(run.nodes[900]))")
    assert 0 < len(classes(tab, ".node")) < total / 20
    place_of_text = "node => [...node.querySelectorAll('.grad')].map(e => e.textContent)[0]"
    drawn = tab.locator(".node").evaluate_all(f"all => all.map({place_of_text})")
    wanted = tab.evaluate("view.visible.items.filter((i) => i.drawn).map((i) => run.truth[i.subject.index].text)")
    assert sorted(drawn) == sorted(wanted)


def test_a_step_costs_little_and_shows_what_a_fresh_drawing_shows(drawing: Any) -> None:
    tab = drawing(LARGE)
    result = tab.evaluate("""(() => {
      const from = run.length("add") - 3000;
      to("add", from);
      view.viewport.fit();
      const times = [];
      for (let at = from + 1; at < from + 60; at++) {
        const moment = run.moveTo("add", at);
        const start = performance.now();
        view.show(moment);
        times.push(performance.now() - start);
      }
      const sorted = (e) => e.getAttribute("class").split(" ").sort().join(" ");
      const now = () => [...document.querySelectorAll(".node, .edge")].map(sorted);
      const before = now();
      view.repaint();
      const after = now();
      return { time: median(times), same: before.every((text, i) => text === after[i]), count: before.length };
    })()""")
    assert result["same"]
    assert result["count"] > 10_000
    assert result["time"] < 16


def test_the_minimap_shows_while_something_is_out_of_view_and_goes_there(drawing: Any) -> None:
    tab = drawing(NET)
    tab.evaluate("to('add', 0); view.viewport.fit()")
    assert not tab.locator(".minimap").is_visible()
    tab.evaluate("view.viewport.zoom(6)")
    tab.wait_for_selector(".minimap:visible")
    before = tab.evaluate("view.viewport.x")
    tab.locator(".minimap").click(position={"x": 8, "y": 20})
    assert tab.evaluate("view.viewport.x") > before
    assert tab.locator(".minimap").get_attribute("aria-hidden") == "true"


def test_the_overlay_fills_by_the_size_of_the_gradient(drawing: Any) -> None:
    tab = drawing()
    tab.evaluate("view.setOverlay('grad'); to('add', -1)")
    assert "from 1 or less (pale) to 4 (full)" in tab.locator(".overlay-legend").text_content()
    heats = tab.locator(".node").evaluate_all("all => all.map(e => parseInt(e.style.getPropertyValue('--heat')))")
    sizes = tab.evaluate("run.truth.map((g) => Math.abs(g.value))")
    assert [heat for _, heat in sorted(zip(sizes, heats, strict=True))] == sorted(heats)
    assert min(heats) < max(heats) == 100
    fills = tab.locator(".node .body").evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
    assert fills[2] == fills[3] == fills[4] != fills[6]  # d, a leaf c, e: all have 2; L has 1
    tab.evaluate("view.setOverlay('none')")
    assert not classes(tab, ".heated")
    assert not tab.locator(".overlay-legend").is_visible()


def test_follow_brings_into_view(drawing: Any) -> None:
    tab = drawing(NET)
    tab.evaluate("to('add', 0); view.viewport.zoom(5); view.follow([run.nodes[0]])")
    assert tab.evaluate("view.viewport.sees(view.boxOf(run.nodes[0]))")


def test_the_picture_is_hidden_from_screen_readers_which_have_the_panel(drawing: Any) -> None:
    tab = drawing()
    assert tab.locator("#stage > svg").get_attribute("aria-hidden") == "true"
    assert tab.locator("#stage svg [tabindex], #stage svg a").count() == 0


# -- one readable screen -----------------------------------------------------------------------------------------------

LEAST_TEXT = """() => {
  const layer = document.querySelector("#stage .layer");
  const { a: scale } = new DOMMatrix(getComputedStyle(layer).transform);
  const seen = [...layer.querySelectorAll("text")].filter((e) => e.textContent && e.checkVisibility());
  const sizes = seen.map((e) => parseFloat(getComputedStyle(e).fontSize) * scale);
  return seen.length > 50 ? Math.min(...sizes) : 0;
}"""


@pytest.mark.parametrize("mode", ["add", "overwrite"])
def test_394_values_are_on_one_readable_screen_at_every_step(opened: Any, mode: str) -> None:
    with opened(step(net(), names={}), viewport={"width": 1400, "height": 800}) as tab:
        total = int(position(tab).split("/")[1])
        unfit = {}
        for at in [None, *range(1, total - 1, total // 20)]:
            if at is not None:
                tab.evaluate("hash => { location.hash = hash }", address(mode, at))
                tab.wait_for_function(
                    "at => document.querySelector('#position').textContent.includes(` ${at} /`)", arg=at
                )
            drawn = boxes(tab, "#stage :is(.node, .group, .frame) > .body")
            least = tab.evaluate(LEAST_TEXT)
            if not all(inside(tab, drawn)) or least < 9:
                unfit[at] = (len(drawn), round(least, 2))
        assert not unfit


def test_a_number_on_an_edge_covers_no_value_of_a_large_run(opened: Any) -> None:
    with opened(step(net(), names={}), address("add", 500), viewport={"width": 1400, "height": 800}) as tab:
        [chip] = boxes(tab, ".chip.now rect")
        assert max(overlap(chip, box) for box in boxes(tab, "#stage :is(.node, .group) > .body")) < 0.1


def test_a_narrow_stage_has_no_minimap(opened: Any) -> None:
    with opened(step(net(), names={}), viewport=PHONE) as tab:
        assert not tab.evaluate("[...document.querySelectorAll('.minimap')].some((e) => e.checkVisibility())")


def test_in_a_large_run_edges_say_what_is_lost_and_a_closed_group_says_what_arrived(opened: Any) -> None:
    with opened(step(net(), names={})) as tab:
        [said] = tab.locator(".group.receiver .small:not(.number):not(.kind)").all_text_contents()
        assert re.fullmatch(r"n1 −\d\.\d+", said)
        numbers = tab.locator("#stage .chip.shown text")
        assert not [text for text in numbers.all_text_contents() if "lost" in text]
        tab.keyboard.press("m")
        tab.keyboard.press("End")
        lost = [text for text in numbers.all_text_contents() if "lost" in text]
        assert all(re.fullmatch(r"\d+ of \d+ lost", text) for text in lost)
        assert len(lost) > 3
