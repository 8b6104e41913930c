"""Running a tensor program on arrays of scalar nodes.

NumPy's operations on an array of dtype object call the operators of its elements. So a tensor program whose leaves
hold `micrograd.Value`s builds, while it runs, the scalar graph of the same computation, and each Tensor's `data` is
the array of the scalar nodes that it stands for. `viz.compare` is made of that.

This package does not know `Value`: who lifts passes in a `Lifter`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd.backprop import Node


@dataclass(frozen=True)
class Lifter:
    """How scalar nodes are made: `constant(number)` a leaf that takes no gradient, `copy(node, op)` a node that
    passes its gradient on to `node` unchanged."""

    constant: Callable[[float], Node]
    copy: Callable[[Node, str], Node]


_lifter: ContextVar[Lifter | None] = ContextVar("lifter", default=None)


@contextmanager
def lifting(lifter: Lifter) -> Iterator[None]:
    """Let tensors hold arrays of scalar nodes inside the `with`."""
    token = _lifter.set(lifter)
    try:
        yield
    finally:
        _lifter.reset(token)


def active() -> bool:
    """Whether a lift is going on."""
    return _lifter.get() is not None


def numbers(data: np.ndarray) -> np.ndarray:
    """The plain numbers of an array, of floats or of scalar nodes."""
    if data.dtype != object:
        return data
    out = np.empty(data.shape)
    for i, x in np.ndenumerate(data):
        out[i] = x.data if isinstance(x, Node) else x
    return out


def plain_list(x: Any) -> Any:
    """A nested list with the arrays in place of the Tensors in it."""
    if isinstance(x, (list, tuple)):
        return [plain_list(element) for element in x]
    return x.data if isinstance(x, Node) and isinstance(x.data, np.ndarray) else x


def constant(x: Any) -> np.ndarray:
    """An array of new scalar leaves with the numbers of `x`: a lifted tensor made from data is cut from its past."""
    lifter = _lifter.get()
    if lifter is None:
        raise TypeError(
            "a Tensor is made from numbers, not from Values: take their .data, or use viz.compare, which runs a "
            "tensor program on Values"
        )
    array = np.asarray(x, dtype=object)
    out = np.empty(array.shape, dtype=object)
    for i, number in np.ndenumerate(numbers(array)):
        out[i] = lifter.constant(float(number))
    return out


def own(op: str, data: np.ndarray, operands: list[np.ndarray], tracked: bool) -> np.ndarray:
    """`data` with a scalar node of its own in every place.

    Indexing, reshaping, concatenating and the like hand on their operands' nodes, and would mix the paths of two
    tensors in one node; numbers that an operation put among the nodes become constants. Untracked results are cut
    off from what they were made of.
    """
    lifter = _lifter.get()
    if lifter is None:
        raise TypeError(f"{op}: the operands hold Python objects; a Tensor computes with numbers")
    if not tracked:
        return constant(data)
    taken = {id(x) for array in operands if array.dtype == object for x in array.flat}
    out = np.empty(data.shape, dtype=object)
    for i, x in np.ndenumerate(data):
        if not isinstance(x, Node):
            x = lifter.constant(float(x))
        elif id(x) in taken:
            x = lifter.copy(x, op)
        taken.add(id(x))
        out[i] = x
    return out
