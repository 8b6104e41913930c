"""When operations are recorded: figures row 4."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import (
    Tensor,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    ones,
    set_grad_enabled,
)


@pytest.fixture
def x() -> Tensor:
    return Tensor([1.0, 2.0], requires_grad=True)


@pytest.fixture(autouse=True)
def left_on():
    yield
    assert is_grad_enabled()
    assert not is_inference_mode_enabled()


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


def test_what_runs_in_turns_with_others_cannot_be_decorated():
    async def later():
        pass

    async def many():
        yield 1

    for switch in (no_grad, enable_grad, no_grad(), inference_mode(), set_grad_enabled(True)):
        for function in (later, many):
            with pytest.raises(TypeError, match="put `with` inside it, around what stands between two awaits"):
                switch(function)
    for switch, name in ((no_grad, "no_grad"), (enable_grad(), "enable_grad"), (inference_mode(), "inference_mode")):
        with pytest.raises(TypeError, match=f"{name} decorates a function, got a str"):
            switch("text")


# -- generator functions -----------------------------------------------------------------------------------------------


def generator_of(m: ModuleType, seen: list[Any]) -> Any:
    @m.no_grad()
    def numbers(start: int) -> Any:
        """Doc."""
        try:
            seen.append(("start", m.is_grad_enabled()))
            got = yield start
            seen.append((got, m.is_grad_enabled()))
            try:
                yield start + 1
            except KeyError:
                seen.append(("caught", m.is_grad_enabled()))
                yield "after the error"
            with m.enable_grad():
                yield "enabled inside"
                seen.append(("still enabled", m.is_grad_enabled()))
            return "the end"
        finally:
            seen.append(("finally", m.is_grad_enabled()))

    return numbers


def test_a_decorated_generator_equals_torchs(torch: ModuleType):
    """It runs without recording, and its caller records in between."""

    def run(m: ModuleType) -> list[Any]:
        seen: list[Any] = []
        g = generator_of(m, seen)(5)
        for step in (
            lambda: next(g),
            lambda: g.send("sent"),
            lambda: g.throw(KeyError("x")),
            lambda: next(g),
            lambda: next(g),
        ):
            try:
                seen.append(("yielded", step()))
            except StopIteration as stop:
                seen.append(("returned", stop.value))
            seen.append(("outside", m.is_grad_enabled()))
        return seen

    assert run(tensorgrad) == run(torch)
    assert ("sent", False) in run(tensorgrad)
    assert ("returned", "the end") in run(tensorgrad)
    assert ("outside", False) not in run(tensorgrad)


def test_closing_a_decorated_generator(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        seen: list[Any] = []
        g = generator_of(m, seen)(1)
        next(g)
        g.close()
        g = generator_of(m, seen)(1)
        next(g)
        del g
        never_started = generator_of(m, seen)(1)
        never_started.close()
        return [*seen, m.is_grad_enabled()]

    assert run(tensorgrad) == run(torch)
    assert run(tensorgrad)[-1] is True


def test_an_exception_in_a_decorated_generator():
    @no_grad
    def fails() -> Any:
        yield 1
        raise ZeroDivisionError("boom")

    g = fails()
    next(g)
    with pytest.raises(ZeroDivisionError, match="boom"):
        next(g)
    assert is_grad_enabled()
    with pytest.raises(StopIteration):
        next(g)
    g = fails()
    next(g)
    with pytest.raises(KeyError, match="from outside"):
        g.throw(KeyError("from outside"))


def test_generators_that_take_turns(x: Tensor):
    @no_grad()
    def off() -> Any:
        for _ in range(3):
            yield is_grad_enabled()

    @enable_grad()
    def on() -> Any:
        for _ in range(3):
            yield is_grad_enabled()

    assert list(zip(off(), on(), strict=True)) == [(False, True)] * 3
    with no_grad():
        assert list(zip(off(), on(), strict=True)) == [(False, True)] * 3
        assert not is_grad_enabled()

    @no_grad()
    def delegates() -> Any:
        found = yield from on()
        yield found, (x * 2).requires_grad

    assert list(delegates()) == [True, True, True, (None, False)]


@pytest.mark.parametrize("inner", [no_grad, inference_mode])
def test_a_generator_that_stops_inside_its_own_with(inner: Any):
    """It is open while others begin and end: each puts back what it found itself."""

    def numbers() -> Any:
        with inner():
            yield 1

    g = numbers()
    with enable_grad():
        next(g)
        assert not is_grad_enabled()
    assert is_grad_enabled()
    with no_grad():
        g.close()
        assert is_grad_enabled()  # what it was when the generator began
    assert is_grad_enabled()


def test_a_generator_that_is_closed_in_another_thread():
    def numbers() -> Any:
        with no_grad():
            yield 1

    seen: list[Any] = []

    def close() -> None:
        g.close()
        seen.append(is_grad_enabled())

    g = numbers()
    with enable_grad():
        next(g)
        thread = threading.Thread(target=close)
        thread.start()
        thread.join()
    assert seen == [True]


def test_one_switch_in_several_threads():
    switch, seen, inside, done = no_grad(), [], threading.Event(), threading.Event()

    def other() -> None:
        with enable_grad(), switch:
            inside.set()
            done.wait(10)
        seen.append(is_grad_enabled())

    thread = threading.Thread(target=other)
    with switch:
        thread.start()
        assert inside.wait(10)
    assert is_grad_enabled()
    done.set()
    thread.join()
    assert seen == [True]


def test_a_decorated_generator_function_stays_one():
    function = generator_of(tensorgrad, [])
    assert inspect.isgeneratorfunction(function)
    assert (function.__name__, function.__doc__) == ("numbers", "Doc.")


# -- set_grad_enabled and inference_mode -------------------------------------------------------------------------------


def test_set_grad_enabled_equals_torchs(torch: ModuleType):
    def run(m: ModuleType) -> list[bool]:
        seen: list[bool] = []

        def note() -> None:
            seen.append(m.is_grad_enabled())

        with m.set_grad_enabled(False):
            note()
            with m.set_grad_enabled(True):
                note()
            note()
        note()
        m.set_grad_enabled(False)  # for good
        note()
        with m.set_grad_enabled(True):
            note()
        note()
        m.set_grad_enabled(mode=True)
        note()

        @m.set_grad_enabled(False)
        def off() -> bool:
            return m.is_grad_enabled()

        note()  # a decorator changes nothing by itself
        seen.extend([off(), off()])
        note()

        @m.set_grad_enabled(False)
        def generator() -> Any:
            yield m.is_grad_enabled()

        seen.extend(generator())
        note()
        try:
            with m.set_grad_enabled(False):
                raise KeyError
        except KeyError:
            note()
        return seen

    assert run(tensorgrad) == run(torch)


def test_inference_mode_equals_torchs(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        seen: list[Any] = []

        def note() -> None:
            seen.append((m.is_grad_enabled(), m.is_inference_mode_enabled()))

        x = m.tensor([1.0], requires_grad=True)
        with m.inference_mode():
            note()
            seen.append((x * 2).requires_grad)
            with m.inference_mode(False):
                note()
            note()
        note()
        with m.inference_mode(False):
            note()

        @m.inference_mode()
        def f() -> Any:
            note()
            return (x * 2).requires_grad

        seen.append(f())

        @m.inference_mode
        def g() -> Any:
            note()
            yield 5
            note()

        seen.extend(g())
        note()
        return seen

    assert run(tensorgrad) == run(torch)


def test_no_grad_inside_inference_mode_and_the_other_way_round(x: Tensor):
    with inference_mode():
        with no_grad():
            assert is_constant(x * 2)
        assert is_constant(x * 2)
    with no_grad():
        with inference_mode():
            assert is_constant(x * 2)
        assert not is_grad_enabled()
        assert not is_inference_mode_enabled()


def test_a_switch_may_be_used_again(x: Tensor):
    for switch in (no_grad(), inference_mode(), set_grad_enabled(True)):
        for _ in range(2):
            with switch:
                pass
            assert is_grad_enabled()
    both = no_grad()
    with both, enable_grad(), both:
        assert not is_grad_enabled()


def test_no_grad_inside_a_coroutine(x: Tensor):
    async def later() -> bool:
        with no_grad():
            found = is_constant(x * 2)
        await asyncio.sleep(0)
        return found

    async def both() -> list[bool]:
        return await asyncio.gather(later(), later())

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop that runs: that of a browser's test
        assert thread.submit(lambda: asyncio.run(both())).result() == [True, True]


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


@pytest.mark.parametrize("mode", [None, 1, "no", tensorgrad.tensor(True)])
def test_set_grad_enabled_takes_a_bool(mode):
    with pytest.raises(TypeError, match="set_grad_enabled: takes True or False, got"):
        tensorgrad.set_grad_enabled(mode)
    assert tensorgrad.is_grad_enabled()
    with tensorgrad.set_grad_enabled(np.bool_(False)):
        assert not tensorgrad.is_grad_enabled()
