"""The page's engine for scalar graphs (viz/pages/engine.js), in Chromium, against Python's: the same steps, bit by bit,
in all three passes; other leaves; and slopes by differences."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stepper import COMBINE, net, odd, odd_fan, seven, square, tensor

import viz
from micrograd import Value
from micrograd.backprop import Node, add_hook, overwrite, reached, topological_order
from viz.pages.scalars import pack, recordable
from viz.passes import empty_gradients, gradients
from viz.recursion import recursive_rule, steps_needed
from viz.trace import trace

SCRIPTS = ("kit/numbers.js", "pages/engine.js")

PROGRAMS: dict[str, Callable[[], Value]] = {
    "seven": lambda: seven(Value),
    "square": lambda: square(Value),
    "odd": odd,
    "odd fan": odd_fan,
    "net": net,
    "leaf": lambda: Value(2.0),
    **{f"random {i}": lambda i=i: random_graph(i) for i in range(20)},
}

UNARY = [
    lambda x: -x,
    abs,
    Value.relu,
    Value.tanh,
    Value.sigmoid,
    Value.exp,
    Value.log,
    Value.sqrt,
    Value.sin,
    Value.cos,
    lambda x: x**2,
    lambda x: x**-1,
    lambda x: x**0,
    lambda x: x**0.5,
    lambda x: x ** float("inf"),
]
BINARY = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / y,
    lambda x, y: x**y,
]


def random_graph(seed: int) -> Value:
    """Every operation, on numbers that are often 0, 1 or inf; many nodes used more than once."""
    chance = random.Random(seed)
    made = [Value(chance.uniform(-2, 2)) for _ in range(4)] + [Value(x) for x in (0.0, -1.0, 1.0)]
    if seed % 2:
        made += [Value(math.inf), Value(-0.0)]
    for _ in range(30):
        if chance.random() < 0.5:
            made.append(chance.choice(UNARY)(chance.choice(made)))
        else:
            made.append(chance.choice(BINARY)(chance.choice(made), chance.choice(made)))
    return sum(made[-12:])


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    for script in SCRIPTS:
        page.add_script_tag(content=(Path(viz.__file__).parent / script).read_text(encoding="utf-8"))
    yield page
    page.close()


def load(tab: Any, root: Value) -> list[Value]:
    """Make the graph below `root` the page's `graph`."""
    order = topological_order(root)
    index = {node: i for i, node in enumerate(order)}
    parents = [[index[parent] for parent in node._prev] for node in order]
    data = json.dumps([pack(order), parents], allow_nan=False)
    tab.evaluate("(data) => { globalThis.graph = new ScalarGraph(...JSON.parse(data)); }", data)
    return order


def number(x: float) -> str:
    """Equal where all bits are, or both are nan."""
    return "nan" if math.isnan(x) else float(x).hex()


def steps_of(tab: Any, mode: str) -> tuple[list[tuple[Any, ...]], float]:
    """The page's pass, (edge, sender, receiver, contribution, before, after) a step, and `cut`."""
    got = tab.evaluate(
        """(mode) => {
          const { length, cut, hasBefore, ...arrays } = graph.pass(mode);
          const plain = Object.entries(arrays).map(([name, of]) => [name, Array.from(of)]);
          const before = Array.from(hasBefore);
          return { length, cut, hasBefore: before, ...Object.fromEntries(plain) };
        }""",
        mode,
    )
    assert len(got["edge"]) == got["length"]
    before = [number(x) if has else None for x, has in zip(got["before"], got["hasBefore"], strict=True)]
    sent, after = ([number(x) for x in got[name]] for name in ("contribution", "after"))
    return list(zip(got["edge"], got["sender"], got["receiver"], sent, before, after, strict=True)), got["cut"]


