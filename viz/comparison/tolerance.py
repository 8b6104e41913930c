"""How far two correct computations of the same number may lie apart.

Rounding errs in proportion to the numbers that were added up and multiplied, not to what is left of them: the
difference of two millions that is 0.001 is known to ten digits less than each of them. So with each result goes a
*size*: how large it would be if nothing cancelled. A tolerance is relative to the size. The sizes of terms add up, not
in quadrature as those of independent errors would: the error of one operand, a mean say, reaches all its users alike.

What an operation makes of its operands' sizes is found by doing it again with each operand moved a little: by `unit`,
the relative error that the dtype stands for, times its size. That shows how far the result moves, and how far each
local derivative does, also at a kink or where the first derivatives vanish.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from micrograd import Value
from viz.comparison.operations import operation

_RELATIVE = {2: 1e-2, 4: 1e-5, 8: 1e-12}
"""By the dtype's bytes, some thousand times (float16: ten times) its rounding error, to leave room for depth."""

_SATURATING = {"tanh", "sigmoid"}
_SATURATED = 0.1
"""The least size of these functions' local derivatives: 1 - t*t where t is nearly 1 has lost its digits."""

_SLACK = 4.0
"""How many times the distance that was found between the engines' data is taken for their error."""


def defaults(dtypes: Iterable[np.dtype]) -> tuple[float, float]:
    """(rtol, atol) for a computation in which these dtypes take part: those of the least precise float.

    atol is the least number that the dtype holds with all its digits.
    """
    floats = [dtype for dtype in dtypes if dtype.kind == "f"] or [np.dtype(np.float64)]
    least = min(floats, key=lambda dtype: dtype.itemsize)
    return _RELATIVE.get(least.itemsize, 1e-12), float(np.finfo(least).tiny)


@dataclass(frozen=True)
class Sizes:
    """The sizes of the nodes' data, and what they mean for the local derivatives.

    expected  of the data, as it follows from the operands: what the engines' data may be apart is relative to it
    known     the same, or less where both engines' data are at hand and lie closer: what follows is judged by that
    slopes    how far the local derivatives move with the operands, in units, for nodes where they do
    """

    expected: dict[Value, float]
    known: dict[Value, float]
    slopes: dict[Value, Sequence[float]]


def forward_sizes(order: Sequence[Value], unit: float, apart: Mapping[Value, float] | None = None) -> Sizes:
    """The sizes of each node's data, and of the errors of its local derivatives. `order` has parents before children.

    apart  how far the engines' data are apart, for nodes where that is known
    """
    sizes = Sizes({}, {}, {})
    apart = apart or {}
    for node in order:
        moved, slopes = _moves(node, sizes.known, unit)
        if slopes:
            sizes.slopes[node] = slopes
        size = abs(node.data)
        expected = sizes.expected[node] = max(size, moved)
        found = apart.get(node, math.inf)
        sizes.known[node] = max(size, min(expected, _SLACK * found / unit)) if math.isfinite(found) else expected
    return sizes


def backward_sizes(
    order: Sequence[Value], seed: float, gradients: Mapping[Value, float], sizes: Sizes, unit: float
) -> dict[Value, float]:
    """The size of each node's gradient. The root is last in `order`.

    A contribution is a local derivative times a gradient. It errs by the error of either times the other's number;
    where both numbers are lost in cancellation, by the product of the errors.
    """
    found = dict.fromkeys(order, 0.0)
    found[order[-1]] = abs(seed)
    for node in reversed(order):
        size, slopes = found[node], sizes.slopes.get(node)
        for slot, (parent, slope) in enumerate(zip(node._prev, node._local or (), strict=False)):
            sent = abs(slope * size)
            if slopes is not None:
                sent = math.hypot(sent, slopes[slot] * gradients[node], unit * slopes[slot] * size)
            found[parent] += sent  # not in quadrature: errors of one operand (a mean, say) reach many users alike
    return found


# -- what an operation makes of its operands' sizes --------------------------------------------------------------------

_STRAIGHT = {"+", "-", "neg"}
"""Operations whose local derivatives do not depend on the data."""

Moves = tuple[float, Sequence[float]]
"""How far a result and its local derivatives move with the operands, in units; no derivatives where these are fixed."""


def _moves(node: Value, sizes: Mapping[Value, float], unit: float) -> Moves:
    local = node._local or ()
    by = [sizes[parent] for parent in node._prev]
    again = None if node._op in _STRAIGHT else operation(node._op, len(local))
    if again is None:
        return sum(abs(slope * size) for slope, size in zip(local, by, strict=True)), ()
    if node._op == "*":  # as below, but half of all nodes may be products
        return math.hypot(local[0] * by[0], local[1] * by[1], unit * by[0] * by[1]), (by[1], by[0])
    data, slopes = 0.0, [_SATURATED if node._op in _SATURATING else 0.0] * len(local)
    numbers = [parent.data for parent in node._prev]
    here = again(*map(Value, numbers))
    for slot, size in enumerate(by):
        moved = [
            again(*map(Value, (*numbers[:slot], numbers[slot] + step, *numbers[slot + 1 :])))
            for step in (unit * size, -unit * size)
        ]
        data = math.hypot(data, _farthest(here.data, [m.data for m in moved]) / unit)
        for i, slope in enumerate(here._local):
            slopes[i] = math.hypot(slopes[i], _farthest(slope, [m._local[i] for m in moved]) / unit)
    return data, slopes


def _farthest(x: float, others: Sequence[float]) -> float:
    """The largest distance from x; inf and nan do not count."""
    return max((abs(x - y) for y in others if math.isfinite(x - y)), default=0.0)


# -- numbers that are the same -----------------------------------------------------------------------------------------


def close(a: np.ndarray, b: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Where a and b are the same: both nan, the same infinity, or at most `allowed` apart."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(a - b) <= allowed
    return near | (a == b) | (np.isnan(a) & np.isnan(b))


def allowance(a: np.ndarray, b: np.ndarray, size: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """atol + rtol times the largest of |a|, |b| and the size, where these are finite."""
    candidates = np.stack([np.abs(a), np.abs(b), size])
    largest = np.where(np.isfinite(candidates), candidates, 0.0).max(axis=0)
    return atol + rtol * largest
