"""What has arrived where after each step of a recorded pass: what a sequence of pictures shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from viz.arrays import Quantity
from viz.trace import Step, Trace

Use = tuple[str, str, int]
"""An edge: the key of the node that is used, the key of the one that uses it, and as which operand."""


@dataclass(frozen=True)
class Arrival:
    """The last contribution that came along an edge; `lost` if a later `=` has replaced it."""

    contribution: Quantity
    lost: bool = False


@dataclass(frozen=True)
class Moment:
    """The state after `number` steps.

    step      the step just taken, None before the first
    grads     the gradient of each node that something has reached, by key
    arrivals  what has come along each edge
    """

    number: int
    step: Step | None = None
    grads: Mapping[str, Quantity] = field(default_factory=dict)
    arrivals: Mapping[Use, Arrival] = field(default_factory=dict)


def use_of(step: Step) -> Use | None:
    """The edge that a step's contribution comes along; None for the seed."""
    return None if step.sender is None else (step.receiver, step.sender, step.slot)


def moments(passed: Trace) -> list[Moment]:
    """The state before the pass and after each of its steps. In the last one hooks have changed what they change."""
    found = [Moment(0)]
    latest: dict[str, Use] = {}  # by receiver, what arrived last
    for number, step in enumerate(passed.steps, 1):
        before = found[-1]
        arrivals = dict(before.arrivals)
        replaced = latest.get(step.receiver)
        if passed.operator == "=" and replaced is not None and np.any(arrivals[replaced].contribution):
            arrivals[replaced] = replace(arrivals[replaced], lost=True)
        use = use_of(step)
        if use is not None:
            latest[step.receiver] = use
            arrivals[use] = Arrival(step.contribution)
        found.append(Moment(number, step, {**before.grads, step.receiver: step.after}, arrivals))
    return [*found[:-1], replace(found[-1], grads=passed.grads)]


def wrong(passed: Trace, right: Sequence[Step]) -> dict[str, Quantity]:
    """The gradients that are not what the steps of the right pass leave, each with what it should be, by key."""
    truth = {step.receiver: step.after for step in right}
    held = {step.receiver: step.after for step in passed.steps}
    return {key: q for key, q in truth.items() if not np.array_equal(held.get(key, np.nan), q, equal_nan=True)}
