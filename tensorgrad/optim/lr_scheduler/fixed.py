"""Schedules whose rates are known beforehand: steps, lines, powers, a cosine, a function of one's own."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorgrad.optim.lr_scheduler.base import LRScheduler, Multiplied, check_optimizer
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.settings import kind, real, whole


class LambdaLR(LRScheduler):
    """The base rate times lr_lambda(step); one function, or a list of one for each group. Functions are not saved."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        n = len(optimizer.param_groups)
        self.lr_lambdas: list[Any] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise ValueError(f"LambdaLR: {len(self.lr_lambdas)} functions for {n} groups")
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"LambdaLR: takes a function of the step, got a {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        factors = [real("LambdaLR", "what lr_lambda returns", f(self.last_epoch)) for f in self.lr_lambdas]
        return [base * factor for base, factor in zip(self.base_lrs, factors, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class StepLR(Multiplied):
    """Times gamma every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = whole("StepLR", "step_size", step_size)
        if self.step_size < 1:
            raise ValueError(f"StepLR: step_size is {step_size}; it must be 1 or more")
        self.gamma = real("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0

    def _product(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(Multiplied):
    """Times gamma at each step in `milestones`, twice at one that is there twice."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if not isinstance(milestones, Iterable):
            raise TypeError(f"MultiStepLR: milestones is a list of steps, got {kind(milestones)}")
        self.milestones = sorted(whole("MultiStepLR", "a milestone", n) for n in milestones)
        self.gamma = real("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones.count(self.last_epoch)

    def _product(self) -> float:
        return self.gamma ** bisect_right(self.milestones, self.last_epoch)


class ExponentialLR(Multiplied):
    """Times gamma at every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = real("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self._is_first else self.gamma

    def _product(self) -> float:
        return self.gamma**self.last_epoch


class ConstantLR(Multiplied):
    """Times `factor`, until step `total_iters` takes it back."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = real("ConstantLR", "factor", factor)
        self.total_iters = whole("ConstantLR", "total_iters", total_iters)
        if not 0 <= self.factor <= 1:
            raise ValueError(f"ConstantLR: factor is {factor}; it must be from 0 to 1")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if not self.factor and self.last_epoch == self.total_iters:
            return list(self.base_lrs)  # a rate that was multiplied by 0 cannot be divided back
        return super().get_lr()

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _product(self) -> float:
        return 1.0 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(Multiplied):
    """Times a factor that goes from start_factor to end_factor in a straight line in `total_iters` steps: a warmup."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor = real("LinearLR", "start_factor", start_factor)
        self.end_factor = real("LinearLR", "end_factor", end_factor)
        self.total_iters = whole("LinearLR", "total_iters", total_iters)
        if not 0 < self.start_factor <= 1:
            raise ValueError(f"LinearLR: start_factor is {start_factor}; it must be above 0 and at most 1")
        if not 0 <= self.end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor is {end_factor}; it must be from 0 to 1")
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_first or self.last_epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _product(self) -> float:
        share = min(self.total_iters, self.last_epoch) / self.total_iters if self.total_iters else 1.0
        return self.start_factor + (self.end_factor - self.start_factor) * share


class CosineAnnealingLR(LRScheduler):
    """From the base rate to eta_min in `T_max` steps along half a cosine, and then back up, and so on.

    eta_min + (base - eta_min) (1 + cos(pi step / T_max)) / 2: Loshchilov and Hutter 2017, equation 5, without the
    restarts.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = real("CosineAnnealingLR", "T_max", T_max)
        self.eta_min = real("CosineAnnealingLR", "eta_min", eta_min)
        if not self.T_max > 0:
            raise ValueError(f"CosineAnnealingLR: T_max is {T_max}; it must be 1 or more")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._is_first:
            return self._rates()
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom: nothing there to multiply
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                rate + (base - self.eta_min) * rise for base, rate in zip(self.base_lrs, self._rates(), strict=True)
            ]
        factor = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / before
        return [factor * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _closed_form(self) -> list[float]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]
