"""Remembering how tensors were made: which function of tensorgrad's was called with which arguments.

The graph holds what a backward pass needs, and an axis or an index stands in no field of it. So while a user's file
runs, Python's profiling hook notes each call of an operation. It costs nothing when it is off, and the operations
need to know nothing of it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from micrograd.backprop import topological_order
from tensorgrad import Tensor
from viz.errors import UserError

_FIELD = "_made_by"  # where a tensor keeps (the call that made it, its place among the results or None)


@dataclass(frozen=True, eq=False)
class Call:
    """One call of an operation: the function, and its arguments by position and by name."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@contextmanager
def recording() -> Iterator[None]:
    """Remember, for each tensor that an operation makes inside the `with`, the call that made it.

    A profiler that is running is set aside for so long.
    """
    before = sys.getprofile()
    sys.setprofile(_Recorder())
    try:
        yield
    finally:
        sys.setprofile(before)


class _Recorder:
    """A profiling hook that notes the outermost calls of operations: what these call themselves is part of them."""

    def __init__(self) -> None:
        self._functions = {id(code): function for code, function in _operations()}
        self._frame: FrameType | None = None
        self._call: Call | None = None

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            if self._frame is None and id(frame.f_code) in self._functions:
                self._frame = frame
                self._call = _call(self._functions[id(frame.f_code)], frame)
        elif event == "return" and frame is self._frame:
            _remember(self._call, arg)
            self._frame = self._call = None


def _operations() -> Iterator[tuple[CodeType, FunctionType]]:
    """The public functions of tensorgrad's that make tensors, each with the code that runs when it is called."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tensorgrad.ops.") or name == "tensorgrad.nn.functional":
            for public, function in list(vars(module).items()):
                if isinstance(function, FunctionType) and not public.startswith("_") and function.__module__ == name:
                    yield inspect.unwrap(function).__code__, function


def _call(function: Callable[..., Any], frame: FrameType) -> Call:
    """The call that has just entered `frame`."""
    code, values = frame.f_code, frame.f_locals
    count, by_name = code.co_argcount, code.co_kwonlyargcount
    names = list(code.co_varnames)
    args = [values[name] for name in names[:count]]
    kwargs = {name: values[name] for name in names[count : count + by_name]}
    rest = names[count + by_name :]
    if code.co_flags & inspect.CO_VARARGS:
        args += values[rest.pop(0)]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= values[rest.pop(0)]
    return Call(function, _each(tuple(args), _itself), _each(kwargs, _itself))


def _remember(call: Call, result: Any) -> None:
    if isinstance(result, Tensor):
        setattr(result, _FIELD, (call, None))
    elif isinstance(result, (tuple, list)):
        for i, part in enumerate(result):
            if isinstance(part, Tensor):
                setattr(part, _FIELD, (call, i))


# -- running a recorded graph again ------------------------------------------------------------------------------------


class RecordedProgram:
    """The calls that made a graph, to be done again: `program(*leaves)` gives its root anew.

    leaves  the graph's leaves that require gradients
    """

    def __init__(self, root: Tensor, names: Mapping[Any, str]) -> None:
        self._names = names
        self._order = topological_order(root)
        self._needed = _needed(root)
        self.leaves = tuple(t for t in self._order if t in self._needed and not t._prev and t.requires_grad)

    def __call__(self, *leaves: Tensor) -> Tensor:
        made = dict(zip(self.leaves, leaves, strict=True))
        results: dict[Call, Any] = {}
        for node in self._order:
            if node._prev and node in self._needed:
                call, place = getattr(node, _FIELD)
                if call not in results:
                    results[call] = _do(call, made)
                made[node] = results[call] if place is None else results[call][place]
                made[node].label = node.label or self._names.get(node, "")
        return made[self._order[-1]]


def program_from(root: Tensor, names: Mapping[Any, str] | None = None) -> RecordedProgram:
    """A program that makes the graph of `root` again, which must have been made inside `with recording():`.

    names  what to call the nodes that have no label

    Raises UserError for a tensor whose making was not recorded, or is the user's own.
    """
    return RecordedProgram(root, names or {})


def _needed(root: Tensor) -> set[Tensor]:
    """What the calls that lead to `root` take and make. Inner results of a call are not among it."""
    needed = {root}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not node._prev:
            continue
        operands: list[Tensor] = []
        call = _call_that_made(node)
        _each((call.args, call.kwargs), lambda t, found=operands: found.append(t) or t)
        new = {t for t in operands if t.requires_grad} - needed
        needed |= new
        waiting += new
    return needed


def _call_that_made(node: Tensor) -> Call:
    if node._closure is not None or node._rules is None:
        raise UserError(
            f"compare: {node.label or 'a tensor'} was made by {node._op!r}, an operation of your own, which cannot be "
            "done again from the graph alone: compare a function that computes the result (file.py:function)"
        )
    if not hasattr(node, _FIELD):
        raise UserError(
            f"compare: how the operation {node._op!r} was called is not known: make the graph inside `with "
            "viz.recording():`, which knows all but checkpoint and autograd.Function, or compare a function that makes "
            "it"
        )
    return getattr(node, _FIELD)[0]


def _do(call: Call, made: Mapping[Tensor, Tensor]) -> Any:
    args, kwargs = _each((call.args, call.kwargs), lambda t: made.get(t, t))
    return call.function(*args, **kwargs)


def _itself(t: Tensor) -> Tensor:
    return t


def _each(thing: Any, change: Callable[[Tensor], Any]) -> Any:
    """A copy of nested arguments with `change` done to the Tensors in them; arrays are copied, as they may change."""
    if isinstance(thing, Tensor):
        return change(thing)
    if isinstance(thing, np.ndarray):
        return thing.copy()
    if type(thing) in (tuple, list):
        return type(thing)(_each(part, change) for part in thing)
    if type(thing) is dict:
        return {key: _each(part, change) for key, part in thing.items()}
    return thing
