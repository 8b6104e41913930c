"""Schedules of learning rates: sequence by sequence against torch's, states, warnings, errors."""

from __future__ import annotations

import copy
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import optim
from tensorgrad.nn import Parameter
from tensorgrad.optim import lr_scheduler

SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda step: 1 / (1 + step)),
    "two lambdas": lambda s, o: s.LambdaLR(o, [lambda step: 0.9**step, lambda step: step]),
    "step": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, [7, 2, 2, 11], gamma=0.5),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=4),
    "constant from the first step": lambda s, o: s.ConstantLR(o, total_iters=0),
    "linear": lambda s, o: s.LinearLR(o, 0.1, 0.8, total_iters=6),
    "linear down": lambda s, o: s.LinearLR(o, 1.0, 0.0, total_iters=6),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 10, eta_min=0.01),
    "cosine, short": lambda s, o: s.CosineAnnealingLR(o, 1),
    "cosine, down and up again": lambda s, o: s.CosineAnnealingLR(o, 4, eta_min=0.01),
    "polynomial": lambda s, o: s.PolynomialLR(o, 7, power=2.0),
    "polynomial, a line": lambda s, o: s.PolynomialLR(o),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.9, total_steps=60),
    "one cycle in straight lines": lambda s, o: s.OneCycleLR(
        o, [0.9, 0.1], epochs=12, steps_per_epoch=5, anneal_strategy="linear", pct_start=0.4, div_factor=10.0
    ),
    "one cycle in three phases": lambda s, o: s.OneCycleLR(
        o, 0.9, 60, three_phase=True, final_div_factor=100.0, cycle_momentum=False
    ),
    "warmup and cosine": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.01, total_iters=5), s.CosineAnnealingLR(o, 20, eta_min=1e-3)], [5]
    ),
    "warmup that stops early": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.01, total_iters=9), s.CosineAnnealingLR(o, 20)], milestones=[4]
    ),
    "four in sequence": lambda s, o: s.SequentialLR(
        o,
        [s.ConstantLR(o, 0.5, 2), s.LambdaLR(o, lambda step: 1 - step / 20), s.StepLR(o, 2), s.ExponentialLR(o, 0.5)],
        [3, 8, 17],
    ),
    "the first has no steps": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o), s.ExponentialLR(o, 0.9)], [0]),
}


def optimizer_of(library: ModuleType) -> Any:
    """Two groups, of rates 0.5 and 0.2."""
    if library is tensorgrad:
        a, b = Parameter([1.0]), Parameter([1.0])
    else:
        a, b = (library.nn.Parameter(library.ones(1)) for _ in range(2))
    return library.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.2}], lr=0.5)


def rates(optimizer: Any, *schedulers: Any, steps: int = 45) -> list[list[float]]:
    found = [[group["lr"] for group in optimizer.param_groups]]
    for _ in range(steps):
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
        found.append([group["lr"] for group in optimizer.param_groups])
        assert schedulers[-1].get_last_lr() == found[-1]
    return found


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_rates_are_those_of_torch(torch: ModuleType, name: str) -> None:
    found = []
    for library in (tensorgrad, torch):
        optimizer = optimizer_of(library)
        found.append(rates(optimizer, SCHEDULES[name](library.optim.lr_scheduler, optimizer)))
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("first", ["step", "exponential", "linear", "constant"])
@pytest.mark.parametrize("second", ["multistep", "cosine", "linear"])
def test_two_on_one_optimizer_multiply(torch: ModuleType, first: str, second: str) -> None:
    found = []
    for library in (tensorgrad, torch):
        optimizer = optimizer_of(library)
        schedulers = [SCHEDULES[name](library.optim.lr_scheduler, optimizer) for name in (first, second)]
        found.append(rates(optimizer, *schedulers))
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_state_goes_on_where_it_was(name: str) -> None:
    optimizer = optimizer_of(tensorgrad)
    scheduler = SCHEDULES[name](lr_scheduler, optimizer)
    rates(optimizer, scheduler, steps=9)
    state = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    other = optimizer_of(tensorgrad)
    resumed = SCHEDULES[name](lr_scheduler, other)
    other.load_state_dict(state[0])
    resumed.load_state_dict(state[1])
    assert rates(other, resumed) == rates(optimizer, scheduler)


