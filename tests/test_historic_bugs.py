"""Bugs that good people shipped in engines like these, each with a test named for it. On both engines."""

from __future__ import annotations

import inspect
import math
import sys
import threading
from collections import Counter

import numpy as np
import pytest
from engines import BINARY, SCALAR, UNARY, Engine, number, on_both_engines

import viz
from micrograd.backprop import Node, add, chain_rule, topological_order
from tensorgrad import Tensor, enable_grad, is_grad_enabled, no_grad

X = 0.7
"""Where every operation is smooth."""


def gradient(engine: Engine, program, x: float = X) -> float:
    leaf = engine.leaf(x)
    program(leaf).backward()
    return number(leaf.grad)


# -- `=` for `+=` in one operation of several --------------------------------------------------------------------------


@on_both_engines
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("order", ["first", "last"])
def test_equals_for_plus_equals_in_one_unary_operation(engine, name, order):
    """The other use of x reports before or after; if either overwrote, one share would be missing."""
    operation = UNARY[name]
    program = (lambda x: operation(x) + x * 5) if order == "first" else (lambda x: x * 5 + operation(x))
    assert gradient(engine, program) == pytest.approx(gradient(engine, operation) + 5.0, rel=1e-14)


@on_both_engines
@pytest.mark.parametrize("name", BINARY)
def test_equals_for_plus_equals_in_one_binary_operation(engine, name):
    """The same node as both operands receives both shares."""
    operation = BINARY[name]
    left = gradient(engine, lambda x: operation(x, engine.leaf(X)))
    right = gradient(engine, lambda x: operation(engine.leaf(X), x))
    assert gradient(engine, lambda x: operation(x, x)) == pytest.approx(left + right, rel=1e-14, abs=1e-16)


def test_equals_for_plus_equals_in_tensor_operations():
    for operation in (
        lambda x: x.sum() + x[0],
        lambda x: x.mean() + x[0],
        lambda x: x.max() + x[0],
        lambda x: x @ x,
        lambda x: (x.reshape(2, 1) @ x.reshape(1, 2)).sum(),
        lambda x: (x.reshape(1, 2).T * x).sum(),
    ):
        x = Tensor([3.0, 2.0], requires_grad=True, dtype=np.float64)
        operation(x).backward()
        separate = np.zeros(2)
        for i, h in ((0, 1e-6), (1, 1e-6)):
            step = np.eye(2)[i] * h
            separate[i] = (operation(Tensor(x.data + step)).item() - operation(Tensor(x.data - step)).item()) / (2 * h)
        np.testing.assert_allclose(x.grad, separate, rtol=1e-7)


# -- sending accumulated gradients again along every path --------------------------------------------------------------


@on_both_engines
@pytest.mark.parametrize("depth", [1, 2, 3, 50])
def test_accumulated_gradients_sent_again_along_every_path(engine, depth):
    """b = a + a; c = b + b: walking the paths and not the order sends b's gradient twice: 8 for 4, and so on."""

    def doubled(x):
        for _ in range(depth):
            x = x + x
        return x

    assert gradient(engine, doubled) == 2.0**depth


@on_both_engines
def test_a_node_sends_once_and_only_when_its_gradient_is_complete(engine):
    x = engine.leaf(X)
    y = x + x
    root = y * (y + y.tanh())
    arrived: Counter[Node] = Counter()
    done: set[Node] = set()
    sending = None
    for sender, parent, sent in chain_rule(root, root._seed()):
        if sender is not sending:
            assert sender not in done, "a node sent in two turns"
            done.add(sender)
            sending = sender
        assert parent not in done, "a contribution came after its receiver had sent"
        parent.grad = add(parent.grad, sent)
        arrived[parent] += 1
    assert (arrived[root], arrived[y], arrived[x]) == (1, 3, 2)


# -- `visited.add(self)` for `visited.add(node)` -----------------------------------------------------------------------


@on_both_engines
def test_visited_add_self(engine):
    """With the wrong node marked, a shared node enters the order once for each use."""
    x = engine.leaf(X)
    shared = x * x
    root = shared * shared + shared
    order = topological_order(root)
    assert len(order) == len(set(order)) == 4
    root.backward()
    assert number(x.grad) == pytest.approx(4 * X**3 + 2 * X, rel=1e-14)


# -- marking nodes when they are pushed --------------------------------------------------------------------------------


@on_both_engines
def test_marking_when_pushed_sorts_wrongly(engine):
    """x waits on the stack as the root's second operand while it also lies below the first: marked too early, it
    would come after the node that is made from it."""
    x = engine.leaf(X)
    first = x * 3
    root = first * x
    place = {node: i for i, node in enumerate(topological_order(root))}
    assert place[x] < place[first] < place[root]
    root.backward()
    assert number(x.grad) == pytest.approx(6 * X, rel=1e-14)


@on_both_engines
def test_marking_when_pushed_loses_a_share_of_an_intermediate(engine):
    x = engine.leaf(X)
    shared = x * x
    root = (shared * 3).tanh() * shared
    root.backward()
    s = X * X
    by_hand = (3 * (1 - math.tanh(3 * s) ** 2) * s + math.tanh(3 * s)) * 2 * X
    assert number(x.grad) == pytest.approx(by_hand, rel=1e-14)


# -- a second backward that reuses stale gradients ---------------------------------------------------------------------


@on_both_engines
def test_second_backward_reuses_stale_intermediate_gradients(engine):
    """x**3 as x*x*x at 3: 27, and 27 again; 45 where x*x still holds its gradient of the first pass."""
    x = engine.leaf(3.0)
    root = x * x * x
    root.backward()
    assert number(x.grad) == 27.0
    x.grad = x._zero
    root.backward()
    assert number(x.grad) == 27.0


