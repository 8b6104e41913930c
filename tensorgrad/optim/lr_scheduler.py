"""Schedules of learning rates, under torch's names.

Call `scheduler.step()` after `optimizer.step()`. Most schedules multiply the rate that is there, so that several can
act on one optimizer, and a rate that was changed by hand stays changed.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tensorgrad import missing
from tensorgrad.optim.optimizer import Optimizer


class LRScheduler:
    """The base of schedules, which define `get_lr`: the rates of all groups at `last_epoch`.

    optimizer   whose groups' "lr" is set; the rates it starts with are kept as "initial_lr", and in `base_lrs`
    last_epoch  the number of steps taken before; -1 begins, and sets the first rates at once
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(self, optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", float(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: group {i} has no 'initial_lr', so it cannot go on from step {last_epoch}: "
                    "load the optimizer's state first, or leave last_epoch out"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._begin()

    def _begin(self) -> None:
        self._steps_before = self.optimizer.steps_taken
        self._step_count = 0
        self._is_first = True
        self._set_rates()
        self._is_first = False
        self._step_count = 1

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step, or those of step `epoch`."""
        if self._step_count == 1 and self._is_early():
            warnings.warn(
                "lr_scheduler.step() was called before optimizer.step(): the first learning rate of the schedule is "
                "skipped; call the optimizer's first",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self._set_rates(epoch)

    def _is_early(self) -> bool:
        """Whether the optimizer has taken no step since; one that defines its own `step` does not count them."""
        counts = type(self.optimizer).step is Optimizer.step
        return counts and self.optimizer.steps_taken == self._steps_before

    def get_lr(self) -> list[float]:
        """The rates at `last_epoch`; called by `step`. To see the rates call get_last_lr."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr")

    def _closed_form(self) -> list[float]:
        """The rates at `last_epoch` from `base_lrs` alone."""
        return self.get_lr()

    def get_last_lr(self) -> list[float]:
        """The rates that this schedule set last, one for each group."""
        return self._last_lr

    def _set_rates(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = self.get_lr() if epoch is None else self._closed_form()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = self._rates()

    def _rates(self) -> list[float]:
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer, and but functions; the rates themselves are in the optimizer's state."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from `state_dict`, that of a schedule of the same kind; load the optimizer's state too."""
        self.__dict__.update(state_dict)


class _Multiplied(LRScheduler):
    """A schedule whose step multiplies the rate that is there by `_factor()`, and whose rate at `last_epoch` is the
    base rate times `_product()`."""

    def get_lr(self) -> list[float]:
        factor = self._factor()
        return [rate * factor for rate in self._rates()]

    def _closed_form(self) -> list[float]:
        product = self._product()
        return [rate * product for rate in self.base_lrs]

    def _factor(self) -> float:
        raise NotImplementedError

    def _product(self) -> float:
        raise NotImplementedError


class LambdaLR(LRScheduler):
    """The base rate times lr_lambda(step); one function, or a list of one for each group. Functions are not saved."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(self, optimizer)
        n = len(optimizer.param_groups)
        self.lr_lambdas: list[Any] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise ValueError(f"LambdaLR: {len(self.lr_lambdas)} functions for {n} groups")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class StepLR(_Multiplied):
    """Times gamma every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if step_size < 1:
            raise ValueError(f"StepLR: step_size is {step_size}; it must be 1 or more")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0

    def _product(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_Multiplied):
    """Times gamma at each step in `milestones`, twice at one that is there twice."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = sorted(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones.count(self.last_epoch)

    def _product(self) -> float:
        return self.gamma ** bisect_right(self.milestones, self.last_epoch)


class ExponentialLR(_Multiplied):
    """Times gamma at every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self._is_first else self.gamma

    def _product(self) -> float:
        return self.gamma**self.last_epoch


class ConstantLR(_Multiplied):
    """Times `factor`, until step `total_iters` takes it back."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor is {factor}; it must be from 0 to 1")
        self.factor = factor
        self.total_iters = total_iters
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


