"""Sums keep their digits: over many rows, along every axis, in whatever uses them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.nn import functional as F
from tensorgrad.shapes import unbroadcast
from tensorgrad.sums import sum_over
from tensorgrad.versions import held_arrays

ROUNDING = 6e-8  # of float32


def layouts(a: np.ndarray) -> list[np.ndarray]:
    return [a, np.asfortranarray(a), a[::-1], np.repeat(a, 2, axis=-1)[..., ::2]]


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((5000, 3), (0,)),
        ((5000, 3), (1,)),
        ((3, 5000), (1,)),
        ((60, 61, 3), (0, 1)),
        ((65, 70, 2), (0, 2)),
        ((65, 70, 2), (0, 1, 2)),
        ((64, 2), (0,)),
        ((128, 2), (0,)),
        ((0, 3), (0,)),
        ((70, 0), (0,)),
        ((), ()),
    ],
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_sum_over_any_axes_is_right_to_a_few_roundings(shape: Any, axes: Any, keepdims: bool):
    numbers = np.asarray(np.random.default_rng(1).uniform(1e4, 1e4 + 1, shape), dtype=np.float32)
    for a in layouts(numbers) if shape else [numbers]:
        before = a.copy()
        out = sum_over(a, axes, keepdims)
        want = a.astype(np.float64).sum(axis=axes, keepdims=keepdims)
        assert out.dtype == np.float32
        assert out.shape == want.shape
        np.testing.assert_allclose(out, want, rtol=10 * ROUNDING)
        np.testing.assert_array_equal(a, before)


def test_integers_and_float16_are_summed_in_the_dtype_that_is_asked_for():
    ones = np.ones((5000, 2))
    assert sum_over(ones.astype(np.int32), 0, dtype=np.dtype(np.int64)).tolist() == [5000, 5000]
    out = sum_over(ones.astype(np.float16), 0, dtype=np.dtype(np.float32))
    assert out.dtype == np.float32
    assert out.tolist() == [5000, 5000]


def test_numbers_that_repeat_in_memory():
    once = np.float32(0.1)
    out = sum_over(np.broadcast_to(once, (100_000, 2)), 0)
    np.testing.assert_allclose(out, 100_000 * float(once), rtol=2e-6)  # equal numbers are rounded alike
    np.testing.assert_allclose(unbroadcast(np.broadcast_to(once, (300, 300, 2)), (2,)), 90_000 * float(once), rtol=1e-6)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.mean(0),
        lambda x: x.T.mean(1),
        lambda x: x.var(0),
        lambda x: x.std(0),
        lambda x: x.norm(dim=0),
        lambda x: x.cumsum(0)[-1],
        lambda x: tensorgrad.einsum("ij->j", x),
        lambda x: F.softmax(x, dim=0)[0],
        lambda x: x.logsumexp(0),
        lambda x: x * 1,  # below, the sum of its gradient
    ],
)
def test_many_rows_of_float32(program: Callable[[Tensor], Tensor]):
    numbers = np.random.default_rng(2).uniform(1e4, 1e4 + 1, (100_000, 3)).astype(np.float32)
    out = program(Tensor(numbers))
    want = program(Tensor(numbers.astype(np.float64)))
    np.testing.assert_allclose(out.data, want.data, rtol=1e-6)


def test_the_gradient_of_a_bias_over_many_rows():
    g = np.random.default_rng(3).uniform(1, 2, (100_000, 2)).astype(np.float32)
    bias = Tensor(np.zeros(2, dtype=np.float32), requires_grad=True)
    (Tensor(g) * 0 + bias).backward(g)
    np.testing.assert_allclose(bias.grad, g.astype(np.float64).sum(0), rtol=10 * ROUNDING)
    normed = Tensor(np.zeros(2, dtype=np.float32), requires_grad=True)
    F.layer_norm(Tensor(g), (2,), None, normed).backward(g)
    np.testing.assert_allclose(normed.grad, g.astype(np.float64).sum(0), rtol=10 * ROUNDING)


def test_a_running_sum_and_its_gradient_do_not_drift():
    numbers = np.random.default_rng(4).standard_normal(50_000).astype(np.float32)
    x, exact = Tensor(numbers, requires_grad=True), Tensor(numbers.astype(np.float64), requires_grad=True)
    for each in (x, exact):
        (each.cumsum(0) * each.detach()).sum().backward()
    np.testing.assert_allclose(x.cumsum(0).data, exact.cumsum(0).data, rtol=10 * ROUNDING)
    np.testing.assert_allclose(x.grad, exact.grad, rtol=10 * ROUNDING, atol=1e-5)


def test_a_variance_far_from_0_has_its_digits_and_so_has_its_gradient():
    numbers = (10_000 + np.random.default_rng(5).uniform(0, 1, 10)).astype(np.float32)
    x, exact = Tensor(numbers, requires_grad=True), Tensor(numbers.astype(np.float64), requires_grad=True)
    out, want = x.var(), exact.var()
    np.testing.assert_allclose(out.data, want.data, rtol=10 * ROUNDING)
    out.backward()
    want.backward()
    np.testing.assert_allclose(x.grad, exact.grad, rtol=1e-5)


def test_attention_that_looks_at_one_key_alone_sends_nothing_to_the_scores():
    rng = np.random.default_rng(6)
    q, k = (Tensor(1e4 * rng.standard_normal((8, 5)), dtype=np.float32, requires_grad=True) for _ in range(2))
    v = Tensor(rng.standard_normal((8, 7)), dtype=np.float32)
    F.scaled_dot_product_attention(q, k, v).backward(rng.standard_normal((8, 7)))
    np.testing.assert_array_equal(q.grad, 0)
    np.testing.assert_array_equal(k.grad, 0)


def test_layer_norm_does_not_hold_its_bias():
    x, weight, bias = (Tensor(np.ones(shape), requires_grad=True) for shape in ((2, 3), 3, 3))
    out = F.layer_norm(x, (3,), weight, bias)
    assert not any(np.shares_memory(a, bias.data) for a in held_arrays(out._rules))


def test_a_sum_over_an_axis_of_length_1_copies_nothing():
    a = np.ones((1, 1024, 256), np.float32)  # a batch of one, whose rows a bias's gradient is summed over
    tracemalloc.start()
    try:
        total = sum_over(a, (0, 1))
        assert tracemalloc.get_traced_memory()[1] < a.nbytes / 10
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(total, np.full(256, 1024))
