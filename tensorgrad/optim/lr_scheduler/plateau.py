"""A schedule that waits until a metric no longer improves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorgrad.optim.lr_scheduler.base import LRScheduler, check_optimizer
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.settings import kind, real, whole


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
        check_optimizer(self, optimizer)
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                "ReduceLROnPlateau: mode is 'min' or 'max' and threshold_mode 'rel' or 'abs', got "
                f"{mode!r} and {threshold_mode!r}"
            )
        self.optimizer = optimizer
        self.mode, self.threshold_mode = mode, threshold_mode
        op = "ReduceLROnPlateau"
        self.factor, self.threshold = real(op, "factor", factor), real(op, "threshold", threshold)
        self.patience, self.cooldown = whole(op, "patience", patience), whole(op, "cooldown", cooldown)
        self.eps = real(op, "eps", eps)
        if not self.factor < 1:
            raise ValueError(f"ReduceLROnPlateau: factor is {factor}; it must be below 1")
        n = len(optimizer.param_groups)
        floors = min_lr if isinstance(min_lr, (list, tuple)) else [min_lr] * n
        self.min_lrs = [real(op, "min_lr", floor) for floor in floors]
        if len(self.min_lrs) != n:
            raise ValueError(f"ReduceLROnPlateau: {len(self.min_lrs)} values of min_lr for {n} groups")
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._rates()

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Take note of the metric, a number, and reduce the rates if it has not improved for long enough."""
        try:
            current = float(metrics)
        except (TypeError, ValueError):
            raise TypeError(f"ReduceLROnPlateau.step: the metric is one number, got {kind(metrics)}") from None
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
