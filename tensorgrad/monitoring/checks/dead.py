"""Units that are off whatever comes in: no gradient passes them, so they never come back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorgrad.monitoring.checks.base import Check, listed
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass

_SHARE = 0.9  # of a layer's units; healthy layers have up to 0.78
_PASSES = 20  # in a row without a gradient
_ROWS = 512  # that a unit must have seen in them, at least: with tiny batches more passes are needed
_MOST_PASSES = 200
_SEARCH_EVERY = 25  # passes: layers that only some batches use are found later
_SAMPLE = 16  # weights of a unit that are looked at first

TRANSPOSED = ("T", "mT", "transpose", "permute")
_PASSING = ("+", "-", "add", "sub", "view", "reshape", "flatten", "unflatten", "clone", "contiguous")
_ACTIVATIONS = (
    *("relu", "relu6", "hardtanh", "clamp", "maximum", "where", "leaky_relu", "elu", "selu", "celu"),
    *("gelu", "silu", "mish", "softplus", "tanh", "sigmoid", "hardsigmoid", "hardswish", "logsigmoid"),
)


@dataclass
class _Use:
    """How one graph uses a matrix of weights.

    axis         0 where a unit is a row of the matrix, 1 where it is a column
    units        the axis of the products on which the units lie, counted from the end
    rows         for how many inputs each unit was computed
    activations  nodes that come right after, each with the place of its operand that is the product
    """

    axis: int
    units: int
    rows: int = 0
    activations: list[tuple[Any, int]] = field(default_factory=list)

    @property
    def ops(self) -> str:
        """The names of the activations."""
        return "/".join(dict.fromkeys(node._op for node, _ in self.activations))


@dataclass(eq=False)
class _Layer:
    """A matrix that is followed by an activation.

    axis   as in _Use
    times  for each unit, passes in a row in which its gradient was 0
    since  the step of the first of them
    """

    axis: int
    times: np.ndarray
    since: np.ndarray


class Dead(Check):
    """Nine in ten units of a layer had a gradient of exactly 0 in each of 20 passes, and their activation is flat at
    everything that it was given in the last of them: they do not learn, and what they put out does not change.

    Not this: a usual share of relus that are off; gradients of 0 that come from above (a mask, dropout, an expert that
    was not asked, underflow), where the activation has a slope; rows of tables; layers without an activation.
    """

    name = "dead"
    because_of = ("nonfinite", "depth", "unchanged")

    def __init__(self) -> None:
        self._layers: dict[int, _Layer] = {}  # by the place of the parameter
        self._looks = 0
        self._is_said = False

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Looks at the gradients of such layers, and at the graph only where most of one's units have had none."""
        if self._is_said or not np.nansum(seen.norms) > 0:
            return None
        if self._looks % _SEARCH_EVERY == 0:
            self._search(seen)
        self._looks += 1
        suspects = [place for place, layer in self._layers.items() if _is_suspect(layer, place, seen)]
        if not suspects:
            return None
        uses = _uses(seen)
        dead = {place: _dead(self._layers[place], uses[place]) for place in suspects if place in uses}
        # the first to die comes first
        places = sorted(
            (p for p in dead if dead[p].mean() >= _SHARE), key=lambda p: self._layers[p].since[dead[p]].max()
        )
        if not places:
            return None
        self._is_said = True
        names = [seen.parts.names[place] for place in places]
        first = places[0]
        return self.finding(seen.step, _said(self._layers[first], dead[first], uses[first], names), names)

    def _search(self, seen: Pass) -> None:
        for place, use in _uses(seen).items():
            if place not in self._layers and use.activations:
                count = seen.parts.parameters[place]._data.shape[use.axis]
                self._layers[place] = _Layer(use.axis, np.zeros(count, dtype=int), np.full(count, seen.step))


def _is_suspect(layer: _Layer, place: int, seen: Pass) -> bool:
    """Count on, and say whether the time has come to look closer."""
    grad = seen.parts.parameters[place]._grad
    if grad is None or not seen.reached[place]:
        return False
    alive = _units_with_gradient(grad if layer.axis == 0 else grad.T)
    if len(alive) != len(layer.times):  # the layer was given other weights
        layer.times, layer.since = np.zeros(len(alive), dtype=int), np.full(len(alive), seen.step)
    layer.times += 1
    layer.times[alive] = 0
    layer.since[alive] = seen.step + 1
    return bool(np.mean(layer.times >= _PASSES) >= _SHARE)


