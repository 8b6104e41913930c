"""A gradient that vanishes or explodes on its way down through the layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.checks.dead import TRANSPOSED
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.measure import norm
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import MODEL, Pass

_LAYERS = 6  # in fewer no trend can be told from what each layer does by itself
_LOOKS = 5  # in a row that must agree
_FIRST = 20  # passes that are all looked at; after them, one in ten
_TREND = math.log(1e3)  # from end to end; 60 layers of tanh reach 450 at gain 5/3, and 1,300 or more at 2
_BREAK = math.log(1e4)  # in one place; a normalization divides by sqrt(eps) at least, which is 1e-3 at most
_LEAST = 1e-35  # float32 has all its digits down to 1e-38: a smaller norm is not measured well


@dataclass(frozen=True)
class _Row:
    """The norms of gradients along the depth, the first layer's first.

    names  of the layers, or of their weights
    norms  of the gradient at their outputs, or at the products with their weights
    what   "at the output of" or "at the product with", for a sentence
    nodes  the tensors at which it was measured
    """

    names: list[str]
    norms: np.ndarray
    what: str
    nodes: list[list[Any]]


@dataclass(frozen=True)
class _Verdict:
    """What one look said.

    kind    "trend" or "break"
    place   of the layer below the break; -1 for a trend
    rate    the logarithm of the factor of one layer, or of the break; -inf for one down to 0
    zeros   how many of the first layers received nothing but 0
    """

    kind: str
    place: int
    rate: float
    zeros: int = 0

    def agrees(self, other: _Verdict) -> bool:
        """Whether both say the same."""
        return (self.kind, self.place, self.rate > 0) == (other.kind, other.place, other.rate > 0)


class Depth(Check):
    """The norms of the gradient at the outputs of the model's row of blocks shrink or grow geometrically, 1,000-fold
    over the whole row, in five passes in a row; or they fall 10,000-fold in one place.

    Each half of the row must have the trend, and the slower one is taken for the whole: a residual stream grows with
    depth, so its gradient grows by less and less at each block, while without one each layer has the same factor
    (pow(c, depth) against a power of depth). Nothing depends on the size of the gradient itself.

    Not this: chains at their right gain (tanh at 5/3 grows 200- to 500-fold in 60 layers, which is no fault); a head
    that starts small or at 0, since the step from the model's output to the last block does not count; blocks that are
    parallel; one cell that runs many times.
    """

    name = "depth"
    because_of = ("nonfinite", "uncleared")

    def __init__(self) -> None:
        self._passes = self._times = 0
        self._last: _Verdict | None = None
        self._is_said = False

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Looks at the first passes, and at one now and then."""
        self._passes += 1
        if self._is_said or (self._passes > _FIRST and self._passes % 10):
            return None
        row = _outputs(seen) or _products(seen)
        verdict = _judge(row.norms) if row is not None else None
        agrees = verdict is not None and self._last is not None and verdict.agrees(self._last)
        self._times = self._times + 1 if agrees else int(verdict is not None)
        self._last = verdict
        if row is None or verdict is None or self._times < _LOOKS:
            return None
        self._times = 0
        if not _is_one_after_another(seen, row.nodes):
            return None
        self._is_said = True
        return self._said(seen.step, row, verdict)

    def _said(self, step: int, row: _Row, verdict: _Verdict) -> Finding:
        if verdict.kind == "break":
            k = verdict.place
            return self.finding(step, _break(row, verdict), [row.names[k + 1], row.names[k]])
        return self.finding(step, _trend(row, verdict), [row.names[-1], row.names[0]])


def _outputs(seen: Pass) -> _Row | None:
    """The norms at the outputs of the blocks, without the one whose output is the model's."""
    ends = seen.outputs.get(MODEL, [])
    names = [name for name in seen.parts.chain if not _is_among(seen.outputs.get(name, ()), ends)]
    if len(names) < _LAYERS:
        return None
    norms = np.array([seen.output_norm(name) for name in names])
    return _row(names, norms, "at the output of", [seen.outputs.get(name, []) for name in names])


def _products(seen: Pass) -> _Row | None:
    """Where there are no blocks: the norms at the first result of each matrix, of those that have the same shape, in
    the order of their use."""
    names = {p: name for p, name in zip(seen.parts.parameters, seen.parts.names, strict=True) if p._data.ndim == 2}
    uses: dict[Any, Any] = {}
    for node in seen.graph:
        for operand in node._prev:
            if operand in names and node._op in TRANSPOSED:
                names[node] = names[operand]
            elif operand in names:
                uses.setdefault(operand, node)
    shapes = [p._data.shape for p in uses]
    usual = max(shapes, key=shapes.count, default=())
    ours = {names[p]: node for p, node in uses.items() if p._data.shape == usual and node._grad is not None}
    norms = np.array([norm(node._grad) for node in ours.values()])
    return _row(list(ours), norms, "at the product with", [[node] for node in ours.values()])


def _row(names: Sequence[str], norms: np.ndarray, what: str, nodes: Sequence[list[Any]]) -> _Row | None:
    """Those that received a gradient; None where they are too few."""
    kept = [i for i, n in enumerate(norms) if math.isfinite(n)]
    if len(kept) < _LAYERS:
        return None
    return _Row([names[i] for i in kept], norms[kept], what, [nodes[i] for i in kept])


