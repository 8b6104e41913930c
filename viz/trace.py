"""One backward pass as a list of steps: what the stepper steps through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd.backprop import Node, add, chain_rule, overwrite, reached, topological_order
from viz.arrays import Quantity
from viz.graph import Graph, NodeRecord, check_node, describe, keep, next_slot, sent_by_slot
from viz.names import caller_namespace
from viz.passes import empty_gradients
from viz.words import contribution as rule_text
from viz.words import entry, local_derivative

Combine = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Step:
    """One contribution on its way.

    sender        the key of the node that sends, None for the seed
    receiver      the key of the node whose gradient it goes to
    slot          which operand of the sender the receiver is
    contribution  what is sent
    before        the receiver's gradient before it, None if nothing had arrived yet
    after         the receiver's gradient after it
    upstream      the sender's gradient
    local         d(sender)/d(receiver) for each element, for operations on each element without broadcasting
    local_text    the same in words, e.g. "b"; None where the rule is no product
    rule          the contribution in words, e.g. "b * d.grad"
    """

    sender: str | None
    receiver: str
    slot: int
    contribution: Quantity
    before: Quantity | None
    after: Quantity
    upstream: Quantity | None
    local: Quantity | None
    local_text: str | None
    rule: str


@dataclass(frozen=True, repr=False)
class Trace:
    """A whole backward pass: the graph as it was before it, and every step. `operator` is "+=", "=", or a name."""

    graph: Graph
    steps: tuple[Step, ...]
    operator: str

    @property
    def grads(self) -> dict[str, Quantity]:
        """The gradient that each node holds at the end, by key; nodes that nothing reached are left out."""
        return {step.receiver: step.after for step in self.steps}

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} steps with {self.operator}, from {self.graph.root.title}>"


def trace(
    root: Node,
    combine: Combine = add,
    *,
    gradient: Any = None,
    names: Mapping[str, Any] | None = None,
) -> Trace:
    """Run one backward pass from `root`, from empty gradients, and record it. All gradients are put back after it.

    combine   what happens where a contribution arrives: `micrograd.backprop.add` (+=) or `overwrite` (=, the bug)
    gradient  the seed, for a tensor of several elements
    names     a namespace to look node names up in; by default the caller's variables

    Raises what `root.backward(gradient)` would.
    """
    check_node(root)
    seed = root._seed(gradient)
    order = topological_order(root)
    with empty_gradients(order):
        graph = describe(order, caller_namespace() if names is None else names, contributions=False)
        steps = tuple(_walk(root, seed, combine, order, graph))
    operator = {add: "+=", overwrite: "="}.get(combine) or getattr(combine, "__name__", "combine")
    return Trace(graph, steps, operator)


def _walk(root: Node, seed: Any, combine: Combine, order: list[Node], graph: Graph) -> Iterator[Step]:
    """The pass itself: the same loop as `backprop.deliver`, with a record of what it does."""
    record = dict(zip(order, graph.nodes, strict=True))
    sending: Node | None = None
    slot = -1
    with closing(chain_rule(root, seed)) as contributions:
        for sender, receiver, sent in contributions:
            before = keep(receiver.grad) if reached(receiver) else None
            receiver.grad = combine(receiver.grad, sent)
            if sender is not None:
                slot = next_slot(sender, receiver, slot if sender is sending else -1)
            sending = sender
            yield _step(sender, slot, record, receiver, sent, before, graph)


def _step(
    sender: Node | None,
    slot: int,
    record: dict[Node, NodeRecord],
    receiver: Node,
    sent: Any,
    before: Quantity | None,
    graph: Graph,
) -> Step:
    to = record[receiver]
    if sender is None:
        return Step(None, to.key, 0, keep(sent), before, keep(receiver.grad), None, None, None, "the seed")
    by = record[sender]
    local_text, rule = _in_words(sender, slot, by, to, graph)
    if local_text and np.shape(sent) != np.shape(sender.grad):
        rule = f"unbroadcast({rule}, {to.name}.shape)"
    return Step(
        sender=by.key,
        receiver=to.key,
        slot=slot,
        contribution=keep(sent),
        before=before,
        after=keep(receiver.grad),
        upstream=keep(sender.grad),
        local=_local(sender, slot) if local_text else None,
        local_text=local_text,
        rule=rule,
    )


def _in_words(sender: Node, slot: int, by: NodeRecord, to: NodeRecord, graph: Graph) -> tuple[str | None, str]:
    """The local derivative as text, None where the rule is no product with one; and the contribution as text."""
    if sender._closure is not None:
        return None, "the rule assigned to _backward"
    operands = [graph[key].name for key in by.parents]
    local = local_derivative(by.op, slot, operands, by.name)
    if local is None and sender._local is not None:  # a scalar operation of the user's, which has no words
        local = f"d{by.name}/d{to.name}"
        return local, f"{local} * {by.name}.grad"
    ndims = [np.ndim(graph[key].data) for key in by.parents]
    rule = rule_text(entry(by.op, ndims, np.ndim(by.data)), slot, operands, by.name)
    return local, rule or f"the rule of {by.op}"


def _local(node: Node, slot: int) -> Quantity | None:
    """d(node)/d(operand) for each element: stored with a scalar; of a tensor, what it sends for a gradient of 1."""
    if node._local is not None:
        return node._local[slot]
    if node._prev[slot].data.shape != node.data.shape:
        return None
    kept = node.grad
    try:
        node.grad = np.ones_like(node.data)
        return sent_by_slot(node)[slot]
    finally:
        node.grad = kept
