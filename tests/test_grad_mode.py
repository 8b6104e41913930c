"""When operations are recorded: figures row 4."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tensorgrad import Tensor, enable_grad, is_grad_enabled, no_grad, ones


@pytest.fixture
def x() -> Tensor:
    return Tensor([1.0, 2.0], requires_grad=True)


@pytest.fixture(autouse=True)
def left_on():
    yield
    assert is_grad_enabled()


def is_constant(t: Tensor) -> bool:
    return not t.requires_grad and t._prev == () and t._op == "" and not t._rules and t.is_leaf


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_a_result_requires_a_gradient_if_any_operand_does(left: bool, right: bool):
    out = Tensor([1.0], requires_grad=left) + Tensor([2.0], requires_grad=right)
    assert out.requires_grad == (left or right)
    assert is_constant(out) == (not (left or right))


def test_a_constant_operand_has_no_rule_and_receives_nothing(x: Tensor):
    c = Tensor([3.0, 4.0])
    out = c * x
    assert out._prev == (c, x)
    assert out._rules[0] is None
    out.sum().backward()
    assert c.grad is None
    np.testing.assert_array_equal(x.grad, [3.0, 4.0])


def test_no_grad_as_a_context(x: Tensor):
    with no_grad():
        assert not is_grad_enabled()
        assert is_constant((x * 2).exp().sum())
    assert (x * 2).requires_grad


def test_no_grad_nested_with_enable_grad(x: Tensor):
    with no_grad():
        with enable_grad():
            assert (x * 2).requires_grad
            with no_grad():
                assert is_constant(x * 2)
            assert is_grad_enabled()
        assert not is_grad_enabled()


def test_no_grad_is_restored_on_an_exception():
    """One of the bugs that good libraries shipped: no_grad without finally."""
    with pytest.raises(ZeroDivisionError), no_grad():
        1 / 0  # noqa: B018 - raises
    assert is_grad_enabled()


@pytest.mark.parametrize("decorate", [no_grad, no_grad()], ids=["@no_grad", "@no_grad()"])
def test_no_grad_as_a_decorator(decorate, x: Tensor):
    @decorate
    def f(t: Tensor, fail: bool = False) -> Tensor:
        """Doc."""
        if fail:
            raise KeyError
        return t * 2

    assert is_constant(f(x))
    assert is_constant(f(x))  # works more than once
    assert (f.__name__, f.__doc__) == ("f", "Doc.")
    with pytest.raises(KeyError):
        f(x, fail=True)


def test_a_decorated_function_may_recurse(x: Tensor):
    @no_grad()
    def f(n: int) -> bool:
        return is_constant(x * 2) and (n == 0 or f(n - 1)) and not is_grad_enabled()

    assert f(5)


def test_decorating_a_method(x: Tensor):
    class Model:
        @no_grad()
        def predict(self, t: Tensor) -> Tensor:
            return t * 2

    assert is_constant(Model().predict(x))


def test_one_object_may_be_entered_again_inside_itself(x: Tensor):
    off = no_grad()
    with off:
        with off:
            pass
        assert not is_grad_enabled()


def test_what_runs_after_its_call_cannot_be_decorated():
    def numbers():
        yield 1

    async def later():
        pass

    async def many():
        yield 1

    for function in (numbers, later, many):
        with pytest.raises(TypeError, match="put `with` inside"):
            no_grad(function)
    with pytest.raises(TypeError, match="decorates a function, got a int"):
        no_grad(5)


def test_each_thread_has_its_own_switch():
    seen: list[bool] = []
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        seen.append(is_grad_enabled())
        with no_grad():
            inside.set()
            done.wait(10)

    with no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(10)
    assert is_grad_enabled()  # although the other thread is within no_grad
    done.set()
    thread.join()
    assert seen == [True]  # although this one was


def test_a_tensor_made_under_no_grad_may_require_a_gradient():
    with no_grad():
        w = ones(2, requires_grad=True)
    (w * 2).sum().backward()
    np.testing.assert_array_equal(w.grad, [2.0, 2.0])


def test_detach_cuts_the_graph_and_shares_the_data(x: Tensor):
    y = (x * 3).detach()
    assert is_constant(y)
    (y * x).sum().backward()
    np.testing.assert_array_equal(x.grad, [3.0, 6.0])  # x as a factor only, not through y
    assert np.shares_memory(x.detach().data, x.data)
    assert x.requires_grad


def test_a_result_cannot_stop_requiring_a_gradient(x: Tensor):
    out = x * 2
    with pytest.raises(RuntimeError, match="detach"):
        out.requires_grad = False
    x.requires_grad = False  # a leaf can
    assert is_constant(x * 2)
