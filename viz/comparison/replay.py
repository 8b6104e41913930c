"""Comparing a graph that exists already: its operations are done again, on Tensors and on Values.

A Value says all about itself: its operation's name and its operands. A Tensor's operation may have had arguments (an
axis, an index) that are not in the graph; `recording` remembers them while a user's file runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import add, methodcaller, mul, neg, pow, sub, truediv
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node, topological_order
from tensorgrad import Tensor
from viz.compare import compare, compare_pair, with_references
from viz.comparison.lifted import Pair, Repeatable, seed_of
from viz.comparison.recording import program_from, recording
from viz.comparison.result import Comparison
from viz.errors import UserError
from viz.graph import check_node
from viz.names import caller_namespace, find_names, name_all

__all__ = ["compare_graph", "program_from", "recording"]

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": truediv,
    "**": pow,
    "neg": neg,
    "abs": abs,
    "ReLU": methodcaller("relu"),
} | {name: methodcaller(name) for name in ("tanh", "sigmoid", "exp", "log", "sqrt", "sin", "cos")}
"""The operations of `Value`, as operators and methods that a Tensor, and a tensor of torch's, has as well."""

_NO_TORCH = (
    "no gradients by torch: these Tensors were made by tensorgrad's functions, which torch's tensors do not take"
)
_CHANGED = (
    "data differ, perhaps because some were changed after the graph was made (by a training step, say): compare the "
    "graph before that, or make it anew"
)


def compare_graph(
    root: Node,
    *,
    gradient: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    names: Mapping[str, Any] | None = None,
    torch: bool = False,
    finite_differences: bool = True,
) -> Comparison:
    """Compare the graph below `root` with the same graph in the other engine. Arguments as for `compare`.

    A graph of Values is built again on 0-d Tensors, one for one. A graph of Tensors is run again and lifted: it must
    have been made inside `with recording():`.

    Raises UserError for an operation that cannot be done again: one of the user's own, or one that was not recorded.
    """
    check_node(root)
    namespace = caller_namespace() if names is None else names
    if isinstance(root, Tensor):
        program = program_from(root, find_names(namespace))
        comparison = compare(
            program,
            *program.leaves,
            gradient=gradient,
            rtol=rtol,
            atol=atol,
            names=namespace,
            finite_differences=finite_differences,
        )
        return replace(comparison, notes=(*comparison.notes, _NO_TORCH)) if torch else comparison
    order = topological_order(root)
    called = name_all(order, find_names(namespace))
    program = _ScalarProgram(order, called)
    leaves = [Tensor(x.data, dtype=np.float64, requires_grad=x.requires_grad) for x in order if not x._prev]
    pair = _pair(order, called, program.run(leaves), gradient)
    comparison = compare_pair(pair, dict(zip(pair.tensors, called, strict=True)), rtol=rtol, atol=atol)
    if not all(node.value_matches.all() for node in comparison.nodes):
        comparison = replace(comparison, notes=(_CHANGED,))
    return with_references(comparison, Repeatable(program, leaves), torch=torch, differences=finite_differences)


class _ScalarProgram:
    """The operations that made a graph of Values, to be done on other operands: one for each leaf, in their order."""

    def __init__(self, order: Sequence[Value], called: Sequence[str]) -> None:
        place = {node: i for i, node in enumerate(order)}
        self._steps = [
            (_operation(node, name), [place[parent] for parent in node._prev]) if node._prev else None
            for node, name in zip(order, called, strict=True)
        ]

    def __call__(self, *leaves: Any) -> Any:
        return self.run(leaves)[-1]

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """Every node's result."""
        remaining = iter(leaves)
        results: list[Any] = []
        for step in self._steps:
            if step is None:
                results.append(next(remaining))
            else:
                operation, operands = step
                results.append(operation(*(results[i] for i in operands)))
        return results


def _operation(node: Value, name: str) -> Callable[..., Any]:
    """What made `node`. Raises UserError if that is no operation of this package's."""
    if node._closure is None:
        if node._op in _OPERATIONS:
            return _OPERATIONS[node._op]
        if node._op.startswith("**"):
            exponent = _number(node._op[2:])
            if exponent is not None:
                return lambda x: x**exponent
    raise UserError(
        f"compare: {name} was made by {node._op!r}, whose rule is not micrograd's own, so it cannot be done again on "
        "Tensors: write it with micrograd's operations"
    )


def _number(text: str) -> int | float | None:
    """The exponent that an operation's name spells: 2, 0.5, 1e-05, 1/3."""
    for read in (int, float, Fraction):
        try:
            number = read(text)
        except (ValueError, ZeroDivisionError):
            continue
        return number if isinstance(number, int) else float(number)
    return None


def _pair(order: Sequence[Value], called: Sequence[str], tensors: Sequence[Tensor], gradient: Any) -> Pair:
    """The given Values beside the Tensors that stand for them, node for node."""
    for t, name in zip(tensors, called, strict=True):
        t.label = name
    leaves = tuple(t for t, node in zip(tensors, order, strict=True) if not node._prev and t.requires_grad)
    return Pair(tuple(tensors), tuple(map(_alone, order)), leaves, seed_of(tensors[-1], gradient), order[-1])


def _alone(node: Value) -> np.ndarray:
    array = np.empty((), dtype=object)
    array[()] = node
    return array
