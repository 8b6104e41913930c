"""What a gradient is: the sum, over all paths from the root, of the products of the local derivatives on the path.

Random small graphs, on both engines. The expected gradient is computed here from a table of derivatives and by
walking every path one by one: nothing of the engines' rules or of their order goes into it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from engines import ENGINES, SCALAR, Engine, number, on_both_engines
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd.backprop import topological_order

OPERATIONS = {
    # name: (the program, its value, its derivative for each operand)
    "+": (lambda x, y: x + y, lambda x, y: x + y, (lambda x, y: 1.0, lambda x, y: 1.0)),
    "-": (lambda x, y: x - y, lambda x, y: x - y, (lambda x, y: 1.0, lambda x, y: -1.0)),
    "*": (lambda x, y: x * y, lambda x, y: x * y, (lambda x, y: y, lambda x, y: x)),
    "tanh": (lambda x: x.tanh(), math.tanh, (lambda x: 1.0 - math.tanh(x) ** 2,)),
    "sin": (lambda x: x.sin(), math.sin, (math.cos,)),
    "neg": (lambda x: -x, lambda x: -x, (lambda x: -1.0,)),
}

Plan = tuple[list[float], list[tuple[str, tuple[int, ...]]]]
"""The leaves' numbers, then for each further node its operation and the places of its operands."""


@st.composite
def plans(draw: st.DrawFn, most_leaves: int = 3, most_operations: int = 8) -> Plan:
    """A graph in which any node may be used any number of times, also twice by one operation, also never."""
    leaves = draw(st.lists(st.floats(-2.0, 2.0, width=16), min_size=1, max_size=most_leaves))
    operations = []
    for _ in range(draw(st.integers(1, most_operations))):
        name = draw(st.sampled_from(sorted(OPERATIONS)))
        arity = len(OPERATIONS[name][2])
        places = st.integers(0, len(leaves) + len(operations) - 1)
        operations.append((name, tuple(draw(places) for _ in range(arity))))
    return leaves, operations


def build(engine: Engine, plan: Plan) -> list:
    leaves, operations = plan
    nodes = [engine.leaf(x) for x in leaves]
    for name, places in operations:
        nodes.append(OPERATIONS[name][0](*[nodes[i] for i in places]))
    return nodes


def values(plan: Plan) -> list[float]:
    leaves, operations = plan
    found = list(leaves)
    for name, places in operations:
        found.append(OPERATIONS[name][1](*[found[i] for i in places]))
    return found


def paths(plan: Plan, at: int, product: float = 1.0) -> Iterator[tuple[int, float]]:
    """Every path from node `at` down to a leaf: (the leaf's place, the product of the local derivatives)."""
    leaves, operations = plan
    if at < len(leaves):
        yield at, product
        return
    name, places = operations[at - len(leaves)]
    operands = [values(plan)[i] for i in places]
    for derivative, place in zip(OPERATIONS[name][2], places, strict=True):
        yield from paths(plan, place, product * derivative(*operands))


@on_both_engines
@settings(max_examples=150, deadline=None, derandomize=True)
@given(plan=plans())
def test_gradient_is_the_sum_over_all_paths(engine, plan):
    nodes = build(engine, plan)
    nodes[-1].backward()
    products = list(paths(plan, len(nodes) - 1))
    for place, leaf in enumerate(nodes[: len(plan[0])]):
        mine = [product for to, product in products if to == place]
        tolerance = 1e-12 * sum(map(abs, mine)) + 1e-300
        assert number(leaf._grad) == pytest.approx(math.fsum(mine), rel=0, abs=tolerance)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(plan=plans(most_operations=15))
def test_both_engines_agree_at_every_node(plan):
    scalar, tensor = (build(engine, plan) for engine in ENGINES)
    for nodes in (scalar, tensor):
        nodes[-1].backward()
    for v, t in zip(scalar, tensor, strict=True):
        assert t.data == pytest.approx(v.data, rel=1e-13, abs=0)
        assert number(t._grad) == pytest.approx(v.grad, rel=1e-11, abs=1e-280)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(plan=plans(most_leaves=5, most_operations=40))
def test_topological_order_puts_every_node_once_and_after_its_parents(plan):
    nodes = build(SCALAR, plan)
    order = topological_order(nodes[-1])
    place = {node: i for i, node in enumerate(order)}
    assert len(place) == len(order)
    assert order[-1] is nodes[-1]
    assert all(place[parent] < place[node] for node in order for parent in node._prev)
    assert set(order) == _below(nodes[-1])


def _below(root) -> set:
    found, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        found.add(node)
        waiting.extend(parent for parent in node._prev if parent not in found)
    return found


def test_order_is_first_operand_first():
    a, b, c = (SCALAR.leaf(float(i)) for i in range(3))
    product = a * b
    total = product + c
    assert topological_order(total) == [a, b, product, c, total]


@on_both_engines
def test_exponentially_many_paths(engine):
    x = engine.leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert number(x.grad) == 2.0**60
    assert len(topological_order(y)) == 61
