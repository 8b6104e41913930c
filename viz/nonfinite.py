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
    operands  the operands' records, each once; of a node that is not a leaf all of their elements are finite
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

    It stands in a leaf, or in a node whose operands are all finite: no later one is the cause of it.
    """
    for node in graph.nodes:
        place = _place(node.data)
        if place is not None:
            keys: Sequence[str] = tuple(dict.fromkeys(node.parents))
            value = float(np.asarray(node.data)[place])
            return NonFinite(node, place, value, tuple(graph[key] for key in keys))
    return None


def _place(data: Quantity) -> tuple[int, ...] | None:
    """The index of the first element that is not finite."""
    odd = ~np.isfinite(np.asarray(data))
    return tuple(int(i) for i in np.unravel_index(int(odd.argmax()), odd.shape)) if odd.any() else None
