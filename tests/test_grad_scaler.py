"""Loss scaling: against torch.amp.GradScaler, its order of calls, its state."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from conftest import require_torch
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

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


# -- whole runs beside torch's -----------------------------------------------------------------------------------------


EVENTS = ("good", "inf in both", "nan in the first", "inf in the second", "first without gradients", "set the scale")


def many_steps(library: ModuleType, events: list[str], unscale: bool, start_again: int) -> list[list[float]]:
    """Scale, growth count, learning rate, parameters and AdamW's moments after each event: two optimizers, one scaler,
    a schedule; at step `start_again` the scaler is replaced by one with its state."""
    w, v = parameter(library, 1.0, -2.0, 3.0), parameter(library, 0.5)
    first, second = library.optim.AdamW([w], lr=0.1), library.optim.SGD([v], lr=0.05, momentum=0.9)
    schedule = library.optim.lr_scheduler.ExponentialLR(first, 0.9)
    settings = {"init_scale": 2.0**10, "growth_interval": 2}
    scaler = library.amp.GradScaler("cpu", **settings)
    calls: list[str] = []
    for optimizer, name in ((first, "first"), (second, "second")):
        optimizer.register_step_pre_hook(lambda o, args, kwargs, name=name: calls.append(f"before {name}"))
        optimizer.register_step_post_hook(lambda o, args, kwargs, name=name: calls.append(f"after {name}"))
    found = []
    for number, event in enumerate(events):
        if number == start_again:
            state = scaler.state_dict()
            scaler = library.amp.GradScaler("cpu")
            scaler.load_state_dict(state)
        first.zero_grad()
        second.zero_grad()
        scaler.scale((v * v).sum() if event == "first without gradients" else (w * w).sum() * (v * v).sum()).backward()
        if event in ("inf in both", "nan in the first"):
            w.grad[1] = INF if event == "inf in both" else float("nan")
        if event in ("inf in both", "inf in the second"):
            v.grad[0] = -INF
        stepping = [second] if event == "first without gradients" else [first, second]
        if unscale:
            for optimizer in stepping:
                scaler.unscale_(optimizer)
            library.nn.utils.clip_grad_norm_([w, v], 0.5)
        returned = [scaler.step(optimizer) for optimizer in stepping]
        scaler.update(*[32.0] if event == "set the scale" else [])
        if stepping[0] is first:
            with warnings.catch_warnings():  # a schedule that steps before the optimizer ever did
                warnings.simplefilter("ignore")
                schedule.step()
        moments = [n for name in ("step", "exp_avg", "exp_avg_sq") for n in listed(first.state[w].get(name, [0.0]))]
        found.append([scaler.get_scale(), scaler.state_dict()["_growth_tracker"], first.param_groups[0]["lr"]])
        found[-1] += [*w.tolist(), *v.tolist(), *moments, len(calls), len(returned) - returned.count(None)]
    return found


def listed(x: Any) -> list[float]:
    return np.asarray(x.tolist() if hasattr(x, "tolist") else x, dtype=np.float64).reshape(-1).tolist()


@limits(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=8), st.booleans(), st.integers(0, 8))
def test_any_sequence_of_steps_is_torchs(events: list[str], unscale: bool, start_again: int) -> None:
    ours, theirs = (many_steps(lib, events, unscale, start_again) for lib in (tensorgrad, require_torch()))
    for step, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6, err_msg=f"step {step}: {events[step]}")


def misused(library: ModuleType, calls: Any) -> tuple[bool, bool]:
    """Whether the calls raise a RuntimeError, and whether they raise an AssertionError."""
    w = parameter(library, 1.0)
    optimizer, scaler = library.optim.SGD([w], lr=0.1), library.amp.GradScaler("cpu")
    try:
        calls(scaler, optimizer, lambda: scaler.scale((w * w).sum()).backward())
    except (RuntimeError, AssertionError) as error:
        return isinstance(error, RuntimeError), isinstance(error, AssertionError)
    return False, False


def step_after_one_that_raised(library: ModuleType) -> list[Any]:
    w = parameter(library, 1.0, 2.0)
    optimizer, scaler = library.optim.SGD([w], lr=0.1), library.amp.GradScaler("cpu")
    scaler.scale((w * w).sum()).backward()
    works, optimizer.step = optimizer.step, lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        scaler.step(optimizer)
    optimizer.step = works
    scaler.step(optimizer)  # the gradients are not divided a second time
    scaler.update()
    return [scaler.get_scale(), *w.tolist(), *w.grad.tolist()]


def test_a_step_that_raised_can_be_made_again(torch: ModuleType) -> None:
    assert step_after_one_that_raised(tensorgrad) == pytest.approx(step_after_one_that_raised(torch))


@pytest.mark.parametrize(
    "calls",
    [
        lambda s, o, back: s.step(o),
        lambda s, o, back: s.unscale_(o),
        lambda s, o, back: s.update(),
        lambda s, o, back: s.update(2.0),
        lambda s, o, back: (back(), s.unscale_(o), s.unscale_(o)),
        lambda s, o, back: (back(), s.step(o), s.unscale_(o)),
        lambda s, o, back: (back(), s.step(o), s.step(o)),
        lambda s, o, back: (back(), s.update()),
        lambda s, o, back: (back(), o.zero_grad(), s.step(o)),
        lambda s, o, back: (back(), o.zero_grad(), s.unscale_(o), s.step(o)),
        lambda s, o, back: (back(), s.step(o, closure=abs)),
        lambda s, o, back: (back(), s.unscale_(o), pickle.dumps(s)),
        lambda s, o, back: (back(), s.unscale_(o), s.update(), back(), s.unscale_(o)),
    ],
)
def test_what_raises_in_torch_raises_so_here(torch: ModuleType, calls: Any) -> None:
    ours, theirs = misused(tensorgrad, calls), misused(torch, calls)
    assert any(ours) == any(theirs)
    assert all(mine or not its for mine, its in zip(ours, theirs, strict=True)), (ours, theirs)


def test_bad_factors_raise_what_they_do_in_torch(torch: ModuleType) -> None:
    for factors in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        for library in (tensorgrad, torch):
            with pytest.raises(AssertionError):
                library.amp.GradScaler("cpu", **factors)
            library.amp.GradScaler("cpu", **factors, enabled=False)


def clipped(library: ModuleType, order: str) -> tuple[list[float], float]:
    """A step's change of the parameter, whose gradient is 6 and 8 long, clipped to a length of 1."""
    w = parameter(library, 3.0, 4.0)
    optimizer = library.optim.SGD([w], lr=1.0)
    scaler = library.amp.GradScaler("cpu", init_scale=2.0**16)
    scaler.scale((w * w).sum()).backward()
    if order == "unscale, then clip":
        scaler.unscale_(optimizer)
    norm = library.nn.utils.clip_grad_norm_([w], 1.0)
    scaler.step(optimizer)
    return [a - b for a, b in zip([3.0, 4.0], w.tolist(), strict=True)], float(norm)


