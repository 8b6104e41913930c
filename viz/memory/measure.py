"""Which memory a graph keeps alive: read from its nodes and from what their rules really hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from micrograd.backprop import Node, reached, topological_order
from tensorgrad.holding import held
from viz.memory.paths import Paths
from viz.memory.result import Row


def memory_of(array: np.ndarray) -> tuple[Any, int]:
    """The object that owns the memory in which `array` lies, and how many bytes that is: all of an array for a view.

    Of memory that is no array's (of a file, or of another library) it is what the first array that was made of it
    spans.
    """
    while True:
        base = array.base
        if isinstance(base, memoryview):
            base = base.obj
        elif not isinstance(base, np.ndarray):  # what `as_strided` puts between two arrays, for one
            base = getattr(base, "base", base)
        if not isinstance(base, np.ndarray):
            break
        array = base
    if base is None:
        return array, array.nbytes
    low, high = np.lib.array_utils.byte_bounds(array)
    return base, high - low


@dataclass(eq=False)
class Piece:
    """Memory under way to a row: who has it as data, and whose rules hold it, in the order of the graph."""

    owner: Any
    array: np.ndarray
    bytes: int
    nodes: list[Node] = field(default_factory=list)
    holders: list[Node] = field(default_factory=list)
    kind: str = "shown"


class Pieces:
    """All memory that the nodes of a graph and their rules hold, by its owner; no gradients.

    order       the graph
    parameters  the weights; None for all leaves that require gradients
    nodes       those of the graph, others that its rules hold, and the parameters
    """

    def __init__(self, order: Sequence[Node], parameters: Sequence[Node] | None) -> None:
        self._found: dict[int, Piece] = {}
        self._weights = None if parameters is None else {id(p) for p in parameters}
        self.nodes = dict.fromkeys(order)
        self._add(order)
        new = [node for node in dict.fromkeys(parameters or ()) if node not in self.nodes]
        self.nodes |= dict.fromkeys(new)
        self._add(new)
        for node in self.nodes:
            self._stand_in(node)

    def _add(self, order: Sequence[Node]) -> None:
        """The data of these nodes and what their rules hold; tensors in rules, too, with what these depend on."""
        while order:
            for node in order:
                if _has_array(node):
                    self._data(node)
            new: list[Node] = []
            for node in order:
                for thing in held_by(node):
                    if isinstance(thing, np.ndarray):
                        self._held(thing, node)
                        continue
                    if thing not in self.nodes:
                        new += topological_order(thing, self.nodes)
                        self.nodes |= dict.fromkeys(new)
                    array = getattr(thing, "_data", None)
                    if isinstance(array, np.ndarray):
                        self._held(array, node)
            order = new

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._found.values())

    def __contains__(self, owner: Any) -> bool:
        return id(owner) in self._found

    def _piece(self, array: np.ndarray) -> Piece:
        owner, size = memory_of(array)
        piece = self._found.setdefault(id(owner), Piece(owner, owner if isinstance(owner, np.ndarray) else array, 0))
        piece.bytes = max(piece.bytes, size)
        return piece

    def _data(self, node: Any) -> Piece:
        piece = self._piece(node._data)
        piece.nodes.append(node)
        if not node._prev:
            is_weight = node._requires_grad if self._weights is None else id(node) in self._weights
            if is_weight or piece.kind != "weights":
                piece.kind = "weights" if is_weight else "inputs"
        return piece

    def _stand_in(self, node: Any) -> None:
        """In a lean graph: it is this node whose data a rule holds, though the node does not."""
        memory = getattr(node, "_memory", None)
        array = None if memory is None else memory()
        piece = None if array is None else self._found.get(id(memory_of(array)[0]))
        if piece is not None:
            piece.nodes.append(node)
            if not node._prev and piece.kind == "saved":
                piece.kind = "inputs"

    def _held(self, array: np.ndarray, node: Node) -> None:
        piece = self._piece(array)
        if piece.kind == "shown":
            piece.kind = "saved"
        if not piece.holders or piece.holders[-1] is not node:
            piece.holders.append(node)


def held_by(node: Node) -> Iterator[np.ndarray | Node]:
    """The arrays and nodes that a node's rules hold, the user's own `_backward` among them."""
    return held((getattr(node, "_rules", None), node._closure))


def _has_array(node: Any) -> bool:
    return isinstance(getattr(node, "_data", None), np.ndarray)


def rows(pieces: Pieces, paths: Paths) -> list[Row]:
    """A row for each piece of memory."""
    return [_row(piece, paths) for piece in pieces if piece.bytes]


def _row(piece: Piece, paths: Paths) -> Row:
    makers = [node for node in piece.nodes if node._prev] or piece.nodes
    if piece.kind in ("weights", "inputs"):
        makers = [node for node in piece.nodes if not node._prev]
    first = (piece.holders or makers)[0]
    return Row(
        kind=piece.kind,
        bytes=piece.bytes,
        shape=piece.array.shape,
        dtype=str(piece.array.dtype),
        made_by=makers[0]._op if makers else "",
        name=str(makers[0].label or "") if makers else "",
        op=first._op,
        held_by=tuple(dict.fromkeys(node._op for node in piece.holders)),
        module=paths.of(first),
        nodes=len({id(node) for node in (*piece.nodes, *piece.holders)}),
    )


def gradient_rows(nodes: Sequence[Node], pieces: Pieces, paths: Paths) -> list[Row]:
    """A row for the memory of each gradient that there is, of leaves and results."""
    seen: set[int] = set()
    found = []
    for node in nodes:
        grad = node._grad if reached(node) else None
        if not isinstance(grad, np.ndarray):
            continue
        owner, size = memory_of(grad)
        if id(owner) in seen or owner in pieces or not size:
            continue
        seen.add(id(owner))
        found.append(
            Row(
                "gradients",
                size,
                grad.shape,
                str(grad.dtype),
                node._op,
                str(node.label or ""),
                node._op,
                module=paths.of(node),
            )
        )
    return found


def optimizer_rows(optimizer: Any) -> list[Row]:
    """A row for each array that an optimizer remembers of a parameter, by the name that it has for it."""
    found, seen = [], set()
    for remembered in optimizer.state.values():
        for name, thing in remembered.items():
            for each in held(thing):
                array = each if isinstance(each, np.ndarray) else getattr(each, "_data", None)
                if not isinstance(array, np.ndarray):
                    continue
                owner, size = memory_of(array)
                if id(owner) not in seen:
                    seen.add(id(owner))
                    found.append(Row("optimizer", size, array.shape, str(array.dtype), name=str(name)))
    return found
