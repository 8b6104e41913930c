"""Who uses a node: the operations of a graph that read it, and those that read it where the graph was cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from micrograd.backprop import Node

_HOW = {"detach": "detached"}  # a cut, as a participle; the modes ("no_grad") stay as they are


@dataclass(frozen=True)
class Reading:
    """One place where an operation reads a node.

    reader  the operation's result
    slot    which operand the node is
    cut     how the graph was cut between the two ("detached", "no_grad"), None where it was not
    """

    reader: Node
    slot: int
    cut: str | None = None


def readings(order: Sequence[Node]) -> dict[Node, list[Reading]]:
    """For each node that is an operand, who reads it, in the order in which a backward pass comes to them.

    A rule of the user's answers once for each different operand, so x*x with such a rule reads x once.
    """
    found: defaultdict[Node, list[Reading]] = defaultdict(list)
    for reader in reversed(order):
        told: set[Node] = set()
        for slot, operand in enumerate(reader._prev):
            if reader._closure is None or operand not in told:
                found[operand].append(Reading(reader, slot))
                told.add(operand)
    return dict(found)


def cut_readings(node: Node, order: Sequence[Node], *, direct: bool) -> list[Reading]:
    """Who reads what was computed from `node` and then cut off from the graph.

    direct  only where the node itself was detached, not what other operations had made of it by then
    """
    found: list[Reading] = []
    for reader in reversed(order):
        for slot, operand in enumerate(reader._prev):
            for cut in getattr(operand, "_cuts", ()) if not operand.requires_grad else ():
                if cut.leads_to(node) and not (direct and cut.op):
                    found.append(Reading(reader, slot, _HOW.get(cut.how, cut.how)))
                    break
    return found