@pytest.mark.parametrize("name", ["step", "multistep", "exponential", "linear", "cosine", "lambda"])
def test_last_epoch_goes_on_too(torch: ModuleType, name: str) -> None:
    makers = {
        "step": lambda s, o: s.StepLR(o, 3, last_epoch=4),
        "multistep": lambda s, o: s.MultiStepLR(o, [2, 7], last_epoch=4),
        "exponential": lambda s, o: s.ExponentialLR(o, 0.9, last_epoch=4),
        "linear": lambda s, o: s.LinearLR(o, 0.5, total_iters=9, last_epoch=4),
        "cosine": lambda s, o: s.CosineAnnealingLR(o, 10, last_epoch=4),
        "lambda": lambda s, o: s.LambdaLR(o, lambda step: 0.9**step, last_epoch=4),
    }
    found = []
    for library in (tensorgrad, torch):
        optimizer = optimizer_of(library)
        rates(optimizer, SCHEDULES[name](library.optim.lr_scheduler, optimizer), steps=4)
        found.append(rates(optimizer, makers[name](library.optim.lr_scheduler, optimizer), steps=9))
    np.testing.assert_allclose(*found, rtol=1e-10)
    with pytest.raises(KeyError, match="initial_lr"):
        makers[name](lr_scheduler, optimizer_of(tensorgrad))


@pytest.mark.parametrize("name", ["step", "multistep", "exponential", "linear", "constant", "cosine", "lambda"])
def test_a_step_to_an_epoch(torch: ModuleType, name: str) -> None:
    found = []
    for library in (tensorgrad, torch):
        optimizer = optimizer_of(library)
        scheduler = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch has deprecated it
            scheduler.step(6)
        found.append(scheduler.get_last_lr())
    np.testing.assert_allclose(*found, rtol=1e-10)


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 2},
        {"patience": 0, "mode": "max", "threshold": 0.1},
        {"patience": 1, "threshold_mode": "abs", "threshold": 0.3, "cooldown": 2},
        {"patience": 0, "mode": "max", "threshold_mode": "abs", "min_lr": [0.1, 0.05], "factor": 0.5},
    ],
)
def test_reduce_on_plateau(torch: ModuleType, settings: dict) -> None:
    metrics = np.random.default_rng(4).normal(size=60).cumsum()
    found = []
    for library in (tensorgrad, torch):
        optimizer = optimizer_of(library)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
        found.append([])
        for metric in metrics:
            scheduler.step(library.tensor(metric))
            found[-1].append([group["lr"] for group in optimizer.param_groups])
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_stepping_before_the_optimizer_warns() -> None:
    optimizer = optimizer_of(tensorgrad)
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="before optimizer.step"):
        scheduler.step()
    scheduler.step()  # says it once


def test_an_optimizer_with_a_step_of_its_own_is_not_suspected() -> None:
    class Still(optim.SGD):
        def step(self, closure: Any = None) -> None:
            pass

    lr_scheduler.StepLR(Still([Parameter([1.0])]), 2).step()


def test_a_schedule_of_ones_own() -> None:
    class Halves(lr_scheduler.LRScheduler):
        def get_lr(self) -> list[float]:
            return [base / 2**self.last_epoch for base in self.base_lrs]

    optimizer = optimizer_of(tensorgrad)
    assert rates(optimizer, Halves(optimizer), steps=2) == [[0.5, 0.2], [0.25, 0.1], [0.125, 0.05]]


