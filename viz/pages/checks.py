"""Finite differences beside the gradients of a pass: for graphs that the page itself cannot compute."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node, has_hooks
from viz import text
from viz.arrays import Quantity
from viz.errors import UserError
from viz.graph import Graph
from viz.pages.again import Again, again, undisturbed
from viz.passes import gradients as gradients_of

MOST_ELEMENTS = 64
"""Of a leaf that is checked element by element; a larger one is checked along one direction."""

_MOST_EVALUATIONS = 400
_SECONDS = 1.0
_STEP = 6e-6  # near the cube root of a float's precision, where truncation and rounding are about as large
_LARGER = 32  # times that, for what did not agree: rounding within the graph may be what is in the way
_RTOL = {8: 1e-5, 4: 1e-3, 2: 2e-2}  # by the size of the least precise float of the graph
_NAMED_AT_MOST = 4


def differences(
    root: Node,
    order: Sequence[Node],
    graph: Graph,
    *,
    seed: Any = None,
    gradients: Sequence[Quantity | None] | None = None,
) -> tuple[dict[int, dict[str, Any]], str]:
    """What central differences say of each leaf's gradient, by the leaf's place in `order`, and what was left out and
    why, in words ("" where nothing was).

    seed       what the pass starts with, as `root._seed` gives it
    gradients  of each node at the end of a pass; by default one is made

    For each leaf: `value`, the differences as a number or an array of the leaf's shape, None for a leaf of more than
    64 elements, which is checked along one random direction; `agrees`, whether the gradient is as near to that as
    rounding allows, or at a kink lies between the slopes on its two sides; and `words`. The graph is done again in
    float64 on copies, at most 400 times and for about one second.
    """
    seed = root._seed(None) if seed is None else seed
    gradients = gradients_of(root, seed, order) if gradients is None else gradients
    with undisturbed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function = _Function(again(root, order), root, seed)
        except UserError as error:
            return {}, f"Not checked by differences: {error}."
        except Exception as error:  # whatever the user's operations raise the second time
            return {}, f"Not checked by differences: done again, the graph raised {type(error).__name__}."
        if not function.repeats:
            return {}, "Not checked by differences: done again, the graph gives other numbers."
        return _check(function, order, graph, gradients)


def _check(
    function: _Function, order: Sequence[Node], graph: Graph, gradients: Sequence[Quantity | None]
) -> tuple[dict[int, dict[str, Any]], str]:
    rtol = _RTOL[min((np.asarray(node.data).dtype.itemsize for node in order if _is_float(node)), default=8)]
    remark = ", and a hook changes gradients on the way" if any(map(has_hooks, order)) else ""
    places = [i for i, node in enumerate(order) if not node._prev and node.requires_grad and np.size(node.data)]
    places.sort(key=lambda i: not graph.nodes[i].named)  # the numbers that a program is written with come last
    found: dict[int, dict[str, Any]] = {}
    skipped: list[str] = []
    odd: list[str] = []
    for done, i in enumerate(places):
        node, g = order[i], gradients[i]
        exact = np.zeros(np.shape(node.data)) if g is None else np.asarray(g, dtype=np.float64)
        others = 2 * (len(places) - done - 1)
        whole = np.size(node.data) <= MOST_ELEMENTS and function.allows(2 * np.size(node.data) + others)
        if not function.allows(2):
            skipped.append(graph.nodes[i].name)
            continue
        slopes = _elements(function, node) if whole else _direction(function, node)
        if slopes is None:
            odd.append(graph.nodes[i].name)
            continue
        found[i] = slopes.verdict(exact, rtol, isinstance(node, Value), remark)
    notes = []
    if skipped:
        notes.append(f"Not checked by differences, for want of time: {_list(skipped)}.")
    if odd:
        notes.append(f"Not checked by differences, as these are not finite: {_list(odd)}.")
    return found, " ".join(notes)


def _is_float(node: Node) -> bool:
    return np.asarray(node.data).dtype.kind == "f"


def _list(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {more:,} more" if more > 0 else "")


class _Function:
    """The root's elements times the seed, summed up, as a function of one leaf at a time."""

    def __init__(self, run: Again, root: Node, seed: Any) -> None:
        self._run = run
        self._seed = np.asarray(seed, dtype=np.float64)
        started = time.perf_counter()
        data = np.asarray(run({}), dtype=np.float64)
        took = time.perf_counter() - started
        self._left = min(_MOST_EVALUATIONS, int(_SECONDS / max(took, 1e-6)))
        self._until = started + 1.5 * _SECONDS
        self.here = float(np.sum(data * self._seed))
        self.size = float(np.sum(np.abs(data * self._seed)))
        kept = np.asarray(root.data, dtype=np.float64)
        near = _RTOL.get(np.asarray(root.data).dtype.itemsize, 1e-5)
        self.repeats = data.shape == kept.shape and np.allclose(data, kept, near, near, equal_nan=True)

    def allows(self, evaluations: int) -> bool:
        """Whether there is time for so many more."""
        return self._left >= evaluations and time.perf_counter() < self._until

    def at(self, leaf: Node, data: np.ndarray) -> float:
        self._left -= 1
        return float(np.sum(np.asarray(self._run({leaf: data}), dtype=np.float64) * self._seed))

    def slopes(self, leaf: Node, direction: np.ndarray, step: float) -> tuple[float, float, float]:
        """Along a direction: by the central difference, and on the left and on the right alone."""
        x = np.asarray(leaf.data, dtype=np.float64)
        above, below = self.at(leaf, x + step * direction), self.at(leaf, x - step * direction)
        return (above - below) / (2 * step), (self.here - below) / step, (above - self.here) / step


