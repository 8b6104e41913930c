"""A parameter that no gradient has reached: it was cut off from the loss, and learns nothing."""

from __future__ import annotations

import numpy as np

from tensorgrad.explain import explain
from tensorgrad.monitoring.checks.base import Check, listed
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass
from tensorgrad.tensor import Tensor

_STEPS = 10
_RARE = 30  # a part of a model that only some batches use gets this many steps to be used in


class Unreached(Check):
    """A trained parameter that requires a gradient was in the graph of no loss: in ten steps, where the graph shows
    that it was cut off or the model does not have it, in thirty where nothing shows that it was used at all.

    Not this: one that is frozen (`requires_grad` is False) or left to no optimizer, one whose gradient is zero, an
    expert that runs now and then.
    """

    name = "unreached"

    def __init__(self) -> None:
        self._reached: np.ndarray | None = None
        self._steps: set[int] = set()
        self._causes: list[tuple[str, list[str]]] = []

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Says one cause a pass, with all parameters that were cut off in the same way."""
        if len(self._steps) < _RARE:
            self._reached = seen.reached if self._reached is None else self._reached | seen.reached
            if seen.step not in self._steps:
                self._steps.add(seen.step)
                if len(self._steps) in (_STEPS, _RARE):
                    self._causes += self._cut_off(self._reached, seen)
        if not self._causes:
            return None
        why, names = self._causes.pop(0)
        return self.finding(
            seen.step, f"no gradient has reached {listed(names)} in {len(self._steps)} steps: {why}", names
        )

    def _cut_off(self, reached: np.ndarray, seen: Pass) -> list[tuple[str, list[str]]]:
        """(why, names) of what was not reached; it counts as reached from here on."""
        causes: dict[str, list[str]] = {}
        for i in np.flatnonzero(~reached):
            p, name = seen.parts.parameters[i], seen.parts.names[i]
            if p._requires_grad:
                why, may_be_rare = _why(p, name, seen)
                if not may_be_rare or len(self._steps) == _RARE:
                    causes.setdefault(why, []).append(name)
                    reached[i] = True
        return list(causes.items())


def _why(p: Tensor, name: str, seen: Pass) -> tuple[str, bool]:
    """In words, and whether it may be that no batch has needed the parameter yet."""
    others = seen.parts.untrained if name in seen.parts.foreign else seen.parts.changed(p)
    if others is not None:
        shape = p._data.shape
        missing = [other for other, q in others.items() if q._data.shape == shape]
        if name in others:
            which = ", but another of that name, which the optimizer does not hold"
        else:
            which = f". It has the shape {shape}" + (
                f", and the optimizer does not hold {missing[0]}, which has that shape too" if missing else ""
            )
        return (
            f"the optimizer holds it, the model does not (any more){which}. Make the optimizer after the last change "
            "of the model's parameters."
        ), False
    found = explain(p, seen.roots[0])
    text = found.text.partition(": ")[2] or found.text
    return f"{text} If that is meant, freeze it with requires_grad_(False).", found.reason == "not in the graph"
