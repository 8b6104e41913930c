"""First values: their distributions, torch's formulas, what is in place, errors."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Generator, Tensor, manual_seed, nn
from tensorgrad.errors import DtypeError
from tensorgrad.nn import init
from viz import compare

SHAPE = (300, 200)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    manual_seed(7)


def filled(name: str, *args: Any, shape: tuple[int, ...] = SHAPE, **kwargs: Any) -> np.ndarray:
    x = tensorgrad.zeros(*shape, dtype=np.float64)
    assert getattr(init, name)(x, *args, **kwargs) is x
    return x.data


@pytest.mark.parametrize(
    ("name", "args", "low", "high", "mean", "std"),
    [
        ("uniform_", (), 0, 1, 0.5, math.sqrt(1 / 12)),
        ("uniform_", (-3, 1), -3, 1, -1, 4 * math.sqrt(1 / 12)),
        ("normal_", (), -math.inf, math.inf, 0, 1),
        ("normal_", (3, 0.1), -math.inf, math.inf, 3, 0.1),
        # of a normal distribution cut at +-2: std 0.8796256610342398 (its closed form, from the density at 2)
        ("trunc_normal_", (), -2, 2, 0, 0.8796256610342398),
        ("trunc_normal_", (1, 2, -3, 5), -3, 5, 1, 2 * 0.8796256610342398),
        ("xavier_uniform_", (), -math.sqrt(6 / 500), math.sqrt(6 / 500), 0, math.sqrt(2 / 500)),
        ("xavier_normal_", (2.0,), -math.inf, math.inf, 0, 2 * math.sqrt(2 / 500)),
        ("kaiming_uniform_", (), -math.sqrt(6 / 200), math.sqrt(6 / 200), 0, math.sqrt(2 / 200)),
        ("kaiming_uniform_", (math.sqrt(5),), -1 / math.sqrt(200), 1 / math.sqrt(200), 0, 1 / math.sqrt(600)),
        ("kaiming_normal_", (0, "fan_out", "relu"), -math.inf, math.inf, 0, math.sqrt(2 / 300)),
        ("kaiming_normal_", (0, "fan_in", "linear"), -math.inf, math.inf, 0, math.sqrt(1 / 200)),
    ],
)
def test_distributions(name: str, args: tuple, low: float, high: float, mean: float, std: float) -> None:
    x = filled(name, *args)
    assert low <= x.min() < x.max() <= high
    assert x.mean() == pytest.approx(mean, abs=5 * std / math.sqrt(x.size))
    assert x.std() == pytest.approx(std, rel=0.02)


@pytest.mark.parametrize(
    ("settings", "expected_mean"),
    [
        ({"a": 5.0, "b": 6.0}, 5.1865),  # far out: phi(5) / Q(5), less what lies beyond 6
        ({"a": -6.0, "b": -5.0}, -5.1865),
        ({"a": 0.0, "b": 10.0}, math.sqrt(2 / math.pi)),
    ],
)
def test_a_normal_distribution_cut_far_out(settings: dict, expected_mean: float) -> None:
    x = filled("trunc_normal_", **settings)
    assert settings["a"] <= x.min() < x.max() <= settings["b"]
    assert x.mean() == pytest.approx(expected_mean, rel=0.01)


def test_a_normal_distribution_cut_beyond_all_numbers() -> None:
    x = filled("trunc_normal_", a=50.0, b=60.0, shape=(5,))
    assert (x >= 50).all()
    assert (x <= 60).all()


def test_constants() -> None:
    np.testing.assert_array_equal(filled("constant_", 2.5, shape=(2, 2)), np.full((2, 2), 2.5))
    np.testing.assert_array_equal(filled("ones_", shape=(2,)), np.ones(2))
    np.testing.assert_array_equal(filled("zeros_", shape=(2,)), np.zeros(2))
    np.testing.assert_array_equal(filled("eye_", shape=(2, 3)), np.eye(2, 3))


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3), (0, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    x = filled("orthogonal_", gain=3.0, shape=shape).reshape(shape[0], math.prod(shape[1:]))
    product = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    np.testing.assert_allclose(product, 9 * np.eye(len(product)), atol=1e-12)


def test_orthogonal_has_no_favourite_sign() -> None:
    """Without the correction of signs, Householder's Q has a diagonal of one sign for the most part."""
    diagonals = np.array([np.diag(filled("orthogonal_", shape=(3, 3))) for _ in range(300)])
    assert np.abs(diagonals.mean(axis=0)).max() < 0.15


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 5), (2, 3, 4, 5), (0, 4)])
def test_fans_and_gains_are_those_of_torch(torch: ModuleType, shape: tuple[int, ...]) -> None:
    reference = torch.nn.init._calculate_fan_in_and_fan_out(torch.zeros(shape))
    assert init._calculate_fan_in_and_fan_out(tensorgrad.zeros(shape)) == reference
    for name, args in [("linear", ()), ("sigmoid", ()), ("tanh", ()), ("relu", ()), ("selu", ())]:
        assert init.calculate_gain(name, *args) == pytest.approx(torch.nn.init.calculate_gain(name, *args))
    for slope in (None, 0, 0.3, math.sqrt(5)):
        expected = torch.nn.init.calculate_gain("leaky_relu", slope)
        assert init.calculate_gain("leaky_relu", slope) == pytest.approx(expected)


