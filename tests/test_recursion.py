"""Backpropagation by recursion without a topological order: its steps, its error and how many steps it takes."""

from __future__ import annotations

import gc
import random
from typing import Any

import numpy as np
import pytest
from engines import on_both_engines
from stepper import net

from micrograd import Value
from micrograd.backprop import Node, add_hook, chain_rule, gradients_kept, topological_order
from tensorgrad import Tensor
from viz import recursion
from viz.recursion import recursive_rule, steps_needed


def shared(leaf: Any) -> tuple[Node, Node]:
    """b is used twice, once through c: (a, L), with dL/da = 2 * a * (2 * b + 1) = 114."""
    a = leaf(3.0)
    b = a * a
    c = b + 1.0
    return a, b * c


def run(root: Node, seed: Any = None, most: int | None = None) -> list[tuple[Any, Any, Any]]:
    """The steps, combined with +=."""
    steps = []
    for sender, parent, sent in recursive_rule(root, root._seed(seed), most):
        parent.grad = sent if parent.grad is None else parent.grad + sent
        steps.append((sender, parent, sent))
    return steps


def written_out(root: Value) -> list[tuple[Any, Any, float]]:
    """What a person writes, with Python's recursion."""
    steps: list[tuple[Any, Any, float]] = [(None, root, 1.0)]

    def backward(node: Value) -> None:
        sent = [(parent, local * node.grad) for parent, local in zip(node._prev, node._local or (), strict=True)]
        for parent, contribution in sent:
            steps.append((node, parent, contribution))
            parent.grad += contribution
        for parent in dict.fromkeys(node._prev):
            backward(parent)

    for node in topological_order(root):
        node.grad = 0.0
    root.grad = 1.0
    backward(root)
    return steps


def random_graph(seed: int, nodes: int = 12) -> Value:
    chance = random.Random(seed)
    made = [Value(chance.uniform(-1, 1)) for _ in range(3)]
    for _ in range(nodes):
        a, b = chance.choice(made), chance.choice(made)
        made.append(chance.choice([lambda a=a, b=b: a + b, lambda a=a, b=b: a * b, lambda a=a: a.tanh()])())
    return sum(made[-4:])


@on_both_engines
def test_the_error_of_the_docstring(engine):
    a, root = shared(engine.leaf)
    sent = [float(step[2]) for step in run(root)]
    to_the_one = [9] if engine.name == "Value" else []  # a tensor's number is a constant
    assert sent == [1, 10, 9, 30, 30, 9, *to_the_one, 57, 57]
    assert float(a.grad) == 174
    assert steps_needed(root) == len(sent)


@on_both_engines
def test_a_leaf_that_is_used_twice_does_no_harm(engine):
    a = engine.leaf(3.0)
    run((a * 2.0).tanh() * a)
    wrong = float(a.grad)
    a.grad = a._zero
    ((a * 2.0).tanh() * a).backward()
    assert wrong == float(a.grad)


@pytest.mark.parametrize("seed", range(20))
def test_the_steps_are_those_of_the_function_that_one_writes(seed):
    root = random_graph(seed)
    expected = written_out(root)
    for node in topological_order(root):
        node.grad = node._zero
    assert run(root, most=10**6) == expected
    assert steps_needed(root) == len(expected)


def test_it_stops_after_so_many_steps():
    root = net()
    total = steps_needed(root)
    edges = sum(len(node._prev) for node in topological_order(root))
    assert recursion.most_steps(edges) == 4 * (edges + 1)
    assert recursion.most_steps(7) == 400
    assert len(run(root)) == min(total, 4 * (edges + 1))
    assert [len(run(root, most=most)) for most in (0, 1, 2, 37)] == [0, 1, 2, 37]


def test_paths_beyond_number_are_counted():
    x = Value(1.0)
    for _ in range(200):
        x = x + x.tanh()  # two paths a layer
    assert steps_needed(x) == 1 + sum(2 * 2**i + 2**i for i in range(200))
    assert len(run(x)) == 1 + 4 * 600 + 3
    assert x.grad == 1.0


def test_a_chain_deeper_than_pythons_stack():
    x = Value(1.0)
    for _ in range(5000):
        x = x + 1.0
    assert len(run(x)) == steps_needed(x) == 10001


def test_constants_get_nothing():
    w, x = Tensor(np.ones((2, 2)), requires_grad=True), Tensor(np.ones((3, 2)))
    h = x @ w
    steps = run((h * h.tanh()).sum())
    assert steps_needed((h * h.tanh()).sum()) == len(steps) == 7
    assert all(parent is not x for _, parent, _ in steps)


def test_a_rule_of_the_users_sends_once_to_each_operand():
    a = Value(3.0)
    out = Value(9.0, (a, a), "square")

    def rule() -> None:
        a.grad += 6.0 * out.grad

    out._backward = rule
    assert [step[2] for step in run(out)] == [1.0, 6.0]
    assert steps_needed(out) == 2


def test_counting_changes_no_gradient():
    a, root = shared(Value)
    root.backward()
    before = a.grad
    steps_needed(root)
    assert a.grad is before


def test_another_pass_may_not_run_in_between_and_may_afterwards():
    _, root = shared(Value)
    opened = recursive_rule(root, 1.0)
    next(opened)
    with pytest.raises(RuntimeError, match="still open"):
        next(chain_rule(root, 1.0))
    opened.close()
    root.backward()
    gc.collect()


def test_hooks_are_not_called():
    a, root = shared(Value)
    add_hook(a, lambda gradient: pytest.fail("called"))
    add_hook(root, lambda gradient: pytest.fail("called"))
    with gradients_kept(topological_order(root)):
        run(root)
        assert a.grad == 174
    assert a.grad == 0.0
