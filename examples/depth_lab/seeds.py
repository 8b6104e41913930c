"""One stack with several seeds: how much of a figure is chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from depth_lab.stack import Measured, Stack, measured

PLACES = ("inputs", "outputs", "weights")
"""Where the first layer is compared with the last: `Measured` has an `at_...` for each."""


@dataclass(frozen=True)
class Spread:
    """A figure over all seeds; all three are nan where it is nan for one of them."""

    median: float
    least: float
    most: float


def over_seeds(
    stacks: Sequence[Stack], seeds: Sequence[int], done: Callable[[int], None] = lambda runs: None
) -> list[list[Measured]]:
    """What each stack gives with each seed, by stack.

    done  is called after each run with how many there were
    """
    found: list[list[Measured]] = [[] for _ in stacks]
    runs = 0
    for seed in seeds:  # not the stacks first: those of one seed share their draws
        for stack, so_far in zip(stacks, found, strict=True):
            so_far.append(measured(replace(stack, seed=seed)))
            runs += 1
            done(runs)
    return found


def spread(runs: Sequence[Measured], place: str) -> Spread:
    """First over last at one of `PLACES`, over the runs."""
    ratios = np.array([getattr(run, f"at_{place}") for run in runs])
    if np.isnan(ratios).any():
        return Spread(*3 * [float("nan")])
    ordered = np.sort(ratios)
    middle = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return Spread(float(middle[0] / 2 + middle[1] / 2), float(ordered[0]), float(ordered[-1]))
