"""A graph of Tensors that exists, done again without a trace: nothing that the user holds is written to.

A recorded graph says all about itself, see `recording`. Of one that is not, a product or a tanh says all by its name,
and a sum to a single number can only be the sum of everything.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter, matmul, methodcaller
from typing import Any

import numpy as np

from micrograd.backprop import topological_order
from tensorgrad import Generator, Tensor, get_rng_state, maximum, minimum, set_rng_state
from viz.comparison.operations import operation
from viz.comparison.recording import Call, RecordedProgram, program_from
from viz.errors import UserError

_OF_TWO: dict[str, Callable[..., Any]] = {"@": matmul, "maximum": maximum, "minimum": minimum}
_OF_ONE: dict[str, Callable[..., Any]] = {"relu": methodcaller("relu"), "T": attrgetter("T")}
_OF_ALL: dict[str, Callable[..., Any]] = {"sum": methodcaller("sum"), "mean": methodcaller("mean")}


Form = Callable[[np.ndarray], np.ndarray]
"""What an array becomes that is not a leaf's: a copy, at least, since the operation may write to it."""


def program_again(root: Tensor, form: Form = np.copy) -> _Recorded | _PlainProgram:
    """A program of the graph's leaves (its attribute `leaves`) that makes `root` anew.

    form  what the other arrays become: constants, and arguments that are arrays

    Raises UserError for a graph that was not recorded and has an operation that says too little by its name, and for
    an operation of the user's own.
    """
    try:
        return _Recorded(program_from(root), form)
    except UserError:
        try:
            return _PlainProgram(topological_order(root), form)
        except _UnknownError:
            pass
        raise


def reason(error: UserError) -> str:
    """Why a graph cannot be done again, as a remark on a page: what `viz.compare` raises as an error."""
    message = str(error).removeprefix("compare: ")
    if message.startswith("how the operation"):
        name = message.split(" was called")[0].removeprefix("how the operation ")
        return f"how {name} was called is not known: make the graph inside `with viz.recording():`"
    return message


@contextmanager
def generators_kept() -> Iterator[None]:
    """After the `with`, random numbers go on as if nothing had drawn any inside it."""
    states = random.getstate(), np.random.get_state(), get_rng_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        set_rng_state(states[2])


# -- by the calls that were recorded -----------------------------------------------------------------------------------


class _Recorded:
    """The recorded calls that made a graph, each with arguments of its own: a call may write to them, as a
    normalization does to its running statistics, or draw from them."""

    def __init__(self, program: RecordedProgram, form: Form) -> None:
        self._form = form
        self.leaves = program.leaves
        self._made = [(node, *node._made_by) for node in program._order if node._prev and node in program._needed]

    def __call__(self, *leaves: Tensor) -> Tensor:
        made = dict(zip(self.leaves, leaves, strict=True))
        results: dict[Call, Any] = {}
        for node, call, place in self._made:
            if call not in results:
                results[call] = call.function(*self._own(call.args, made), **self._own(call.kwargs, made))
            made[node] = results[call] if place is None else results[call][place]
        return made[self._made[-1][0]] if self._made else leaves[-1]

    def _own(self, thing: Any, made: dict[Tensor, Tensor]) -> Any:
        """Nested arguments with what was made anew in them, and copies of all else that can be written to."""
        if isinstance(thing, Tensor):
            if thing not in made:
                made[thing] = _constant(thing, self._form)
            return made[thing]
        if isinstance(thing, np.ndarray):
            return self._form(thing)
        if isinstance(thing, (Generator, np.random.Generator)):
            return copy.deepcopy(thing)
        if type(thing) in (tuple, list):
            return type(thing)(self._own(part, made) for part in thing)
        if type(thing) is dict:
            return {key: self._own(part, made) for key, part in thing.items()}
        return thing


def _constant(t: Tensor, form: Form) -> Tensor:
    data = form(t.data)
    return Tensor(data, dtype=data.dtype, label=t.label)


# -- by the names of the operations ------------------------------------------------------------------------------------


class _UnknownError(Exception):
    """An operation that the graph alone does not say all about."""


class _PlainProgram:
    """The operations of a graph by their names alone."""

    def __init__(self, order: Sequence[Tensor], form: Form) -> None:
        self._form = form
        place = {t: i for i, t in enumerate(order)}
        self._order = tuple(order)
        self._steps = [(_operation(t), [place[p] for p in t._prev]) if t._prev else None for t in order]
        self.leaves = tuple(t for t in order if not t._prev and t.requires_grad)

    def __call__(self, *leaves: Tensor) -> Tensor:
        given = dict(zip(self.leaves, leaves, strict=True))
        results: list[Tensor] = []
        for t, step in zip(self._order, self._steps, strict=True):
            if step is None:
                results.append(given[t] if t in given else _constant(t, self._form))
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
