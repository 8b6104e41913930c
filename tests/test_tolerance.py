"""How far correct results may be apart: relative to what they were computed from, not to what is left of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from micrograd import Value
from micrograd.backprop import topological_order
from tensorgrad import Tensor
from tensorgrad.node import record
from viz import compare
from viz.comparison.tolerance import allowance, backward_sizes, close, defaults, forward_sizes
from viz.passes import gradients as gradients_of

UNIT = 1e-12


def sizes(root: Value, seed: float = 1.0) -> tuple[dict[Value, float], dict[Value, float]]:
    """The sizes of data and of gradients."""
    order = topological_order(root)
    of_data = forward_sizes(order, UNIT)
    gradients = dict(zip(order, gradients_of(root, seed, order), strict=True))
    return of_data.expected, backward_sizes(
        order, seed, {node: g or 0.0 for node, g in gradients.items()}, of_data, UNIT
    )


def test_a_difference_has_the_size_of_what_was_subtracted() -> None:
    a, b = Value(3e6), Value(3e6 - 1)
    difference = a - b
    of_data, _ = sizes(difference)
    assert of_data[a] == 3e6
    assert of_data[difference] == pytest.approx(3e6 * 2)


def test_where_nothing_cancels_the_size_is_the_number() -> None:
    a, b = Value(2.0), Value(-3.0)
    product = (a * b).exp()
    of_data, of_grads = sizes(product, seed=-2.0)
    assert of_data[product] == pytest.approx(
        product.data * 6 * 2**0.5, rel=1e-3
    )  # an error of a*b is multiplied by its size
    assert of_grads[product] == 2.0
    # the error of exp's derivative, made of that of a*b, beside that of its gradient
    assert of_grads[product._prev[0]] == pytest.approx(2.0 * product.data * 73**0.5, rel=1e-3)


def test_contributions_that_cancel_count_each() -> None:
    x = Value(1.0)
    root = x * 3e6 - x * (3e6 - 1)
    _, of_grads = sizes(root)
    assert of_grads[x] == pytest.approx(3e6 * 2 * 2**0.5)  # two products, each with the error of two factors


def test_errors_of_many_paths_add_up() -> None:
    """Not in quadrature: the error of one operand, a mean say, reaches all of its users alike."""
    x = Value(1.0)
    _, of_grads = sizes(sum((x + 0 for _ in range(100)), Value(0)))
    assert of_grads[x] == pytest.approx(100.0)


@pytest.mark.parametrize("times", [lambda d, w: d * w, lambda d, w: w * d])
def test_a_factor_made_of_a_difference_has_its_size_in_the_gradient(times: Callable[[Value, Value], Value]) -> None:
    difference, w = Value(3e6) - Value(3e6 - 1), Value(1.0)
    _, of_grads = sizes(times(difference, w))
    assert of_grads[w] == pytest.approx(3e6 * 2)
    _, of_grads = sizes(difference**2)
    assert of_grads[difference] == pytest.approx(2 * 3e6 * 2)


def test_where_nothing_is_left_of_both_factors_the_size_is_the_product_of_their_errors() -> None:
    zeros = [Value(1.0) - Value(1.0) for _ in range(3)]
    product = zeros[0] * zeros[1]
    of_data, _ = sizes(product)
    assert of_data[product] == pytest.approx(4 * UNIT)
    _, of_grads = sizes(zeros[0] * zeros[1] * zeros[2])
    assert of_grads[zeros[0]] == pytest.approx(4 * UNIT)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_a_saturated_function_has_no_digits_in_its_derivative(name: str) -> None:
    x = Value(30.0)
    _, of_grads = sizes(getattr(x, name)())
    assert of_grads[x] == pytest.approx(0.1)


def test_contributions_that_are_fixed_numbers_have_the_size_of_what_they_multiply() -> None:
    x = Value(3.0)
    _, of_grads = sizes(-(x - 1), seed=5.0)
    assert of_grads[x] == 5.0


@pytest.mark.parametrize(
    ("function", "curvature"),
    [
        (lambda x: x.exp(), lambda x: np.exp(x)),
        (lambda x: x.log(), lambda x: 1 / x**2),
        (lambda x: x.sqrt(), lambda x: 0.25 * x**-1.5),
        (lambda x: x.sin(), lambda x: np.sin(x)),
        (lambda x: x.cos(), lambda x: np.cos(x)),
        (lambda x: x**2.5, lambda x: 3.75 * x**0.5),
        (lambda x: 1 / x, lambda x: 2 / x**3),
        (lambda x: x**3, lambda x: 6 * x),
    ],
)
def test_a_local_derivative_errs_by_its_own_derivative_times_its_operands_error(
    function: Callable[[Value], Value], curvature: Callable[[float], float]
) -> None:
    x = Value(1000.0) - Value(999.25)
    size = 1000.0 + 999.25
    _, of_grads = sizes(function(x))
    assert of_grads[x] == pytest.approx(abs(curvature(0.75)) * size, rel=1e-3)


def test_at_a_kink_nothing_is_known_where_the_operand_may_be_on_either_side() -> None:
    near = Value(3e6) - Value(3e6 - 1e-9)
    _, of_grads = sizes(abs(near))
    assert of_grads[near] == pytest.approx(2 / UNIT)
    far = Value(3e6) - Value(3e6 - 1)
    _, of_grads = sizes(abs(far))
    assert of_grads[far] == 1.0


def test_where_both_engines_have_the_same_data_what_follows_is_certain() -> None:
    a, b = Value(3e6), Value(3e6 - 1)
    difference = a - b
    root = difference.exp()
    order = topological_order(root)
    same = forward_sizes(order, UNIT, {difference: 0.0})
    assert same.expected[difference] == pytest.approx(3e6 * 2)
    assert same.known[difference] == 1.0
    assert same.expected[root] == pytest.approx(root.data, rel=1e-3)
    apart = forward_sizes(order, UNIT, {difference: 1e-10})
    assert apart.known[difference] == pytest.approx(400.0)
    wrong = forward_sizes(order, UNIT, {difference: 5.0})
    assert wrong.known == wrong.expected


def test_an_operation_of_the_users_with_a_familiar_name_is_no_such_operation() -> None:
    x = Value(0.5)
    for name, operands in (("*", (x,)), ("/", (x,)), ("tanh", (x, x)), ("**2", (x, x)), ("mine", (x,))):
        root = Value(7.0, operands, name, local=(3.0,) * len(operands))
        _, of_grads = sizes(root)
        assert of_grads[x] == pytest.approx(3.0 * len(operands))


SUM = {
    "cube": lambda s: s**3,
    "inverse": lambda s: 1 / s,
    "log": lambda s: (s * s).log(),
    "sqrt": lambda s: (s**2).sqrt(),
    "abs": lambda s: abs(s) ** 2.5,
    "exp": lambda s: (s * 1e9).exp(),
    "sin": lambda s: (s * 1e9).sin(),
    "cos": lambda s: (s * 1e9).cos(),
    "tanh": lambda s: (s * 1e9).tanh() ** 3,
    "sigmoid": lambda s: (s * 1e9).sigmoid().log(),
    "power": lambda s: (s * s) ** (s * 1e9),
    "fourth power by products": lambda s: s * s * s * s,
    "relu": lambda s: s.relu() * s,
}
"""What may follow on a sum that is small because its terms cancel."""


@pytest.mark.parametrize("name", SUM)
@pytest.mark.parametrize("seed", range(5))
def test_cancellation_before_any_operation_is_no_mismatch(name: str, seed: int) -> None:
    x = cancelling(np.random.default_rng(seed), 1e-9)
    assert compare(lambda x: SUM[name](x.sum()), x, finite_differences=False).ok


@pytest.mark.parametrize("name", ["cube", "fourth power by products", "relu", "tanh"])
@pytest.mark.parametrize("seed", range(5))
def test_a_sum_of_which_no_digit_is_left_is_no_mismatch(name: str, seed: int) -> None:
    x = cancelling(np.random.default_rng(seed), 0.0)
    assert compare(lambda x: SUM[name](x.sum()), x, finite_differences=False).ok


def cancelling(rng: np.random.Generator, total: float) -> np.ndarray:
    """Numbers of size 1 that add up to `total`, and to something else one by one, as the scalar engine adds."""
    while True:
        x = rng.normal(size=100)
        x[-1] += total - x.sum()
        if x.sum() != sum(x.tolist()):
            return x


def test_the_exponents_gradient_has_the_error_of_the_logarithm() -> None:
    assert compare(lambda x, y: x.tanh() ** y, 9.0, 2.0).ok


RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "log": lambda a: 1 / a,
    "sqrt": lambda a: 0.5 / np.sqrt(a),
    "sin": np.cos,
    "cos": lambda a: -np.sin(a),
    "tanh": lambda a: 1 - np.tanh(a) ** 2,
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("of", ["leaf", "sum"])
def test_an_error_in_the_tenth_digit_of_a_rule_is_a_mismatch(name: str, of: str) -> None:
    def operation(x: Tensor) -> Tensor:
        a = x.data
        return record(name, getattr(np, name)(a), (x, lambda g: g * RULES[name](a) * (1 + 1e-10)))

    def program(x: Tensor) -> Tensor:
        return (operation(x) if of == "leaf" else operation((x * 7).sum() * 0.1)).sum()

    comparison = compare(program, [0.3, 1.7, 0.8, 0.2], finite_differences=False)
    assert not comparison.ok
    assert [node.op for node in comparison.suspects] == [name]


def test_relu_at_an_exact_zero_that_is_a_difference_still_counts() -> None:
    def relu(x: Tensor) -> Tensor:
        a = x.data
        if a.dtype == object:
            return x.relu()
        return record("relu", np.maximum(a, 0), (x, lambda g: np.where(a < 0, 0, g)))  # wrong at 0

    assert compare(lambda a, b, c: relu(a * b + c) * a, 2.0, -3.0, 6.0, finite_differences=False).mismatches > 0


def test_an_operand_that_the_root_does_not_depend_on_has_none() -> None:
    a = Value(1.0)
    order = topological_order(a * 2)
    gradients = dict.fromkeys(order, 0.0)
    assert backward_sizes(order, 0.0, gradients, forward_sizes(order, UNIT), UNIT)[a] == 0.0


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [100, 1000])
def test_centring_data_with_an_offset_is_no_mismatch(dtype: type, size: int) -> None:
    """The error of the mean reaches every element alike."""
    x = Tensor((1e4 + np.random.default_rng(0).normal(size=size)).astype(dtype), requires_grad=True)
    assert compare(lambda x: ((x - x.mean()) ** 2).mean(), x, finite_differences=False).ok
    assert compare(lambda x: (x - x.mean()).sum(), x, finite_differences=False).ok
