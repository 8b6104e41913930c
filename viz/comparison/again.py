"""A graph of Tensors done again from the graph alone, where no operation in it took further arguments.

A recorded graph needs none of this, see `recording`. Of one that is not, a product or a tanh says all by its name, and
a sum to a single number can only be the sum of everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, matmul, methodcaller
from typing import Any

from micrograd.backprop import topological_order
from tensorgrad import Tensor, maximum, minimum
from viz.comparison.operations import operation
from viz.comparison.recording import program_from
from viz.errors import UserError

_OF_TWO: dict[str, Callable[..., Any]] = {"@": matmul, "maximum": maximum, "minimum": minimum}
_OF_ONE: dict[str, Callable[..., Any]] = {"relu": methodcaller("relu"), "T": attrgetter("T")}
_OF_ALL: dict[str, Callable[..., Any]] = {"sum": methodcaller("sum"), "mean": methodcaller("mean")}


def program_again(root: Tensor) -> Callable[..., Tensor]:
    """A program of the graph's leaves (its attribute `leaves`) that makes `root` anew.

    Raises UserError for a graph that was not recorded and has an operation that says too little by its name, and for
    an operation of the user's own.
    """
    try:
        return program_from(root)
    except UserError:
        try:
            return _PlainProgram(topological_order(root))
        except _UnknownError:
            pass
        raise


class _UnknownError(Exception):
    """An operation that the graph alone does not say all about."""


class _PlainProgram:
    """The operations of a graph by their names alone."""

    def __init__(self, order: Sequence[Tensor]) -> None:
        place = {t: i for i, t in enumerate(order)}
        self._order = tuple(order)
        self._steps = [(_operation(t), [place[p] for p in t._prev]) if t._prev else None for t in order]
        self.leaves = tuple(t for t in order if not t._prev and t.requires_grad)

    def __call__(self, *leaves: Tensor) -> Tensor:
        given = dict(zip(self.leaves, leaves, strict=True))
        results: list[Tensor] = []
        for t, step in zip(self._order, self._steps, strict=True):
            if step is None:
                results.append(given.get(t, t))
            else:
                do, operands = step
                results.append(do(*(results[i] for i in operands)))
        return results[-1]


def _operation(t: Tensor) -> Callable[..., Any]:
    if t._closure is not None or t._rules is None:
        raise _UnknownError
    if t._op == "reshape" and len(t._prev) == 1:
        return methodcaller("reshape", t.shape)
    if t._op == "T" and t.data.ndim != 2:
        raise _UnknownError
    known = {1: _OF_ONE, 2: _OF_TWO}.get(len(t._prev), {}).get(t._op) or operation(t._op, len(t._prev))
    if known is None and len(t._prev) == 1 and t.shape == ():
        known = _OF_ALL.get(t._op)
    if known is None:
        raise _UnknownError
    return known
