"""Who uses a node: the operations of a graph that read it, and those that read it where the graph was cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

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


class CutReadings:
    """Who reads what was cut off from a graph, for those who ask by the node that went into it."""

    def __init__(self, order: Sequence[Node]) -> None:
        self._found: list[tuple[Reading, Sequence[Any]]] = []
        for reader in reversed(order):
            for slot, operand in enumerate(reader._prev):
                cuts = () if operand.requires_grad else getattr(operand, "_cuts", ())
                if cuts:
                    self._found.append((Reading(reader, slot), cuts))

    def of(self, node: Node, *, direct: bool) -> list[Reading]:
        """Where something was read that `node` had gone into, and that was cut off.

        direct  only where the node itself was detached, not what other operations had made of it by then
        """
        found = []
        for reading, cuts in self._found:
            cut = next((cut for cut in cuts if cut.leads_to(node) and not (direct and cut.op)), None)
            if cut is not None:
                found.append(replace(reading, cut=_HOW.get(cut.how, cut.how)))
        return found
