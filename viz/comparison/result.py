"""A comparison as its user sees it: the nodes' records, what they come to, a table, a picture, JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from micrograd import Value
from tensorgrad import Tensor
from viz import plain
from viz.comparison import html, verdict
from viz.comparison.lifted import Pair
from viz.comparison.picture import draw_pair
from viz.comparison.records import NodeComparison, Row
from viz.comparison.table import table
from viz.drawing import Drawing
from viz.limits import MOST_IN_PICTURE


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every node of a tensor graph beside the scalar nodes that it stands for.

    nodes       a record for each tensor node, parents before children
    pair        the two graphs
    names       what to call the scalar nodes that are elements: "w[0, 1]"
    rtol, atol  the tolerance: how far two numbers may be apart, relative to the size of what they were computed
                from, and absolutely
    notes       sentences for the reader: what was left out and why
    """

    nodes: tuple[NodeComparison, ...]
    pair: Pair
    names: dict[Value, str]
    rtol: float
    atol: float
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all data and all gradients agree."""
        return all(node.ok for node in self.nodes)

    @property
    def tensor_root(self) -> Tensor:
        """The tensor graph's root, for `draw` and `step`."""
        return self.pair.tensor_root

    @property
    def scalar_root(self) -> Value:
        """The scalar graph's root, for `draw` and `step`."""
        return self.pair.scalar_root

    @cached_property
    def rows(self) -> list[Row]:
        """A record for each element of each node."""
        return [row for node in self.nodes for row in node.rows()]

    @property
    def elements(self) -> int:
        """How many elements were compared."""
        return sum(node.size for node in self.nodes)

    @property
    def mismatches(self) -> int:
        """How many of them disagree."""
        return sum(node.mismatches for node in self.nodes)

    @property
    def worst(self) -> Row | None:
        """The element whose data or gradients are furthest apart for what is allowed; None if there is no element."""
        return verdict.worst(self.nodes)

    @property
    def first_mismatch(self) -> Row | None:
        """The first element that disagrees, parents before children."""
        return verdict.first_mismatch(self.nodes)

    @property
    def suspects(self) -> list[NodeComparison]:
        """The operations to look at: where wrong data arise, else what sends to the last wrong gradient."""
        return verdict.suspects(self.nodes)

    def largest_difference(self) -> float:
        """The largest distance between the engines' data or gradients."""
        return max(node.largest_difference for node in self.nodes)

    def largest_difference_from_torch(self) -> float | None:
        """The largest distance of a tensor gradient from torch's; None where torch's are not there."""
        return verdict.difference_from_torch(self.nodes)

    def table(self, all: bool = False, most: int = 200) -> str:
        """The elements of the leaves and of what differs (with `all`, of every node) in columns, and a summary.

        most  how many rows there are at most; elements that disagree are taken first
        """
        return "\n".join([str(table(self.nodes, every=all, most=most)), *self.notes, self.summary()])

    def summary(self) -> str:
        """The last lines of the table: whether all agree, and if not, where to look."""
        return verdict.summary(self.nodes)

    def draw(self, path: str | os.PathLike[str] | None = None, *, max_nodes: int = MOST_IN_PICTURE) -> Drawing:
        """Both graphs in one picture, the scalar nodes of each tensor node in a box; written to `path` if given.

        Raises TooLargeError where the two have more than `max_nodes` nodes, UserError as `Drawing.save` does.
        """
        drawing = draw_pair(self.pair, self.nodes, self.names, max_nodes)
        if path is not None:
            drawing.save(path)
        return drawing

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; nan and the infinities as strings."""
        return {
            "ok": self.ok,
            "elements": self.elements,
            "mismatches": self.mismatches,
            "rtol": self.rtol,
            "atol": self.atol,
            "worst": plain.record(self.worst),
            "first_mismatch": plain.record(self.first_mismatch),
            "suspects": [node.key for node in self.suspects],
            "nodes": [plain.compared_node(node) for node in self.nodes],
            "rows": [plain.record(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        state = "all match" if self.ok else f"{self.mismatches:,} differ"
        return f"<Comparison of {self.elements:,} elements in {len(self.nodes):,} nodes: {state}>"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return html.comparison(table(self.nodes), [*self.notes, *self.summary().splitlines()])
