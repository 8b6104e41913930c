"""How far correct results may be apart: relative to what they were computed from, not to what is left of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from micrograd import Value
from micrograd.backprop import topological_order
from viz.comparison.tolerance import allowance, backward_sizes, close, defaults, forward_sizes


def sizes(root: Value, seed: float = 1.0) -> tuple[dict[Value, float], dict[Value, float]]:
    """The sizes of data and of gradients."""
    order = topological_order(root)
    of_data = forward_sizes(order)
    return of_data, backward_sizes(root, seed, order, of_data)


def test_a_difference_has_the_size_of_what_was_subtracted() -> None:
    a, b = Value(3e6), Value(3e6 - 1)
    difference = a - b
    of_data, _ = sizes(difference)
    assert of_data[a] == 3e6
    assert of_data[difference] == pytest.approx(3e6 * 2**0.5)


def test_where_nothing_cancels_the_size_is_the_number() -> None:
    a, b = Value(2.0), Value(-3.0)
    product = (a * b).exp()
    of_data, of_grads = sizes(product, seed=-2.0)
    assert of_data[product] == pytest.approx(product.data * 6 * 2**0.5)  # an error of a*b is multiplied by its size
    assert of_grads[product] == 2.0
    assert of_grads[product._prev[0]] == pytest.approx(2.0 * product.data)


def test_contributions_that_cancel_count_each() -> None:
    x = Value(1.0)
    root = x * 3e6 - x * (3e6 - 1)
    _, of_grads = sizes(root)
    assert of_grads[x] == pytest.approx(3e6 * 2**0.5)


def test_errors_of_many_paths_add_up_in_quadrature() -> None:
    x = Value(1.0)
    _, of_grads = sizes(sum((x + 0 for _ in range(100)), Value(0)))
    assert of_grads[x] == pytest.approx(10.0)


@pytest.mark.parametrize("times", [lambda d, w: d * w, lambda d, w: w * d])
def test_a_factor_made_of_a_difference_has_its_size_in_the_gradient(times: Callable[[Value, Value], Value]) -> None:
    difference, w = Value(3e6) - Value(3e6 - 1), Value(1.0)
    _, of_grads = sizes(times(difference, w))
    assert of_grads[w] == pytest.approx(3e6 * 2**0.5)
    _, of_grads = sizes(difference**2)
    assert of_grads[difference] == pytest.approx(2 * 3e6 * 2**0.5)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_a_saturated_function_has_no_digits_in_its_derivative(name: str) -> None:
    x = Value(30.0)
    _, of_grads = sizes(getattr(x, name)())
    assert of_grads[x] == 0.1
    _, of_grads = sizes(x.exp())
    assert of_grads[x] == x.exp().data


def test_an_operand_that_the_root_does_not_depend_on_has_none() -> None:
    a = Value(1.0)
    order = topological_order(a * 2)
    assert backward_sizes(order[0], 1.0, order, forward_sizes(order))[order[-1]] == 0.0


def test_close() -> None:
    a = np.array([1.0, 1.0, np.nan, np.nan, np.inf, np.inf, np.inf, 0.0])
    b = np.array([1.1, 1.2, np.nan, 1.0, np.inf, -np.inf, 1.0, -0.0])
    expected = [True, False, True, False, True, False, False, True]
    assert close(a, b, np.full(8, 0.15)).tolist() == expected
    assert close(b, a, np.full(8, 0.15)).tolist() == expected


def test_the_allowance_is_relative_to_the_largest_finite_of_both_and_the_size() -> None:
    a = np.array([1.0, 5.0, 1.0, np.nan])
    b = np.array([4.0, 1.0, 1.0, np.inf])
    size = np.array([2.0, 2.0, 10.0, np.inf])
    assert allowance(a, b, size, rtol=0.5, atol=0.25).tolist() == [2.25, 2.75, 5.25, 0.25]


@pytest.mark.parametrize(
    ("dtypes", "rtol"),
    [(["f8"], 1e-12), (["f8", "f4"], 1e-5), (["f4", "f2", "i8"], 1e-2), (["i8", "?"], 1e-12), ([], 1e-12)],
)
def test_the_least_precise_float_decides(dtypes: list[str], rtol: float) -> None:
    assert defaults(map(np.dtype, dtypes))[0] == rtol
