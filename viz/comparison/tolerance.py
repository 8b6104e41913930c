"""How far two correct computations of the same number may lie apart.

Rounding errs in proportion to the numbers that were added up and multiplied, not to what is left of them: the
difference of two millions that is 0.001 is known to ten digits less than each of them. So with each result goes a
*size*: how large it would be if nothing cancelled, errors adding up in quadrature as independent ones do. A tolerance
is relative to the size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from micrograd import Value

_RELATIVE = {2: 1e-2, 4: 1e-5, 8: 1e-12}
"""By the dtype's bytes, some thousand times (float16: ten times) its rounding error, to leave room for depth."""

_SATURATED = 0.1
"""The least size of the local derivatives of tanh and sigmoid: 1 - t*t where t is nearly 1 has lost its digits."""


def defaults(dtypes: Iterable[np.dtype]) -> tuple[float, float]:
    """(rtol, atol) for a computation in which these dtypes take part: those of the least precise float.

    atol is the least number that the dtype holds with all its digits.
    """
    floats = [dtype for dtype in dtypes if dtype.kind == "f"] or [np.dtype(np.float64)]
    least = min(floats, key=lambda dtype: dtype.itemsize)
    return _RELATIVE.get(least.itemsize, 1e-12), float(np.finfo(least).tiny)


def forward_sizes(order: Sequence[Value]) -> dict[Value, float]:
    """The size of each node's data. `order` has parents before children."""
    sizes: dict[Value, float] = {}
    for node in order:
        parts = [d * sizes[parent] for d, parent in zip(node._local or (), node._prev, strict=False)]
        sizes[node] = max(abs(node.data), math.hypot(*parts))
    return sizes


def backward_sizes(
    root: Value, seed: float, order: Sequence[Value], sizes: Mapping[Value, float]
) -> dict[Value, float]:
    """The size of each node's gradient; `sizes` are those of the data."""
    found = dict.fromkeys(order, 0.0)
    found[root] = abs(seed)
    for node in reversed(order):
        for slot, parent in enumerate(node._prev):
            found[parent] = math.hypot(found[parent], _rule_size(node, slot, sizes) * found[node])
    return found


def _rule_size(node: Value, slot: int, sizes: Mapping[Value, float]) -> float:
    """The size of d(node)/d(operand): where that is made of data in which something cancelled, of what did."""
    if node._op == "*":
        return sizes[node._prev[1 - slot]]
    if node._op == "**2":
        return 2.0 * sizes[node._prev[0]]
    size = abs(node._local[slot])
    return max(size, _SATURATED) if node._op in ("tanh", "sigmoid") else size


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
