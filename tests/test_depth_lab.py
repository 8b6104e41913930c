"""The stacks of the depth lab: their draws, their gradients beside torch's and a hand-written pass, and clipping."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from depth_lab import draws
from depth_lab.clipping import clip
from depth_lab.curves import curves, twins, usual
from depth_lab.initialisation import WEIGHTS, matrix
from depth_lab.seeds import over_seeds, spread
from depth_lab.source import SETTINGS
from depth_lab.stack import ACTIVATIONS, Measured, Stack, leaves, measured, passed
from depth_lab.words import size

from tensorgrad import tensor
from viz.arrays import norm

SMALL = Stack(layers=6, scale=1.1, width=32, batch=4, seed=3)
KINDS = list(itertools.product(ACTIVATIONS, (False, True), (False, True)))


def small(activation: str, residual: bool, pre_norm: bool) -> Stack:
    return replace(SMALL, activation=activation, residual=residual, norm=pre_norm)


def assert_close(found: Measured, states: list, weights: list, loss: float, tolerance: float) -> None:
    """Compare all norms with gradients that were found in another way."""
    lengths = [[np.linalg.norm(np.asarray(g, np.float64)) for g in gradients] for gradients in (states, weights)]
    assert found.states == pytest.approx(np.array(lengths[0]), rel=tolerance)
    assert found.weights == pytest.approx(np.array(lengths[1]), rel=tolerance)
    assert found.loss == pytest.approx(loss, rel=tolerance)


# -- draws -------------------------------------------------------------------------------------------------------------


def test_the_first_draws_are_pinned():
    assert draws.uniform(0, 0, 3) == pytest.approx(
        [0.8146279497304931, 0.08541319204960018, 0.8987820834154263], abs=1e-15
    )
    assert draws.normal(7, 2, 4) == pytest.approx(
        [-1.1339990905636106, 0.27549288455346976, -1.57161324761417, -1.0641860491970605], abs=1e-12
    )


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_draws_have_the_moments_they_should(seed):
    count = 1 << 18
    some = draws.uniform(seed, 1, count)
    assert some.min() > 0
    assert some.max() < 1
    assert np.abs(np.sort(some) - (np.arange(count) + 0.5) / count).max() < 1.95 / np.sqrt(count)  # Kolmogorov, 0.1 %
    some = draws.normal(seed, 1, count)
    for power, moment, deviation in ((1, 0, 1), (2, 1, 2**0.5), (3, 0, 15**0.5), (4, 3, 96**0.5)):
        assert np.mean(some**power) == pytest.approx(moment, abs=4 * deviation / np.sqrt(count))
    assert np.mean(draws.signs(seed, 1, count)) == pytest.approx(0, abs=4 / np.sqrt(count))


def test_streams_and_neighbours_do_not_depend_on_each_other():
    count = 1 << 14
    several = np.array([draws.normal(seed, stream, count) for seed in (0, 1, 2) for stream in (0, 1, 2, 59, 60)])
    several = np.concatenate([several, np.roll(several, 1, axis=1), several[:, ::-1]])
    off_diagonal = np.corrcoef(several)[np.triu_indices(len(several), 1)]
    assert np.abs(off_diagonal).max() < 5.5 / np.sqrt(count)


def test_draws_are_not_written_to():
    with pytest.raises(ValueError, match="read-only"):
        draws.normal(0, 1, 8)[0] = 1.0


# -- initialisation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "deviation"), {"normal": 1 / 16, "he": 2**0.5 / 16, "torch": 1 / 768**0.5, "gpt2": 0.01}.items()
)
def test_weights_have_the_deviation_they_should(name, deviation):
    assert np.std(matrix(name, 1, 2, 256, shrink=0.5)) == pytest.approx(deviation, rel=0.02)


@pytest.mark.parametrize("width", [4, 16, 64, 256])
def test_orthogonal_is_exact_for_powers_of_four(width):
    made = matrix("orthogonal", 5, 3, width)
    assert np.array_equal(made @ made.T, np.eye(width))


def test_orthogonal_takes_powers_of_two_alone():
    made = matrix("orthogonal", 5, 3, 32)
    assert made @ made.T == pytest.approx(np.eye(32), abs=1e-14)
    with pytest.raises(ValueError, match="the width is a power of two, got 48"):
        matrix("orthogonal", 0, 1, 48)


@pytest.mark.parametrize("name", WEIGHTS)
def test_layers_and_seeds_differ(name):
    drawn = [matrix(name, seed, layer, 16) for seed in (0, 1) for layer in (1, 2)]
    assert all(not np.allclose(a, b) for a, b in itertools.combinations(drawn, 2))
    assert np.array_equal(drawn[0], matrix(name, 0, 1, 16))


# -- gradients ---------------------------------------------------------------------------------------------------------


def in_torch(torch, stack: Stack, dtype):
    """The same stack from the same weights in torch: gradients at the states, of the weights, and the loss."""
    run = torch.nn.functional
    functions = {
        "tanh": torch.tanh,
        "relu": torch.relu,
        "gelu": lambda x: run.gelu(x, approximate="tanh"),
        "linear": lambda x: x,
    }
    made, start = leaves(stack)
    weights = [torch.tensor(w.data, dtype=dtype, requires_grad=True) for w in made]
    states = [torch.tensor(start[0].data, dtype=dtype, requires_grad=True)]
    for w in weights:
        h = states[-1]
        read = run.layer_norm(h, (stack.width,)) if stack.norm else h
        new = functions[stack.activation](stack.scale * (read @ w))
        states.append(h + new if stack.residual else new)
        states[-1].retain_grad()
    loss = (states[-1] ** 2).mean()
    loss.backward()
    return [h.grad.numpy() for h in states], [w.grad.numpy() for w in weights], loss.item()


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_torchs(torch, kind):
    stack = small(*kind)
    assert_close(measured(stack), *in_torch(torch, stack, torch.float64), tolerance=1e-12)
    assert_close(measured(stack), *in_torch(torch, stack, torch.float32), tolerance=1e-5)


@pytest.mark.parametrize("name", WEIGHTS)
def test_gradients_are_torchs_with_every_initialisation(torch, name):
    stack = replace(SMALL, initialisation=name, residual=True)
    assert_close(measured(stack), *in_torch(torch, stack, torch.float64), tolerance=1e-12)


@pytest.mark.parametrize(("scale", "residual"), [(0.5, False), (2.0, False), (2.0, True)])
def test_gradients_of_the_sources_stacks_are_torchs(torch, scale, residual):
    stack = Stack(60, scale, residual)
    assert_close(measured(stack), *in_torch(torch, stack, torch.float64), tolerance=1e-10)


def by_hand(stack: Stack):
    """The same with NumPy alone, each derivative written out."""
    made, start = leaves(stack)
    weights, states, kept = [w.data for w in made], [start[0].data], []
    for w in weights:
        h = states[-1]
        centred = h - h.mean(1, keepdims=True)
        spread = np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
        read = centred / spread if stack.norm else h
        z = stack.scale * (read @ w)
        y, slope = {"tanh": _tanh, "relu": _relu, "gelu": _gelu, "linear": _linear}[stack.activation](z)
        kept.append((read, slope, spread))
        states.append(h + y if stack.residual else y)
    g = 2 * states[-1] / states[-1].size
    at_states, at_weights = [g], []
    for w, (read, slope, spread) in zip(reversed(weights), reversed(kept), strict=True):
        g_z = stack.scale * g * slope
        at_weights.append(read.T @ g_z)
        g_read = g_z @ w.T
        if stack.norm:
            means = g_read.mean(1, keepdims=True), (g_read * read).mean(1, keepdims=True)
            g_read = (g_read - means[0] - read * means[1]) / spread
        g = g + g_read if stack.residual else g_read
        at_states.append(g)
    return at_states[::-1], at_weights[::-1], np.mean(states[-1] ** 2)


def _tanh(z):
    return np.tanh(z), 1 / np.cosh(z) ** 2


def _relu(z):
    return np.where(z > 0, z, 0.0), np.where(z > 0, 1.0, 0.0)


def _linear(z):
    return z, np.ones_like(z)


def _gelu(z):
    inner = np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)
    slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * z**2)
    return z * (1 + np.tanh(inner)) / 2, (1 + np.tanh(inner)) / 2 + z / 2 / np.cosh(inner) ** 2 * slope


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_found_by_hand(kind):
    stack = small(*kind)
    assert_close(measured(stack), *by_hand(stack), tolerance=1e-12)


def test_the_signal_is_that_of_the_states():
    _, states, loss = passed(SMALL)
    assert measured(SMALL).signal == pytest.approx(np.array([np.sqrt(np.mean(h.data**2)) for h in states]))
    assert measured(SMALL).signal[-1] ** 2 == pytest.approx(loss.item())


def test_first_over_last_is_of_the_layers():
    found = Measured(1.0, np.ones(4), np.array([6.0, 8.0, 3.0, 2.0]), np.array([5.0, 1.0, 10.0]))
    assert (found.at_inputs, found.at_outputs, found.at_weights) == (2.0, 4.0, 0.5)
    one = measured(replace(SMALL, layers=1))
    assert (one.at_inputs, one.at_outputs, one.at_weights) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e-310, 1e200])
def test_lengths_neither_vanish_nor_overflow(size):
    assert norm(np.array([3.0, -4.0]) * size) == pytest.approx(5 * size)


def test_lengths_of_what_is_not_finite():
    assert norm(np.zeros(2)) == 0
    assert norm(np.array([np.inf, 1.0])) == np.inf
    assert np.isnan(norm(np.array([np.nan, 1.0])))


@pytest.mark.parametrize("scale", [1e200, 1e-300])
@pytest.mark.parametrize("kind", KINDS)
def test_what_outgrows_float64_does_not_warn(kind, scale):
    found = measured(replace(small(*kind), scale=scale))
    for ratio in (found.at_inputs, found.at_outputs, found.at_weights):
        assert isinstance(ratio, float)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"layers": 0}, "1 to 1,000 layers .* got 0"),
        ({"layers": 1001}, "take 1 GB.* got 1,001"),
        ({"scale": float("nan")}, "a scale is a finite number above 0, got nan"),
        ({"activation": "sine"}, "no activation 'sine': take tanh, relu, gelu, linear"),
        ({"initialisation": "zero"}, "no initialisation 'zero': take normal, he"),
        ({"seed": -1}, "a seed is a whole number from 0"),
    ],
)
def test_what_no_stack_can_be_made_of(given, said):
    with pytest.raises(ValueError, match=said):
        Stack(**given)


# -- seeds and curves --------------------------------------------------------------------------------------------------


def test_each_seed_gives_what_it_gives_alone():
    stacks = [SMALL, replace(SMALL, residual=True)]
    done = []
    found = over_seeds(stacks, range(2, 5), done.append)
    assert done == [1, 2, 3, 4, 5, 6]
    assert [run.at_inputs for run in found[1]] == [measured(replace(stacks[1], seed=s)).at_inputs for s in (2, 3, 4)]


def test_a_spread_is_median_least_and_most():
    def run(ratio: float) -> Measured:
        return Measured(1.0, np.ones(3), np.array([ratio, 1.0, 1.0]), np.ones(2))

    found = spread([run(5.0), run(1.0), run(4.0), run(2.0)], "inputs")
    assert (found.median, found.least, found.most) == (3.0, 1.0, 5.0)
    assert spread([run(5.0), run(np.inf), run(2.0)], "inputs").most == np.inf
    assert np.isnan(spread([run(5.0), run(np.nan)], "inputs").median)


def test_curves_are_of_the_layers():
    assert len(curves(usual(0), [measured(SMALL)] * 6)) == 6
    found = measured(SMALL)
    drawn = curves(twins(SMALL), [found, found])["residual, scale 1.1"]
    assert drawn.names == ("1", "2", "3", "4", "5", "6")
    assert (drawn.at_inputs, drawn.at_outputs, drawn.at_weights) == (
        found.at_inputs,
        found.at_outputs,
        found.at_weights,
    )


# -- clipping ----------------------------------------------------------------------------------------------------------


def with_gradients(seed: int):
    """Some weights of random shapes and with random gradients, of lengths from 1e-3 to 1e3."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(rng.integers(1, 6)):
        w = tensor(np.zeros(rng.integers(1, 7, size=2)), requires_grad=True)
        w.grad = tensor(rng.normal(size=w.shape) * 10 ** rng.uniform(-3, 3))
        made.append(w)
    return made, 10 ** rng.uniform(-4, 4)


