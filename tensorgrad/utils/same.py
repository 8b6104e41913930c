"""Whether two runs of a block did the same: known by a few numbers of each result, and by the operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from micrograd.backprop import topological_order
from tensorgrad import lift
from tensorgrad.tensor import Tensor


class CheckpointError(RuntimeError):
    """The second run of a checkpointed block did something else than the first."""


_COUNT = 512
"""Elements of a result that are compared. Two draws of a dropout differ in most of them."""


def sample(a: np.ndarray) -> np.ndarray:
    """At most about 512 elements from all over `a`, as float64."""
    step = a.size // _COUNT | 1  # odd, so that it does not stay in one column
    return lift.numbers(a.flat[::step]).astype(np.float64)


def agrees(a: np.ndarray, kept: np.ndarray) -> bool:
    """Whether `kept` is the sample of `a`, but for rounding, which may differ with the addresses of arrays."""
    finite = kept[np.isfinite(kept)]
    allowed = np.sqrt(np.finfo(a.dtype).eps) * np.abs(finite).mean() if finite.size else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        return not (np.abs(sample(a) - kept) > allowed).any()  # nan agrees with everything


def operations(results: Sequence[Tensor], start: int) -> list[str]:
    """The operations that led to `results` since `start`, in the order of the graph."""
    order: dict[Any, None] = dict.fromkeys(x for root in results for x in topological_order(root))
    return [f"{x._op} {x._data.shape}" for x in order if x._prev and x._time >= start]


def first_difference(first: Sequence[str], second: Sequence[str]) -> str:
    """Where two lists of operations part, in words; "" where they do not."""
    for i in range(max(len(first), len(second))):
        a, b = (run[i] if i < len(run) else "nothing" for run in (first, second))
        if a != b:
            return f"operation {i + 1} was {a} in the first run and is {b} in the second"
    return ""