@dataclass(frozen=True)
class _Slopes:
    """What differences say of one leaf, an entry for each direction: central, left and right, with the small step and
    with a way to ask again with a larger one."""

    sides: np.ndarray  # of shape (directions, 3)
    steps: np.ndarray
    noise: float  # of the function's values
    directions: np.ndarray | None  # None where they are the elements
    shape: tuple[int, ...]
    once_more: Callable[[int], tuple[float, float, float] | None]

    def verdict(self, gradient: np.ndarray, rtol: float, is_scalar: bool, remark: str) -> dict[str, Any]:
        whole = self.directions is None
        ours = gradient.ravel() if whole else np.array([float(np.sum(gradient * self.directions))])
        central = self.sides[:, 0].copy()
        finite = np.abs(central[np.isfinite(central)])
        slack = rtol * np.maximum(np.abs(ours), np.abs(central)) + 0.1 * rtol * finite.max(initial=0.0)
        slack = slack + self.noise / self.steps
        if not whole:  # many roundings of either sign may cancel in the sum
            slack = slack + rtol * float(np.sqrt(np.sum(np.square(gradient))))
        good = np.abs(ours - central) <= slack
        kinks = np.zeros_like(good)
        for i in np.flatnonzero(~good):
            low, high = sorted(self.sides[i, 1:])
            if low - slack[i] <= ours[i] <= high + slack[i]:
                kinks[i] = True
            elif (larger := self.once_more(int(i))) is not None and abs(larger[0] - ours[i]) <= slack[i]:
                central[i], good[i] = larger[0], True
        agrees = bool((good | kinks).all())
        words = self._words(ours, central, good, kinks)
        if not agrees:
            words += remark
        value = None if not whole else float(central[0]) if is_scalar else central.reshape(self.shape)
        return {"value": value, "agrees": agrees, "words": words}

    def _words(self, ours: np.ndarray, central: np.ndarray, good: np.ndarray, kinks: np.ndarray) -> str:
        bad = np.flatnonzero(~(good | kinks))
        if self.directions is not None:
            what = f"{text.short(central[0])} by central differences, {text.short(ours[0])} by the gradient"
            return f"along a random direction: {what}"
        if bad.size:
            i = int(bad[np.nanargmax(np.abs(ours - central)[bad])]) if np.isfinite(ours[bad]).any() else int(bad[0])
            what = f"central differences give {text.short(central[i])}, the pass {text.short(ours[i])}"
            return what if good.size == 1 else f"{bad.size:,} of {good.size:,} differ; at {self._index(i)} {what}"
        if kinks.any():
            i = int(np.flatnonzero(kinks)[0])
            left, right = (text.short(x, 4) for x in self.sides[i, 1:])
            where = "" if good.size == 1 else f" at {self._index(i)}"
            return f"a kink{where}: the slope is {left} on the left and {right} on the right"
        if good.size == 1:
            return f"central differences give {text.short(central[0])}"
        return f"central differences agree, to {text.short(np.abs(ours - central).max(), 2)}"

    def _index(self, i: int) -> str:
        return str([int(place) for place in np.unravel_index(i, self.shape)])


def _elements(function: _Function, leaf: Node) -> _Slopes | None:
    """Central differences for each element; None where these are not finite."""
    x = np.asarray(leaf.data, dtype=np.float64)
    steps = _STEP * np.maximum(1.0, np.abs(x.ravel()))

    def along(i: int, step: float) -> tuple[float, float, float]:
        direction = np.zeros(x.size)
        direction[i] = 1.0
        return function.slopes(leaf, direction.reshape(x.shape), step)

    sides = np.array([along(i, step) for i, step in enumerate(steps)])
    if not np.isfinite(sides).all():
        return None

    def once_more(i: int) -> tuple[float, float, float] | None:
        return along(i, _LARGER * steps[i]) if function.allows(2) else None

    return _Slopes(sides, steps, _noise(function), None, x.shape, once_more)


def _direction(function: _Function, leaf: Node) -> _Slopes | None:
    """The central difference along one direction, the same in every run; None where it is not finite."""
    x = np.asarray(leaf.data, dtype=np.float64)
    direction = np.random.default_rng(0).choice([-1.0, 1.0], size=x.shape)
    step = _STEP * max(1.0, float(np.abs(x).max()))
    sides = np.array([function.slopes(leaf, direction, step)])
    if not np.isfinite(sides).all():
        return None

    def once_more(i: int) -> tuple[float, float, float] | None:
        return function.slopes(leaf, direction, _LARGER * step) if function.allows(2) else None

    return _Slopes(sides, np.array([step]), _noise(function), direction, x.shape, once_more)


def _noise(function: _Function) -> float:
    """How far rounding may take the function's values."""
    return 16 * float(np.finfo(np.float64).eps) * max(function.size, abs(function.here))
