"""Schedules that are told how many steps there are: one cycle up and down, and a fall by a power."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorgrad.optim.lr_scheduler.base import LRScheduler, Multiplied, check_optimizer
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.settings import real, whole


class PolynomialLR(Multiplied):
    """From the base rate to 0 in `total_iters` steps, as (1 - step / total_iters) ** power; then 0."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = whole("PolynomialLR", "total_iters", total_iters)
        self.power = real("PolynomialLR", "power", power)
        if not self.total_iters > 0:
            raise ValueError(f"PolynomialLR: total_iters is {total_iters}; it must be 1 or more")
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_first or self.last_epoch > self.total_iters:
            return 1.0
        before = 1 - (self.last_epoch - 1) / self.total_iters
        return ((1 - self.last_epoch / self.total_iters) / before) ** self.power

    def _product(self) -> float:
        return (1 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor up to max_lr, and down to far below, in one cycle over all steps; meanwhile the momentum
    (of Adam beta 1) goes down and up again. L. N. Smith and N. Topin, "Super-Convergence" (2017).

    max_lr            the highest rate, or one for each group
    total_steps       how many there are; or give epochs and steps_per_epoch
    pct_start         the share of them in which the rate rises
    anneal_strategy   "cos" goes along half a cosine, "linear" along a line
    final_div_factor  the last rate is the first one divided by this
    three_phase       first back down to where it began in as many steps, then to the last rate

    Raises ValueError for a step more than there are, and for an optimizer without momentum unless `cycle_momentum` is
    False.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: give total_steps, or both epochs and steps_per_epoch")
            total_steps = whole("OneCycleLR", "epochs", epochs) * whole(
                "OneCycleLR", "steps_per_epoch", steps_per_epoch
            )
        total_steps = whole("OneCycleLR", "total_steps", total_steps)
        pct_start = real("OneCycleLR", "pct_start", pct_start)
        div_factor = real("OneCycleLR", "div_factor", div_factor)
        final_div_factor = real("OneCycleLR", "final_div_factor", final_div_factor)
        if not total_steps > 0:
            raise ValueError(f"OneCycleLR: the number of steps is {total_steps}; it must be 1 or more")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start is {pct_start}; it must be from 0 to 1")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy is 'cos' or 'linear', got {anneal_strategy!r}")
        groups = optimizer.param_groups
        if cycle_momentum and not all("momentum" in group or "betas" in group for group in groups):
            raise ValueError("OneCycleLR: the optimizer has no momentum to go up and down: pass cycle_momentum=False")
        given = max_lr if isinstance(max_lr, (list, tuple)) else [max_lr] * len(groups)
        highest = [real("OneCycleLR", "max_lr", rate) for rate in given]
        if len(highest) != len(groups):
            raise ValueError(f"OneCycleLR: {len(highest)} values of max_lr for {len(groups)} groups")
        self.total_steps = total_steps
        self.cycle_momentum = cycle_momentum
        self._strategy = anneal_strategy
        self._rate_points = []
        for group, top in zip(groups, highest, strict=True):
            first = top / div_factor
            if last_epoch == -1:
                group["initial_lr"] = first
            last = first / final_div_factor
            self._rate_points.append([first, top, first, last] if three_phase else [first, top, last])
        low = real("OneCycleLR", "base_momentum", base_momentum)
        high = real("OneCycleLR", "max_momentum", max_momentum)
        self._momentum_points = [high, low, high, high] if three_phase else [high, low, high]
        rise = pct_start * total_steps - 1
        self._ends = [rise, 2 * rise, total_steps - 1] if three_phase else [rise, total_steps - 1]
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch > self.total_steps:
            raise ValueError(f"OneCycleLR: step {self.last_epoch} of {self.total_steps}: the cycle is over")
        if self.cycle_momentum:
            momentum = self._at(self._momentum_points)
            for group in self.optimizer.param_groups:
                if "betas" in group:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum
        return [self._at(points) for points in self._rate_points]

    def _at(self, points: list[float]) -> float:
        """The value at `last_epoch`, between the points before and after it."""
        phase = next((i for i, end in enumerate(self._ends) if self.last_epoch <= end), len(self._ends) - 1)
        start = self._ends[phase - 1] if phase else 0
        share = (self.last_epoch - start) / (self._ends[phase] - start)
        before, after = points[phase], points[phase + 1]
        if self._strategy == "linear":
            return before + (after - before) * share
        return after + (before - after) / 2 * (1 + math.cos(math.pi * share))