@pytest.mark.parametrize("mode", ["add", "overwrite"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_step_of_a_pass_is_the_traces(tab, program, mode):
    root = PROGRAMS[program]()
    order = load(tab, root)
    first = np.cumsum([0] + [len(node._prev) for node in order])
    expected = []
    for step in trace(root, COMBINE[mode], names={}):
        sender = -1 if step.sender is None else int(step.sender[1:])
        edge = -1 if step.sender is None else int(first[sender]) + step.slot
        before = None if step.before is None else number(step.before)
        expected.append((edge, sender, int(step.receiver[1:]), number(step.contribution), before, number(step.after)))
    assert steps_of(tab, mode) == (expected, 0)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_recursion_is_pythons(tab, program):
    root = PROGRAMS[program]()
    order = load(tab, root)
    index = {node: i for i, node in enumerate(order)}
    expected = []
    with empty_gradients(order):
        for sender, receiver, sent in recursive_rule(root, 1.0):
            before = number(receiver.grad) if reached(receiver) else None
            receiver.grad = receiver.grad + sent
            at = (-1 if sender is None else index[sender], index[receiver])
            expected.append((*at, number(sent), before, number(receiver.grad)))
    steps, cut = steps_of(tab, "recursion")
    assert [step[1:] for step in steps] == expected
    assert cut == (0 if len(steps) == steps_needed(root) else steps_needed(root))
    assert tab.evaluate("graph.recursionSteps()") == steps_needed(root)


@pytest.mark.parametrize("layers", [200, 1100])
def test_a_recursion_without_end_is_cut_off(tab, layers):
    x = Value(1.0)
    for _ in range(layers):
        x = x + x.tanh()
    load(tab, x)
    steps, cut = steps_of(tab, "recursion")
    assert len(steps) == 4 * (3 * layers + 1)
    total = steps_needed(x)
    assert cut == (float(total) if layers == 200 else math.inf)
    assert layers == 200 or total > 2**1024


def test_constants_get_nothing(tab):
    a, k = Value(2.0), Value(5.0)
    load(tab, a * k)
    tab.evaluate("() => { graph.constant = [false, true, false]; }")
    for mode in ("add", "overwrite", "recursion"):
        assert tab.evaluate(f"[...graph.pass('{mode}').edge]") == [-1, 0]


# -- other leaves ------------------------------------------------------------------------------------------------------


def close(got: list[float], expected: list[float]) -> None:
    for x, y in zip(got, expected, strict=True):
        assert (math.isnan(x) and math.isnan(y)) or x == y or math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-300)


def again(tab: Any, leaves: list[list[float]]) -> dict[str, Any]:
    """The page's data, local derivatives and blocked edges for other leaves, computed twice: by way of still others."""
    return tab.evaluate(
        """(leaves) => {
          const other = graph.recompute(new Map(leaves.map(([index, x]) => [index, x === 0.37 ? 0.38 : 0.37])));
          const { data, local, blocked } = other.recompute(new Map(leaves));
          return { data: [...data], local: [...local], blocked: [...blocked].flatMap((is, i) => (is ? [i] : [])) };
        }""",
        leaves,
    )


@pytest.mark.parametrize("seed", range(30))
def test_computed_forward_from_the_same_leaves_it_is_the_same(tab, seed):
    root = random_graph(seed) if seed else net()
    order = load(tab, root)
    got = again(tab, [[i, node.data] for i, node in enumerate(order) if not node._prev])
    if seed % 2 and not all(map(math.isfinite, (node.data for node in order))):
        assert [math.isfinite(x) for x in got["data"]] == [math.isfinite(node.data) for node in order]
        return
    close(got["data"], [node.data for node in order])
    close(got["local"], [float(slope) for node in order for slope in node._local or ()])
    assert got["blocked"] == pack(order)["blocked"]


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5, 1e-300, 800.0, -800.0, 1e308, math.inf, -math.inf, math.nan]


def test_every_operation_on_every_special_number(tab):
    """All results in one graph, compared node by node."""
    leaves = [Value(x) for x in SPECIAL]
    results = [op(x) for op in UNARY for x in leaves] + [op(x, y) for op in BINARY for x in leaves for y in leaves]
    root = Value(0.0)
    for result in results:
        root = root + result
    order = load(tab, root)
    got = again(tab, [[i, node.data] for i, node in enumerate(order) if not node._prev])
    index = {node: i for i, node in enumerate(order)}
    first = np.cumsum([0] + [len(node._prev) for node in order])
    for node in results:
        i = index[node]
        close([got["data"][i]], [node.data])
        close(got["local"][first[i] : first[i + 1]], [float(slope) for slope in node._local])
    assert got["blocked"] == pack(order)["blocked"]


def test_what_does_not_depend_on_a_changed_leaf_keeps_its_bits(tab):
    a, b = Value(0.3), Value(0.7)
    root = a.tanh() * b.sigmoid().exp()
    order = load(tab, root)
    got = tab.evaluate(f"[...graph.recompute(new Map([[{order.index(a)}, 0.5]])).data]")
    for node, x in zip(order, got, strict=True):
        assert (x == node.data) is (a not in topological_order(node))
    assert tab.evaluate("[...graph.data]") == [node.data for node in order]  # the first graph stays as it was


def test_a_changed_leaf_changes_the_pass(tab):
    order = load(tab, seven(Value))
    a = next(i for i, node in enumerate(order) if node.label == "a")
    steps = tab.evaluate(f"[...graph.recompute(new Map([[{a}, 1]])).pass('add').after]")
    changed = Value(1.0), Value(-3.0), Value(10.0)
    expected = trace((changed[0] * changed[1] + changed[2]).relu() * changed[0], names={})
    assert steps == [step.after for step in expected]


