"""Finite differences beside gradients: right ones agree, wrong ones do not, and what cannot be checked is said."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgrad as tg
import viz
from micrograd import Value
from micrograd.backprop import overwrite, topological_order
from tensorgrad import Tensor
from tensorgrad.nn import functional as F
from viz.graph import describe
from viz.pages import checks
from viz.passes import gradients


def check(root, *, gradient=None, combine=None, names=None):
    """({name: check}, note)"""
    order = topological_order(root)
    graph = describe(order, names or {}, contributions=False)
    seed = root._seed(gradient)
    held = None if combine is None else gradients(root, seed, order, combine)
    found, note = checks.differences(root, order, graph, seed=seed, gradients=held)
    return {graph.nodes[i].name: record for i, record in found.items()}, note


def tensor(data, label, dtype=np.float64):
    return Tensor(np.asarray(data, dtype=dtype), requires_grad=True, label=label)


def small():
    x, w, b = tensor([[1, 2], [3, 4], [-1, 0.5]], "x"), tensor([[0.5, -1], [1, 0.25]], "w"), tensor([0.1, -0.2], "b")
    h = (x @ w + b).tanh()
    return (h * h).sum()


def test_a_graph_of_plain_operations_is_done_again_by_their_names():
    found, note = check(small())
    assert note == ""
    assert set(found) == {"x", "w", "b"}
    assert all(record["agrees"] for record in found.values())
    assert found["x"]["value"].shape == (3, 2)
    root = small()
    root.backward()
    x = next(node for node in topological_order(root) if node.label == "x")
    np.testing.assert_allclose(found["x"]["value"], x.grad, rtol=1e-5, atol=1e-8)


def test_a_wrong_gradient_does_not_agree():
    x = tensor([1.0, 2.0], "x")
    found, _ = check((x * x + x).sum(), combine=overwrite)
    assert not found["x"]["agrees"]
    assert found["x"]["words"] == "2 of 2 differ; at [1] central differences give 5, the pass 2"


def test_a_recorded_graph_is_done_again_with_its_arguments():
    x, w = tensor(np.linspace(-1, 1, 12).reshape(3, 4), "x"), tensor(np.linspace(0, 1, 8).reshape(2, 4), "w")
    with viz.recording():
        loss = F.cross_entropy(F.linear(x, w).sum(axis=1, keepdims=True) * x[:, 1:3], np.array([0, 1, 1]))
    found, note = check(loss)
    assert note == ""
    assert found["x"]["agrees"]
    assert found["w"]["agrees"]


def test_without_a_recording_it_says_what_to_do():
    x = tensor([[1.0, 2.0]], "x")
    found, note = check(x.sum(axis=1).sum())
    assert found == {}
    assert note.startswith(
        "Not checked by differences: how 'sum' was called is not known: make the graph inside `with "
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_narrow_floats_are_checked_in_float64(dtype):
    x, w = tensor([[0.3, -0.2]], "x", dtype), tensor([[1.5], [0.7]], "w", dtype)
    with viz.recording():
        root = ((x @ w).tanh() * Tensor(np.array(2.0, dtype=dtype))).sum()
    found, note = check(root)
    assert note == ""
    assert found["x"]["agrees"]
    assert found["w"]["agrees"]
    assert not check(root, combine=lambda old, new: new * dtype(1.1))[0]["w"]["agrees"]


def test_a_cast_to_fewer_digits_is_not_checked():
    x = tensor([1.0, 2.0], "x")
    with viz.recording():
        root = (x * x).to(np.float32).sum()
    assert check(root) == (
        {},
        "Not checked by differences: the graph casts to a narrower dtype, and differences need float64.",
    )


def test_a_large_leaf_is_checked_along_a_direction():
    x = tensor(np.random.default_rng(0).normal(size=(20, 30)), "x")
    found, note = check((x.tanh() * x).sum())
    assert note == ""
    assert found["x"]["agrees"]
    assert found["x"]["value"] is None
    assert found["x"]["words"].startswith("along a random direction: ")
    assert not check((x.tanh() * x).sum(), combine=overwrite)[0]["x"]["agrees"]


def test_a_kink_agrees_with_any_slope_between_its_sides():
    x = tensor([0.0, 1.0], "x")
    found, _ = check(x.relu().sum())
    assert found["x"]["agrees"]
    assert found["x"]["words"] == "a kink at [0]: the slope is 0 on the left and 1 on the right"


def test_what_is_not_finite_is_left_out():
    x, y = tensor([-1.0], "x"), tensor([2.0], "y")
    found, note = check((x.log() * 1.0 + y).sum())
    assert found == {}
    assert note == "Not checked by differences, as these are not finite: x, y."


def test_the_seed_counts():
    x = tensor([1.0, 2.0], "x")
    found, _ = check(x * x, gradient=[1.0, -3.0])
    np.testing.assert_allclose(found["x"]["value"], [2.0, -12.0], rtol=1e-6)
    assert found["x"]["agrees"]


def test_random_graphs_are_refused_and_draw_nothing():
    x = tensor(np.ones((8, 8)), "x")
    tg.manual_seed(3)
    with viz.recording():
        root = F.dropout(x, 0.5).sum()
    state = tg.get_rng_state().data.copy()
    found, note = check(root)
    assert (tg.get_rng_state().data == state).all()
    assert found == {}
    assert note == "Not checked by differences: done again, the graph gives other numbers."


def test_values_are_checked_but_for_rules_of_ones_own():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    found, _ = check(a * b + b)
    assert found["b"] == {"value": pytest.approx(3.0), "agrees": True, "words": "central differences give 3"}
    d = a.relu()
    d._backward = lambda: None
    assert check(d) == (
        {},
        "Not checked by differences: 'ReLU' is an operation of your own, which the page cannot do again.",
    )


def test_a_hook_is_named_where_a_gradient_differs():
    x = tensor([1.0, 2.0], "x")
    h = x * 3.0
    h.register_hook(lambda g: g * 2)
    found, _ = check(h.sum())
    assert not found["x"]["agrees"]
    assert found["x"]["words"].endswith(", and a hook changes gradients on the way")


def test_changed_data_is_noticed():
    x = tensor([1.0, 2.0], "x")
    root = (x * x).sum()
    x.data = np.array([5.0, 6.0])
    assert check(root)[1] == "Not checked by differences: done again, the graph gives other numbers."


def test_a_budget_is_kept(monkeypatch):
    monkeypatch.setattr(checks, "_MOST_EVALUATIONS", 24)
    xs = [tensor(np.full(8, 0.5), f"x{i}") for i in range(15)]
    root = sum((x * x for x in xs[1:]), xs[0] * 1.0).sum()
    found, note = check(root)
    assert len(found) == 12
    assert note == "Not checked by differences, for want of time: x12, x13, x14."
    assert all(record["agrees"] for record in found.values())


def test_gradients_and_data_stay():
    root = small()
    root.backward()
    order = topological_order(root)
    before = [(node.data.copy(), node.grad.copy()) for node in order]
    check(root)
    for node, (data, grad) in zip(order, before, strict=True):
        assert (node.data == data).all()
        assert (node.grad == grad).all()
