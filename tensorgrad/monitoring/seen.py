"""What is seen of one backward pass and of one step: the evidence that the checks judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tensorgrad.monitoring.measure import norm
from tensorgrad.monitoring.parts import Parts
from tensorgrad.monitoring.scores import Scores, scores_below, scores_of

MODEL = "<model>"
"""The name under which the outputs of the whole model are kept."""


@dataclass(eq=False)
class Pass:
    """One backward pass that came to trained parameters; it holds the graph, so it must not be kept.

    step      the step that it is for, from 1
    number    which pass since the last step, from 1
    roots     the tensors that it began at
    graph     all nodes below them, operands first
    parts     names and parameters
    norms     of each parameter's gradient, as it was before clipping; nan for a parameter without one. A GradScaler's
              factor is divided out
    nonfinite how many elements of each of these gradients are inf or nan
    outputs   for each block that ran since the last step, and for the model ("<model>"), the tensors that it returned
    inputs    the first whole-number array that the model was called with, None if there was none
    leftover  places of the parameters that still held a gradient when this pass began which a step had taken already
    is_fresh  whether no parameter held a gradient when it began
    is_again  whether it went over results that the pass before had gone over: another loss of the same batch
    scaled_by the factor of a GradScaler
    """

    step: int
    number: int
    roots: Sequence[Any]
    graph: list[Any]
    parts: Parts
    norms: np.ndarray
    nonfinite: np.ndarray
    outputs: dict[str, list[Any]]
    inputs: np.ndarray | None
    leftover: list[int]
    is_fresh: bool = True
    is_again: bool = False
    scaled_by: float = 1.0

    @property
    def loss(self) -> float:
        """The value at the roots' first, without a GradScaler's factor; nan where it is no single number."""
        data = self.roots[0]._data
        return float(data.reshape(-1)[0]) / self.scaled_by if data.size == 1 else math.nan

    @cached_property
    def inside(self) -> set[Any]:
        """The graph as a set."""
        return set(self.graph)

    def output_norm(self, block: str) -> float:
        """The norm of the gradient at what a block returned, of all its calls together; nan where none came there."""
        found = [x._grad for x in self.outputs.get(block, ())]
        norms = [norm(g) / self.scaled_by for g in found if g is not None]
        return math.hypot(*norms) if norms else math.nan

    @cached_property
    def reached(self) -> np.ndarray:
        """For each parameter, whether this pass came to it."""
        return np.array([p in self.inside and p._grad is not None for p in self.parts.parameters], dtype=bool)

    @cached_property
    def scores(self) -> Scores | None:
        """What the gradient of the model's scores says of the loss; None where there are none to be found."""
        return scores_of([*scores_below(self.graph), *self._model_outputs()], self.scaled_by)

    def scores_at(self, places: int) -> Scores | None:
        """The same for scores of that many places: where the loss was given a part of them, the model's output."""
        found = self.scores
        if found is not None and found.places != places:
            found = scores_of(self._model_outputs(), self.scaled_by)
        return found if found is not None and found.places == places else None

    def _model_outputs(self) -> list[tuple[Any, int]]:
        return [(z, -1) for z in self.outputs.get(MODEL, [])[-1:]]


@dataclass(eq=False)
class Step:
    """One step of the optimizer.

    number    from 1
    passes    backward passes since the one before
    parts     names and parameters
    norms     of each parameter's gradient after the last pass, before clipping
    ratios    norm of the change of each parameter over the norm of the parameter before; nan where it was all zeros
    moved     for each parameter, whether any element changed
    rates     the learning rate of each parameter
    is_moving whether any parameter had a gradient other than zeros when the step was taken
    last      the pass before it, None if there was none
    by_hand   whether there was none and the parameters were given other gradients since the last step, as from
              autograd.grad or computed without a graph
    """

    number: int
    passes: int
    parts: Parts
    norms: np.ndarray
    ratios: np.ndarray
    moved: np.ndarray
    rates: np.ndarray
    is_moving: bool
    last: Pass | None = None
    by_hand: bool = False
