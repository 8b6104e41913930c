"""One schedule after the other, such as a warmup and a decay."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tensorgrad.optim.lr_scheduler.base import LRScheduler, check_optimizer
from tensorgrad.optim.lr_scheduler.plateau import ReduceLROnPlateau
from tensorgrad.optim.optimizer import Optimizer


class SequentialLR(LRScheduler):
    """One schedule after the other: the next begins, at its own step 0, at each step in `milestones`.

    Warmup and decay: SequentialLR(opt, [LinearLR(opt, 0.1, total_iters=100), CosineAnnealingLR(opt, 900)], [100]).
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        check_optimizer(self, optimizer)
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
