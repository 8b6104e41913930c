"""What all schedules share: they set the rates of an optimizer's groups, step by step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from tensorgrad.optim.optimizer import Optimizer


class LRScheduler:
    """The base of schedules, which define `get_lr`: the rates of all groups at `last_epoch`.

    optimizer   whose groups' "lr" is set; the rates it starts with are kept as "initial_lr", and in `base_lrs`
    last_epoch  the number of steps taken before; -1 begins, and sets the first rates at once
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(self, optimizer)
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
        if not isinstance(state_dict, Mapping) or "last_epoch" not in state_dict:
            raise ValueError(
                f"{type(self).__name__}.load_state_dict: takes what state_dict returned, a dict with 'last_epoch' in it"
            )
        self.__dict__.update(state_dict)


class Multiplied(LRScheduler):
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


def check_optimizer(scheduler: LRScheduler, optimizer: Any) -> None:
    """Raises TypeError for what is no Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(scheduler).__name__}: takes an Optimizer, got a {type(optimizer).__name__}")
