"""Clipping gradients by norm and by value, and parameters as a vector."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgrad import Tensor, tensor
from tensorgrad.nn import Parameter
from tensorgrad.nn.utils import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)

NAN, INF = float("nan"), float("inf")


def with_gradients(*grads: Any) -> list[Parameter]:
    """A parameter for each gradient, of its shape and dtype; None has none."""
    found = []
    for g in grads:
        p = Parameter(np.zeros((2,) if g is None else np.shape(g), dtype=getattr(g, "dtype", np.float64)))
        p.grad = g
        found.append(p)
    return found


GRADIENTS = {
    "below the limit": [np.array([0.3, 0.4]), None],
    "above": [np.array([3.0, -8.0]), np.array([[1.0, 1.0]]), None, np.array(2.0)],
    "zeros": [np.zeros(3), np.zeros((2, 2))],
    "none": [None, None],
    "inf": [np.array([INF, 1.0]), np.array([2.0])],
    "nan": [np.array([NAN, 1.0]), np.array([2.0])],
    "nan and inf": [np.array([NAN, 1.0]), np.array([INF])],
    "float32": [np.array([3.0, 4.0], dtype=np.float32), np.array([1.0], dtype=np.float32)],
    "both floats": [np.array([3.0, 4.0], dtype=np.float32), np.array([1.0])],
    "long": [np.random.default_rng(0).normal(size=(300, 300)), np.random.default_rng(1).normal(size=7)],
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("norm_type", [2.0, 1, 3, 0.5, INF, "inf"])
@pytest.mark.parametrize("max_norm", [1.0, 0.0, 100.0])
def test_the_norm_and_the_gradients_are_those_of_torch(
    torch: ModuleType, name: str, norm_type: Any, max_norm: float
) -> None:
    ours = with_gradients(*[None if g is None else g.copy() for g in GRADIENTS[name]])
    theirs = []
    for g in GRADIENTS[name]:
        q = torch.zeros(() if g is None else g.shape, dtype=None if g is None else torch.tensor(g).dtype)
        q = torch.nn.Parameter(q)
        q.grad = None if g is None else torch.tensor(g)
        theirs.append(q)
    total = clip_grad_norm_(ours, max_norm, norm_type)
    reference = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    assert isinstance(total, Tensor)
    assert total.shape == ()
    assert total.dtype == reference.numpy().dtype
    np.testing.assert_allclose(total.data, reference.numpy(), rtol=1e-6)
    for p, q in zip(ours, theirs, strict=True):
        assert (p._grad is None) == (q.grad is None)
        if q.grad is not None:
            assert p.grad.dtype == q.grad.numpy().dtype
            np.testing.assert_allclose(p.grad, q.grad.numpy(), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("norm_type", "expected"), [(1, 7.0), (2, 5.0), (INF, 4.0)])
def test_empty_gradients_count_nothing(norm_type: float, expected: float) -> None:
    params = with_gradients(np.zeros((0, 3)), np.array([3.0, 4.0]))
    assert clip_grad_norm_(params, 1.0, norm_type).item() == expected
    assert clip_grad_norm_(params[:1], 1.0, norm_type).item() == 0.0


def test_arrays_are_changed_in_place() -> None:
    array = np.array([3.0, 4.0])
    [p] = with_gradients(array)
    clip_grad_norm_(p, 1.0)
    assert p.grad is array
    np.testing.assert_allclose(array, [0.6, 0.8], rtol=1e-6)


def test_read_only_gradients_are_copied_first() -> None:
    array = np.broadcast_to(np.array(3.0), (4,))
    [p] = with_gradients(array)
    clip_grad_norm_([p], 1.0)
    np.testing.assert_allclose(p.grad, np.full(4, 0.5), rtol=1e-6)
    np.testing.assert_array_equal(array, np.full(4, 3.0))


def test_an_intermediate_gradient_shares_no_change_with_others() -> None:
    """Gradients inside the graph share memory: that of `a + b` is also what was sent to a."""
    x = Parameter(np.array([3.0, 4.0]))
    inner = x * 1.0
    outer = inner + 0.0
    outer.backward(np.array([3.0, 4.0]))
    clip_grad_norm_(inner, 1.0)
    np.testing.assert_array_equal(outer.grad, [3.0, 4.0])
    np.testing.assert_array_equal(x.grad, [3.0, 4.0])
    np.testing.assert_allclose(inner.grad, [0.6, 0.8], rtol=1e-6)


def test_one_array_given_to_two_parameters_is_scaled_once() -> None:
    array = np.array([3.0, 4.0])
    clip_grad_norm_(with_gradients(array, array), 1.0)
    np.testing.assert_allclose(array, np.array([3.0, 4.0]) / np.sqrt(50), rtol=1e-6)


def test_a_parameter_listed_twice_counts_once() -> None:
    [p] = with_gradients(np.array([3.0, 4.0]))
    assert clip_grad_norm_([p, p], 1.0).item() == 5.0
    np.testing.assert_allclose(p.grad, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_squares_of_large_and_small_float32_do_not_matter(size: float) -> None:
    [p] = with_gradients(np.full(4, size, dtype=np.float32))
    assert clip_grad_norm_(p, 1.0).item() == pytest.approx(2 * size, rel=1e-6)
    np.testing.assert_allclose(p.grad, np.full(4, min(0.5, size)), rtol=1e-6)


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("norm_type", [2.0, 3.0])
def test_squares_of_large_and_small_float64_do_not_matter(size: float, norm_type: float) -> None:
    [p] = with_gradients(np.full(8, size))
    assert clip_grad_norm_(p, 1.0, norm_type).item() == pytest.approx(8 ** (1 / norm_type) * size)


@pytest.mark.parametrize("bad", [NAN, INF])
def test_error_if_nonfinite_changes_nothing(bad: float) -> None:
    p, q = with_gradients(np.array([3.0, 4.0]), np.array([bad]))
    with pytest.raises(RuntimeError, match=f"norm of the gradients is {bad}"):
        clip_grad_norm_([p, q], 1.0, error_if_nonfinite=True)
    np.testing.assert_array_equal(p.grad, [3.0, 4.0])


def test_generators_and_single_tensors_are_taken() -> None:
    params = with_gradients(np.array([3.0]), np.array([4.0]))
    assert clip_grad_norm_((p for p in params), 10.0).item() == 5.0
    assert clip_grad_norm_(params[0], 10.0).item() == 3.0


def test_a_norm_that_is_known(torch: ModuleType) -> None:
    params = with_gradients(np.array([3.0]), np.array([4.0]))
    total = get_total_norm([p.grad for p in params])
    assert total.item() == 5.0
    clip_grads_with_norm_(params, 1.0, total)
    np.testing.assert_allclose([p.grad[0] for p in params], [0.6, 0.8], rtol=1e-6)
    assert get_total_norm([tensor([1.0, -7.0])], INF).item() == 7.0
    assert get_total_norm([]).item() == 0.0


def test_clip_by_value(torch: ModuleType) -> None:
    grads = [np.array([-3.0, 0.5, NAN, INF, -INF]), None, np.array(2.0)]
    ours = with_gradients(*[None if g is None else g.copy() for g in grads])
    clip_grad_value_(ours, 1.0)
    for p, g in zip(ours, grads, strict=True):
        if g is not None:
            q = torch.nn.Parameter(torch.zeros(g.shape, dtype=torch.float64))
            q.grad = torch.tensor(g)
            torch.nn.utils.clip_grad_value_(q, 1.0)
            np.testing.assert_array_equal(p.grad, q.grad.numpy())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: clip_grad_norm_(p, -1.0), ValueError, "max_norm is -1"),
        (lambda p: clip_grad_norm_(p, NAN), ValueError, "max_norm is nan"),
        (lambda p: clip_grad_value_(p, -1.0), ValueError, "clip_value is -1"),
        (lambda p: clip_grad_norm_(p, 1.0, 0), ValueError, "norm_type"),
        (lambda p: clip_grad_norm_(p, 1.0, -2.0), ValueError, "norm_type"),
        (lambda p: clip_grad_norm_([p[0], None], 1.0), TypeError, "one of these is a NoneType"),
        (lambda p: clip_grad_norm_(3, 1.0), TypeError, "got a int"),
        (lambda p: clip_grad_value_([np.ones(2)], 1.0), TypeError, "ndarray|unhashable"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], message: str) -> None:
    params = with_gradients(np.array([3.0, 4.0]))
    with pytest.raises(error, match=message):
        call(params)
    np.testing.assert_array_equal(params[0].grad, [3.0, 4.0])


def test_parameters_as_a_vector_and_back() -> None:
    a, b = Parameter(np.array([[1.0, 2.0], [3.0, 4.0]])), Parameter(np.array(5.0))
    vector = parameters_to_vector([a, b])
    np.testing.assert_array_equal(vector.data, [1, 2, 3, 4, 5])
    (vector * np.arange(5.0)).sum().backward()
    np.testing.assert_array_equal(a.grad, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(b.grad, 4)
    vector_to_parameters(tensor([5.0, 4.0, 3.0, 2.0, 1.0]), [a, b])
    np.testing.assert_array_equal(a.data, [[5, 4], [3, 2]])
    np.testing.assert_array_equal(b.data, 1)
    with pytest.raises(ValueError, match="5 elements"):
        vector_to_parameters(tensor([1.0]), [a, b])
    with pytest.raises(ValueError, match="one axis"):
        vector_to_parameters(tensor([[1.0]]), [a])
    with pytest.raises(ValueError, match="no parameters"):
        parameters_to_vector([])


def test_a_consumed_generator_makes_noise() -> None:
    found = with_gradients(np.ones(2))
    used = iter(found)
    list(used)
    with pytest.warns(UserWarning, match="clip_grad_norm_: there are no parameters: a generator"):
        assert clip_grad_norm_(used, 1.0).item() == 0.0
    assert clip_grad_norm_([], 1.0).item() == 0.0


@pytest.mark.parametrize("odd", [None, 3, "ab", [None], [np.ones(2)], ["a"]])
def test_what_is_no_list_of_parameters(odd: Any) -> None:
    for call in (
        lambda: clip_grad_norm_(odd, 1.0),
        lambda: clip_grad_value_(odd, 1.0),
        lambda: parameters_to_vector(odd),
        lambda: vector_to_parameters(tensor([1.0]), odd),
    ):
        with pytest.raises(TypeError, match=r"^(clip_grad_\w+|parameters_to_vector|vector_to_parameters): takes"):
            call()
