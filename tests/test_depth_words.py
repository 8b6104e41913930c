"""The depth lab in words: each verdict where it belongs, and numbers of every size."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from depth_lab.stack import Measured, Stack, measured
from depth_lab.words import sentences, size

TEN = Stack(layers=10, width=16)


def along(first: float, last: float, weights: tuple[float, float] = (1.0, 1.0), signal: float = 1.0) -> Measured:
    """A stack of ten layers between whose ends everything changes by the same factor a layer; `signal` is the end's."""
    states = np.geomspace(first, last, 10)
    return Measured(1.0, np.geomspace(1.0, signal, 11), np.append(states, last), np.geomspace(*weights, 10))


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (7.72e-18, "7.7e-18"),
        (0.00099, "0.00099"),
        (0.0123, "0.0123"),
        (1.0, "1"),
        (999.4, "999"),
        (999.6, "1,000"),
        (6_344.0, "6,340"),
    ],
)
def test_sizes(x, text):
    assert size(x) == text


def test_sizes_that_are_large():
    assert [size(x) for x in (1_000.0, 999_499.0, 999_500.0, 5.25e7, math.inf)] == [
        "1,000", "999,000", "1e+06", "5.2e+07", "inf",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (7e-9, "receives 7e-09 of the gradient that the last one does, 0.124 a layer on average: it vanishes"),
        (0.2, "receives 0.2 of the gradient that the last one does, 0.836 a layer on average: it shrinks"),
        (
            0.9,
            "receives 0.9 times the gradient that the last one does, 0.988 a layer on average: about as much",
        ),
        (
            15.0,
            "receives 15 times the gradient that the last one does, 1.35 a layer on average: it does not vanish",
        ),
        (7_700.0, "receives 7,700 times the gradient that the last one does, 2.7 a layer on average: it explodes"),
    ],
)
def test_the_verdict_on_the_layers(ratio, verdict):
    assert sentences(TEN, along(ratio, 1.0))[0].startswith(f"The first of 10 layers {verdict}")


@pytest.mark.parametrize(
    ("limit", "below", "above"),
    [
        (0.01, "vanishes", "shrinks"),
        (0.5, "shrinks", "about as much"),
        (2.0, "about as much", "grows"),
        (100.0, "grows", "explodes"),
    ],
)
def test_a_verdict_changes_at_its_limit(limit, below, above):
    assert below in sentences(TEN, along(0.99 * limit, 1.0))[0]
    assert above in sentences(TEN, along(1.01 * limit, 1.0))[0]


def test_what_formats_hold_changes_at_their_limits():
    for typical, below, above in (
        (2.0**-150, "fp16 and float32 round it to 0", "fp16 rounds it to 0"),
        (2.0**-25, "fp16 rounds it to 0", None),
        (65_504.0, None, "fp16 ends at 65,504"),
    ):
        for near, wanted in ((0.99, below), (1.01, above)):
            said = " ".join(sentences(TEN, along(1.0, 1.0, (near * typical * TEN.width,) * 2)))
            assert wanted in said if wanted else "fp16" not in said


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ((1e-3, 1.0), "0.001 of the last one's: steps that suit the last layer hardly move the first."),
        ((0.3, 1.0), "0.3 of the last one's."),
        ((1.0, 1.0), "1 times the last one's, about as long."),
        ((3.0, 1.0), "3 times the last one's."),
        ((500.0, 1.0), "500 times the last one's: steps that suit the last layer are far too long for the first."),
        ((3e-26, 1e-26), "3 times the last one's; the longest of all is 3e-26, so gradient descent hardly moves a"),
    ],
)
def test_the_verdict_on_the_weights(weights, said):
    assert sentences(TEN, along(1.0, 1.0, weights))[1].startswith(
        f"The gradient of the first layer's weights is {said}"
    )


def test_weights_alike_where_the_gradient_vanishes_are_explained_by_the_signal():
    vanishing = along(1e-12, 1.0, (4e-9, 1e-9), 1e-12)
    assert "has shrunk to 1.6e-11 of itself before the last layer; the longest" in sentences(TEN, vanishing)[1]
    assert "itself" not in sentences(replace(TEN, norm=True), vanishing)[1]
    assert "has grown to 6.3e+10 times itself" in sentences(TEN, along(1e12, 1.0, (1.0, 1.0), 1e12))[1]
    assert "itself" not in sentences(TEN, along(1e12, 1.0, (1.0, 1.0), 1e-12))[1]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ((1e-38, 1e-40), "as small as 6.2e-42: fp16 rounds it to 0, in every layer."),
        ((1e-50, 1e-50), "as small as 6.3e-52: fp16 and float32 round it to 0, in every layer."),
        ((1e-7, 1.0), "fp16 rounds it to 0, in some layers."),
        ((1e-50, 1.0), "fp16 and float32 round it to 0, in some layers."),
        ((1e-50, 1e-20), "fp16 rounds it to 0 in every layer, float32 in some layers."),
        ((1e8, 1.0), "is 6.2e+06: fp16 ends at 65,504."),
    ],
)
def test_what_formats_of_few_bits_lose(weights, said):
    assert said in sentences(TEN, along(1.0, 1.0, weights))[2]
    assert len(sentences(TEN, along(1.0, 1.0))) == 2


