"""Putting back what a program changes that runs only to be looked at."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from micrograd.backprop import Node, topological_order
from tensorgrad import Tensor
from viz.names import find_names


def leaves_of(program: Any, inputs: Iterable[Any], namespace: Mapping[str, Any]) -> list[Tensor]:
    """The leaves that a program can reach: its inputs, and those that the caller's variables lead to, or those that it
    closes over and its module's. Of a graph that exists, the graph's."""
    reached = {*find_names(namespace), *(x for x in inputs if isinstance(x, Node))}
    if isinstance(program, Node):
        reached.update(topological_order(program))
    elif inspect.isroutine(program) and hasattr(getattr(program, "__func__", program), "__code__"):
        variables = inspect.getclosurevars(program)
        values = [*variables.nonlocals.values(), *variables.globals.values(), getattr(program, "__self__", None)]
        reached.update(find_names({f"v{i}": value for i, value in enumerate(values)}))
    return [x for x in reached if isinstance(x, Tensor) and x.requires_grad and not x._prev]


@contextmanager
def leaves_kept(leaves: Iterable[Tensor]) -> Iterator[None]:
    """After the `with`, these leaves have the data and the gradient that they had before."""
    kept = [(leaf, leaf._data, leaf._data.copy(), leaf._grad, _copy(leaf._grad)) for leaf in leaves]
    try:
        yield
    finally:
        for leaf, data, numbers, grad, grad_numbers in kept:
            leaf._data, leaf._grad = data, grad
            _restore(data, numbers)
            _restore(grad, grad_numbers)


def _copy(array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else array.copy()


def _restore(array: np.ndarray | None, numbers: np.ndarray | None) -> None:
    if array is not None and not np.array_equal(array, numbers, equal_nan=True):  # it may be read-only, if unchanged
        array[...] = numbers
