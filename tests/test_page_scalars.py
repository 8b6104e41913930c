"""The pane "as scalars" of the stepper: in step with the tensor pass, both engines' gradients, one selection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stepper import load_axe, tensor

import viz
from micrograd.backprop import Node, add, overwrite, topological_order
from tensorgrad import Tensor
from viz.pages.unfolded import unfolded
from viz.text import number
from viz.trace import trace

PARTS = Path(viz.__file__).parent
SCRIPTS = [
    "kit/dom.js",
    "kit/numbers.js",
    "pages/engine.js",
    *(f"pages/{name}.js" for name in ("layers", "order", "places", "layout")),
    "pages/unfolded.js",
    "pages/scalar_places.js",
    "pages/scalar_pane.js",
]

COLOURS = (
    ":root { color-scheme: light dark; --plus: light-dark(#0b5cad, #8ec5ff); --minus: light-dark(#a33b00, #ffb38a); \
--now: light-dark(#8a5a00, #ffd166); --wrong: light-dark(#b00020, #ff9aa8); --muted: light-dark(#555, #bbb); \
--line: light-dark(#ccc, #555); --card: light-dark(#fff, #222); --ground: light-dark(#fafafa, #181818); \
--text: light-dark(#111, #eee); --edge: light-dark(#777, #999) } \
body { font: 15px system-ui; background: var(--ground); color: var(--text) }"
)

RUN = """
class FakeRun {
  constructor({ nodes, steps }) {
    this.nodes = nodes.map((node, index) => ({ ...node, index }));
    this.edges = nodes.flatMap((node, child) => node.parents.map((parent, slot) => ({ parent, child, slot })));
    this.edges.forEach((edge, i) => (edge.index = i));
    this.steps = steps;
  }
  at(mode, number) {
    const [gradients, arrivals] = [this.nodes.map(() => null), this.edges.map(() => null)];
    let [seed, step] = [null, null];
    this.steps[mode].slice(0, number).forEach(({ sender, receiver, slot, after }, i) => {
      gradients[receiver] = after;
      const edge = this.edges.find((one) => one.child === sender && one.slot === slot) ?? null;
      if (edge) arrivals[edge.index] = { step: i + 1, lost: false };
      else seed = { step: i + 1, lost: false };
      step = { phase: edge ? "backward" : "seed", edge };
    });
    const length = this.steps[mode].length;
    return { mode, at: number, step, gradients, arrivals, seed, computed: () => true, ended: number >= length };
  }
}
"""


# -- programs ----------------------------------------------------------------------------------------------------------


def product() -> Tensor:
    x, w = tensor([[1, 2], [3, -1.25]], "x"), tensor([[0.5, -1], [1, 0.25]], "w")
    return ((x @ w).tanh() * x + x).sum()


def square() -> Tensor:
    x = tensor([3, -2, 0.5], "x")
    return (x * x).sum()


def mean() -> Tensor:
    x = tensor(np.linspace(-1, 1, 12).reshape(3, 4), "x")
    return ((x - x.mean(axis=0)) ** 2).sum()


PROGRAMS: dict[str, Callable[[], Tensor]] = {"product": product, "square": square, "mean": mean}


def scene(program: Callable[[], Tensor]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the pane is given, and the tensor passes."""
    with viz.recording():
        root = program()
    data, why = unfolded(root, topological_order(root), {}, None)
    assert data is not None, why
    return data, {
        "nodes": [
            {"name": node.name, "title": node.title, "parents": [int(key[1:]) for key in node.parents]}
            for node in trace(root, names={}).graph.nodes
        ],
        "steps": {"add": steps(root, add), "overwrite": steps(root, overwrite)},
    }


def steps(root: Node, combine: Any) -> list[dict[str, Any]]:
    def place(key: str | None) -> int | None:
        return None if key is None else int(key[1:])

    return [
        {
            "sender": place(step.sender),
            "receiver": place(step.receiver),
            "slot": step.slot,
            "after": quantity(step.after),
        }
        for step in trace(root, combine, names={})
    ]


