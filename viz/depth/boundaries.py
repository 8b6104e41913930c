"""Where a graph enters a block, and where it leaves it: each node knows the module call that made it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from micrograd.backprop import Node
from micrograd.scopes import Scope
from viz.depth.blocks import Block

_Call = tuple[int, Scope | Node]
"""One call of a block: the block's place, and the scope that the call opened. (A checkpointed block has no nodes in the
graph but the one that stands for the call.)"""


@dataclass(eq=False)
class Boundary:
    """What a block reads and what it returns, in all of its calls.

    inputs   nodes made outside of a call that nodes inside it read; those that take a gradient, and are not the
             model's own
    outputs  nodes made inside a call that nodes outside of it read, and the root
    first    the place in the topological order of the first node that the block made; None where the graph has none
    """

    inputs: dict[Node, None] = field(default_factory=dict)
    outputs: dict[Node, None] = field(default_factory=dict)
    first: int | None = None


def boundaries(order: Sequence[Node], blocks: Sequence[Block], own: Collection[Node]) -> list[Boundary]:
    """The boundary of each block in a graph; `order` is the whole graph, its root last, and `own` are the model's
    parameters and buffers."""
    by_module: dict[int, Boundary] = {}  # a module with two names has two blocks
    found = [
        Boundary() if block.module is None else by_module.setdefault(id(block.module), Boundary()) for block in blocks
    ]
    calls = _Calls(blocks)
    for place, node in enumerate(order):
        inside = calls.around(node)
        for block, _ in inside:
            if found[block].first is None:
                found[block].first = place
        for operand in node._prev:
            if not operand.requires_grad:
                continue
            made_in = calls.around(operand)
            if made_in == inside:
                continue
            for call in inside - made_in:
                if operand not in own:
                    found[call[0]].inputs[operand] = None
            for call in made_in - inside:
                found[call[0]].outputs[operand] = None
    for block, _ in calls.around(order[-1]):
        found[block].outputs[order[-1]] = None
    return found


class _Calls:
    """The calls of blocks that a node was made in."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._places = {id(block.module): i for i, block in enumerate(blocks) if block.module is not None}
        trained = [{p for p in block.parameters if p.requires_grad} for block in blocks]
        self._trained = [(i, own) for i, own in enumerate(trained) if own and blocks[i].module is not None]
        self._known: dict[Scope | None, frozenset[_Call]] = {None: frozenset()}
        self._checkpoints: dict[Node, frozenset[_Call]] = {}

    def around(self, node: Node) -> frozenset[_Call]:
        inside = self._of(node._scope)
        if not inside and node._op == "checkpoint":
            return self._of_checkpoint(node)
        return inside

    def _of(self, scope: Scope | None) -> frozenset[_Call]:
        new: list[Scope] = []
        while scope is not None and scope not in self._known:
            new.append(scope)
            scope = scope.parent
        inside = self._known[scope]
        for inner in reversed(new):
            place = self._places.get(id(inner.module)) if inner.module is not None else None
            if place is not None and all(block != place for block, _ in inside):  # a block that calls itself is one
                inside |= {(place, inner)}
            self._known[inner] = inside
        return inside

    def _of_checkpoint(self, node: Node) -> frozenset[_Call]:
        """What is run again in the backward pass leaves no nodes: it is the call of the one block whose parameters it
        reads, all of them."""
        if node not in self._checkpoints:
            read = set(node._prev)
            whose = [place for place, own in self._trained if own <= read]
            self._checkpoints[node] = frozenset({(whose[0], node)} if len(whose) == 1 else ())
        return self._checkpoints[node]