def test_clipping_before_unscaling_leaves_almost_nothing(torch: ModuleType) -> None:
    for library in (tensorgrad, torch):
        right, norm = clipped(library, "unscale, then clip")
        np.testing.assert_allclose([*right, norm], [0.6, 0.8, 10.0], rtol=1e-6)
        wrong, norm = clipped(library, "clip, then unscale")  # clips 655,360 to 1, and then divides by 65,536
        np.testing.assert_allclose(norm, 10.0 * 2**16, rtol=1e-6)
        np.testing.assert_allclose(np.multiply(wrong, 2**16), [0.6, 0.8], atol=0.02)


def underflowing(library: ModuleType) -> list[Any]:
    w = parameter(library, 1.0)
    optimizer, scaler = library.optim.SGD([w], lr=0.1), library.amp.GradScaler("cpu", init_scale=4 * 2.0**-149)
    found = []
    for bad in (True, True, True, False):
        optimizer.zero_grad()
        scaler.scale((w * w).sum()).backward()
        if bad:
            w.grad[0] = INF
        scaler.step(optimizer)
        scaler.update()
        found.append([scaler.get_scale(), w.item(), w.grad.tolist()[0]])
    return found


def test_a_scale_that_is_halved_down_to_0(torch: ModuleType) -> None:
    """As in torch, the step after that makes the parameters nan; here a warning comes before it."""
    with pytest.warns(UserWarning, match="the scale has become 0"):
        ours = underflowing(tensorgrad)
    np.testing.assert_array_equal(ours, underflowing(torch))
    assert np.isnan(ours[-1][1])


def test_a_skipped_step_leaves_everything_and_returns_none() -> None:
    w = Parameter([1.0, 2.0])
    optimizer, scaler = optim.AdamW([w], lr=0.1), amp.GradScaler("cpu", init_scale=4.0)
    stepped: list[int] = []
    optimizer.register_step_post_hook(lambda *a: stepped.append(1))

    def step(bad: bool) -> Any:
        optimizer.zero_grad()
        scaler.scale((w * w).sum()).backward()
        if bad:
            w.grad[0] = INF
        found = scaler.step(optimizer)
        scaler.update()
        return found

    step(False)
    before = w.tolist(), copy.deepcopy(optimizer.state_dict()), optimizer.steps_taken
    assert step(True) is None
    assert (w.tolist(), optimizer.steps_taken, stepped) == (before[0], before[2], [1])
    for name, value in before[1]["state"][0].items():
        np.testing.assert_array_equal(optimizer.state[w][name].data, value.data)
    step(False)
    assert (len(stepped), scaler.get_scale()) == (2, 2.0)