def quantity(q: np.ndarray) -> dict[str, Any]:
    """As the page has it: the elements of an array in four digits."""
    if q.size == 1:
        return {"value": float(q.item())}
    return {"grid": {"values": [float(f"{x:.4g}") for x in q.ravel()], "exact": True}}


@pytest.fixture
def pane(browser: Any) -> Iterator[Callable[..., Any]]:
    """`pane(program, node, scheme)`: a tab with the pane open at a tensor node, found by its op or name."""
    tabs = []

    def opened(program: Callable[[], Tensor], node: str, scheme: str = "light") -> Any:
        tab = browser.new_page(viewport={"width": 1100, "height": 900}, color_scheme=scheme)
        tabs.append(tab)
        tab.errors = []
        tab.on("pageerror", lambda error: tab.errors.append(str(error)))
        data, passes = scene(program)
        tab.set_content(
            "<!doctype html><html lang=en><title>pane</title><main><h1>pane</h1><div id=place></div></main>"
        )
        tab.add_style_tag(content=COLOURS + (PARTS / "pages/scalar_pane.css").read_text(encoding="utf-8"))
        for name in SCRIPTS:
            tab.add_script_tag(content=(PARTS / name).read_text(encoding="utf-8"))
        tab.add_script_tag(
            content=f"{RUN} const run = new FakeRun({json.dumps(passes)}); const picked = [];"
            f"const pane = new ScalarPane({json.dumps(data)}, run, document.getElementById('place'),"
            "(node, element) => picked.push([node.name, element]));"
        )
        tab.evaluate("pane.show(run.at('add', 0))")
        tab.evaluate(
            "node => pane.open(run.nodes.find(({name, title}) => name === node || title.endsWith(node)))", node
        )
        return tab

    yield opened
    for tab in tabs:
        assert tab.errors == []
        tab.close()


def show(tab: Any, mode: str, at: int) -> None:
    tab.evaluate("([mode, at]) => pane.show(run.at(mode, at))", [mode, at])


def rows(tab: Any) -> list[list[str]]:
    return tab.evaluate("[...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent))")


def verdict(tab: Any) -> str:
    return tab.locator(".verdict").text_content()


def length(tab: Any, mode: str = "add") -> int:
    return tab.evaluate("mode => run.steps[mode].length", mode)


# -- in step -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_at_the_end_each_element_has_the_gradient_of_both_engines(pane: Any, program: Any) -> None:
    tab = pane(program, "x")
    show(tab, "add", length(tab))
    root = program()
    root.backward()
    x = next(node for node in topological_order(root) if node.label == "x")
    texts = [number(g) for g in x.grad.ravel()]
    assert [row[1:] for row in rows(tab)] == [[text, text, "= equal"] for text in texts]
    assert verdict(tab) == f"= all {x.data.size} equal"
    assert tab.locator(".differs").count() == 0


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_under_plus_equals_the_engines_agree_after_every_step_of_every_node(pane: Any, program: Any) -> None:
    tab = pane(program, "x")
    found = tab.evaluate("""() => run.nodes.flatMap((node) => {
        if (pane.whyNot(node)) return [];
        pane.open(node);
        return run.steps.add.map((_, i) => {
            pane.show(run.at("add", i + 1));
            return [node.title, i + 1, document.querySelectorAll(".scalar-pane .differs").length];
        });
    })""")
    assert len(found) >= 12
    assert [one for one in found if one[2]] == []


def test_before_the_first_step_nothing_has_arrived_and_after_a_step_back_it_is_gone_again(pane: Any) -> None:
    tab = pane(square, "x")
    first = rows(tab)
    assert [row[1:] for row in first] == [["–", "–", "not yet"]] * 3
    for at in range(1, length(tab) + 1):
        show(tab, "add", at)
    show(tab, "add", 0)
    assert rows(tab) == first
    assert tab.locator(".scalar-edge.sent").count() == 0


def test_the_two_contributions_of_a_square_arrive_one_by_one(pane: Any) -> None:
    tab = pane(square, "x*x")
    end = length(tab)
    x0 = "[...pane.boxes].find(([i]) => pane.unfolded.data.names[i] === 'x[0]')[1].grad.textContent"
    show(tab, "add", end - 2)
    assert tab.evaluate(x0) == "not yet"
    show(tab, "add", end - 1)
    assert tab.evaluate(x0) == "3.0000"
    assert tab.locator(".scalar-edge.now").count() == 3
    show(tab, "add", end)
    assert tab.evaluate(x0) == "6.0000"
    assert tab.locator(".scalar-edge.sent").count() == 6


