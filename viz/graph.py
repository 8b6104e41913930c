"""A graph as plain records: what every picture, page and table is drawn from. Reads only the engines' contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd.backprop import Node, reached, topological_order
from viz.arrays import Quantity
from viz.errors import UserError
from viz.names import caller_namespace, name_all, names_for
from viz.parts import part
from viz.words import formula


class Titled:
    """What a record of a node has beside its fields `name`, `formula` and `parents`."""

    name: str
    formula: str
    parents: tuple[str, ...]

    @property
    def is_leaf(self) -> bool:
        """Whether no operation made it."""
        return not self.parents

    @property
    def title(self) -> str:
        """Name and formula: "d = a*b", or the name alone for a leaf."""
        return f"{self.name} = {self.formula}" if self.formula else self.name


@dataclass(frozen=True)
class NodeRecord(Titled):
    """One node as it was when the picture was taken.

    key            "n0", "n1", ...: its place in the topological order, the same in every run of the same program
    name           what to call it: its label, the caller's variable, a constant's number, or a free letter
    op             the operation that made it, "" for a leaf
    formula        the operation on its parents' names, e.g. "a*b"; "" for a leaf
    parents        the keys of its operands, in order, repeats kept
    data           its value
    grad           its gradient, None where no contribution has arrived
    requires_grad  False for a constant, which takes none
    sent           what it sends to each of `parents` for its present gradient; None where nothing goes
    named          whether the name is the user's: a label or a variable
    part           of an operation that takes a part out of its operand, which one, as "[:, 2:4]", if that is known
    """

    key: str
    name: str
    op: str
    formula: str
    parents: tuple[str, ...]
    data: Quantity
    grad: Quantity | None
    requires_grad: bool
    sent: tuple[Quantity | None, ...]
    named: bool = True
    part: str | None = None


@dataclass(frozen=True)
class Edge:
    """One use of a node: `parent` is the operand number `slot` of `child`. x*x has two edges."""

    parent: str
    child: str
    slot: int
    contribution: Quantity | None


@dataclass(frozen=True, repr=False)
class Graph:
    """Every node that a root depends on, parents before children; the root is last."""

    nodes: tuple[NodeRecord, ...]

    @property
    def root(self) -> NodeRecord:
        """The node that all others were made for."""
        return self.nodes[-1]

    @property
    def edges(self) -> list[Edge]:
        """Every use of a node by another, in the order of the nodes and of their operands."""
        return [
            Edge(parent, node.key, slot, sent)
            for node in self.nodes
            for slot, (parent, sent) in enumerate(zip(node.parents, node.sent, strict=True))
        ]

    def __getitem__(self, key: str) -> NodeRecord:
        return self.nodes[int(key[1:])]

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<Graph of {len(self)} nodes, root {self.root.title}>"


def snapshot(root: Node, names: Mapping[str, Any] | None = None, *, contributions: bool = True) -> Graph:
    """The graph below `root` as it stands now, gradients included if a backward pass has been run.

    names          a namespace to look node names up in; by default the caller's variables
    contributions  whether to ask each node what it sends (runs the rules, changes no gradient)

    Raises TypeError if `root` is no node, UserError for a graph that holds complex numbers.
    """
    check_node(root)
    order = topological_order(root)
    return describe(order, caller_namespace() if names is None else names, contributions=contributions)


def describe(
    order: list[Node], names: Mapping[str, Any], *, contributions: bool, given: Mapping[Node, str] | None = None
) -> Graph:
    """Records for nodes in topological order. `given` are names for single nodes, instead of those in `names`.

    Raises UserError for complex numbers.
    """
    given = names_for(order, names) if given is None else given
    called = name_all(order, given, names)
    index = {node: i for i, node in enumerate(order)}
    records = []
    for i, node in enumerate(order):
        _check_real(node, called[i])
        op = str(node._op or "")
        places = [index[parent] for parent in node._prev]
        which = part(node)
        sent = sent_by_slot(node) if contributions and reached(node) else [None] * len(places)
        records.append(
            NodeRecord(
                key=f"n{i}",
                name=called[i],
                op=op,
                formula=formula(op, [called[p] for p in places], which) if places else "",
                parents=tuple(f"n{p}" for p in places),
                data=keep(node.data),
                grad=keep(node.grad) if reached(node) else None,
                requires_grad=node.requires_grad,
                sent=tuple(sent),
                named=bool(node.label) or node in given,
                part=which,
            )
        )
    return Graph(tuple(records))


def sent_by_slot(node: Node) -> list[Quantity | None]:
    """What `node` sends to each of its operands, in order; None for a constant.

    A rule that is the user's answers once for each different parent: for its first place among the operands.
    """
    sent: list[Quantity | None] = [None] * len(node._prev)
    slot = -1
    for parent, contribution in node._contributions():
        slot = next_slot(node, parent, slot)
        sent[slot] = keep(contribution) if sent[slot] is None else sent[slot] + contribution
    return sent


def next_slot(node: Node, parent: Node, after: int) -> int:
    """Which operand of `node` a contribution to `parent` is for: contributions come in the operands' order, so the
    first place after the last one where `parent` stands. (A checkpointed block sends several to one place.)"""
    places = [i for i, operand in enumerate(node._prev) if operand is parent]
    return next((i for i in places if i > after), places[-1])


def keep(quantity: Any) -> Quantity:
    """A copy that later changes in place cannot reach."""
    return quantity.copy() if isinstance(quantity, np.ndarray) else float(quantity)


def _check_real(node: Node, name: str) -> None:
    dtype = np.asarray(node.data).dtype
    if dtype.kind == "c":
        raise UserError(f"{name} is {dtype}, and only real numbers can be shown: look at .real or .imag of its data")


def check_node(root: Any) -> None:
    """Raise TypeError unless `root` is a node of one of the engines."""
    if not isinstance(root, Node):
        hint = f"; did you mean one of its {len(root)} elements?" if isinstance(root, (list, tuple)) else ""
        raise TypeError(f"expected a Value or a Tensor, got {type(root).__name__}{hint}")
