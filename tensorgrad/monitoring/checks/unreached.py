"""A parameter that no gradient has reached: it was cut off from the loss, and learns nothing."""

from __future__ import annotations

import numpy as np

from tensorgrad.explain import explain
from tensorgrad.monitoring.checks.base import Check, listed
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass
from tensorgrad.tensor import Tensor

_STEPS = 10  # a part of a model that only some batches use gets this many steps to be used in


class Unreached(Check):
    """A trained parameter that requires a gradient was in the graph of no loss, in ten steps.

    Not this: one that is frozen (`requires_grad` is False) or left to no optimizer, and one whose gradient is zero.
    """

    name = "unreached"

    def __init__(self) -> None:
        self._reached: np.ndarray | None = None
        self._steps: set[int] = set()

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Says one cause a pass: parameters that were cut off in the same way."""
        if len(self._steps) > _STEPS:
            return None
        self._reached = seen.reached if self._reached is None else self._reached | seen.reached
        self._steps.add(seen.step)
        if len(self._steps) < _STEPS:
            return None
        causes: dict[str, list[str]] = {}
        for name, p, reached in zip(seen.parts.names, seen.parts.parameters, self._reached, strict=True):
            if not reached and p._requires_grad:
                causes.setdefault(_why(p, name, seen), []).append(name)
        if not causes:
            return None
        why, names = next(iter(causes.items()))
        self._reached |= np.isin(seen.parts.names, names)
        return self.finding(
            seen.step,
            f"no gradient has reached {listed(names)} in {_STEPS} steps: {why}",
            names,
        )


def _why(p: Tensor, name: str, seen: Pass) -> str:
    if name in seen.parts.foreign:
        shape = p._data.shape
        missing = [f"{name}, which has" for name, q in seen.parts.untrained.items() if q._data.shape == shape]
        return (
            f"the optimizer holds it, the model does not (any more). It has the shape {shape}"
            + (f", and the optimizer does not hold {missing[0]} that shape too" if missing else "")
            + ". Make the optimizer after the last change of the model's parameters."
        )
    text = explain(p, seen.roots[0]).text
    return f"{text.partition(': ')[2] or text} If that is meant, freeze it with requires_grad_(False)."