def test_a_product_of_matrices_opens_into_its_partial_products(pane: Any) -> None:
    tab = pane(product, "x @ w")
    assert tab.locator(".scalar-value").count() == 8 + 4 * 3  # operands; and of each element two products and a sum
    assert tab.locator(".scalar-value.element").count() == 4
    show(tab, "add", length(tab))
    assert tab.locator(".scalar-edge.sent").count() == 4 * 6


def test_under_equals_the_pane_says_that_the_engines_may_differ(pane: Any) -> None:
    tab = pane(product, "w")
    show(tab, "overwrite", length(tab, "overwrite"))
    assert verdict(tab) == "4 of 4 differ, as = may"
    assert "keeps the last of them only" in tab.locator(".note").text_content()
    assert all(row[3].startswith("(≠) differs by") for row in rows(tab))
    pair = viz.compare(lambda x, w: ((x @ w).tanh() * x + x).sum(), [[1, 2], [3, -1.25]], [[0.5, -1], [1, 0.25]])
    both = [
        [number(row.tensor_overwritten), number(row.scalar_overwritten)] for row in pair.rows if row.name[:2] == "w["
    ]
    assert [row[1:3] for row in rows(tab)] == both


# -- in the page -------------------------------------------------------------------------------------------------------


def test_in_the_page_a_node_opens_as_scalars_and_both_engines_agree_at_every_step(opened: Any) -> None:
    with viz.recording():
        root = product()
    page = viz.step(root, names={})
    with opened(page, "#mode=add&step=1", viewport={"width": 1400, "height": 900}) as tab:
        tab.locator(".node").filter(has_text="x @ w").first.click()
        tab.get_by_role("button", name="Open as scalars").click()
        assert tab.locator(".scalar-value.element").count() == 4
        last = len(trace(root, names={}).steps)
        arrived = []
        for _ in range(last + 4):
            tab.locator("#forward").click()
            arrived.append([row[2] for row in rows_of_pane(tab)])
            assert tab.locator(".scalar-pane .differs").count() == 0
        order = topological_order(root)
        root.backward()
        assert arrived[0] == ["–"] * 4
        assert arrived[-1] == [number(g) for g in order[2].grad.ravel()]
        for _ in range(last + 4):
            tab.locator("#back").click()
        assert [row[2] for row in rows_of_pane(tab)] == ["–"] * 4


def test_in_the_page_one_selection_marks_the_cell_of_the_heat_map_and_the_value(opened: Any) -> None:
    with viz.recording():
        root = product()
    with opened(viz.step(root, names={}), "#mode=add&step=9", viewport={"width": 1400, "height": 900}) as tab:
        tab.locator(".node").filter(has_text="x @ w").first.click()
        tab.get_by_role("button", name="Open as scalars").click()
        tab.locator(".scalar-value.element").nth(1).click()
        assert "[0, 1]" in tab.locator("#node .maps").text_content()
        tab.keyboard.press("Escape")
        assert tab.locator(".scalar-pane").is_hidden()


def test_in_the_page_a_graph_that_was_not_recorded_says_what_to_write(opened: Any) -> None:
    with opened(viz.step(mean(), names={}), "#mode=add&step=4", viewport={"width": 1400, "height": 900}) as tab:
        tab.locator(".node").filter(has_text="x").first.click()
        assert "viz.recording()" in tab.locator("#node").text_content()


def rows_of_pane(tab: Any) -> list[list[str]]:
    return tab.locator(".scalar-table tbody tr").evaluate_all(
        "found => found.map(row => [...row.cells].map(cell => cell.textContent))"
    )


