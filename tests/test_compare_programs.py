"""What a program may do while it is compared: what is put back, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compared import X, wrong

import tensorgrad
from tensorgrad import Tensor, no_grad
from viz import compare
from viz.errors import TooLargeError, UserError


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


def test_what_a_program_does_to_its_parameters_is_undone() -> None:
    w = Tensor(X, dtype=np.float64, requires_grad=True)
    unseen = [Tensor([1.0], requires_grad=True)]
    w.grad = np.ones((2, 2))
    data, grad = w.data, w.grad

    def goes_back(x: Tensor) -> Tensor:
        unseen[0].grad = np.array([3.0])
        loss = (x * w).sum()
        loss.backward()
        return loss

    def learns(x: Tensor) -> Tensor:
        loss = (x * w).sum()
        with no_grad():
            w.__isub__(0.1)
        w.grad *= 2
        return loss

    def empties(x: Tensor) -> Tensor:
        w.grad = None
        w.data[0, 0] = 7.0
        raise ZeroDivisionError

    def starts_anew(x: Tensor) -> Tensor:
        w.grad = None
        return (x * w).sum()

    with pytest.raises(UserError, match="leave the backward pass to its caller"):
        compare(goes_back, X)
    with pytest.raises(UserError, match="replaces the data"):
        compare(learns, X)
    with pytest.raises(ZeroDivisionError):
        compare(empties, X)
    assert compare(starts_anew, X).ok
    assert w.data is data
    assert w.data.tolist() == X
    assert w.grad is grad
    assert w.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.warns(UserWarning, match="did not reach it"):  # the pass of goes_back
        assert unseen[0].grad is None


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


def test_a_program_that_draws_from_tensorgrads_generator_runs_the_same_each_time() -> None:
    def noisy(x: Tensor) -> Tensor:
        return (x * tensorgrad.rand(2, 2)).sum()

    tensorgrad.manual_seed(3)
    noisy(Tensor(X))
    after_one_run = tensorgrad.rand(1).item()
    tensorgrad.manual_seed(3)
    assert compare(noisy, X).ok
    assert tensorgrad.rand(1).item() == after_one_run


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_casts_are_compared_also_those_that_change_nothing(dtype: type) -> None:
    def program(x: Tensor) -> Tensor:
        y = (x.float().double() * 2).float()
        z = x.double() + x.float() + x.to(x.dtype).cpu().clone()  # two casts of one tensor, of which one may be idle
        return (y + z.double()).tanh().sum().double()

    x = Tensor(X, dtype=dtype, requires_grad=True)
    assert compare(program, x, finite_differences=False).ok


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


@pytest.mark.parametrize("function", [np.log1p, np.sinh, lambda a: np.logaddexp(a, 0)])
def test_a_function_of_numpys_that_values_lack_is_named(function: Callable[..., Any]) -> None:
    def program(x: Tensor) -> Tensor:
        out = Tensor(function(x.data), _prev=(x,), _op="mine")
        out._backward = lambda: None
        return out

    message = r"(log1p|sinh|logaddexp) cannot run on Values: an operation that is compared computes with .* tanh"
    with pytest.raises(UserError, match=message):
        compare(program, 1.0)


def test_a_function_of_numpys_on_a_tensor_is_refused_with_what_to_write() -> None:
    with pytest.raises(UserError, match=r"NumPy's on a Tensor.* x\.exp\(\) or tensorgrad\.exp\(x\) for np\.exp"):
        compare(lambda x: np.exp(x), 1.0)
    with pytest.raises(TypeError, match=r"^another"):
        compare(lambda x: _raise(TypeError("another")), 1.0)


def _raise(error: Exception) -> None:
    raise error


def test_a_leaf_that_is_told_again_to_require_a_gradient_stays_the_same_leaf() -> None:
    def told_again(w: Tensor) -> Tensor:
        y = w * 2
        w.requires_grad = True
        return (y * w).sum()

    assert compare(told_again, [1.0, 2.0]).ok


def test_nodes_have_the_names_that_a_picture_gives_them() -> None:
    a = np.array([1.0, 2.0])
    comparison = compare(lambda w: (w * a).sum(), [3.0, 4.0])
    assert [node.name for node in comparison.nodes] == ["w", "a", "b", "L"]
