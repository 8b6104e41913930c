"""Comparing the two engines: what is reported, what differs, and by how much it may."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from compared import W, X, layer, relu_example, square, wrong

from micrograd import Value
from tensorgrad import Tensor
from tensorgrad.node import record
from viz import compare, snapshot, trace
from viz.errors import UserError

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
    assert comparison.worst.name == "a[1]"  # x[1] is three times as far off, and three times as large
    assert comparison.worst.grad_difference == 3.0
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
