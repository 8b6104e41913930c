"""The graph of Values that the stepper page gets beside a graph of Tensors."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgrad
import viz
from micrograd import Value
from micrograd.backprop import topological_order
from tensorgrad import Tensor
from viz.pages.unfolded import MOST_VALUES, unfolded


def leaf(data: Any, label: str) -> Tensor:
    return Tensor(data, requires_grad=True, label=label, dtype=np.float64)


def plain() -> Tensor:
    """Of operations that say all by their names."""
    x, w = leaf([[1.0, 2.0], [3.0, -1.0]], "x"), leaf([[0.5, -1.0], [1.0, 0.25]], "w")
    h = ((x @ w.T) * 2.0 + 1).tanh()
    return (h**2).mean() + tensorgrad.maximum(x, 0.5).sum() - (-x / 3.0).reshape(4).exp().sum()


def by_axis() -> Tensor:
    x = leaf([[1.0, 2.0, 0.5], [3.0, -1.0, 4.0]], "x")
    return (x.sum(axis=0) * x[1]).sum()


def of(root: Tensor, gradient: Any = None) -> tuple[dict[str, Any] | None, str]:
    return unfolded(root, topological_order(root), {}, gradient)


def recorded(program: Callable[[], Tensor]) -> Tensor:
    with viz.recording():
        return program()


def floats(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f8")


def run_backward(data: dict[str, Any]) -> list[float]:
    """The gradients of the packed graph, from its last Value."""
    local = floats(data["graph"]["local"])
    first = np.concatenate([[0], np.cumsum([len(parents) for parents in data["parents"]])])
    grads = [0.0] * len(data["parents"])
    grads[-1] = 1.0
    for i in reversed(range(len(grads))):
        for slot, parent in enumerate(data["parents"][i]):
            grads[parent] += local[first[i] + slot] * grads[i]
    return grads


@pytest.mark.parametrize("program", [plain, by_axis])
def test_the_values_have_the_tensors_numbers_and_their_pass_gives_the_tensors_gradients(program: Any) -> None:
    root = recorded(program)
    data, why = of(root)
    assert (why, data["differs"]) == ("", [])
    json.dumps(data, allow_nan=False)
    root.backward()
    numbers, grads = floats(data["graph"]["data"]), run_backward(data)
    order = topological_order(root)
    assert data["shapes"] == [list(t.shape) for t in order]
    for t, elements, ours in zip(order, data["elements"], data["grads"], strict=True):
        if not t.requires_grad:
            assert elements is ours is None
            continue
        np.testing.assert_allclose([numbers[i] for i in elements], t.data.ravel(), rtol=1e-12)
        np.testing.assert_allclose([grads[i] for i in elements], t.grad.ravel(), rtol=1e-12)
        np.testing.assert_allclose(floats(ours["add"]), t.grad.ravel(), rtol=1e-12)


def test_each_value_is_in_the_block_of_the_tensor_that_it_was_made_for() -> None:
    root = recorded(by_axis)
    data, _ = of(root)
    order = topological_order(root)
    place = {t: i for i, t in enumerate(order)}
    for tensor, elements in enumerate(data["elements"]):
        assert {data["block"][i] for i in elements or []} <= {tensor}
    for i, parents in enumerate(data["parents"]):
        allowed = {data["block"][i], *(place[p] for p in order[data["block"][i]]._prev)}
        assert {data["block"][parent] for parent in parents} <= allowed
    x = [data["names"][i] for i in data["elements"][place[next(t for t in order if t.label == "x")]]]
    assert x == ["x[0, 0]", "x[0, 1]", "x[0, 2]", "x[1, 0]", "x[1, 1]", "x[1, 2]"]
    assert len(data["names"]) == len(data["parents"]) == len(data["block"])


def test_a_graph_that_was_not_recorded_is_made_again_from_operations_that_take_no_further_arguments() -> None:
    data, why = of(plain())
    assert why == ""
    assert len(data["parents"]) > 40


def test_what_was_not_recorded_and_takes_further_arguments_has_no_values_and_the_reason_says_what_to_write() -> None:
    data, why = of(by_axis())
    assert data is None
    assert why.startswith("how '")
    assert why.endswith("was called is not known: make the graph inside `with viz.recording():`")


def test_data_and_gradients_stay_as_they_were() -> None:
    root = recorded(plain)
    root.backward()
    order = topological_order(root)
    before = [(t.data.copy(), None if t.grad is None else t.grad.copy()) for t in order]
    assert of(root)[0] is not None
    for t, (numbers, grad) in zip(order, before, strict=True):
        assert t.data.dtype != object
        np.testing.assert_array_equal(t.data, numbers)
        assert (t.grad is None) == (grad is None)
        if grad is not None:
            np.testing.assert_array_equal(t.grad, grad)


def test_a_seed_of_several_elements_and_one_that_is_not_1() -> None:
    def rows() -> Tensor:
        x = leaf([1.0, 2.0, 3.0], "x")
        return x * x

    seed = np.array([1.0, 10.0, 100.0])
    data, why = of(recorded(rows), seed)
    assert why == ""
    grads = run_backward(data)
    assert [grads[i] for i in data["elements"][0]] == [2.0, 40.0, 600.0]
    assert data["names"][-1] == "weighted sum"
    assert data["block"][-1] == -1

    root = recorded(lambda: (leaf([1.0, 2.0], "x") ** 2).sum())
    data, why = of(root, np.array(5.0))
    assert why == ""
    assert [run_backward(data)[i] for i in data["elements"][0]] == [10.0, 20.0]


def test_changed_data_are_not_taken_for_the_graphs_own() -> None:
    x = leaf([1.0, 2.0], "x")
    with viz.recording():
        root = (x * x).sum()
    with tensorgrad.no_grad():
        x.data = np.array([1.0, 3.0])
    data, why = unfolded(root, topological_order(root), {}, None)
    assert data is None
    assert "other numbers" in why


def test_a_large_graph_and_a_graph_of_values_say_why_not() -> None:
    x = leaf(np.ones((60, 60)), "x")
    data, why = of(recorded(lambda: (x @ x).sum()))
    assert data is None
    assert why == f"as Values the graph would have more than {MOST_VALUES:,} nodes"
    a = Value(2.0)
    assert unfolded(a * a, topological_order(a * a), {}, None) == (None, "the graph is made of Values already")


def test_a_wrong_rule_is_among_the_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Tensor.tanh

    def wrong(x: Tensor) -> Tensor:
        out = right(x)
        if out.data.dtype != object:
            out._rules = tuple((lambda g, rule=rule: np.asarray(rule(g)) * 2.0) for rule in out._rules)
        return out

    monkeypatch.setattr(Tensor, "tanh", wrong)
    x = leaf([0.5, -1.0], "x")
    root = recorded(lambda: x.tanh().sum())
    data, why = of(root)
    assert why == ""
    assert [(one["tensor"], one["element"]) for one in data["differs"]] == [(0, 0), (0, 1)]
    assert data["differs"][0]["words"].startswith("gradient ")
    assert "DIFFER" in data["summary"]
    assert floats(data["grads"][0]["add"])[0] == pytest.approx(2 * (1 - np.tanh(0.5) ** 2))


def test_random_numbers_go_on_as_if_nothing_had_been_made_again() -> None:
    x = leaf(np.ones(8), "x")
    root = recorded(lambda: (tensorgrad.nn.functional.dropout(x, 0.5, training=True) * x).sum())
    tensorgrad.manual_seed(2)
    expected = tensorgrad.rand(3).data
    tensorgrad.manual_seed(2)
    of(root)
    np.testing.assert_array_equal(tensorgrad.rand(3).data, expected)


def test_constants_of_the_users_keep_their_data() -> None:
    x, k = leaf([[1.0, 2.0], [3.0, -1.0]], "x"), Tensor(np.array([2.0, 3.0]), label="k")
    root = recorded(lambda: tensorgrad.nn.functional.layer_norm(x, (2,), k, None).sum())
    data, why = of(root)
    assert why == ""
    assert data["differs"] == []
    np.testing.assert_array_equal(k.data, [2.0, 3.0])
    root.backward()
    assert x.grad is not None


def test_random_numbers_drawn_anew_are_not_taken_for_the_graphs_own() -> None:
    x = leaf(np.ones(40), "x")
    root = recorded(lambda: (tensorgrad.nn.functional.dropout(x, 0.5, training=True) * x).sum())
    data, why = of(root)
    assert data is None
    assert "other numbers" in why or "another one" in why


def test_an_operation_of_the_users_own_says_why_not() -> None:
    class Double(tensorgrad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = leaf([1.0, 2.0], "x")
    data, why = of(recorded(lambda: Double.apply(x).sum()))
    assert data is None
    assert why