def _units_with_gradient(grad: np.ndarray) -> np.ndarray:
    """For each row, whether anything in it is not 0: a few of its elements show it for most rows."""
    alive = np.asarray(grad[:, :: math.ceil(grad.shape[1] / _SAMPLE) or 1].any(1))
    rest = np.flatnonzero(~alive)
    alive[rest] = grad[rest].any(1)
    return alive


def _uses(seen: Pass) -> dict[int, _Use]:
    """By the place of the parameter, all matrices that a product takes."""
    places = {p: i for i, p in enumerate(seen.parts.parameters) if p._data.ndim == 2}
    found: dict[int, _Use] = {}
    behind: dict[Any, int] = {}  # products, and what only adds to them or changes their form
    for node in seen.graph:
        for k, operand in enumerate(node._prev):
            place = behind.get(operand)
            if place is None:
                continue
            if node._op in _ACTIVATIONS:
                found[place].activations.append((node, k))
            elif node._op in _PASSING and node._data.shape[-1:] == operand._data.shape[-1:]:
                behind[node] = place
        product = _product(node, places)
        if product is not None:
            place, use = product
            use = found.setdefault(place, use)
            use.rows += node._data.size // max(node._data.shape[use.units], 1)
            behind[node] = place
    return found


def _product(node: Any, places: dict[Any, int]) -> tuple[int, _Use] | None:
    """The matrix that a product takes, and how, before anything is known of what follows."""
    if node._op not in ("linear", "@") or not node._data.ndim:
        return None
    for k, operand in enumerate(node._prev[:2]):
        turned = operand not in places and operand._op in TRANSPOSED and operand._data.ndim == 2
        matrix = operand._prev[0] if turned and operand._prev else operand
        if matrix in places:
            is_first = node._op == "@" and k == 0  # W @ x, whose units are the rows of W
            axis = 0 if is_first or node._op == "linear" else 1
            units = -2 if is_first and node._data.ndim > 1 else -1
            return places[matrix], _Use(1 - axis if turned else axis, units)
    return None


def _dead(layer: _Layer, use: _Use) -> np.ndarray:
    """For each unit, whether it has had no gradient for long enough, and its activation is flat at all it is given."""
    passes = min(max(_PASSES, math.ceil(_ROWS / max(use.rows, 1))), _MOST_PASSES)
    dead = layer.times >= passes
    for node, k in use.activations:
        slope = _slope(node, k)
        if slope is None or slope.shape[use.units :][:1] != dead.shape:
            return np.zeros_like(dead)
        others = tuple(axis for axis in range(slope.ndim) if axis != slope.ndim + use.units)
        dead = dead & ~slope.any(axis=others)
    return dead if use.activations else np.zeros_like(dead)


def _slope(node: Any, k: int) -> np.ndarray | None:
    """The derivative of an activation at each element: what its rule sends where a gradient of ones comes in."""
    rules = node._rules
    rule = rules[k] if isinstance(rules, tuple) else None
    if rule is None:
        return None
    slope = np.asarray(rule(np.ones_like(node._data)))
    return slope if slope.shape == node._data.shape else None


def _said(layer: _Layer, dead: np.ndarray, use: _Use, names: list[str]) -> str:
    count, since = int(dead.sum()), int(layer.since[dead].max())
    passes = int(layer.times[dead].min())
    layers = [name.removesuffix(".weight") for name in names]
    others = f" The same is true of {listed(layers[1:])}." if len(layers) > 1 else ""
    return (
        f"{count} of {len(dead)} units of {layers[0]} ({count / len(dead):.0%}) are dead since step {since}: no "
        f"gradient came to them in {passes} passes, and the slope of {use.ops} is 0 at all that they gave it in the "
        f"last.{others} "
        "They do not come back: train again with a smaller learning rate or a warmup, look at the initial weights and "
        "biases, or take an activation with a slope on both sides (leaky_relu)."
    )
