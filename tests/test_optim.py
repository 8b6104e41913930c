"""Optimizers: step by step against torch's, missing gradients, states, errors."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, no_grad, optim
from tensorgrad.nn import Parameter

SHAPES = [(), (3,), (4, 5), (2, 0), (1,)]

SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.2}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.3}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "betas": (0.3, 0.7)}),
    ("Adam", {"lr": 0.05, "maximize": True, "eps": 1e-3}),
    ("Adam", {"lr": 0.05, "betas": (0.0, 0.0)}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.3}),
    ("AdamW", {"lr": 0.05, "amsgrad": True, "maximize": True}),
]


def gradients(rng: np.random.Generator, dtype: Any, steps: int) -> list[list[np.ndarray | None]]:
    """For each step, one for each of SHAPES; about one in four is missing, and the last always."""
    found = []
    for _ in range(steps):
        step = [rng.normal(size=shape).astype(dtype) if rng.random() < 0.75 else None for shape in SHAPES]
        found.append([*step[:-1], None])
    return found


def run_ours(name: str, settings: dict, starts: list[np.ndarray], grads: list) -> tuple[list[Parameter], Any]:
    params = [Parameter(x) for x in starts]
    optimizer = getattr(optim, name)(params, **settings)
    for step in grads:
        for p, g in zip(params, step, strict=True):
            p.grad = None if g is None else g.copy()
        optimizer.step()
    return params, optimizer


def run_torch(torch: ModuleType, name: str, settings: dict, starts: list[np.ndarray], grads: list) -> tuple[list, Any]:
    params = [torch.nn.Parameter(torch.tensor(x)) for x in starts]
    optimizer = getattr(torch.optim, name)(params, **settings)
    for step in grads:
        for p, g in zip(params, step, strict=True):
            p.grad = None if g is None else torch.tensor(g)
        optimizer.step()
    return params, optimizer


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_many_steps_are_those_of_torch(
    torch: ModuleType, name: str, settings: dict, dtype: Any, tolerance: float
) -> None:
    rng = np.random.default_rng(1)
    starts = [np.asarray(rng.normal(size=shape), dtype=dtype) for shape in SHAPES]
    grads = gradients(rng, dtype, 60)
    ours, our_optimizer = run_ours(name, settings, starts, grads)
    theirs, their_optimizer = run_torch(torch, name, settings, starts, grads)
    for x, y in zip(ours, theirs, strict=True):
        assert x.dtype == dtype
        np.testing.assert_allclose(x.data, y.detach().numpy(), rtol=tolerance, atol=tolerance)
    for x, y in zip(ours, theirs, strict=True):
        state, reference = our_optimizer.state[x], their_optimizer.state[y]
        assert state.keys() == {key for key, value in reference.items() if value is not None}
        for key in state:
            np.testing.assert_allclose(state[key].data, reference[key].numpy(), rtol=tolerance, atol=tolerance)
            assert state[key].dtype == reference[key].numpy().dtype


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_long_parameters_are_changed_as_short_ones(name: str, settings: dict) -> None:
    """They are computed with piece by piece; a Fortran order is not."""
    rng = np.random.default_rng(2)
    start, grads = rng.normal(size=(3, 40_000)), rng.normal(size=(4, 3, 40_000))
    whole, _ = run_ours(name, settings, [start, np.asfortranarray(start)], [[g, g] for g in grads])
    rows, _ = run_ours(name, settings, [*start], [[*g] for g in grads])
    for x in whole:
        np.testing.assert_array_equal(x.data, np.stack([row.data for row in rows]))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_float16_computes_in_float32(torch: ModuleType, name: str) -> None:
    """Squares of 300 do not fit into float16, nor does an eps of 1e-8. (What is remembered does not hold more.)"""
    start, grad = np.array([1.0, -2.0], dtype=np.float16), np.array([300.0, 0.5], dtype=np.float16)
    [x], _ = run_ours(name, {"lr": 0.01}, [start], [[grad]] * 3)
    [y], _ = run_torch(torch, name, {"lr": 0.01}, [start.astype(np.float32)], [[grad.astype(np.float32)]] * 3)
    assert x.dtype == np.float16
    np.testing.assert_allclose(x.data, y.detach().numpy(), rtol=3e-3)


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_gradients_and_shared_arrays_are_left_alone(name: str, settings: dict) -> None:
    p = Parameter([1.0, 2.0])
    optimizer = getattr(optim, name)([p], **settings)
    array, grad = p.data, np.array([0.5, -0.5], dtype=np.float32)
    for _ in range(3):
        p.grad = grad
        optimizer.step()
    np.testing.assert_array_equal(grad, [0.5, -0.5])
    assert p.data is array  # changed in place
    for state in optimizer.state[p].values():
        assert not np.shares_memory(state.data, grad)


def test_a_step_between_forward_and_backward_is_noticed() -> None:
    w = Parameter([2.0])
    optimizer = optim.SGD([w], lr=0.1)
    loss = (w * w).sum()
    loss.backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="in place"):
        loss.backward()


def test_a_closure_runs_with_gradients_and_its_loss_is_returned() -> None:
    w = Parameter([2.0])
    optimizer = optim.SGD([w], lr=0.25)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with no_grad():
        assert optimizer.step(closure).item() == 4.0
    np.testing.assert_array_equal(w.data, [1.0])


def test_zero_grad() -> None:
    w, v = Parameter([2.0]), Parameter([3.0])
    optimizer = optim.SGD([w, v], lr=0.1)
    w.grad = np.broadcast_to(np.float32(1.0), (1,))  # read-only
    optimizer.zero_grad(set_to_none=False)
    np.testing.assert_array_equal(w._grad, [0.0])
    assert v._grad is None
    optimizer.zero_grad()
    assert w._grad is None


def test_groups_have_settings_of_their_own(torch: ModuleType) -> None:
    def run(library: Any, make: Any) -> list[np.ndarray]:
        a, b, c = make([1.0]), make([2.0]), make([3.0])
        optimizer = library.optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1, momentum=0.9)
        optimizer.add_param_group({"params": [c], "momentum": 0.0})
        for _ in range(3):
            for p in (a, b, c):
                p.grad = library.ones(1)
            optimizer.step()
            optimizer.param_groups[0]["lr"] *= 0.5
        return [np.asarray(p.detach().numpy()) for p in (a, b, c)]

    ours = run(tensorgrad, Parameter)
    theirs = run(torch, lambda x: torch.nn.Parameter(torch.tensor(x)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_named_parameters_keep_their_names() -> None:
    net = tensorgrad.nn.Linear(2, 1)
    optimizer = optim.AdamW(net.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][0] is net.weight
    with pytest.raises(ValueError, match="names"):
        optimizer.add_param_group({"params": [Parameter([1.0])]})
    with pytest.raises(ValueError, match="names"):
        optim.AdamW([("w", net.weight), net.bias])


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
@pytest.mark.parametrize("way", ["state_dict", "deepcopy", "pickle"])
def test_a_state_goes_on_where_it_was(name: str, settings: dict, way: str) -> None:
    rng = np.random.default_rng(3)
    starts, grads = [rng.normal(size=(3, 2)), rng.normal(size=2)], rng.normal(size=(6, 3, 2))
    steps = [[g, g[0]] for g in grads]
    whole, _ = run_ours(name, settings, starts, steps)
    params, optimizer = run_ours(name, settings, starts, steps[:3])
    if way == "state_dict":
        state = copy.deepcopy(optimizer.state_dict())
        params = [Parameter(p.data) for p in params]
        optimizer = getattr(optim, name)(params, lr=123.0)
        optimizer.load_state_dict(state)
    else:
        optimizer = copy.deepcopy(optimizer) if way == "deepcopy" else pickle.loads(pickle.dumps(optimizer))
        params = optimizer.param_groups[0]["params"]
    for step in steps[3:]:
        for p, g in zip(params, step, strict=True):
            p.grad = g
        optimizer.step()
    for x, y in zip(params, whole, strict=True):
        np.testing.assert_array_equal(x.data, y.data)


def test_a_loaded_state_is_a_copy_in_the_parameters_dtype() -> None:
    p = Parameter(np.array([1.0]))
    optimizer = optim.Adam([p])
    p.grad = np.array([1.0])
    optimizer.step()
    q = Parameter([1.0])
    other = optim.Adam([q])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[q]["exp_avg"].dtype == np.float32
    assert other.state[q]["step"].item() == 1
    before = optimizer.state[p]["step"].item()
    q.grad = np.array([1.0])
    other.step()
    assert optimizer.state[p]["step"].item() == before


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    p = Parameter([1.0, 2.0])
    optimizer = optim.Adam([p])
    p.grad = [1.0, 1.0]
    optimizer.step()
    state = optimizer.state_dict()
    narrow = Parameter([1.0])
    other = optim.Adam([narrow], lr=0.5)
    with pytest.raises(ValueError, match=r"exp_avg of parameter 0 has shape \(2,\).*\(1,\)"):
        other.load_state_dict(state)
    assert other.param_groups[0]["lr"] == 0.5
    assert not other.state
    with pytest.raises(ValueError, match=r"groups of \[1\] parameters in the state, of \[2\]"):
        optim.Adam([p, narrow]).load_state_dict(state)
    with pytest.raises(ValueError, match="param_groups"):
        other.load_state_dict({})


def test_an_optimizer_of_ones_own() -> None:
    class Signs(optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p -= group["lr"] * np.sign(p.grad)

    w = Parameter([1.0, -1.0])
    (w * w).sum().backward()
    Signs([w], lr=0.5).step()
    np.testing.assert_array_equal(w.data, [0.5, -0.5])
    w.grad = [1.0, 1.0]
    with pytest.raises(NotImplementedError, match=r"defines neither step nor _prepare"):
        optim.Optimizer([w], {"lr": 1.0}).step()


LEAF = Parameter([1.0])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: optim.SGD([], lr=0.1), ValueError, "no parameters.*generator"),
        (lambda: optim.SGD(LEAF, lr=0.1), TypeError, r"one Tensor: write \[w\]"),
        (lambda: optim.SGD({"params": [LEAF]}, lr=0.1), TypeError, r"write \[group\]"),
        (lambda: optim.SGD({LEAF}, lr=0.1), TypeError, "set has no order"),
        (lambda: optim.SGD(None, lr=0.1), TypeError, "None"),
        (lambda: optim.SGD([None], lr=0.1), TypeError, "changes Tensors, got None"),
        (lambda: optim.SGD([np.ones(2)], lr=0.1), TypeError, "changes Tensors, got a ndarray"),
        (lambda: optim.SGD([{"lr": 1.0}], lr=0.1), TypeError, "'params'"),
        (lambda: optim.SGD([LEAF * 2], lr=0.1), ValueError, "no leaf"),
        (lambda: optim.SGD([LEAF, LEAF], lr=0.1), ValueError, "appears twice"),
        (lambda: optim.SGD([{"params": [LEAF]}, {"params": [LEAF]}], lr=0.1), ValueError, "appears twice"),
        (lambda: optim.SGD([LEAF], lr=-1.0), ValueError, "lr is -1"),
        (lambda: optim.SGD([LEAF], lr=float("nan")), ValueError, "lr is nan"),
        (lambda: optim.SGD([LEAF], lr=float("inf")), ValueError, "lr is inf"),
        (lambda: optim.SGD([LEAF], lr="fast"), TypeError, "lr is a number"),
        (lambda: optim.SGD([LEAF], lr=0.1, momentum=-0.5), ValueError, "momentum is -0.5"),
        (lambda: optim.SGD([LEAF], lr=0.1, weight_decay=-0.5), ValueError, "weight_decay is -0.5"),
        (lambda: optim.SGD([LEAF], lr=0.1, nesterov=True), ValueError, "nesterov needs a momentum"),
        (lambda: optim.SGD([{"params": LEAF, "lr": -1.0}], lr=0.1), ValueError, "lr is -1"),
        (lambda: optim.Adam([LEAF], betas=(0.9, 1.0)), ValueError, r"betas\[1\] is 1"),
        (lambda: optim.Adam([LEAF], betas=(-0.1, 0.9)), ValueError, r"betas\[0\] is -0.1"),
        (lambda: optim.Adam([LEAF], betas=0.9), ValueError, "betas are two numbers"),
        (lambda: optim.AdamW([LEAF], eps=-1e-8), ValueError, "AdamW: eps is -1e-08"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_consumed_generator_says_so() -> None:
    params = tensorgrad.nn.Linear(2, 1).parameters()
    assert len(list(params)) == 2
    with pytest.raises(ValueError, match="gone through only once"):
        optim.Adam(params)


def test_settings_that_were_changed_are_checked_at_the_step() -> None:
    w = Parameter([1.0])
    optimizer = optim.SGD([w], lr=0.1)
    w.grad = [1.0]
    optimizer.param_groups[0]["lr"] = float("nan")
    with pytest.raises(ValueError, match="lr is nan"):
        optimizer.step()
    np.testing.assert_array_equal(w.data, [1.0])


def test_a_read_only_array_says_so() -> None:
    w = Parameter([1.0])
    w.data.flags.writeable = False
    w.grad = [1.0]
    with pytest.raises(RuntimeError, match="read-only"):
        optim.SGD([w], lr=0.1).step()


def test_it_prints_its_settings() -> None:
    assert "lr: 0.25" in repr(optim.SGD([LEAF], lr=0.25))


@pytest.mark.parametrize(
    "state",
    [
        {"state": None, "param_groups": None},
        {"state": {}, "param_groups": [{}]},
        {"state": {}, "param_groups": [3]},
        {"state": {}, "param_groups": [{"params": None}]},
        {"state": {0: 3}, "param_groups": [{"params": [0]}]},
        {"state": [], "param_groups": [{"params": [0]}]},
    ],
)
def test_what_is_no_state_is_refused(state: Any) -> None:
    optimizer = optim.Adam([Tensor([1.0], requires_grad=True)])
    with pytest.raises(ValueError, match=r"Adam.load_state_dict: .*none of an optimizer"):
        optimizer.load_state_dict(state)


def test_a_setting_that_is_no_number_is_not_loaded() -> None:
    optimizer = optim.Adam([Tensor([1.0], requires_grad=True)])
    with pytest.raises(TypeError, match=r"Adam.load_state_dict: lr is a number, got 'x'"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0], "lr": "x"}]})
    assert optimizer.param_groups[0]["lr"] == 1e-3


def test_a_closure_that_cannot_be_called_or_raises() -> None:
    optimizer = optim.SGD([Tensor([1.0], requires_grad=True)], lr=0.1)
    with pytest.raises(TypeError, match=r"SGD.step: takes a function that computes the loss, got a int"):
        optimizer.step(3)  # type: ignore[arg-type]

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimizer.step(interrupted)
    assert tensorgrad.is_grad_enabled()