def _is_among(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return any(x is y for x in some for y in others)


def _judge(norms: np.ndarray) -> _Verdict | None:
    zeros = int(np.argmax(norms > _LEAST)) if (norms > _LEAST).any() else len(norms)
    if zeros == len(norms) or not (norms[zeros:] > _LEAST).all():
        return None  # nothing at all, or 0 between others: no question of depth
    logs = np.log(norms[zeros:])
    links = logs[:-1] - logs[1:]  # of each layer, going down
    if len(links):
        worst = int(np.argmax(np.abs(links)))
        others = np.delete(links, worst)
        usual = float(np.median(others)) if len(others) else 0.0
        if abs(links[worst] - usual) > _BREAK and abs(others).max(initial=0.0) < abs(links[worst]) / 2:
            return _Verdict("break", zeros + worst, float(links[worst]), zeros)
    rate = _rate(logs) if len(logs) >= _LAYERS // 2 else 0.0
    explains = not zeros or logs[0] + 3 * rate < math.log(_LEAST)  # the zeros are the end of the trend
    if abs(rate) * (len(norms) - 1) > _TREND and explains:
        return _Verdict("trend", -1, float(-np.polyfit(np.arange(len(logs)), logs, 1)[0]), zeros)
    if zeros and not norms[:zeros].any():
        return _Verdict("break", zeros - 1, -math.inf, zeros)
    return None


def _rate(logs: np.ndarray) -> float:
    """The logarithm of what one layer multiplies the norm by on the way down, in the half where that is nearer to 0;
    0 where one half shrinks it and the other does not."""
    middle = len(logs) // 2
    lower = (logs[0] - logs[middle]) / middle
    upper = (logs[middle] - logs[-1]) / (len(logs) - 1 - middle)
    return float(min(lower, upper, key=abs)) if lower * upper > 0 else 0.0


def _is_one_after_another(seen: Pass, nodes: Sequence[Sequence[Any]]) -> bool:
    """Whether each layer's input comes from the one before it: blocks in one container may stand side by side."""
    places = {node: k for k, made in enumerate(nodes) for node in made}
    highest: dict[Any, int] = {}
    for node in seen.graph:
        below = max((highest[operand] for operand in node._prev), default=-1)
        k = places.get(node)
        if k is not None and below < k - 1:
            return False
        highest[node] = below if k is None else max(k, below)
    return True


def _trend(row: _Row, verdict: _Verdict) -> str:
    first, last, count = row.names[0], row.names[-1], len(row.names)
    factor = math.exp(verdict.rate)
    lowest = row.norms[verdict.zeros]
    shrinks = verdict.rate < 0
    if verdict.zeros:
        receives = (
            f"{row.names[verdict.zeros]} receives {lowest / row.norms[-1]:.1g} of what the last does ({lowest:.1g} of "
            f"{row.norms[-1]:.2g}), and below it the numbers are too small for float32"
        )
    elif shrinks:
        receives = f"the first receives {_times(lowest / row.norms[-1])} of what the last does"
    else:
        receives = f"the first receives {_times(lowest / row.norms[-1])} times what the last does"
    return (
        f"{count} layers {'shrink' if shrinks else 'grow'} the gradient by {factor:.2f} each, from {last} down to "
        f"{first}: {receives} (norms {row.what} each). "
        + (
            "No learning rate fits both ends. Add residual connections (x + f(x)) or a normalization, or draw the "
            "weights at the gain of the activation (nn.init.calculate_gain)."
            if shrinks
            else "No learning rate fits both ends. Add residual connections with a normalization, or draw smaller "
            "weights (nn.init.calculate_gain); clipping only bounds the step."
        )
    )


def _break(row: _Row, verdict: _Verdict) -> str:
    k = verdict.place
    below, above = row.names[k], row.names[k + 1]
    if verdict.rate == -math.inf:
        began = _where_it_went_off(row, k + 1)
        there = row.names[began] if began is not None else above
        return (
            f"{above} passes nothing on: the gradient {row.what} {above} is {row.norms[k + 1]:.2g}, and that "
            f"{row.what} {below}{f' and the {k} below it' if k else ''} is exactly 0. "
            + (f"From {there} on up to {above} no output is above 0. " if began is not None and there != above else "")
            + f"Look in {there} for units that are all off (a relu that sees negative numbers only), weights of 0, a "
            "saturated function or a product with 0."
        )
    return (
        f"the gradient {'falls' if verdict.rate < 0 else 'jumps'} in one place: {row.what} {above} it is "
        f"{row.norms[k + 1]:.2g}, {row.what} {below} {row.norms[k]:.2g}, {_times(math.exp(verdict.rate))} times, and "
        f"nowhere else in the {len(row.names)} layers does it change like this. Look at the weights of {above} and at "
        "what scales its input."
    )


def _where_it_went_off(row: _Row, k: int) -> int | None:
    """The lowest of the layers, from the one at place k down, that put out nothing above 0: where all relus of one are
    off, the layers after it see nothing but 0, and the gradient is stopped at the last of them."""
    off = [all((x._data <= 0).all() for x in made) for made in row.nodes]
    if not off[k]:
        return None
    while k and off[k - 1]:
        k -= 1
    return k


def _times(ratio: float) -> str:
    """One digit, as in 7e-18 and 8,000."""
    return f"{float(f'{ratio:.2g}'):,.0f}" if 1 <= ratio < 1e6 else f"{ratio:.1g}"
