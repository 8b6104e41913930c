"""Loss scaling: against torch.amp.GradScaler, its order of calls, its state."""

from __future__ import annotations

import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, amp, optim
from tensorgrad.nn import Parameter

INF = float("inf")


def parameter(library: ModuleType, *numbers: float) -> Any:
    return library.nn.Parameter(library.tensor(numbers))


def run(library: ModuleType, bad_steps: set[int], *, unscale: bool = False, **settings: Any) -> list[Any]:
    """Scales, growth counts and numbers, step by step; a gradient is inf or nan in the steps that are bad."""
    w, v = parameter(library, 1.0, 2.0), parameter(library, 3.0)
    optimizer = library.optim.SGD([w, v], lr=0.05)
    scaler = library.amp.GradScaler("cpu", **settings)
    found = []
    for step in range(12):
        optimizer.zero_grad()
        scaler.scale((w * w).sum()).backward()
        if step in bad_steps:
            w.grad[step % 2] = [INF, -INF, float("nan")][step % 3]
        if unscale:
            scaler.unscale_(optimizer)
            library.nn.utils.clip_grad_norm_([w, v], 1.0)
        scaler.step(optimizer)
        scaler.update()
        found.append((scaler.get_scale(), scaler.state_dict()["_growth_tracker"], *w.tolist(), *w.grad.tolist()))
    return found


@pytest.mark.parametrize("bad_steps", [set(), {0}, {3, 4}, {1, 5, 9}, set(range(12))])
@pytest.mark.parametrize("unscale", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"init_scale": 8.0, "growth_interval": 2},
        {"init_scale": 1000.0, "growth_interval": 1, "growth_factor": 1.7, "backoff_factor": 0.3},
        {"init_scale": 1e38, "growth_interval": 1},  # grows no further than float32 goes
    ],
)
def test_steps_are_those_of_torch(torch: ModuleType, bad_steps: set[int], unscale: bool, settings: dict) -> None:
    ours = run(tensorgrad, bad_steps, unscale=unscale, **settings)
    theirs = run(torch, bad_steps, unscale=unscale, **settings)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def scaled() -> tuple[Parameter, optim.SGD, amp.GradScaler]:
    w = Parameter([1.0])
    scaler = amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale((w * w).sum()).backward()
    return w, optim.SGD([w], lr=0.1), scaler


def test_what_is_scaled() -> None:
    scaler = amp.GradScaler(init_scale=4.0)
    x = tensorgrad.tensor([1.0, 2.0], dtype=np.float64)
    for found in (scaler.scale(x), scaler.scale([x])[0], scaler.scale((x, [x]))[1][0], next(scaler.scale(iter([x])))):
        assert isinstance(found, Tensor)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found.data, [4.0, 8.0])
    for other in (3.0, "x", None, np.ones(2)):
        with pytest.raises(ValueError, match="takes a Tensor"):
            scaler.scale(other)


def test_two_optimizers_are_looked_at_by_themselves() -> None:
    w, v = Parameter([1.0]), Parameter([1.0])
    first, second = optim.SGD([w], lr=0.5), optim.SGD([v], lr=0.5)
    scaler = amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(w.sum() + v.sum()).backward()
    v.grad[0] = INF
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (w.item(), v.item(), scaler.get_scale()) == (0.5, 1.0, 2.0)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (lambda s, o: (s.unscale_(o), s.unscale_(o)), "unscale_: called twice"),
        (lambda s, o: (s.step(o), s.step(o)), "step: called twice"),
        (lambda s, o: (s.step(o), s.unscale_(o)), "after step"),
        (lambda s, o: s.update(), "no gradients were looked at"),
        (lambda s, o: s.step(o, closure=abs), "no closure"),
        (lambda s, o: (o.zero_grad(), s.step(o)), "no parameter of this optimizer has a gradient"),
    ],
)
def test_the_order_of_calls(calls: Any, message: str) -> None:
    _, optimizer, scaler = scaled()
    with pytest.raises(RuntimeError, match=message):
        calls(scaler, optimizer)


def test_nothing_goes_before_scale() -> None:
    optimizer, scaler = optim.SGD([Parameter([1.0])], lr=0.1), amp.GradScaler("cpu")
    for call in (lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer), scaler.update):
        with pytest.raises(RuntimeError, match="nothing was scaled yet"):
            call()


def test_float16_gradients_are_refused() -> None:
    w = Parameter(np.array([1.0], dtype=np.float16))
    scaler = amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(w.sum()).backward()
    with pytest.raises(ValueError, match="float16"):
        scaler.unscale_(optim.SGD([w], lr=0.1))
    np.testing.assert_array_equal(w.grad, [4.0])


def test_settings_are_read_and_changed_as_in_torch(torch: ModuleType) -> None:
    def run(library: ModuleType) -> list[Any]:
        scaler = library.amp.GradScaler("cpu", init_scale=8.0)
        before = [scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()]
        scaler.set_growth_factor(3.0)
        scaler.set_backoff_factor(0.25)
        scaler.set_growth_interval(5)
        off = library.amp.GradScaler("cpu", enabled=False)
        return [before, scaler.state_dict(), scaler.is_enabled(), off.is_enabled(), off.get_scale()]

    assert run(tensorgrad) == run(torch)


def test_not_enabled_it_only_steps() -> None:
    w = Parameter([1.0])
    optimizer, scaler = optim.SGD([w], lr=0.5), amp.GradScaler("cpu", enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert (w.item(), scaler.get_scale(), scaler.state_dict()) == (0.5, 1.0, {})
    with pytest.raises(RuntimeError, match="not enabled"):
        amp.GradScaler("cpu").load_state_dict(scaler.state_dict())


def test_state_and_new_scale() -> None:
    _, optimizer, scaler = scaled()
    scaler.step(optimizer)
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0
    other = amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 16.0
    scaler.update(tensorgrad.tensor(2.0))
    assert scaler.get_scale() == 2.0


@pytest.mark.parametrize(
    "settings", [{"growth_factor": 1.0}, {"backoff_factor": 1.0}, {"backoff_factor": 0.0}, {"device": "tpu"}]
)
def test_bad_settings(settings: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        amp.GradScaler(**settings)


def test_there_is_no_autocast() -> None:
    with pytest.raises(NotImplementedError, match="no automatic casting"):
        amp.autocast("cpu", dtype=np.float16)
    with amp.autocast("cpu", enabled=False):
        pass


@pytest.mark.parametrize("state", [{"a": 1}, [1], 3])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ValueError, match=r"GradScaler.load_state_dict: takes what state_dict returned: .*scale"):
        amp.GradScaler("cpu").load_state_dict(state)


def test_a_scale_that_is_no_number_is_not_loaded():
    scaler = amp.GradScaler("cpu")
    with pytest.raises(TypeError, match=r"GradScaler.load_state_dict: growth_factor is a number, got 'x'"):
        scaler.load_state_dict(scaler.state_dict() | {"scale": 2.0, "growth_factor": "x"})
    assert scaler.get_scale() == 65536.0