# -- differences -------------------------------------------------------------------------------------------------------


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong rule for tanh, in the tensor engine only."""
    right = Tensor.tanh

    def wrong(x: Tensor) -> Tensor:
        out = right(x)
        if out.data.dtype != object and out._rules is not None:
            rules = list(out._rules)
            out._rules = tuple((lambda g, rule=rule: np.asarray(rule(g)) * [1.0, 2.0]) for rule in rules)
        return out

    monkeypatch.setattr(Tensor, "tanh", wrong)


def test_a_wrong_rule_is_marked_by_words_and_sign_where_it_shows(pane: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    tab = pane(product, "x @ w")
    show(tab, "add", length(tab))
    words = [row[3] for row in rows(tab)]
    assert [text.startswith("≠ differs by ") for text in words] == [False, True, False, True]
    assert words[0] == "= equal"
    by = [float(row[1].replace("−", "-")) - float(row[2].replace("−", "-")) for row in rows(tab)]
    assert float(words[1].removeprefix("≠ differs by ").replace("−", "-")) == pytest.approx(by[1], rel=5e-3)
    assert verdict(tab) == "≠ 2 of 4 differ"
    assert "DIFFER" in tab.locator(".whole").text_content()
    tab.locator(".differences button").first.click()
    assert len(tab.evaluate("picked")) == 1


# -- one selection -----------------------------------------------------------------------------------------------------


def test_a_selection_from_outside_marks_the_value_its_row_and_its_edges(pane: Any) -> None:
    tab = pane(product, "x @ w")
    place = "run.nodes.find(({name}) => name === 'x')"
    assert tab.evaluate(f"pane.select({place}, 1)") is True
    assert tab.locator("[aria-selected=true] .name").all_text_contents() == ["x[0, 1]"]
    assert tab.locator(".scalar-edge.chosen").count() == 2
    assert tab.evaluate("picked") == []
    assert tab.evaluate("pane.select(pane.node, 2)") is True
    assert tab.locator("tr.chosen th").all_text_contents() == [tab.evaluate("pane.node.name") + "[1, 0]"]
    assert tab.evaluate("pane.select(run.nodes.at(-1), 0)") is False
    assert tab.locator("[aria-selected=true]").count() == 0


def test_a_click_and_the_arrow_keys_choose_values(pane: Any) -> None:
    tab = pane(square, "x*x")
    tab.locator(".scalar-value.operand").nth(1).click()
    assert tab.evaluate("picked") == [["x", 1]]
    tab.locator(".scalar-graph svg").focus()
    tab.keyboard.press("ArrowRight")
    name = tab.evaluate("pane.node.name")
    assert tab.evaluate("picked.at(-1)") == [name, 1]
    chosen = tab.locator("[aria-selected=true]").get_attribute("id")
    assert tab.locator(".scalar-graph svg").get_attribute("aria-activedescendant") == chosen
    tab.keyboard.press("ArrowUp")
    assert tab.evaluate("picked.at(-1)") in ([name, 0], [name, 2])


def test_what_is_too_large_or_a_constant_says_so(pane: Any) -> None:
    def large() -> Tensor:
        x = tensor(np.ones((9, 8)), "x")
        return (x * Tensor(np.ones((9, 8)), label="k")).sum()

    tab = pane(large, "x")
    assert "72 elements are too many" in tab.locator(".note").text_content()
    tab.evaluate("pane.open(run.nodes.find(({name}) => name === 'k'))")
    assert "a constant" in tab.locator(".note").text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_violations(pane: Any, scheme: str) -> None:
    axe = load_axe()
    tab = pane(product, "x @ w", scheme)
    for mode, at in [("add", 0), ("add", length(tab)), ("overwrite", length(tab, "overwrite")), ("recursion", 0)]:
        if mode != "recursion":
            show(tab, mode, at)
        else:
            tab.evaluate("pane.show({ ...run.at('add', 3), mode: 'recursion' })")
        tab.evaluate("pane.select(pane.node, 0)")
        found = axe.run(tab)
        assert found.violations_count == 0, found.generate_report()


def test_names_are_text_and_never_markup(pane: Any) -> None:
    def hostile() -> Tensor:
        x = tensor([1, 2], "<img src=x onerror=alert(1)>")
        return (x * x).sum()

    tab = pane(hostile, "<img src=x onerror=alert(1)>")
    assert tab.locator("img").count() == 0
    assert "<img" in tab.locator(".scalar-pane h2").text_content()