# -- slopes by differences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["seven", "square", "net", *(f"random {i}" for i in range(0, 20, 2))])
def test_differences_agree_with_the_gradients_and_not_with_wrong_ones(tab, program):
    root = PROGRAMS[program]()
    order = load(tab, root)
    right = gradients(root, 1.0, order)
    wrong = gradients(root, 1.0, order, overwrite)
    told = 0
    for i, (good, bad) in enumerate(zip(right, wrong, strict=True)):
        if not math.isfinite(good) or not math.isfinite(bad):
            continue
        slope = tab.evaluate(
            """([i, good, bad]) => {
              const slope = graph.slopeByDifferences(i);
              return { value: slope.value, kink: slope.kink, good: slope.agrees(good), bad: slope.agrees(bad) };
            }""",
            [i, good, bad],
        )
        told += slope["good"] is True
        assert slope["good"] is not False, (i, good, slope)
        if abs(good - bad) > 1e-3 * max(1, abs(good)) and not slope["kink"] and slope["good"] is not None:
            assert slope["bad"] is False, (i, good, bad, slope)
    if not program.startswith("random"):
        assert told == len(order)


def slope(tab: Any, root: Value, leaf: Value) -> dict[str, Any]:
    i = load(tab, root).index(leaf)
    return tab.evaluate("(i) => ({ ...graph.slopeByDifferences(i) })", i)


@pytest.mark.parametrize(("op", "left", "right"), [(Value.relu, 0, 1), (Value.abs, -1, 1)])
def test_a_kink_is_told_from_a_slope(tab, op, left, right):
    x = Value(0.0)
    got = slope(tab, op(x) * 1.0, x)
    assert got["kink"]
    assert (got["left"], got["right"]) == pytest.approx((left, right))
    for gradient, agrees in [(left, True), (right, True), ((left + right) / 2, True), (1.5, False), (-1.5, False)]:
        assert tab.evaluate(f"graph.slopeByDifferences(0).agrees({gradient})") is agrees
    beside = Value(1e-4)
    got = slope(tab, op(beside) * 1.0, beside)
    assert not got["kink"]
    assert got["value"] == pytest.approx(1)


def test_where_differences_cannot_tell_they_do_not(tab):
    x = Value(0.0)
    load(tab, x.sqrt())
    assert tab.evaluate("graph.slopeByDifferences(0).agrees(Infinity)") is None
    x = Value(1.0)
    i = load(tab, (x + 1e20) - 1e20).index(x)
    assert tab.evaluate(f"graph.slopeByDifferences({i}).agrees(1)") is None
    assert tab.evaluate("graph.slopeByDifferences(graph.root).value") == pytest.approx(1)


# -- what is packed ----------------------------------------------------------------------------------------------------


def test_the_page_computes_what_the_engine_has():
    assert all(recordable(topological_order(make())) for make in PROGRAMS.values())
    assert all(pack(topological_order(make()))["computable"] for make in PROGRAMS.values())


def test_rules_of_the_users_hooks_and_tensors_are_recorded():
    a = Value(2.0)
    closure = a * a
    closure._backward = lambda: None
    hooked = a * 3.0
    add_hook(hooked, lambda gradient: None)
    for root in (closure, hooked, Value(4.0, (a,), "mine"), seven(lambda x, label: tensor(x, label))):
        assert not recordable(topological_order(root))


@pytest.mark.parametrize("op", ["mine", "**x", "+", "*", "constructor", "__proto__", "toString"])
def test_an_operation_of_the_users_is_stepped_through_and_not_computed(tab, op):
    a = Value(2.0)
    root = Value(8.0, (a,), op, local=(12.0,))
    order = load(tab, root)
    assert recordable(order)
    assert not pack(order)["computable"]
    assert tab.evaluate("graph.slopeByDifferences(0)") is None
    assert [step[3] for step in steps_of(tab, "add")[0]] == [number(1.0), number(12.0)]


def test_data_that_were_changed_afterwards_are_not_computed_anew():
    a = Value(2.0)
    root = a * 3.0
    assert pack(topological_order(root))["computable"]
    a.data = 5.0
    assert not pack(topological_order(root))["computable"]


def test_a_hundred_thousand_nodes_take_no_time(tab):
    chance = random.Random(0)
    made: list[Node] = [Value(chance.uniform(-1, 1)) for _ in range(1000)]
    while len(made) < 100_000:
        made.append(made[-1] * 0.5 + made[-chance.randint(2, 900)] if len(made) % 2 else made[-1].tanh())
    order = load(tab, made[-1])
    assert len(order) > 50_000
    start = time.perf_counter()
    pack(order)
    assert time.perf_counter() - start < 10
    took = tab.evaluate(
        "(() => { graph.pass('add'); const t = performance.now(); graph.pass('add'); return performance.now() - t; })()"
    )
    assert took < 400  # 10 or so on a quiet machine