class LinearLR(_Multiplied):
    """Times a factor that goes from start_factor to end_factor in a straight line in `total_iters` steps: a warmup."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR: start_factor is {start_factor}; it must be above 0 and at most 1")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor is {end_factor}; it must be from 0 to 1")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
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
        if not T_max > 0:
            raise ValueError(f"CosineAnnealingLR: T_max is {T_max}; it must be 1 or more")
        self.T_max = T_max
        self.eta_min = eta_min
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


class SequentialLR(LRScheduler):
    """One schedule after the other: the next begins, at its own step 0, at each step in `milestones`.

    Warmup and decay: SequentialLR(opt, [LinearLR(opt, 0.1, total_iters=100), CosineAnnealingLR(opt, 900)], [100]).
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        _check_optimizer(self, optimizer)
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedules need one milestone between each two, got {len(milestones)}"
            )
        for scheduler in schedulers:
            if not isinstance(scheduler, LRScheduler) or isinstance(scheduler, ReduceLROnPlateau):
                raise TypeError(
                    f"SequentialLR: takes schedules whose step() needs nothing, got a {type(scheduler).__name__}"
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"SequentialLR: the {type(scheduler).__name__} is that of another optimizer")
        self.optimizer = optimizer
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # each schedule has set its first rates when it was made
            group["lr"] = group["initial_lr"]
        self._take_back()
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._begin()
        self._last_lr = first.get_last_lr()

    def _take_back(self) -> None:
        for scheduler in self._schedulers:
            if isinstance(scheduler, SequentialLR):
                scheduler._take_back()
            else:
                scheduler.last_epoch -= 1

    def _begin(self) -> None:
        raise ValueError("SequentialLR: a SequentialLR cannot be the first one inside another: list its parts")

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step."""
        if epoch is not None:
            raise NotImplementedError("SequentialLR: steps can only be taken one after the other")
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i and self._milestones[i - 1] == self.last_epoch:
            scheduler._set_rates(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        state = {key: value for key, value in super().state_dict().items() if key != "_schedulers"}
        return state | {"_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        states = state_dict["_schedulers"]
        if len(states) != len(self._schedulers):
            raise ValueError(f"SequentialLR: {len(states)} schedules in the state, {len(self._schedulers)} here")
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, states, strict=True):
            scheduler.load_state_dict(state)


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when the metric given to `step` has not improved for more than `patience` steps.

    mode            "min" if smaller is better, "max" if larger is
    threshold       how much better counts as improved: a share of the best so far, or with threshold_mode="abs" itself
    cooldown        steps to wait after a reduction; min_lr the least rate, for all groups or a list; eps the smallest
                    reduction that is made
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        _check_optimizer(self, optimizer)
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                "ReduceLROnPlateau: mode is 'min' or 'max' and threshold_mode 'rel' or 'abs', got "
                f"{mode!r} and {threshold_mode!r}"
            )
        if not factor < 1:
            raise ValueError(f"ReduceLROnPlateau: factor is {factor}; it must be below 1")
        self.optimizer = optimizer
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        n = len(optimizer.param_groups)
        self.min_lrs: list[Any] = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * n
        if len(self.min_lrs) != n:
            raise ValueError(f"ReduceLROnPlateau: {len(self.min_lrs)} values of min_lr for {n} groups")
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._rates()

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Take note of the metric, a number, and reduce the rates if it has not improved for long enough."""
        current = float(metrics)
        self.last_epoch += 1
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _is_better(self, current: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * current > sign * self.best + self.threshold
        return sign * current > sign * self.best * (1 + sign * self.threshold)

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = float(group["lr"])
            reduced = max(rate * self.factor, least)
            if rate - reduced > self.eps:
                group["lr"] = reduced


def _check_optimizer(scheduler: LRScheduler, optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(scheduler).__name__}: takes an Optimizer, got a {type(optimizer).__name__}")


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
