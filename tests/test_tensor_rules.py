"""Rules of the user's own, as in the seed document, and the assertions behind the debug flag (figures row 10)."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgrad as tg
from micrograd import Value
from tensorgrad import Tensor, no_grad
from tensorgrad.errors import ShapeError
from tensorgrad.node import record
from viz import trace


@pytest.fixture
def x() -> Tensor:
    return Tensor([1.0, 2.0, 3.0], requires_grad=True)


# -- operations of the user's own --------------------------------------------------------------------------------------


def square(x: Tensor, *, constructor=lambda x: Tensor(x.data**2, _prev=(x,), _op="square")) -> Tensor:
    """As in the seed document."""
    out = constructor(x)
    if out.requires_grad:

        def _backward() -> None:
            x.grad = (x.grad if x.grad is not None else 0) + 2 * x.data * out.grad

        out._backward = _backward
    return out


@pytest.mark.parametrize(
    "constructor",
    [
        lambda x: Tensor(x.data**2, _prev=(x,), _op="square"),
        lambda x: Tensor(x.data**2, x.requires_grad, (x,), "square"),
        lambda x: Tensor(x.data**2, requires_grad=True, _prev=[x], _op="square"),
    ],
)
def test_an_operation_of_the_users(constructor, x: Tensor):
    out = (square(x, constructor=constructor) + x).sum()
    for n in (1, 2):
        out.backward()
        np.testing.assert_array_equal(x.grad, n * (2 * x.data + 1))


def test_it_is_traced_like_any_other(x: Tensor):
    found = trace((square(x) + x).sum(), names={"x": x})
    (step,) = [step for step in found.steps if step.rule == "the rule assigned to _backward"]
    np.testing.assert_array_equal(step.contribution, 2 * x.data)
    assert found.graph[step.receiver].name == "x"
    assert found.graph[step.sender].op == "square"
    assert x.grad is None


def test_it_is_a_constant_where_nothing_is_recorded(x: Tensor):
    with no_grad():
        untracked = square(x)
    for out in (untracked, square(x.detach()), Tensor([1.0], False, (Tensor([1.0]),), "f")):
        assert (out._prev, out._op, out.requires_grad, out.is_leaf) == ((), "", False, True)


def test_a_closure_of_a_constant_is_not_run(x: Tensor):
    c = Tensor([1.0, 2.0, 3.0], _prev=(x.detach(),), _op="f")
    c._backward = lambda: pytest.fail("a constant has no rule")
    (c * x).sum().backward()
    np.testing.assert_array_equal(x.grad, [1.0, 2.0, 3.0])


def test_a_closure_that_forgets_to_unbroadcast_is_told_both_shapes(x: Tensor):
    out = Tensor(np.ones((2, 3)) * x.data, _prev=(x,), _op="spread")

    def _backward() -> None:
        x.grad = x.grad + out.grad

    out._backward = _backward
    with pytest.raises(ShapeError, match=r"gradient of shape \(2, 3\) for a tensor of shape \(3,\)"):
        out.sum().backward()
    assert x.grad is None


def test_parents_must_be_tensors():
    for parent in (Value(1.0), np.ones(2), 1.0):
        with pytest.raises(TypeError, match=f"operands in _prev must be Tensors, got a {type(parent).__name__}"):
            Tensor([1.0], _prev=(parent,), _op="f")


def test_wrapping_the_rule_of_a_built_in_operation(x: Tensor):
    out = x * 2
    calls, rule = [], out._backward

    def wrapped() -> None:
        calls.append(out.grad.copy())
        rule()

    out._backward = wrapped
    out.sum().backward()
    assert len(calls) == 1
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])


# -- debug -------------------------------------------------------------------------------------------------------------


def test_assertions_are_off_by_default_and_restored():
    assert not tg.checks.enabled()
    with tg.debug():
        assert tg.checks.enabled()
        with tg.debug(False):
            assert not tg.checks.enabled()
        assert tg.checks.enabled()
    with pytest.raises(KeyError), tg.debug():
        {}["missing"]
    assert not tg.checks.enabled()


def test_debug_finds_a_rule_of_a_wrong_shape_that_sums_to_the_right_one(x: Tensor):
    def bad() -> Tensor:
        return record("bad", x.data * 2, (x, lambda g: np.stack([g, g]))).sum()

    bad().backward()  # nobody notices
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])
    with tg.debug(), pytest.raises(AssertionError, match=r"bad: .*\(2, 3\) to an operand of shape \(3,\)"):
        bad().backward()


@pytest.mark.parametrize("shape", [(4,), (1,), ()])
def test_data_that_was_replaced_by_data_of_another_shape(x: Tensor, shape: tuple[int, ...]):
    for replaced in (0, 1):
        y = x * 2
        out = y.sum()
        (x, y)[replaced].data = np.ones(shape, np.float32)
        with pytest.raises(RuntimeError, match=r"had another shape when '(sum|\*)' was computed"):
            out.backward()
        x.data = np.ones(3, np.float32)
        x.grad = None
        (x * 2).sum().backward()
        assert x.grad.tolist() == [2, 2, 2]
        x.grad = None


@pytest.mark.parametrize("data", [np.ones(4, np.float32), np.ones((3, 1), np.float32), np.ones(3)])
def test_debug_finds_a_gradient_that_does_not_fit_its_data(x: Tensor, data: np.ndarray):
    y = x * 2
    y.grad = np.ones(3)
    y._data = data  # past the setter, as code that works on arrays in place may
    with tg.debug(), pytest.raises(AssertionError, match=r"\*: a gradient of shape \(3,\), float32 for data of shape"):
        y._vjp()


def test_debug_passes_what_is_right(x: Tensor):
    w = Tensor(np.ones((3, 2), np.float32), requires_grad=True)
    batch = Tensor(np.ones((4, 5, 3), np.float32), requires_grad=True)
    with tg.debug():
        ((batch * x) @ w + x[:2]).relu().mean().backward()
