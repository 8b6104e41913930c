"""A graph done again on other leaves: what finite differences need. Nothing of the user's is changed by it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import matmul, methodcaller
from typing import Any

import numpy as np

import tensorgrad
from micrograd import Value
from micrograd.backprop import Node
from tensorgrad import Tensor
from viz.comparison.operations import operation
from viz.comparison.recording import program_from
from viz.errors import UserError

Again = Callable[[dict[Node, Any]], Any]
"""From the data of leaves, as floats or arrays of float64, to the root's data; other leaves keep their own."""

RECORD = "make the graph inside `with viz.recording():`"
_NARROW = ("to float32", "to float16")
_OF_TENSORS = {"relu": methodcaller("relu"), "T": lambda x: x.T}
_TO_A_NUMBER = {"sum": methodcaller("sum"), "mean": methodcaller("mean")}


def again(root: Node, order: Sequence[Node]) -> Again:
    """How to do the graph of `root` again, in float64. `order` is its nodes, topologically.

    Raises UserError, with a reason for a reader of the page, where that is not known.
    """
    if isinstance(root, Tensor):
        if any(node._op in _NARROW for node in order):
            raise UserError("the graph casts to a narrower dtype, and differences need float64")
        try:
            return _recorded(root)
        except UserError:
            pass
    return _by_operation(order)


# -- by the calls that were recorded -----------------------------------------------------------------------------------


def _recorded(root: Tensor) -> Again:
    program = program_from(root)
    nodes = [node for node in program._order if node in program._needed and node._prev]
    calls = [node._made_by for node in nodes]

    def run(given: dict[Node, Any]) -> Any:
        made: dict[Tensor, Tensor] = {leaf: _wide(given.get(leaf, leaf._data)) for leaf in program.leaves}
        results: dict[Any, Any] = {}
        for node, (call, place) in zip(nodes, calls, strict=True):
            if call not in results:
                results[call] = call.function(*_copied(call.args, made), **_copied(call.kwargs, made))
            made[node] = results[call] if place is None else results[call][place]
        return made[root].data

    return run


def _copied(thing: Any, made: dict[Tensor, Tensor]) -> Any:
    """Arguments anew, in float64: an operation may write to them (running statistics) or draw from them."""
    if isinstance(thing, Tensor):
        return made[thing] if thing in made else _wide(thing._data)
    if isinstance(thing, np.ndarray):
        return _widened(thing)
    if isinstance(thing, (tensorgrad.Generator, np.random.Generator)):
        return copy.deepcopy(thing)
    if type(thing) in (tuple, list):
        return type(thing)(_copied(part, made) for part in thing)
    if type(thing) is dict:
        return {key: _copied(part, made) for key, part in thing.items()}
    return thing


def _wide(data: Any) -> Tensor:
    data = _widened(np.asarray(data))
    return Tensor(data, dtype=data.dtype)


def _widened(data: np.ndarray) -> np.ndarray:
    return data.astype(np.float64) if data.dtype.kind == "f" else data.copy()


# -- by the names of the operations ------------------------------------------------------------------------------------


def _by_operation(order: Sequence[Node]) -> Again:
    place = {node: i for i, node in enumerate(order)}
    steps = [(_operation(node), [place[parent] for parent in node._prev]) if node._prev else None for node in order]

    def run(given: dict[Node, Any]) -> Any:
        results: list[Any] = []
        for node, step in zip(order, steps, strict=True):
            if step is None:
                x = given.get(node, node.data)
                results.append(Value(float(x)) if isinstance(node, Value) else _wide(x))
            else:
                do, operands = step
                results.append(do(*(results[i] for i in operands)))
        return results[-1].data

    return run


def _operation(node: Node) -> Callable[..., Any]:
    op, count = str(node._op or ""), len(node._prev)
    ours = node._local is not None if isinstance(node, Value) else isinstance(node, Tensor) and node._rules is not None
    if node._closure is not None or not ours:
        raise UserError(f"{op!r} is an operation of your own, which the page cannot do again")
    known = operation(op, count)
    if known is None and isinstance(node, Tensor):
        known = matmul if op == "@" else _OF_TENSORS.get(op) if count == 1 else None
        if known is None and count == 1 and not np.shape(node.data):
            known = _TO_A_NUMBER.get(op)
    if known is None:
        own = isinstance(node, Value)
        raise UserError(f"how {op!r} was called is not known" + ("" if own else f": {RECORD}"))
    return known


# -- without a trace ---------------------------------------------------------------------------------------------------


@contextmanager
def undisturbed() -> Iterator[None]:
    """Inside the `with` nothing is recorded; afterwards the random numbers go on as if nothing had happened."""
    state = tensorgrad.get_rng_state()
    try:
        with tensorgrad.no_grad(), np.errstate(all="ignore"):
            yield
    finally:
        tensorgrad.set_rng_state(state)
