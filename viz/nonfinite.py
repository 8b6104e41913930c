"""The first value of the forward pass that is nan or infinite: usually the cause of a gradient that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viz.arrays import Quantity
from viz.graph import Graph, NodeRecord
from viz.text import clip, short
from viz.told import in_line
from viz.words import local_derivative


@dataclass(frozen=True)
class NonFinite:
    """A value that is nan or infinite, and what it was computed from; printed, a sentence.

    node      the node's record
    place     the index of its first element that is so, () for a number
    value     that element
    operands  the operands' records, each once
    """

    node: NodeRecord
    place: tuple[int, ...]
    value: float
    operands: tuple[NodeRecord, ...]

    def __str__(self) -> str:
        where = f" at {list(self.place)}" if self.place else ""
        made = "; ".join(("", ", ".join(self._operand(record) for record in self.operands))) if self.operands else ""
        return f"{clip(self.node.title, 80)} is {short(self.value)}{where}{made}"

    def _operand(self, record: NodeRecord) -> str:
        """`x[2, 3] = 1e+200`: the element that it was made from where that can be told, else the whole in words."""
        name, data = clip(record.name), np.asarray(record.data)
        if data.size > 1 and self._by_elements() and data.shape == np.shape(self.node.data):
            return f"{name}{list(self.place)} = {short(data[self.place].item())}"
        return f"{name} = {in_line(record.data)}"

    def _by_elements(self) -> bool:
        """Whether each element was made from the operands' elements at its own place."""
        return local_derivative(self.node.op, 0, [record.name for record in self.operands], "") is not None


def first_nonfinite(graph: Graph) -> NonFinite | None:
    """The first value, in the order in which they were computed, that is nan or infinite; None where there is none.

    It stands in a leaf, or in a node none of whose operands is odd in the same way: no later one is the cause of it. An
    infinity in a constant is meant, as in the mask of an attention, and so is what carries it on.
    """
    odd = {node.key: _kinds(node.data) for node in graph.nodes}
    for node in graph.nodes:
        new = odd[node.key].difference(*(odd[key] for key in node.parents))
        if node.is_leaf and not node.requires_grad:
            new = new - {"inf"}
        if new:
            place = _place(node.data, new)
            keys: Sequence[str] = tuple(dict.fromkeys(node.parents))
            value = float(np.asarray(node.data)[place])
            return NonFinite(node, place, value, tuple(graph[key] for key in keys))
    return None


def _kinds(data: Quantity) -> frozenset[str]:
    """Which of "nan" and "inf" are among the elements."""
    array = np.asarray(data)
    return frozenset(name for name, test in _TESTS.items() if test(array).any())


def _place(data: Quantity, kinds: frozenset[str]) -> tuple[int, ...]:
    """The index of the first element of one of these kinds."""
    array = np.asarray(data)
    odd = np.logical_or.reduce([_TESTS[kind](array) for kind in kinds])
    return tuple(int(i) for i in np.unravel_index(int(odd.argmax()), odd.shape))


_TESTS = {"nan": np.isnan, "inf": np.isinf}
