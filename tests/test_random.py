"""The random generator, and what is drawn from it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.random import fork_rng, generator


@pytest.fixture(autouse=True)
def seeded():
    tensorgrad.manual_seed(7)


# -- the generator -----------------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_numbers_again():
    first = tensorgrad.manual_seed(5).initial_seed(), tensorgrad.rand(4).tolist(), tensorgrad.randn(2).tolist()
    second = tensorgrad.manual_seed(5).initial_seed(), tensorgrad.rand(4).tolist(), tensorgrad.randn(2).tolist()
    assert first == second
    tensorgrad.manual_seed(6)
    assert tensorgrad.rand(4).tolist() != first[1]
    assert tensorgrad.initial_seed() == 6


def test_seed_starts_from_a_seed_that_it_tells():
    told = tensorgrad.seed()
    drawn = tensorgrad.rand(3).tolist()
    assert tensorgrad.initial_seed() == told
    assert tensorgrad.manual_seed(told) is tensorgrad.default_generator
    assert tensorgrad.rand(3).tolist() == drawn
    assert tensorgrad.seed() != told


def test_the_state_can_be_kept_and_put_back():
    generator().integers(0, 9, 3, dtype=np.int32)  # leaves half a word behind, which belongs to the state
    state = tensorgrad.get_rng_state()
    assert (state.dtype, state.ndim) == (np.uint8, 1)
    drawn = generator().integers(0, 9, 5, dtype=np.int32).tolist(), tensorgrad.rand(3).tolist()
    tensorgrad.manual_seed(1)
    tensorgrad.set_rng_state(state)
    assert (generator().integers(0, 9, 5, dtype=np.int32).tolist(), tensorgrad.rand(3).tolist()) == drawn
    assert tensorgrad.initial_seed() == 7
    tensorgrad.set_rng_state(state.data)  # an array too, as from a file
    assert generator().integers(0, 9, 5, dtype=np.int32).tolist() == drawn[0]


def test_fork_rng_leaves_the_generator_as_it_was():
    state = tensorgrad.get_rng_state().tolist()
    with fork_rng():
        tensorgrad.rand(3)
    assert tensorgrad.get_rng_state().tolist() == state
    with fork_rng(enabled=False):
        tensorgrad.rand(3)
    assert tensorgrad.get_rng_state().tolist() != state


def test_a_generator_of_ones_own():
    own, other = tensorgrad.Generator().manual_seed(3), tensorgrad.Generator().manual_seed(3)
    state = tensorgrad.get_rng_state().tolist()
    assert tensorgrad.rand(3, generator=own).tolist() == tensorgrad.rand(3, generator=other).tolist()
    assert tensorgrad.get_rng_state().tolist() == state
    assert own.device == "cpu"
    for twin in (copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert twin.initial_seed() == 3
        assert twin.get_state().tolist() == own.get_state().tolist()
    expected = tensorgrad.rand(2, generator=copy.deepcopy(own)).tolist()
    assert tensorgrad.rand(2, generator=pickle.loads(pickle.dumps(own))).tolist() == expected
    assert tensorgrad.rand(2, generator=own).tolist() == expected
    numpys = np.random.default_rng(0)
    assert tensorgrad.rand(2, generator=numpys).shape == (2,)


@pytest.mark.parametrize("seed", [-1, -(2**63), 2**64 - 1, np.int64(3), 4.0])
def test_seeds_of_64_bits(seed: object):
    tensorgrad.manual_seed(seed)
    assert 0 <= tensorgrad.initial_seed() < 2**64


def test_a_negative_seed_stands_for_a_large_one():
    tensorgrad.manual_seed(-1)
    assert tensorgrad.initial_seed() == 2**64 - 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tensorgrad.manual_seed("a"), TypeError, "manual_seed: takes a whole number, got 'a'"),
        (lambda: tensorgrad.manual_seed(None), TypeError, "manual_seed: takes a whole number, got None"),
        (lambda: tensorgrad.manual_seed(2**64), ValueError, "manual_seed: .* does not fit into 64 bits"),
        (lambda: tensorgrad.set_rng_state(Tensor([1.0])), TypeError, "set_state: takes what get_state returned"),
        (lambda: tensorgrad.set_rng_state(None), TypeError, "set_state: takes what get_state returned"),
        (
            lambda: tensorgrad.rand(2, generator=3),
            TypeError,
            "rand: generator must be a tensorgrad.Generator, got a int",
        ),
        (lambda: tensorgrad.Generator("cuda"), RuntimeError, "Generator: device 'cuda'"),
    ],
)
def test_bad_seeds_states_and_generators(call, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call()


# -- what is drawn -----------------------------------------------------------------------------------------------------

N = 20_000


def test_rand_is_even_from_0_to_below_1():
    for dtype in ("float16", "float32", "float64"):
        x = tensorgrad.rand(N, dtype=dtype)
        assert x.dtype == dtype
        assert 0 <= x.data.min() < 0.01
        assert 0.99 < x.data.max() < 1
        assert x.data.astype(float).mean() == pytest.approx(0.5, abs=0.01)
        counts, _ = np.histogram(x.data, bins=10, range=(0, 1))
        assert abs(counts - N / 10).max() < 0.15 * N / 10


def test_randn_has_mean_0_and_deviation_1():
    x = tensorgrad.randn(N)
    assert x.dtype == np.float32
    assert x.data.mean() == pytest.approx(0, abs=0.03)
    assert x.data.std() == pytest.approx(1, abs=0.03)
    assert (abs(x.data) < 1.96).mean() == pytest.approx(0.95, abs=0.01)


def test_every_precision_draws_the_same_numbers():
    for name in ("rand", "randn"):
        drawn = []
        for dtype in ("float32", "float64"):
            tensorgrad.manual_seed(1)
            drawn.append(getattr(tensorgrad, name)(100, dtype=dtype).data)
        np.testing.assert_allclose(*drawn, rtol=1e-6, atol=1e-7)


def test_shapes_dtypes_and_leaves():
    assert tensorgrad.rand(2, 3).shape == tensorgrad.rand((2, 3)).shape == tensorgrad.rand(size=[2, 3]).shape == (2, 3)
    assert tensorgrad.randn(()).shape == ()
    assert tensorgrad.randn(0, 2).shape == (0, 2)
    like = Tensor(np.zeros((2, 2)))
    assert tensorgrad.rand_like(like).dtype == np.float64
    assert tensorgrad.randn_like(like, dtype=np.float32).dtype == np.float32
    assert tensorgrad.randint_like(like, 5).dtype == np.float64
    assert tensorgrad.randn(2, requires_grad=True).is_leaf
    assert tensorgrad.rand_like(like, requires_grad=True).requires_grad
    assert tensorgrad.randint(3, (2,)).dtype == tensorgrad.randperm(3).dtype == np.int64
    assert tensorgrad.randint(0, 3, (2,), dtype=np.float32).dtype == np.float32


def test_randint_stays_within_its_bounds():
    assert set(tensorgrad.randint(3, (N,)).tolist()) == {0, 1, 2}
    assert set(tensorgrad.randint(-2, 1, (N,)).tolist()) == {-2, -1, 0}
    assert set(tensorgrad.randint(low=4, high=6, size=(N,)).tolist()) == {4, 5}
    assert set(tensorgrad.randint(4, high=6, size=(N,)).tolist()) == {4, 5}
    assert set(tensorgrad.randint_like(tensorgrad.zeros(N), 1, 3).tolist()) == {1.0, 2.0}


def test_randperm_has_each_number_once():
    assert sorted(tensorgrad.randperm(50).tolist()) == list(range(50))
    assert tensorgrad.randperm(50).tolist() != list(range(50))
    assert tensorgrad.randperm(0).shape == (0,)


def test_normal_takes_numbers_and_tensors():
    x = tensorgrad.normal(3.0, 2.0, (N,))
    assert (x.data.mean(), x.data.std()) == (pytest.approx(3, abs=0.06), pytest.approx(2, abs=0.06))
    mean, std = Tensor(np.full((N, 1), 5.0)), Tensor(np.array([0.0, 1.0]))
    y = tensorgrad.normal(mean, std)
    assert (y.shape, y.dtype) == ((N, 2), np.float64)
    assert (y.data[:, 0] == 5).all()
    assert y.data[:, 1].std() == pytest.approx(1, abs=0.03)
    assert tensorgrad.normal(mean).shape == (N, 1)
    assert tensorgrad.normal(2, tensorgrad.ones(2)).dtype == np.float32


def test_bernoulli_has_the_chances_it_is_given():
    p = Tensor([0.0, 0.25, 1.0], requires_grad=True)
    x = tensorgrad.bernoulli(p * Tensor(np.ones((N, 1))))
    assert not x.requires_grad
    assert set(x.data.ravel().tolist()) == {0.0, 1.0}
    np.testing.assert_allclose(x.data.mean(0), [0, 0.25, 1], atol=0.015)
    assert tensorgrad.bernoulli(tensorgrad.zeros(3), 1.0).tolist() == [1, 1, 1]
    assert p.bernoulli().shape == (3,)


def test_multinomial_draws_in_proportion_to_the_weights():
    weights = Tensor([1.0, 0.0, 3.0])
    x = tensorgrad.multinomial(weights, N, replacement=True)
    assert (x.shape, x.dtype) == ((N,), np.int64)
    np.testing.assert_allclose(np.bincount(x.data, minlength=3) / N, [0.25, 0, 0.75], atol=0.015)
    rows = tensorgrad.multinomial(Tensor([[0.0, 1.0], [1.0, 0.0]]), 4, True)
    assert rows.tolist() == [[1] * 4, [0] * 4]
    assert weights.multinomial(num_samples=1).shape == (1,)
    large = tensorgrad.multinomial(Tensor(np.array([1e308, 1e308])), 100, replacement=True)
    assert set(large.tolist()) == {0, 1}


def test_multinomial_without_replacement_draws_each_once_and_the_first_by_weight():
    weights = Tensor(np.tile([1.0, 2.0, 5.0, 0.0], (N, 1)))
    x = tensorgrad.multinomial(weights, 3).data
    assert (np.sort(x, 1) == [0, 1, 2]).all()
    first = np.bincount(x[:, 0], minlength=4) / N
    np.testing.assert_allclose(first, [1 / 8, 2 / 8, 5 / 8, 0], atol=0.015)
    after_the_last = x[x[:, 0] == 2, 1]  # what is left are weights 1 and 2
    np.testing.assert_allclose(np.bincount(after_the_last) / len(after_the_last), [1 / 3, 2 / 3], atol=0.02)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tensorgrad.rand(), TypeError, "rand: needs a shape"),
        (lambda: tensorgrad.rand(2, dtype=np.int64), DtypeError, "rand: draws floats, not int64; randint"),
        (lambda: tensorgrad.randn_like(tensorgrad.tensor([1])), DtypeError, "randn_like: draws floats, not int64"),
        (lambda: tensorgrad.randint(5, 3, (2,)), ValueError, "randint: from 5 up to 3 there is no whole number"),
        (lambda: tensorgrad.randint(3), TypeError, "randint: needs the number to stay below"),
        (lambda: tensorgrad.randint(), TypeError, "randint: needs a size"),
        (lambda: tensorgrad.randint(0.5, 3, (2,)), TypeError, "randint: low is a whole number, got 0.5"),
        (lambda: tensorgrad.randint(0, 1, 2, (2,)), TypeError, "randint: takes high and size"),
        (lambda: tensorgrad.randint_like(tensorgrad.ones(2)), TypeError, "randint_like: takes high, or low and high"),
        (lambda: tensorgrad.randperm(-1), ValueError, "randperm: lengths are at least 0"),
        (lambda: tensorgrad.normal(0, 1), TypeError, "normal: takes a tensor for mean or std, or numbers and a size"),
        (lambda: tensorgrad.normal(tensorgrad.ones(2), 1, (2,)), TypeError, "normal: takes a tensor"),
        (lambda: tensorgrad.normal(tensorgrad.ones(2), -1.0), ValueError, "normal: a standard deviation is at least 0"),
        (lambda: tensorgrad.normal(tensorgrad.ones(2), tensorgrad.ones(3)), ShapeError, r"normal: .*\(2,\).*\(3,\)"),
        (lambda: tensorgrad.bernoulli(tensorgrad.tensor([2.0])), ValueError, "bernoulli: a probability is from 0 to 1"),
        (lambda: tensorgrad.bernoulli(tensorgrad.tensor([np.nan])), ValueError, "bernoulli: a probability"),
        (lambda: tensorgrad.bernoulli(tensorgrad.tensor([1])), DtypeError, "bernoulli: probabilities are floats"),
        (lambda: tensorgrad.bernoulli(0.5), TypeError, "bernoulli: takes a Tensor, got a float"),
        (lambda: tensorgrad.multinomial(tensorgrad.zeros(2), 1), ValueError, "multinomial: a row of weights needs one"),
        (
            lambda: tensorgrad.multinomial(tensorgrad.tensor([0.0, 1.0]), 2),
            ValueError,
            "2 different positions, and a row has 1",
        ),
        (lambda: tensorgrad.multinomial(tensorgrad.tensor([-1.0, 2.0]), 1), ValueError, "finite and at least 0"),
        (lambda: tensorgrad.multinomial(tensorgrad.tensor([1.0, np.inf]), 1), ValueError, "finite and at least 0"),
        (lambda: tensorgrad.multinomial(tensorgrad.tensor([1, 1]), 1), DtypeError, "multinomial: weights are floats"),
        (lambda: tensorgrad.multinomial(tensorgrad.ones(1, 1, 1), 1), ShapeError, r"multinomial: .* got \(1, 1, 1\)"),
        (lambda: tensorgrad.multinomial(tensorgrad.ones(2), 0), ValueError, "num_samples must be 1 or more"),
    ],
)
def test_draws_that_make_no_sense(call, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call()