def test_a_rate_that_was_multiplied_by_0_comes_back() -> None:
    optimizer = optimizer_of(tensorgrad)
    scheduler = lr_scheduler.ConstantLR(optimizer, factor=0.0, total_iters=2)
    assert rates(optimizer, scheduler, steps=2) == [[0.0, 0.0], [0.0, 0.0], [0.5, 0.2]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda o: lr_scheduler.StepLR(None, 2), TypeError, "takes an Optimizer"),
        (lambda o: lr_scheduler.LambdaLR(None, abs), TypeError, "takes an Optimizer"),
        (lambda o: lr_scheduler.StepLR(o, 0), ValueError, "step_size is 0"),
        (lambda o: lr_scheduler.LambdaLR(o, [abs]), ValueError, "1 functions for 2 groups"),
        (lambda o: lr_scheduler.ConstantLR(o, 1.5), ValueError, "factor is 1.5"),
        (lambda o: lr_scheduler.LinearLR(o, 0.0), ValueError, "start_factor is 0.0"),
        (lambda o: lr_scheduler.LinearLR(o, 0.5, 2.0), ValueError, "end_factor is 2.0"),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, 0), ValueError, "T_max is 0"),
        (lambda o: lr_scheduler.SequentialLR(o, [], []), ValueError, "0 schedules"),
        (lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o)], [1]), ValueError, "one milestone"),
        (lambda o: lr_scheduler.SequentialLR(o, [None], []), TypeError, "NoneType"),
        (lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ReduceLROnPlateau(o)], []), TypeError, "Plateau"),
        (
            lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(optimizer_of(tensorgrad), 1)], []),
            ValueError,
            "another optimizer",
        ),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, mode="low"), ValueError, "'low'"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=1.0), ValueError, "factor is 1.0"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, min_lr=[0.1]), ValueError, "1 values of min_lr for 2"),
        (lambda o: lr_scheduler.LRScheduler(o), NotImplementedError, "no get_lr"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(optimizer_of(tensorgrad))


@pytest.mark.parametrize("state", [None, {}, [], {"a": 1}, 3])
def test_what_is_no_state_is_refused(state: Any) -> None:
    scheduler = lr_scheduler.StepLR(optimizer_of(tensorgrad), 2)
    with pytest.raises(ValueError, match=r"StepLR.load_state_dict: takes what state_dict returned"):
        scheduler.load_state_dict(state)


def test_functions_and_metrics_are_checked() -> None:
    with pytest.raises(TypeError, match="LambdaLR: takes a function of the step, got a int"):
        lr_scheduler.LambdaLR(optimizer_of(tensorgrad), 3)
    with pytest.raises(TypeError, match="MultiStepLR: milestones is a list of steps, got 3"):
        lr_scheduler.MultiStepLR(optimizer_of(tensorgrad), 3)
    for metric in (None, "low", tensorgrad.ones(2)):
        with pytest.raises(TypeError, match=r"ReduceLROnPlateau.step: the metric is one number, got"):
            lr_scheduler.ReduceLROnPlateau(optimizer_of(tensorgrad)).step(metric)


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
@pytest.mark.parametrize("three_phase", [False, True])
def test_one_cycle_moves_the_momentum_as_torch_does(torch: ModuleType, kind: str, three_phase: bool) -> None:
    found = []
    for library in (tensorgrad, torch):
        p = library.nn.Parameter(library.ones(1))
        optimizer = getattr(library.optim, kind)([p], lr=0.1, **({"momentum": 0.9} if kind == "SGD" else {}))
        schedule = library.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, 20, three_phase=three_phase)
        rows = []
        for _ in range(19):
            group = optimizer.param_groups[0]
            rows.append([group["lr"], group["momentum"] if kind == "SGD" else group["betas"][0]])
            optimizer.step()
            schedule.step()
        found.append(rows)
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give total_steps, or both epochs and steps_per_epoch"),
        ({"total_steps": 0}, "the number of steps is 0"),
        ({"total_steps": 5, "pct_start": 2.0}, "pct_start is 2.0"),
        ({"total_steps": 5, "anneal_strategy": "sin"}, "anneal_strategy is 'cos' or 'linear', got 'sin'"),
        ({"total_steps": 5, "max_lr": [1.0]}, "1 values of max_lr for 2 groups"),
    ],
)
def test_one_cycle_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lr_scheduler.OneCycleLR(optimizer_of(tensorgrad), **{"max_lr": 1.0, **arguments})


def test_one_cycle_ends() -> None:
    optimizer = optimizer_of(tensorgrad)
    schedule = lr_scheduler.OneCycleLR(optimizer, 1.0, 3)
    with pytest.raises(ValueError, match="step 4 of 3: the cycle is over"):
        rates(optimizer, schedule, steps=4)
    optimizer.param_groups[0].pop("momentum")
    with pytest.raises(ValueError, match="cycle_momentum=False"):
        lr_scheduler.OneCycleLR(optimizer, 1.0, 3)
    with pytest.raises(ValueError, match="PolynomialLR: total_iters is 0"):
        lr_scheduler.PolynomialLR(optimizer_of(tensorgrad), 0)
