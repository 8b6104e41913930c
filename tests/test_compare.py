"""Comparing the two engines: what is reported, what is put back, and what is refused."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from conftest import missing

from micrograd import Value
from micrograd.backprop import topological_order
from tensorgrad import Tensor
from tensorgrad.node import record
from viz import Step, compare, plain, snapshot, trace
from viz.comparison.picture import owned_by
from viz.comparison.records import Row
from viz.errors import NoDotError, TooLargeError, UserError

X = [[0.5, -1.0], [2.0, 0.25]]
W = [[1.0, -2.0], [0.5, 1.5]]


def relu_example(a: Any, b: Any, c: Any) -> Any:
    return (a * b + c).relu() * a


def layer(x: Any, w: Any, b: Any) -> Any:
    return ((x @ w + b).tanh() ** 2).sum()


def square(x: Tensor, factor: float = 2) -> Tensor:
    """An operation as a user writes one; its rule is right with the factor 2."""
    out = Tensor(x.data * x.data, _prev=(x,), _op="square")

    def backward() -> None:
        x.grad += factor * x.data * out.grad

    out._backward = backward
    return out


def wrong(x: Any) -> Tensor:
    return (square(x * 3.0, 2.5) + 1).sum()


# -- what is reported --------------------------------------------------------------------------------------------------


def test_the_seven_nodes() -> None:
    comparison = compare(relu_example, 2, -3, 10)
    assert comparison.ok
    assert comparison.mismatches == 0
    assert comparison.elements == len(comparison.nodes) == 7
    a = comparison.rows[0]
    assert (a.name, a.tensor_data, a.scalar_grad, a.tensor_grad) == ("a", 2.0, -2.0, -2.0)
    assert (a.scalar_overwritten, a.tensor_overwritten) == (-6.0, -6.0)
    assert a.finite_difference == pytest.approx(-2.0)
    assert [node.title for node in comparison.nodes] == [
        "a", "b", "d = a*b", "c", "e = d + c", "f = relu(e)", "L = f*a",
    ]  # fmt: skip


def test_every_element_of_every_node_has_a_row() -> None:
    comparison = compare(layer, X, W, [0.1, -0.1])
    assert [node.name for node in comparison.nodes] == ["x", "w", "a", "b", "c", "d", "e", "L"]
    assert len(comparison.rows) == 4 + 4 + 4 + 2 + 4 + 4 + 4 + 1
    assert comparison.rows[5].name == "w[0, 1]"
    assert comparison.rows[5].index == (0, 1)


def test_under_overwrite_a_sum_inside_an_operation_loses_more_in_the_scalar_graph() -> None:
    comparison = compare(lambda x: (x.sum() * x).sum(), [1.0, 2.0])
    x = comparison.nodes[0]
    assert comparison.ok
    assert x.tensor_overwritten.tolist() != x.tensor_grad.tolist()
    assert "may differ, and both be right" in compare(layer, X, W, [0.1, -0.1]).table()
    assert "may differ" not in compare(relu_example, 2, -3, 10).table()


def test_inputs_are_named_by_the_program_and_variables_by_the_caller() -> None:
    weights = Tensor(W, requires_grad=True)
    comparison = compare(lambda x: (x @ weights).sum(), X)
    assert [node.name for node in comparison.nodes] == ["x", "weights", "a", "L"]
    assert [node.name for node in compare(lambda *xs: xs[0] * xs[1], 1, 2).nodes][:2] == ["x0", "x1"]


def test_inputs_are_taken_in_every_form() -> None:
    given = Tensor([1.0, 2.0], requires_grad=True)
    comparison = compare(
        lambda t, array, numbers, number, value: (t * array * numbers * number * value).sum(),
        given, np.array([3, 4]), [5, 6], 7, Value(8.0),
    )  # fmt: skip
    assert comparison.ok
    leaves = [node for node in comparison.nodes if node.is_leaf]
    assert [node.dtype for node in leaves] == ["float32", "float64", "float64", "float64", "float64"]
    assert not any(node.is_constant for node in leaves)


def test_parameters_that_the_program_closes_over_are_lifted_too() -> None:
    class Net:
        def __init__(self) -> None:
            self.w = Tensor(W, dtype=np.float64, requires_grad=True)
            self.b = Tensor([0.5, -0.5], dtype=np.float64, requires_grad=True)

        def parameters(self) -> list[Tensor]:
            return [self.w, self.b]

        def __call__(self, x: Tensor) -> Tensor:
            return (x @ self.w + self.b).tanh().sum()

    net = Net()
    comparison = compare(net, X)
    assert comparison.ok
    by_name = {node.name: node for node in comparison.nodes}
    assert by_name["net.w"].scalar_grad.shape == (2, 2)
    assert np.abs(by_name["net.b"].scalar_grad).min() > 0
    assert by_name["net.b"].finite_difference == pytest.approx(by_name["net.b"].tensor_grad)


def test_an_unused_input_is_named() -> None:
    comparison = compare(lambda x, y: x * 2, 1.0, 2.0)
    assert comparison.ok
    assert "not used by the program: y" in comparison.notes


def test_a_root_of_several_elements_needs_a_gradient() -> None:
    with pytest.raises(UserError, match="not a scalar"):
        compare(lambda x: x * x, [1.0, 2.0])
    with pytest.raises(UserError, match="must be equal"):
        compare(lambda x: x * x, [1.0, 2.0], gradient=[1.0, 2.0, 3.0])
    comparison = compare(lambda x: x * x, [1.0, 2.0], gradient=[3.0, -1.0])
    assert comparison.ok
    assert comparison.nodes[0].scalar_grad.tolist() == [6.0, -4.0]
    assert comparison.nodes[0].finite_difference == pytest.approx([6.0, -4.0])
    assert compare(lambda x: x * x, [1.0, 2.0], gradient=1).nodes[0].tensor_grad.tolist() == [2.0, 4.0]
    assert compare(lambda x: x * x, 3.0, gradient=5.0).nodes[0].scalar_grad == 30.0


def test_both_roots_can_be_drawn_and_stepped() -> None:
    comparison = compare(layer, X, W, [0.1, -0.1])
    scalar, tensor = trace(comparison.scalar_root), trace(comparison.tensor_root)
    assert len(snapshot(comparison.scalar_root)) == len(scalar.graph) > len(tensor.graph) == 8
    several = compare(lambda x: x * x, [1.0, 2.0], gradient=[3.0, -1.0])
    assert set(trace(several.scalar_root).grads.values()) >= {3.0, -1.0, 6.0, -4.0}


# -- what differs ------------------------------------------------------------------------------------------------------


def test_an_operation_of_the_users_is_followed_on_values() -> None:
    assert compare(lambda x: (square(x * 3.0) + 1).sum(), [1.0, -2.0]).ok


def test_a_wrong_rule_is_found_and_named() -> None:
    comparison = compare(wrong, [1.0, -2.0])
    assert not comparison.ok
    assert comparison.mismatches == 4  # x and x * 3
    assert [node.op for node in comparison.suspects] == ["square"]
    assert comparison.first_mismatch.name == "x[0]"
    assert (comparison.first_mismatch.scalar_grad, comparison.first_mismatch.tensor_grad) == (18.0, 22.5)
    assert comparison.worst.name == "x[1]"
    assert comparison.worst.grad_difference == 9.0
    assert "Look at b = square(a)." in comparison.table()
    assert "4 elements DIFFER" in comparison.summary()
    assert "<- differs" in comparison.table()


def test_all_that_send_to_the_first_wrong_gradient_are_named() -> None:
    comparison = compare(lambda x: (square(x, 3) + x.exp() + x * 2).sum(), [1.0])
    assert "Look at a = square(x), b = exp(x), d = x*2." in comparison.summary()
    assert compare(relu_example, 2, -3, 10).suspects == []


def test_wrong_data_are_found_where_they_arise(monkeypatch: pytest.MonkeyPatch) -> None:
    def imprecise_exp(x: Tensor) -> Tensor:
        out = np.exp(x._data)
        if out.dtype != object:
            out = out * (1 + 1e-9)
        return record("exp", out, (x, lambda g: g * out))

    monkeypatch.setattr(Tensor, "exp", imprecise_exp)
    comparison = compare(lambda x: ((x * 2).exp() * 3).sum(), [1.0, 0.5])
    assert [node.op for node in comparison.suspects] == ["exp"]
    assert not comparison.nodes[-1].data_matches.all()
    assert "scalar value" in comparison.table(all=True)
    row = next(row for row in comparison.rows if row.data_differ)
    assert row.op == "exp"
    assert row.tensor_data != row.scalar_data


def wrong_by(amount: float) -> Callable[[Tensor], Tensor]:
    """exp whose data are `amount` too large on Tensors, and whose rule is right."""

    def exp(x: Tensor) -> Tensor:
        out = np.exp(x._data)
        shown = out if out.dtype == object else out + amount
        return record("exp", shown, (x, lambda g: g * out))

    return exp


def test_the_worst_is_found_in_the_data_too() -> None:
    comparison = compare(lambda x: wrong_by(5.0)(x).sum(), [2.0, 1.0])
    worst = comparison.worst
    assert (worst.name, worst.data_difference, worst.grad_difference) == ("a[1]", 5.0, 0.0)
    assert worst.data_error > 1 > worst.grad_error
    assert worst.data_differ
    assert "DIFFER (worst for its size: the value of a[1], 5 apart)" in comparison.summary()
    assert comparison.largest_difference() == pytest.approx(10.0)  # of the sum


def test_the_worst_is_the_furthest_apart_for_its_tolerance_not_in_absolute_terms() -> None:
    weights = np.random.default_rng(0).normal(size=(1, 400)) * 1e12

    def program(x: Tensor, y: Tensor) -> Tensor:
        return square(x, 2 + 1e-9).sum() + (y @ weights).sum()

    comparison = compare(program, [1.0], [[0.1]])
    rounded = next(row for row in comparison.rows if row.name == "y[0, 0]")
    worst = comparison.worst
    assert (worst.name, worst.matches, rounded.matches) == ("x[0]", False, True)
    assert worst.grad_difference < rounded.grad_difference
    assert "the gradient of x[0]" in comparison.summary()
    assert comparison.largest_difference() >= rounded.grad_difference


def test_an_error_is_over_one_where_the_engines_differ_and_only_there() -> None:
    for rtol in (0.0, 1e-16, 1e-9, 0.2, 0.3):
        comparison = compare(wrong, [1.0, -2.0], rtol=rtol, atol=0.0)
        for row in comparison.rows:
            assert row.matches == (max(row.data_error, row.grad_error or 0.0) <= 1.0)
    exact = compare(relu_example, 2, -3, 10)
    assert exact.worst.data_error == 0.0
    assert "worst" not in exact.summary()


def test_where_no_distance_is_allowed_the_worst_is_the_largest() -> None:
    assert compare(wrong, [1.0, -2.0, 0.5], rtol=0.0, atol=0.0).worst.name == "x[1]"


def test_nan_on_one_side_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "tanh", lambda x: record("tanh", np.tanh(x._data), (x, lambda g: g * np.nan)))
    comparison = compare(lambda x: x.tanh().sum(), [1.0, 0.5])
    assert comparison.mismatches == 2
    assert comparison.worst.grad_difference == np.inf
    assert comparison.to_json()["worst"]["tensor_grad"] == "nan"


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.log().sum(),
        lambda x: (1 / x).sum(),
        lambda x: (x / 0).sum(),
        lambda x: (x * np.inf - x * np.inf).sum(),
    ],
)
def test_nan_and_equal_infinities_on_both_sides_match(program: Callable[..., Tensor]) -> None:
    comparison = compare(program, [-1.0, 0.0, 2.0], finite_differences=False)
    assert comparison.ok, comparison.table(all=True)
    assert not all(np.isfinite(node.tensor_grad).all() for node in comparison.nodes if not node.is_constant)


# -- tolerance ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 1e-2)])
def test_the_tolerance_follows_the_dtype(dtype: type, rtol: float) -> None:
    x = Tensor(np.linspace(-1, 1, 6).reshape(2, 3), dtype=dtype, requires_grad=True)
    comparison = compare(lambda x: (x.exp() * x.sigmoid()).mean(), x)
    assert comparison.rtol == rtol
    assert comparison.ok, comparison.table()
    assert (comparison.worst.grad_difference > 0) == (dtype != np.float64) or comparison.worst.grad_difference < 1e-16


def test_the_least_precise_dtype_decides() -> None:
    single = Tensor([1.0, 2.0], requires_grad=True)
    assert compare(lambda x: (x * single).sum(), [0.1, 0.2]).rtol == 1e-5


def test_the_tolerance_can_be_given() -> None:
    assert not compare(wrong, [1.0, -2.0], rtol=0.1).ok
    assert compare(wrong, [1.0, -2.0], rtol=0.3).ok
    assert compare(wrong, [1.0, -2.0], atol=9.0).ok
    comparison = compare(lambda x: x.exp().log().tanh().sum(), np.linspace(-2, 2, 9), rtol=0.0, atol=0.0)
    assert not comparison.ok


@pytest.mark.parametrize(
    "program",
    [
        lambda x: ((x * 1e8 + 1) - x * 1e8).sum(),  # cancellation in the data
        lambda x: (x * 1e8 - x * (1e8 - 1e-3)).sum(),  # cancellation between contributions
        lambda x: (x * 6).tanh().sum(),  # 1 - t*t where t is nearly 1
        lambda x: (x * 20).sigmoid().sum() * 1e6,
        lambda x: (x.exp() - x.exp() * (1 + 1e-12)).sum(),
    ],
)
def test_rounding_is_no_mismatch(program: Callable[..., Tensor]) -> None:
    comparison = compare(program, np.linspace(-2, 2, 41), finite_differences=False)
    assert comparison.ok, comparison.table(all=True)


def test_an_error_in_a_tiny_gradient_is_a_mismatch() -> None:
    comparison = compare(lambda x: (square(x * 1e-20, 2 + 1e-9) * 1e-20).sum(), [1.0, -2.0])
    assert comparison.mismatches == 4


# -- put back ----------------------------------------------------------------------------------------------------------


def test_gradients_and_data_are_put_back_also_after_a_failure() -> None:
    x = Tensor(X, dtype=np.float64, requires_grad=True)
    x.grad = np.ones((2, 2))
    data, calls = x.data, []

    def fails_second_time(x: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError("boom")
        return (x * x).sum()

    with pytest.raises(UserError, match=r"not on Values .ZeroDivisionError: boom"):
        compare(fails_second_time, x)
    assert x.data is data
    assert x.grad.tolist() == np.ones((2, 2)).tolist()
    with pytest.raises(ZeroDivisionError):
        compare(lambda x: 1 / 0, x)
    assert compare(wrong, x).tensor_root.grad is None
    assert x.grad.tolist() == np.ones((2, 2)).tolist()


def test_random_programs_run_the_same_each_time_and_once_for_the_generators() -> None:
    def noisy(x: Tensor) -> Tensor:
        return (x * np.random.rand(2, 2) + random.random()).sum()

    np.random.seed(3)
    random.seed(3)
    noisy(Tensor(X))
    after_one_run = np.random.rand(), random.random()
    np.random.seed(3)
    random.seed(3)
    comparison = compare(noisy, X)
    assert comparison.ok
    assert comparison.nodes[0].finite_difference == pytest.approx(comparison.nodes[0].tensor_grad)
    assert (np.random.rand(), random.random()) == after_one_run


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda x: x.sum().item(), "must return one Tensor, got a float"),
        (lambda x: (x, x), "must return one Tensor, got a tuple: return one of them"),
        (lambda x: x.sum().detach(), "requires no gradient"),
        (lambda x: (x * float(x.data.max())).sum(), "runs on Tensors but not on Values"),
        (lambda x: Tensor(np.tanh([a.item() for a in x]), _prev=(x,), _op="mine").sum(), "computed from plain numbers"),
        (lambda x: _run_backward(x), "leave the backward pass to its caller"),
    ],
)
def test_programs_that_cannot_be_compared(program: Callable[..., Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        compare(program, [1.0, 2.0])


def _run_backward(x: Tensor) -> Tensor:
    loss = (x * x).sum()
    loss.backward()
    return loss


@pytest.mark.parametrize("bad", ["3", None, [[1.0], [1.0, 2.0]], {}])
def test_an_input_that_is_no_array_is_named(bad: Any) -> None:
    with pytest.raises(UserError, match="input y"):
        compare(lambda x, y: x * y, 1.0, bad)


def test_another_graph_in_the_second_run_is_refused() -> None:
    calls: list[int] = []

    def counting(x: Tensor) -> Tensor:
        calls.append(1)
        return x * 2 if len(calls) == 1 else x.exp()

    with pytest.raises(UserError, match=r"another graph .* its node"):
        compare(counting, 1.0)
    calls.clear()

    def growing(x: Tensor) -> Tensor:
        calls.append(1)
        for _ in calls:
            x = x.exp()
        return x

    with pytest.raises(UserError, match=r"another graph .* of 2 nodes and then of 3"):
        compare(growing, 0.1)


def test_a_program_too_large_is_refused_before_it_is_lifted() -> None:
    with pytest.raises(TooLargeError, match="about 2,200 scalar nodes, more than 1,000"):
        compare(lambda x: (x @ x).sum(), np.ones((10, 10)), max_scalars=1000)


# -- the table and JSON ------------------------------------------------------------------------------------------------


def test_the_table_shows_leaves_or_all() -> None:
    comparison = compare(layer, X, W, [0.1, -0.1])
    lines = comparison.table().splitlines()
    assert lines[0].split()[:3] == ["name", "value", "scalar"]
    assert [line.split()[0] for line in lines[1:11]] == ["x[0,"] * 2 + ["x[1,"] * 2 + ["w[0,"] * 2 + ["w[1,"] * 2 + [
        "b[0]", "b[1]"]  # fmt: skip
    assert lines[11] == ""
    every = comparison.table(all=True).splitlines()
    assert len(every) == len(lines) + 17
    assert "x @ w" in every[9]
    assert len({line.index("0.500000") for line in lines if line.startswith("x[0, 0]")}) == 1


def test_a_long_table_is_cut_but_keeps_what_differs() -> None:
    comparison = compare(lambda x: square(x[:1], 3).sum() + (x * x).sum(), np.linspace(1, 2, 50))
    lines = comparison.table(most=3).splitlines()
    assert len([line for line in lines if line.endswith("<- differs")]) == 2
    assert "... and 48 more rows" in lines


def test_the_json_is_plain() -> None:
    comparison = compare(lambda x: (1 / x).sum(), [0.0, 2.0], finite_differences=False)
    data = json.loads(plain.dumps(comparison.to_json()))
    assert data["ok"] is True
    assert data["rows"][1]["scalar_grad"] == "-inf"
    assert [node["op"] for node in data["nodes"]] == ["", "", "/", "sum"]
    assert data["first_mismatch"] is None
    assert compare(wrong, [1.0]).to_json()["suspects"] == ["n3"]


def test_draw_step_and_compare_have_one_vocabulary() -> None:
    passed = trace(compare(relu_example, 2, -3, 10).tensor_root)
    drawn, stepped = plain.graph(passed.graph), plain.trace(passed)
    compared = compare(relu_example, 2, -3, 10).to_json()
    words = {"key", "name", "named", "op", "formula", "parents", "shape", "dtype", "requires_grad"}
    assert set(drawn["nodes"][0]) == words | {"data", "grad"}
    assert set(stepped["nodes"][0]) == words | {"data"}
    assert set(compared["nodes"][0]) == words | {"ok", "mismatches"}
    assert set(drawn["edges"][0]) == {"parent", "child", "slot", "contribution"}
    assert set(stepped["edges"][0]) == {"parent", "child", "slot"}
    assert set(stepped["steps"][0]) == {field.name for field in fields(Step)}
    assert set(compared["rows"][0]) == {field.name for field in fields(Row)}


@pytest.mark.parametrize("name", ["nan", "inf", "1e3"])
def test_a_leaf_with_a_name_that_reads_as_a_number_is_shown(name: str) -> None:
    a, b = Value(2.0, label="a"), Value(3.0, label=name)
    lines = compare(a * b * 7).table().splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["a", name]
    assert lines[3] == ""  # 7, which has no name, is left out
    x = Tensor(3.0, requires_grad=True, label=name)
    assert compare(lambda a: a * x, 2.0).table().splitlines()[2].split()[0] == name


def test_a_nameless_array_is_shown() -> None:
    hidden = [Tensor([1.0, 2.0], requires_grad=True)]
    comparison = compare(lambda x: (x * hidden[0]).sum(), [1.0, 2.0], names={})
    assert not comparison.nodes[1].named
    assert comparison.table().splitlines()[3].startswith(f"{comparison.nodes[1].name}[0]")


def test_in_a_notebook_text_is_escaped() -> None:
    x = Tensor([1.0], requires_grad=True, label="<b>")
    assert "&lt;b&gt;[0]" in compare(lambda x: x * 2, x)._repr_html_()


# -- the picture -------------------------------------------------------------------------------------------------------


def test_the_picture_has_both_graphs_and_a_box_for_each_tensor() -> None:
    comparison = compare(layer, X, W, [0.1, -0.1])
    source = comparison.draw().source
    scalars = topological_order(comparison.scalar_root)
    for i in range(len(scalars)):
        assert f"\tsn{i} [" in source
    for node in comparison.nodes:
        assert f"subgraph cluster_{node.key} " in source
        assert f"\ttn{node.key[1:]} [" in source
    assert "tensor: grad" not in source
    assert "a = x @ w" in source


def test_partial_sums_belong_to_the_tensor_that_they_were_made_for() -> None:
    comparison = compare(lambda x, w: (x @ w).sum(), X, W)
    order = topological_order(comparison.scalar_root)
    owners = owned_by(comparison.pair, order)
    ops = {i: sorted(node._op for node, owner in zip(order, owners, strict=True) if owner == i) for i in range(4)}
    assert ops == {0: [""] * 4, 1: [""] * 4, 2: ["*"] * 8 + ["+"] * 4, 3: ["+"] * 3}
    several = compare(lambda x: x * x, [1.0, 2.0], gradient=1)
    order = topological_order(several.scalar_root)
    assert owned_by(several.pair, order)[-1] is None


def test_what_differs_is_marked_in_the_picture() -> None:
    source = compare(wrong, [1.0, -2.0]).draw().source
    assert "tensor: grad 22.5" in source
    assert "differs from the scalars in 2 of 2" in source


def test_the_picture_can_be_saved_and_has_a_limit(tmp_path: Path) -> None:
    comparison = compare(relu_example, 2, -3, 10)
    comparison.draw(tmp_path / "both.dot")
    assert (tmp_path / "both.dot").read_text().startswith("digraph")
    with pytest.raises(TooLargeError):
        comparison.draw(tmp_path / "too.dot", max_nodes=13)
    assert not (tmp_path / "too.dot").exists()


@pytest.mark.parametrize("label", ['a"b', "{x|y}", "<b>", "\\N", "ünï", "x:y", "l" * 300])
def test_any_label_can_be_drawn(label: str) -> None:
    x = Tensor([[1.0], [2.0]], requires_grad=True, label=label)
    drawing = compare(lambda x: square(x[:, :0].sum() + x, 3).sum(), x).draw()
    try:
        assert b"<svg" in drawing.render("svg")
    except NoDotError as error:
        missing(str(error))


def test_drawing_leaves_gradients_alone() -> None:
    x = Tensor(X, dtype=np.float64, requires_grad=True)
    comparison = compare(lambda x: (x * x).sum(), x)
    comparison.draw()
    assert x.grad is None
    assert comparison.tensor_root.grad is None


# -- other sources of the gradient -------------------------------------------------------------------------------------


def test_finite_differences_are_taken_in_float64_and_only_of_so_many() -> None:
    x = Tensor(X, requires_grad=True)
    comparison = compare(lambda x: (x.exp() * x).sum(), x)
    assert x.dtype == np.float32
    assert comparison.nodes[0].finite_difference == pytest.approx((np.exp(X) * (1 + np.array(X))), rel=1e-8)
    large = compare(lambda x: x.sum(), np.zeros(2001))
    assert large.nodes[0].finite_difference is None
    assert "no finite differences: the leaves have 2,001 elements, more than 2,000" in large.notes
    assert compare(lambda x: x.sum(), X, finite_differences=False).notes == ()


def test_a_program_that_fails_beside_its_operands_has_no_finite_differences() -> None:
    def exact(x: Tensor) -> Tensor:
        if x.item() != 2.0:
            raise ValueError("only 2")
        return x * x

    comparison = compare(exact, 2.0)
    assert comparison.ok
    assert comparison.notes == ("no finite differences: the program fails near its operands (ValueError: only 2)",)


def test_a_leaf_that_the_program_makes_has_no_finite_difference() -> None:
    def program(x: Tensor) -> Tensor:
        return (x * Tensor([2.0, 3.0], requires_grad=True, label="own")).sum()

    comparison = compare(program, [1.0, 2.0])
    own = next(node for node in comparison.nodes if node.name == "own")
    assert own.scalar_grad.tolist() == own.tensor_grad.tolist() == [1.0, 2.0]
    assert own.finite_difference is None
    assert comparison.nodes[0].finite_difference is not None


def test_torch_agrees(torch: ModuleType) -> None:
    comparison = compare(layer, X, W, [0.1, -0.1], torch=True)
    assert comparison.largest_difference_from_torch() < 1e-12
    assert "torch" in comparison.table().splitlines()[0].split()
    assert "\ntorch: largest difference " in comparison.summary()
    assert "torch" not in compare(layer, X, W, [0.1, -0.1]).summary()
    inside = Tensor(W, dtype=np.float64, requires_grad=True)
    mixed = compare(lambda x: (x @ inside).sum(), X, torch=True)
    assert mixed.largest_difference_from_torch() is None
    assert "the program does not run on torch's tensors" in mixed.notes[0]


def test_without_torch_the_column_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_module(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", no_module)
    assert compare(layer, X, W, [0.1, -0.1], torch=True).notes == ("no gradients by torch: it is not installed",)
