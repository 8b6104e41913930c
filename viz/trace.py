"""One backward pass as a list of steps: what the stepper steps through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from micrograd.backprop import Node, add, chain_rule, has_hooks, overwrite, reached, topological_order
from viz.arrays import Quantity, is_single, norm_in_words
from viz.graph import Graph, NodeRecord, check_node, describe, keep, next_slot, sent_by_slot
from viz.names import caller_namespace
from viz.passes import empty_gradients
from viz.text import short
from viz.words import contribution as rule_text
from viz.words import entry, local_derivative

Combine = Callable[[Any, Any], Any]

OWN_RULE = "the rule assigned to _backward"
"""`Step.rule` of what a rule of the user's own sends."""

HOOKED = ", {when} the hook on {name} changed {name}.grad from {before} to {after}"
"""What `Step.rule` ends in where a hook changed a gradient: the sender's `after` what arrived, or, of a leaf, which
sends nothing, the receiver's: `then`."""

UNKNOWN_RULE = "the rule of {op}"
"""`Step.rule` for an operation without one in words."""


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
    rule          the contribution in words, e.g. "b * d.grad"; where a hook has changed the sender's gradient since the
                  last contribution arrived, with a remark
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
    """A whole backward pass, a sequence of steps: the graph as it was before it, and every step.

    operator  how contributions were combined: "+=", "=", or the function's name
    hooked    the gradients that hooks left behind, by key, where these are not what arrived
    """

    graph: Graph
    steps: tuple[Step, ...]
    operator: str
    hooked: Mapping[str, Quantity] = field(default_factory=dict)

    @property
    def grads(self) -> dict[str, Quantity]:
        """The gradient that each node holds at the end, by key; nodes that nothing reached are left out."""
        return {step.receiver: step.after for step in self.steps} | dict(self.hooked)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, place: int) -> Step:
        return self.steps[place]

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

    Raises what `root.backward(gradient)` would, TypeError for what is no node, UserError for complex numbers.
    """
    check_node(root)
    seed = root._seed(gradient)
    order = topological_order(root)
    with empty_gradients(order):
        graph = describe(order, caller_namespace() if names is None else names, contributions=False)
        steps = list(_walk(root, seed, combine, order, graph))
        hooked = _after_hooks(steps, order, graph)
    operator = {add: "+=", overwrite: "="}.get(combine) or getattr(combine, "__name__", "combine")
    return Trace(graph, tuple(steps), operator, hooked)


def _walk(root: Node, seed: Any, combine: Combine, order: list[Node], graph: Graph) -> Iterator[Step]:
    """The pass itself: the same loop as `backprop.deliver`, with a record of what it does."""
    records = dict(zip(order, graph.nodes, strict=True))
    sending: _Sender | None = None
    slot = -1
    arrived: dict[Node, Quantity] = {}  # the gradients as the last contribution left them
    with closing(chain_rule(root, seed)) as contributions:
        for sender, receiver, sent in contributions:
            before = keep(receiver.grad) if reached(receiver) else None
            receiver.grad = combine(receiver.grad, sent)
            arrival = (keep(sent), before, keep(receiver.grad))
            arrived[receiver] = arrival[2]
            if sender is None:
                yield Step(None, records[receiver].key, 0, *arrival, None, None, None, "the seed")
                continue
            if sending is None or sending.node is not sender:
                sending, slot = _Sender(sender, records[sender], graph, arrived[sender]), -1
            slot = next_slot(sender, receiver, slot)
            yield sending.step(slot, records[receiver], arrival)


def _after_hooks(steps: list[Step], order: list[Node], graph: Graph) -> dict[str, Quantity]:
    """What hooks left in gradients, at the end of the pass. The last step to a leaf with one gets a remark."""
    found: dict[str, Quantity] = {}
    last = {step.receiver: i for i, step in enumerate(steps)}
    for node, record in zip(order, graph.nodes, strict=True):
        if record.key not in last or not has_hooks(node):
            continue
        i = last[record.key]
        remark = _changed(record.name, "then", steps[i].after, keep(node.grad))
        if remark:
            found[record.key] = keep(node.grad)
            if record.is_leaf:
                steps[i] = replace(steps[i], rule=steps[i].rule + remark)
    return found


def _changed(name: str, when: str, arrived: Quantity, held: Quantity) -> str:
    """What the hooks of a node did to its gradient, in words; "" for nothing."""
    if np.array_equal(arrived, held, equal_nan=True):
        return ""
    before, after = (
        short(np.asarray(q).item()) if is_single(q) else norm_in_words(np.asarray(q)) for q in (arrived, held)
    )
    return HOOKED.format(name=name, when=when, before=before, after=after)


class _Sender:
    """A node whose turn has come; what all of its contributions share is worked out once."""

    def __init__(self, node: Node, record: NodeRecord, graph: Graph, arrived: Quantity) -> None:
        self.node = node
        self.record = record
        self.upstream = keep(node.grad)
        self.operands = [graph[key].name for key in record.parents]
        ndims = [np.ndim(graph[key].data) for key in record.parents]
        self.entry = entry(record.op, ndims, np.ndim(record.data))
        self.slopes = self._slopes()
        self.hooked = _changed(record.name, "after", arrived, self.upstream) if has_hooks(node) else ""

    def step(self, slot: int, to: NodeRecord, arrival: tuple[Quantity, Quantity | None, Quantity]) -> Step:
        """The contribution for operand number `slot`, with (contribution, before, after)."""
        local, rule = self._in_words(slot, to)
        if local and np.shape(arrival[0]) != np.shape(self.upstream):
            rule = f"unbroadcast({rule}, {to.name}.shape)"
        rule += self.hooked
        slope = self.slopes[slot] if local else None
        return Step(self.record.key, to.key, slot, *arrival, self.upstream, slope, local, rule)

    def _in_words(self, slot: int, to: NodeRecord) -> tuple[str | None, str]:
        """The local derivative as text, None where the rule is no product with one; and the contribution as text."""
        op, name = self.record.op, self.record.name
        if self.node._closure is not None:
            return None, OWN_RULE
        local = local_derivative(op, slot, self.operands, name)
        if local is None and self.node._local is not None:  # a scalar operation of the user's, which has no words
            local = f"d{name}/d{to.name}"
            return local, f"{local} * {name}.grad"
        return local, rule_text(self.entry, slot, self.operands, name) or UNKNOWN_RULE.format(op=op)

    def _slopes(self) -> Sequence[Quantity | None]:
        """d(node)/d(operand) for each operand and element: stored with a scalar; of a tensor, what it sends for a
        gradient of 1, for the operations that LOCAL has words for and the operands that are not broadcast."""
        if self.node._local is not None:
            return self.node._local
        if self.node._closure is not None or local_derivative(self.record.op, 0, self.operands, "") is None:
            return [None] * len(self.operands)
        kept = self.node.grad
        try:
            self.node.grad = np.ones_like(self.node.data)
            slopes = sent_by_slot(self.node)
        finally:
            self.node.grad = kept
        shape = self.node.data.shape
        return [q if p.data.shape == shape else None for p, q in zip(self.node._prev, slopes, strict=True)]
