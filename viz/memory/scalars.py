"""The memory of nodes that are single numbers: Python's objects, by `sys.getsizeof`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from sys import getsizeof
from typing import Any

from micrograd import Value
from micrograd.backprop import reached
from viz.memory.paths import Paths
from viz.memory.result import NUMBER, Row


def scalar_rows(values: Iterable[Value], paths: Paths) -> list[Row]:
    """What these nodes take, one row for each kind, operation and module: there may be millions of nodes.

    A node is an object, its attributes, and a tuple of operands ("nodes"); a number that is its data ("weights" of a
    leaf that takes a gradient, "inputs" of one that does not, "shown" of a result); a tuple of local derivatives, its
    rule ("saved"); and its gradient, if one has arrived. Each object counts once.
    """
    sizes: defaultdict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    seen: set[int] = set()

    def add(kind: str, node: Value, *things: Any) -> None:
        new = [thing for thing in things if thing is not None and id(thing) not in seen]
        seen.update(map(id, new))
        if new:
            entry = sizes[kind, str(node._op), paths.of(node)]
            entry[0] += sum(map(getsizeof, new))
            entry[1] += 1

    for node in values:
        leaf = "weights" if node.requires_grad else "inputs"
        add(leaf if not node._prev else "shown", node, node.data)
        add("saved", node, node._local, *(node._local or ()))
        add("nodes", node, node, node.__dict__ or None, node._prev or None)
        if reached(node):
            add("gradients", node, node.grad)
    return [
        Row(kind, size, (), NUMBER, made_by=op, op=op, held_by=(op,) if kind == "saved" else (), module=at, nodes=many)
        for (kind, op, at), (size, many) in sizes.items()
    ]