@pytest.mark.parametrize("seed", range(30))
def test_clipping_shortens_and_never_turns(torch, seed):
    weights, limit = with_gradients(seed)
    before = [np.array(w.grad) for w in weights]
    length = np.linalg.norm(np.concatenate([g.ravel() for g in before]))
    theirs = [torch.zeros(w.shape, dtype=torch.float64, requires_grad=True) for w in weights]
    for w, g in zip(theirs, before, strict=True):
        w.grad = torch.tensor(g)
    total = torch.nn.utils.clip_grad_norm_(theirs, limit).item()
    found = clip(weights, limit)
    assert [found.returned, total] == pytest.approx([length, length], rel=1e-12)
    assert found.cosine == pytest.approx(1, abs=1e-14)
    assert found.length == pytest.approx(length * min(1, limit / (length + 1e-6)), rel=1e-12)
    assert found.length <= min(length, limit) * (1 + 1e-14)
    assert found.changed == (length + 1e-6 > limit)
    assert found.factors == pytest.approx(found.factors[0], rel=1e-13)
    assert found.after[0] / found.after[-1] == pytest.approx(found.before[0] / found.before[-1], rel=1e-12)
    for ours, w, old in zip(weights, theirs, before, strict=True):
        assert np.array(ours.grad) == pytest.approx(w.grad.numpy(), rel=1e-14)
        assert found.changed or np.array_equal(ours.grad, old)