@on_both_engines
def test_second_backward_through_a_larger_root(engine):
    x = engine.leaf(3.0)
    inner = x * x * x
    inner.backward()
    x.grad = x._zero
    (inner * 2).backward()
    assert number(x.grad) == 54.0


# -- recursion ---------------------------------------------------------------------------------------------------------


@on_both_engines
def test_recursion_dies_at_996_nodes(engine):
    x = engine.leaf(X)
    y = x
    for _ in range(2_000):
        y = -y
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 50)
    try:
        y.backward()
        graph, trace = viz.snapshot(y), viz.trace(y)
    finally:
        sys.setrecursionlimit(limit)
    assert number(x.grad) == 1.0
    assert len(graph.nodes) == len(trace.steps) == 2_001


# -- 2/x written as x/2 ------------------------------------------------------------------------------------------------


@on_both_engines
def test_reflected_operands_are_not_exchanged(engine):
    """2/x, 2-x and 2**x are not x/2, x-2 and x**2."""
    x = engine.leaf(4.0)
    for result, value, slope in (
        (2 / x, 0.5, -2 / 16),
        (2 - x, -2.0, -1.0),
        (2**x, 16.0, 16 * math.log(2)),
        (2 + x, 6.0, 1.0),
        (2 * x, 8.0, 2.0),
    ):
        x.grad = x._zero
        result.backward()
        assert number(result) == value
        assert number(x.grad) == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_reflected_operands_from_numpy_are_not_exchanged(kind):
    x = SCALAR.leaf(4.0)
    assert (kind(2) / x).data == 0.5
    assert (kind(2) - x).data == -2.0
    assert (kind(2) ** x).data == 16.0


# -- indexing that loses repeats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ([0, 0, 1], [2, 1, 0]),
        (np.array([[2, 2], [2, 0]]), [1, 0, 3]),
        ([-1, 2], [0, 0, 2]),
        ((np.array([1, 1, 1]),), [0, 3, 0]),
    ],
    ids=str,
)
def test_indexing_with_repeats_loses_contributions(where, count):
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[where].sum().backward()
    assert x.grad.tolist() == count


def test_indexing_rows_with_repeats_loses_contributions():
    table = Tensor(np.ones((3, 2)), requires_grad=True)
    (table[[1, 1, 0]] * Tensor([[1.0], [10.0], [100.0]])).sum().backward()
    assert table.grad.tolist() == [[100.0, 100.0], [11.0, 11.0], [0.0, 0.0]]


def test_a_list_with_repeats_of_values():
    a, b = SCALAR.leaf(1.0), SCALAR.leaf(2.0)
    sum([a, b][i] for i in (0, 0, 1)).backward()
    assert (a.grad, b.grad) == (2.0, 1.0)


# -- no_grad without finally -------------------------------------------------------------------------------------------


def test_no_grad_without_finally():
    with pytest.raises(ZeroDivisionError), no_grad():
        raise ZeroDivisionError
    assert is_grad_enabled()


def test_no_grad_nested_and_decorated_is_restored():
    @no_grad()
    def fails():
        assert not is_grad_enabled()
        with enable_grad():
            assert is_grad_enabled()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert is_grad_enabled()
    with no_grad():
        with pytest.raises(ZeroDivisionError):
            fails()
        assert not is_grad_enabled()


def test_no_grad_in_one_thread_leaves_the_others_alone():
    seen = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


# -- gradients that share memory ---------------------------------------------------------------------------------------

SHARING = {
    "a + b": lambda a, b: a + b,
    "a - -b": lambda a, b: a - -b,
    "a.reshape + b.T": lambda a, b: a.reshape(4) + b.T.reshape(4),
    "a[:] + b": lambda a, b: a[:] + b,
    "a.transpose + b": lambda a, b: a.transpose(0, 1) + b,
    "max along": lambda a, b: a.max(0).values + b.max(1).values,
    "through a sum": lambda a, b: (a + b).sum() + a + b,
}


@pytest.mark.parametrize("name", SHARING)
def test_leaf_gradients_share_no_memory(name):
    a, b = (Tensor(np.arange(4.0).reshape(2, 2), requires_grad=True) for _ in range(2))
    out = SHARING[name](a, b)
    seed = np.ones(out.shape)
    out.backward(seed)
    for one, other in ((a.grad, b.grad), (a.grad, seed), (b.grad, seed), (a.grad, out.grad), (a.grad, a.data)):
        assert not np.shares_memory(one, other)
    kept = b.grad.copy()
    a.grad += 100.0  # what clipping and weight decay do
    assert np.array_equal(b.grad, kept)
    assert np.array_equal(seed, np.ones(out.shape))


def test_a_leafs_own_gradient_is_not_the_callers_seed():
    x = Tensor([1.0, 2.0], requires_grad=True)
    seed = np.ones(2, dtype=np.float32)
    x.backward(seed)
    x.grad *= 5
    assert seed.tolist() == [1.0, 1.0]


def test_a_users_rule_that_hands_its_gradient_on_shares_nothing():
    a, b = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    out = Tensor(a.data + b.data, _prev=(a, b), _op="mine")

    def rule():
        a.grad = out.grad
        b.grad = out.grad

    out._backward = rule
    out.sum().backward()
    assert not np.shares_memory(a.grad, b.grad)
    assert not np.shares_memory(a.grad, out.grad)


def test_a_second_pass_does_not_change_a_gradient_that_was_kept():
    x = Tensor([1.0, 2.0], requires_grad=True)
    root = (x * x).sum()
    root.backward()
    kept = x.grad
    root.backward()
    assert kept.tolist() == [2.0, 4.0]
    assert x.grad.tolist() == [4.0, 8.0]