def test_numbers_that_rounding_decides_are_called_so():
    chaotic = "so the last digits depend on how sums are rounded."
    assert sentences(TEN, along(1e12, 1.0))[-1].endswith(chaotic)
    assert "so even the first digits depend" in sentences(TEN, along(1e17, 1.0))[-1]
    assert not sentences(TEN, along(1e12, 1.0, signal=1e12))[-1].endswith(chaotic)
    assert not sentences(TEN, along(1e-12, 1.0, signal=1e-12))[-1].endswith(chaotic)


def test_ends_that_have_no_ratio():
    one = Stack(layers=1, width=16)
    assert sentences(one, measured(one))[0] == "One layer is the first and the last: there is nothing to compare yet."
    nothing = Measured(0.0, np.ones(11), np.zeros(11), np.zeros(10))
    already = "The gradient is 0 at the last layer already: the gradient's numbers are smaller than 5e-324, where"
    for activation, other in (
        ("linear", ""),
        ("relu", ", or no relu lets them through"),
        ("gelu", ", or no gelu lets them through"),
        ("tanh", ", or tanh is so near ±1 that its slope is 0 in float64"),
    ):
        assert sentences(replace(TEN, activation=activation), nothing) == [f"{already} float64 ends{other}."]
    outgrown = Measured(math.inf, np.ones(11), np.ones(11), np.ones(10))
    assert sentences(TEN, outgrown)[0].startswith("The numbers outgrow float64")
    halfway = replace(nothing, states=np.array([0.0] * 5 + [1.0] * 6), weights=np.array([0.0] * 5 + [1.0] * 5))
    assert sentences(TEN, halfway)[0].startswith("The first of 10 layers receives nothing: ")
    assert len(sentences(TEN, replace(halfway, weights=np.zeros(10)))) == 2
    assert sentences(TEN, halfway)[1].startswith("The gradient of the first layer's weights is 0: ")


def test_a_quotient_that_float64_cannot_hold_is_no_nothing():
    """Gradients that are not 0, of which one over the other is 0 or inf."""
    vanished = sentences(TEN, along(1e-200, 1e150, (1e-200, 1e150)))
    assert "receives less than 5e-324 of the gradient that the last one does: it vanishes" in vanished[0]
    assert "weights is less than 5e-324 of the last one's" in vanished[1]
    exploded = sentences(TEN, along(1e150, 1e-200, (1e150, 1e-200)))
    assert "receives more than 1.8e+308 times the gradient that the last one does: it explodes" in exploded[0]
    assert "weights is more than 1.8e+308 times the last one's" in exploded[1]
    ends = replace(along(1.0, 1.0), weights=np.array([0.0, *[1.0] * 8, 0.0]))
    assert sentences(TEN, ends)[1].startswith("The gradient of the first and the last layer's weights is 0: ")
    tiny = sentences(TEN, along(1.0, 1.0, (5e-324, 5e-324)))
    assert "as small as 4.9e-324: fp16 and float32 round it to 0, in every layer" in tiny[2]


@pytest.mark.parametrize("activation", ["tanh", "gelu"])
def test_an_activation_that_is_flat_is_named(activation):
    """Its gradient is 0 though no number in it is too small for float64."""
    stack = Stack(layers=3, width=4, batch=1, scale=1e4, activation=activation, initialisation="orthogonal")
    runs = (replace(stack, seed=seed) for seed in range(100))
    flat = next(run for run in runs if measured(run).states[0] == 0)
    assert "or " in sentences(flat, measured(flat))[0]


def test_a_factor_of_1_a_layer_is_not_said():
    assert "a layer" not in sentences(TEN, along(1.01, 1.0))[0]
    assert "1.01 a layer" in sentences(TEN, along(1.1, 1.0))[0]


def test_a_real_stack_that_vanishes():
    stack = Stack(layers=20, width=32)
    said = sentences(stack, measured(stack))
    assert said[0].endswith("it vanishes on the way back.")
    assert "the signal has shrunk to" in said[1]