def test_a_turned_gradient_would_be_noticed(monkeypatch):
    def each_by_itself(weights, limit):
        for w in weights:
            w.grad *= 1 / np.linalg.norm(w.grad)
        return tensor(1.0)

    monkeypatch.setattr("depth_lab.clipping.clip_grad_norm_", each_by_itself)
    weights, _, _ = passed(replace(SMALL, scale=3.0))
    found = clip(weights, 1.0)
    assert found.cosine < 0.99
    assert np.ptp(found.factors) > 0.1


def test_clipping_cures_no_gradient_that_vanished():
    weights, _, _ = passed(replace(SMALL, scale=0.2))
    found = clip(weights, 1.0)
    assert not found.changed
    assert found.length == pytest.approx(found.returned, rel=1e-14)
    assert found.returned < 1e-3


@pytest.mark.parametrize(("value", "after"), [(np.inf, np.nan), (np.nan, np.nan), (0.0, 0.0)])
def test_gradients_without_a_direction(value, after):
    w = tensor(np.zeros((2, 2)), requires_grad=True)
    w.grad = tensor(np.full((2, 2), value))
    found = clip([w], 1.0)
    assert np.isnan(found.cosine)
    assert found.after == pytest.approx([after], nan_ok=True)
    assert found.factors.size == 0


def test_what_ten_seeds_give_on_the_sources_stacks():
    """They are the ranges that the page shows, and each figure of the source lies in its own."""
    found = over_seeds([setting.stack for setting in SETTINGS], range(10))
    for setting, runs in zip(SETTINGS, found, strict=True):
        inputs = spread(runs, "inputs")
        assert tuple(map(size, setting.ours)) == (size(inputs.least), size(inputs.most))
        least, most = setting.ours
        assert least <= setting.found <= most if setting.found is not None else least >= 1