def test_parameters_are_filled_outside_the_graph() -> None:
    layer = nn.Linear(3, 2)
    array = layer.weight.data
    init.ones_(layer.weight)
    assert layer.weight.data is array
    assert layer.weight.is_leaf
    assert layer.weight.requires_grad
    loss = (layer.weight * layer.weight).sum()
    init.zeros_(layer.weight)
    with pytest.raises(RuntimeError, match="in place"):
        loss.backward()


def test_a_generator_of_ones_own() -> None:
    found = [filled("normal_", generator=Generator().manual_seed(5), shape=(3,)) for _ in range(2)]
    np.testing.assert_array_equal(*found)
    assert (filled("normal_", shape=(3,)) != found[0]).all()


def test_a_program_that_makes_its_layers_can_be_compared() -> None:
    def program(x: Tensor) -> Tensor:
        layer = nn.Linear(2, 2)
        init.normal_(layer.weight)
        return layer(x).tanh().sum()

    assert compare(program, tensorgrad.ones(1, 2, dtype=np.float64, requires_grad=True)).ok


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: init.uniform_(x, 1, 0), ValueError, "range from 1 to 0 is empty"),
        (lambda x: init.normal_(x, 0, -1), ValueError, "deviation -1 is negative"),
        (lambda x: init.trunc_normal_(x, a=1, b=1), ValueError, "a < b"),
        (lambda x: init.eye_(x), ValueError, "two axes"),
        (lambda x: init.orthogonal_(x), ValueError, "two axes or more"),
        (lambda x: init.xavier_normal_(x), ValueError, "two axes or more"),
        (lambda x: init.kaiming_normal_(tensorgrad.ones(2, 2), mode="in"), ValueError, "'fan_in' or 'fan_out'"),
        (lambda x: init.calculate_gain("gelu"), ValueError, "no gain is known for 'gelu'"),
        (lambda x: init.calculate_gain("leaky_relu", "steep"), ValueError, "'steep'"),
        (lambda x: init.ones_(np.ones(2)), TypeError, "fills a Tensor, got a ndarray"),
        (lambda x: init.normal_(x, generator=3), TypeError, "generator"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tensorgrad.ones(3))


def test_integers_and_read_only_arrays_are_not_filled_with_fractions() -> None:
    whole = tensorgrad.zeros(2, 2, dtype=int)
    for fill in (init.uniform_, init.normal_, init.trunc_normal_, init.orthogonal_, init.xavier_normal_):
        with pytest.raises(DtypeError, match=r"^\w+_: fractions do not fit into a tensor of shape \(2, 2\), int64"):
            fill(whole)
    assert init.constant_(whole, 3).tolist() == [[3, 3], [3, 3]]
    with pytest.raises(RuntimeError, match=r"zeros_: the array of .* is read-only: fill a clone"):
        init.zeros_(tensorgrad.ones(1).expand(3))
