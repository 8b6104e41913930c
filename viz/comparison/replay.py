"""A graph of Values that exists already, built again on Tensors: its operations are done once more, one for one.

A Value says all about itself: its operation's name and its operands. A Tensor does not, see `recording`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node, topological_order
from tensorgrad import Tensor
from viz.comparison.lifted import Pair, Repeatable, seed_of
from viz.comparison.operations import operation
from viz.errors import TooLargeError, UserError
from viz.names import find_names, name_all


def rebuild(
    root: Value, namespace: Mapping[str, Any], gradient: Any, *, most: int
) -> tuple[Repeatable, Pair, dict[Node, str]]:
    """The graph of Values below `root` and the same on Tensors: as a program on its leaves, as a pair, and with the
    namespace's names for the Tensors.

    Raises UserError for an operation that cannot be done again, TooLargeError for more than `most` nodes.
    """
    order = topological_order(root)
    if len(order) > most:
        raise TooLargeError(f"compare: the graph has {len(order):,} nodes, more than {most:,}: raise max_scalars")
    found = find_names(namespace)
    program = _ScalarProgram(order, name_all(order, found))
    leaves = [Tensor(x.data, dtype=np.float64, requires_grad=x.requires_grad) for x in order if not x._prev]
    tensors = program.run(leaves)
    given = {}
    for t, node in zip(tensors, order, strict=True):
        t.label = node.label or found.get(node, "")
        if t.label:
            given[t] = t.label
    return Repeatable(program, leaves), _pair(order, tensors, gradient), given


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
                do, operands = step
                results.append(do(*(results[i] for i in operands)))
        return results


def _operation(node: Value, name: str) -> Callable[..., Any]:
    """What made `node`. Raises UserError if that is no operation of this package's."""
    known = operation(str(node._op or ""), len(node._prev))
    if known is not None and node._closure is None and node._local is not None:
        return known
    raise UserError(
        f"compare: {name} was made by {node._op!r}, whose rule is not micrograd's own, so it cannot be done again on "
        "Tensors: write it with micrograd's operations"
    )


def _pair(order: Sequence[Value], tensors: Sequence[Tensor], gradient: Any) -> Pair:
    """The given Values beside the Tensors that stand for them, node for node."""
    leaves = tuple(t for t, node in zip(tensors, order, strict=True) if not node._prev and t.requires_grad)
    return Pair(tuple(tensors), tuple(map(_alone, order)), leaves, seed_of(tensors[-1], gradient), order[-1])


def _alone(node: Value) -> np.ndarray:
    array = np.empty((), dtype=object)
    array[()] = node
    return array
