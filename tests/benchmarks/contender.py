"""What a benchmark module gives for one contender of a race."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stepper:
    """A step in phases, whose times are told one by one, and what it left.

    phases     functions that make up a step; the first two are forward and backward
    gradients  after backward, as arrays by name
    loss       of the last forward
    """

    phases: list[Callable[[], object]]
    gradients: Callable[[], dict[str, Any]]
    loss: Callable[[], float]

    def __call__(self) -> None:
        for phase in self.phases:
            phase()

    def results(self) -> dict[str, Any]:
        """Loss and gradients, by forward and backward."""
        for phase in self.phases[:2]:
            phase()
        return {"loss": self.loss(), **self.gradients()}


def named(text: str) -> Callable[..., Any]:
    """What "module:function" names: the module is imported in the process that needs it only."""
    module, function = text.split(":")
    return getattr(importlib.import_module(module), function)
