"""One backward pass that keeps what arrives at a few nodes, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd.backprop import Contribution, Node, chain_rule, deliver, has_hooks, reached
from viz.arrays import Quantity, norm
from viz.graph import keep, next_slot
from viz.passes import empty_gradients


@dataclass(frozen=True, eq=False)
class Arrival:
    """What one use sent: the operation's result, which of its operands the receiver is, and the contribution."""

    reader: Node
    slot: int
    sent: Quantity


@dataclass(frozen=True, eq=False)
class Arrivals:
    """What one pass brought.

    of      the contributions to each of the nodes that were asked for, in the order in which they arrived
    held    the gradient that each of them holds at the end, hooks included; those that nothing reached are left out
    hooked  those whose hooks changed it
    norms   the norm of the gradient of each node that was to be measured, likewise
    """

    of: dict[Node, list[Arrival]]
    held: dict[Node, Quantity]
    hooked: set[Node]
    norms: dict[Node, float]


def arrivals(
    root: Node, seed: Any, order: Sequence[Node], wanted: Iterable[Node], measured: Collection[Node]
) -> Arrivals:
    """Run one pass from empty gradients, which are put back after it. `order` is the whole graph below `root`."""
    found = Arrivals({node: [] for node in wanted}, {}, set(), {})
    unhooked: dict[Node, Quantity] = {}
    with empty_gradients(order):
        deliver(_noted(chain_rule(root, seed), found.of, unhooked))
        found.held.update({node: keep(node.grad) for node in found.of if reached(node)})
        found.norms.update({node: norm(node.grad) for node in measured if reached(node)})
    found.hooked.update(
        node for node, sum_ in unhooked.items() if not np.array_equal(sum_, found.held[node], equal_nan=True)
    )
    return found


def _noted(
    contributions: Generator[Contribution, None, None],
    of: dict[Node, list[Arrival]],
    unhooked: dict[Node, Quantity],
) -> Generator[Contribution, None, None]:
    """The contributions as they come; those to the nodes in `of` are noted there, and in `unhooked` what they have
    added up to at nodes with hooks, which run when all have arrived."""
    turn: Node | None = None
    slots: dict[Node, int] = {}
    with closing(contributions):
        for sender, receiver, sent in contributions:
            if sender is not turn:
                turn, slots = sender, {}
            if sender is not None and receiver in of:
                before = slots.get(receiver, -1)
                slots[receiver] = next_slot(sender, receiver, before)
                sum_ = keep(sent)
                if slots[receiver] == before:  # from the inside of a checkpointed block, which is one use
                    sum_ = of[receiver].pop().sent + sum_
                of[receiver].append(Arrival(sender, slots[receiver], sum_))
            yield sender, receiver, sent
            if receiver in of and has_hooks(receiver):  # whoever asked for this contribution has added it by now
                unhooked[receiver] = keep(receiver.grad)
