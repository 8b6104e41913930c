"""Running a tensor program on arrays of scalar nodes.

NumPy's operations on an array of dtype object call the operators of its elements. So a tensor program whose leaves
hold `micrograd.Value`s builds, while it runs, the scalar graph of the same computation, and the data of each Tensor
that takes a gradient is the array of the scalar nodes that it stands for. A constant stays an array of numbers.
`viz.compare` is made of that.

This package does not know `Value`: who lifts passes in a `Lifter`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd.backprop import Node


@dataclass(frozen=True)
class Lifter:
    """How scalar nodes are made: `leaf(number)` one that takes a gradient, `constant(number)` one that takes none,
    `copy(node, op)` one that passes its gradient on to `node` unchanged, `function(node, op, number, slope)` the result
    of a function of `node` that the scalar engine does not have, from its value and its derivative."""

    leaf: Callable[[float], Node]
    constant: Callable[[float], Node]
    copy: Callable[[Node, str], Node]
    function: Callable[[Node, str, float, float], Node]


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
    """The numbers of scalar nodes: a tensor made from the data of a lifted one is a constant, cut from its past."""
    if not active():
        raise TypeError(
            "a Tensor is made from numbers, not from Values: take their .data, or use viz.compare, which runs a "
            "tensor program on Values"
        )
    return numbers(np.asarray(x, dtype=object))


def leaves(data: np.ndarray) -> np.ndarray:
    """A new scalar leaf for each number, for a tensor that is to take a gradient."""
    return _nodes(numbers(data), _current("a leaf").leaf)


def nodes(data: Any) -> np.ndarray:
    """`data` with the plain numbers in it made scalar constants, e.g. the 0 that NumPy gives as the sum of nothing."""
    return _nodes(np.asarray(data, dtype=object), _current("a constant").constant)


def mapped(
    op: str, data: np.ndarray, value: Callable[[float], float], derivative: Callable[[float], float]
) -> np.ndarray:
    """A function of one number on each scalar node in `data`, for functions that the scalar engine does not have and
    that are not made of its own (erf, atan, floor)."""
    make = _current(op).function
    out = np.empty(data.shape, dtype=object)
    for i, x in np.ndenumerate(data):
        out[i] = make(x, op, value(x.data), derivative(x.data)) if isinstance(x, Node) else value(x)
    return out


def own(op: str, data: np.ndarray, operands: Sequence[np.ndarray], tracked: bool) -> np.ndarray:
    """`data` with a scalar node of its own in every place; of a result that is not tracked, the numbers.

    Indexing, reshaping, concatenating and the like hand on their operands' nodes, and would mix the paths of two
    tensors in one node; numbers that an operation put among the nodes become constants.
    """
    lifter = _current(op)
    if not tracked:
        return numbers(data)
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


def own_result(op: str, data: Any, operands: Sequence[np.ndarray]) -> np.ndarray:
    """The data of a tensor that user code makes with operands of its own choice, computed from their `.data`.

    Raises TypeError where it was computed from plain numbers: then no scalar graph leads back to the operands.
    """
    array = np.asarray(data, dtype=object)
    if array.size and not any(isinstance(x, Node) for x in array.flat):
        raise TypeError(
            f"{op or 'a tensor'}: its data was computed from plain numbers, so it cannot be followed on Values: "
            "compute it from its operands' .data with NumPy's functions, without float() and .item()"
        )
    return own(op, array, operands, True)


def _nodes(data: np.ndarray, make: Callable[[float], Node]) -> np.ndarray:
    out = np.empty(data.shape, dtype=object)
    for i, x in np.ndenumerate(data):
        out[i] = x if isinstance(x, Node) else make(float(x))
    return out


def _current(op: str) -> Lifter:
    lifter = _lifter.get()
    if lifter is None:
        raise TypeError(f"{op}: the operands hold Python objects; a Tensor computes with numbers")
    return lifter
