"""What a comparison found: for each tensor node, element by element, what the two engines hold."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from micrograd import Value
from tensorgrad import Tensor
from viz.comparison.lifted import Pair
from viz.comparison.picture import draw_pair
from viz.comparison.table import element_name, summary, table
from viz.comparison.tolerance import close
from viz.drawing import MOST_NODES, Drawing


@dataclass(frozen=True)
class Row:
    """One element of a tensor node.

    node, name, op        the node's key ("n3"), the element's name ("w[0, 1]"), the node's operation ("" for a leaf)
    index                 the element's place in the node
    value, scalar_value   its data, as the tensor and as the scalar engine computed it
    scalar_grad, tensor_grad    its gradient by either engine; None for a constant
    difference            how far the two gradients are apart; 0 also where both are nan or the same infinity
    finite_difference, torch_grad    the same gradient by other means; None where there is none
    scalar_overwritten, tensor_overwritten    what it would hold with `=` in the place of `+=`
    value_differs         whether the data disagree
    matches               whether data and gradient agree within the tolerance
    """

    node: str
    name: str
    op: str
    index: tuple[int, ...]
    value: float
    scalar_value: float
    scalar_grad: float | None
    tensor_grad: float | None
    difference: float | None
    finite_difference: float | None
    torch_grad: float | None
    scalar_overwritten: float | None
    tensor_overwritten: float | None
    value_differs: bool
    matches: bool


@dataclass(frozen=True, eq=False)
class NodeComparison:
    """One tensor node and its scalar nodes; all arrays have the node's shape and are float64.

    formula         the operation on its operands' names, "a*b"; "" for a leaf
    dtype           of the tensor
    value_allowed, grad_allowed    how far data and gradients may be apart
    For the other fields see `Row`; gradients are None for a constant.
    """

    key: str
    name: str
    op: str
    formula: str
    dtype: str
    value: np.ndarray
    scalar_value: np.ndarray
    value_allowed: np.ndarray
    scalar_grad: np.ndarray | None = None
    tensor_grad: np.ndarray | None = None
    grad_allowed: np.ndarray | None = None
    scalar_overwritten: np.ndarray | None = None
    tensor_overwritten: np.ndarray | None = None
    finite_difference: np.ndarray | None = None
    torch_grad: np.ndarray | None = None

    @property
    def title(self) -> str:
        """Name and formula: "d = a*b", or the name alone for a leaf."""
        return f"{self.name} = {self.formula}" if self.formula else self.name

    @property
    def is_leaf(self) -> bool:
        return not self.formula

    @property
    def is_constant(self) -> bool:
        return self.tensor_grad is None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @cached_property
    def value_matches(self) -> np.ndarray:
        """Where the data agree."""
        return close(self.value, self.scalar_value, self.value_allowed)

    @cached_property
    def grad_matches(self) -> np.ndarray:
        """Where the gradients agree; everywhere for a constant."""
        if self.is_constant:
            return np.ones(self.shape, dtype=bool)
        return close(self.scalar_grad, self.tensor_grad, self.grad_allowed)

    @cached_property
    def difference(self) -> np.ndarray | None:
        """How far the gradients are apart; inf where only one of them is finite or nan."""
        return None if self.is_constant else _distance(self.scalar_grad, self.tensor_grad)

    @cached_property
    def value_difference(self) -> np.ndarray:
        """How far the data are apart."""
        return _distance(self.value, self.scalar_value)

    @property
    def ok(self) -> bool:
        return self.mismatches == 0

    @property
    def mismatches(self) -> int:
        """How many elements disagree."""
        return int((~(self.value_matches & self.grad_matches)).sum())

    @property
    def worst(self) -> float:
        """The largest difference between gradients; 0 for a constant or an empty node."""
        return 0.0 if self.difference is None else float(self.difference.max(initial=0.0))

    def rows(self) -> Iterator[Row]:
        """A record for each element."""
        for index in np.ndindex(self.shape):
            yield Row(
                node=self.key,
                name=element_name(self.name, index),
                op=self.op,
                index=index,
                value=float(self.value[index]),
                scalar_value=float(self.scalar_value[index]),
                value_differs=not self.value_matches[index],
                matches=bool(self.value_matches[index] and self.grad_matches[index]),
                **{field: _at(getattr(self, field), index) for field in _OPTIONAL},
            )


_OPTIONAL = (
    "scalar_grad",
    "tensor_grad",
    "difference",
    "finite_difference",
    "torch_grad",
    "scalar_overwritten",
    "tensor_overwritten",
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every node of a tensor graph beside the scalar nodes that it stands for.

    nodes       a record for each tensor node, parents before children
    pair        the two graphs
    names       a namespace that leads to the scalar nodes, for pictures of them
    rtol, atol  the tolerance: how far two numbers may be apart, relative to the size of what they were computed
                from, and absolutely
    notes       sentences for the reader: what was left out and why
    """

    nodes: tuple[NodeComparison, ...]
    pair: Pair
    names: dict[str, Value]
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
        return sum(node.value.size for node in self.nodes)

    @property
    def mismatches(self) -> int:
        """How many of them disagree."""
        return sum(node.mismatches for node in self.nodes)

    @property
    def worst(self) -> Row | None:
        """The element whose gradients are furthest apart; None if no gradient was compared."""
        return _furthest([node for node in self.nodes if node.difference is not None and node.value.size])

    @property
    def first_mismatch(self) -> Row | None:
        """The first element that disagrees, parents before children."""
        return next((row for node in self.nodes if not node.ok for row in node.rows() if not row.matches), None)

    @property
    def suspects(self) -> list[NodeComparison]:
        """The operations to look at. Wrong data spreads forward and wrong gradients backward: so the first node whose
        data disagree; else, of the first node on the way back whose gradients disagree, those that sent to it."""
        for node in self.nodes:
            if not node.value_matches.all():
                return [node]
        for t, node in reversed(list(zip(self.pair.tensors, self.nodes, strict=True))):
            if not node.grad_matches.all():
                users = zip(self.pair.tensors, self.nodes, strict=True)
                return [user for sender, user in users if any(parent is t for parent in sender._prev)] or [node]
        return []

    def largest_difference_from_torch(self) -> float | None:
        """The largest distance of a tensor gradient from torch's; None where torch's are not there."""
        found = [node for node in self.nodes if node.torch_grad is not None]
        if not found:
            return None
        return max(float(_distance(node.tensor_grad, node.torch_grad).max(initial=0.0)) for node in found)

    def table(self, all: bool = False, most: int = 200) -> str:
        """The elements of the leaves and of what differs (with `all`, of every node) in columns, and a summary.

        most  how many rows there are at most; elements that disagree come in any case
        """
        return table(self, every=all, most=most)

    def summary(self) -> str:
        """The last lines of the table: whether all agree, and if not, where to look."""
        return summary(self)

    def draw(self, path: str | os.PathLike[str] | None = None, *, max_nodes: int = MOST_NODES) -> Drawing:
        """Both graphs in one picture, the scalar nodes of each tensor node in a box; written to `path` if given.

        Raises TooLargeError where the two have more than `max_nodes` nodes, UserError as `Drawing.save` does.
        """
        drawing = draw_pair(self, max_nodes)
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
            "worst": _row_json(self.worst),
            "first_mismatch": _row_json(self.first_mismatch),
            "suspects": [node.key for node in self.suspects],
            "nodes": [_node_json(node) for node in self.nodes],
            "rows": [_row_json(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        state = "all match" if self.ok else f"{self.mismatches:,} differ"
        return f"<Comparison of {self.elements:,} elements in {len(self.nodes):,} nodes: {state}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"


def _node_json(node: NodeComparison) -> dict[str, Any]:
    return {
        "node": node.key,
        "name": node.name,
        "title": node.title,
        "op": node.op,
        "shape": list(node.shape),
        "dtype": node.dtype,
        "ok": node.ok,
        "mismatches": node.mismatches,
        "worst": _number_json(node.worst),
    }


def _row_json(row: Row | None) -> dict[str, Any] | None:
    return None if row is None else {field: _number_json(x) for field, x in asdict(row).items()}


def _number_json(x: Any) -> Any:
    return str(x) if isinstance(x, float) and not math.isfinite(x) else list(x) if isinstance(x, tuple) else x


def _furthest(nodes: list[NodeComparison]) -> Row | None:
    if not nodes:
        return None
    node = max(nodes, key=lambda node: node.worst)
    index = np.unravel_index(int(node.difference.argmax()), node.shape)
    return next(row for row in node.rows() if row.index == tuple(map(int, index)))


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|a - b|; 0 where both are nan or the same infinity, inf where that holds for one alone."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(apart), math.inf, apart))


def _at(array: np.ndarray | None, index: tuple[int, ...]) -> float | None:
    return None if array is None else float(array[index])
