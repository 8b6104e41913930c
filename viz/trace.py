"""One backward pass as steps that are taken as they are asked for: what the stepper steps through."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np

from micrograd.backprop import (
    Contribution,
    Node,
    add,
    chain_rule,
    gradients_kept,
    has_hooks,
    overwrite,
    reached,
    topological_order,
)
from viz.arrays import Quantity, is_single, norm_in_words
from viz.breakpoints import Condition, breakpoints, first_held
from viz.graph import Graph, NodeRecord, check_node, describe, keep, sent_by_slot
from viz.names import caller_namespace
from viz.nonfinite import NonFinite, first_nonfinite
from viz.recursion import recursive_rule, steps_needed
from viz.text import count, short
from viz.told import told
from viz.words import contribution as rule_text
from viz.words import entry, local_derivative

Combine = Callable[[Any, Any], Any]

OWN_RULE = "the rule assigned to _backward"
"""`Step.rule` of what a rule of the user's own sends."""

HOOKED = ", {when} the hook on {name} changed {name}.grad from {before} to {after}"
"""What `Step.rule` ends in where a hook changed a gradient: the sender's `after` what arrived, or, of a leaf, which
sends nothing, the receiver's: `then`."""

RECURSION = "recursion"
"""`Trace.operator` of a pass without a topological order."""

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
    number        its place in the pass; the seed is step 1
    sender_name   what to call the sender, None for the seed
    receiver_name what to call the receiver

    Printed, it is a line of text.
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
    number: int = 0
    sender_name: str | None = None
    receiver_name: str = ""

    def __str__(self) -> str:
        return told(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For notebooks and IPython: the line instead of the fields."""
        printer.text(told(self))


class Trace:
    """A backward pass that goes on as its steps are asked for, and the graph as it was before it.

    Iterating takes steps (`for step in trace`; a second loop begins with the first step again), and `next(trace)`
    takes one, from a place of its own. While the pass is open, the nodes' `.grad` hold what has arrived so far. All
    gradients are put back at its end, at `close()`, at the end of `with trace(loss) as steps:`, when a step fails, and
    when nothing refers to the trace any more. Whatever reads the pass as a whole runs it to its end first: `steps`,
    `grads`, `hooked`, `len()` and indexing.

    graph     every node, described before the pass
    operator  how contributions were combined: "+=", "=", "recursion", or the function's name
    stopped   the condition of `until` that ended the pass, None where none did
    needed    how many steps a recursion would take in all, which may be more than it is given; else 0
    """

    def __init__(
        self,
        graph: Graph,
        operator: str,
        start: Callable[[list[Step], dict[str, Quantity]], Generator[None, None, None]],
        until: Condition | Iterable[Condition] | None = None,
        needed: int = 0,
    ) -> None:
        self.needed = needed
        self.graph = graph
        self.operator = operator
        self.stopped: str | None = None
        self._until = breakpoints(until, graph)
        self._start = start
        self._live: Generator[None, None, None] | None = None  # refers to no trace: a dropped one ends it
        self._steps: list[Step] = []
        self._hooked: dict[str, Quantity] = {}
        self._place = 0  # of next()
        self._ended = False
        self._failed = ""

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every step; of a pass that was closed on its way, those until then."""
        self._finish()
        return tuple(self._steps)

    @property
    def recorded(self) -> tuple[Step, ...]:
        """The steps taken so far; takes none."""
        return tuple(self._steps)

    @property
    def finished(self) -> bool:
        """Whether the pass takes no more steps: it has come to its end, was stopped or closed, or failed."""
        return self._ended

    @property
    def hooked(self) -> Mapping[str, Quantity]:
        """The gradients that hooks left behind, by key, where these are not what arrived."""
        self._finish()
        return self._hooked

    @property
    def grads(self) -> dict[str, Quantity]:
        """The gradient that each node holds at the end, by key; nodes that nothing reached are left out."""
        return {step.receiver: step.after for step in self.steps} | dict(self.hooked)

    @property
    def first_nonfinite(self) -> NonFinite | None:
        """The first value of the forward pass that is nan or infinite, with its operands; None where there is none."""
        return first_nonfinite(self.graph)

    def run_until(self, *conditions: Condition) -> Step | None:
        """Take steps, from the place of `next()` on, up to the first at which one of the conditions holds.

        That step is returned, and the gradients hold what has arrived up to it; None where the pass ends without.
        For what a condition may be see `viz.breakpoints.read`. Raises UserError for text that is none.
        """
        points = breakpoints(conditions, self.graph)
        while (step := next(self, None)) is not None:
            if first_held(points, step):
                return step
        return None

    def close(self) -> None:
        """End the pass where it is, and put all gradients back. The steps taken so far stay."""
        self._ended = True
        if self._live is not None:
            self._live.close()
            self._live = None

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Iterator[Step]:
        place = 0
        while place < len(self._steps) or self._advance():
            yield self._steps[place]
            place += 1

    def __next__(self) -> Step:
        if self._place == len(self._steps) and not self._advance():
            raise StopIteration
        self._place += 1
        return self._steps[self._place - 1]

    def __len__(self) -> int:
        return len(self.steps)

    def __bool__(self) -> bool:
        """True: every pass has a step, the seed; and asking takes none."""
        return True

    def __getitem__(self, place: int) -> Step:
        return self.steps[place]

    def __repr__(self) -> str:
        taken = count(len(self._steps), "step")
        far = f" of {taken}" if self._ended else f", {taken} so far," if self._steps else ", not begun,"
        return f"<Trace{far} with {self.operator}, from {self.graph.root.title}>"

    def _finish(self) -> None:
        while self._advance():
            pass
        if self._failed:
            raise RuntimeError(f"this pass failed after {count(len(self._steps), 'step')}: {self._failed}")

    def _advance(self) -> bool:
        """Take one step, unless the pass is over."""
        if self.stopped is not None:
            self.close()
        if self._ended:
            return False
        if self._live is None:
            self._live = self._start(self._steps, self._hooked)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # infinities may meet silently
                next(self._live)
            held = first_held(self._until, self._steps[-1])
        except StopIteration:
            self.close()
            return False
        except BaseException as error:
            if self._steps:
                self._failed = f"{type(error).__name__}: {error}"
                self.close()
            else:  # refused, e.g. as another pass is open: it may begin when that one is closed
                self._live = None
            raise
        self.stopped = None if held is None else held.text
        return True


def trace(
    root: Node,
    combine: Combine = add,
    *,
    gradient: Any = None,
    names: Mapping[str, Any] | None = None,
    until: Condition | Iterable[Condition] | None = None,
    recursive: bool = False,
) -> Trace:
    """One backward pass from `root`, from empty gradients, whose steps are taken as they are asked for and recorded.

    The graph is described at once. See `Trace` for when the pass runs, and when all gradients are put back.

    combine   what happens where a contribution arrives: `micrograd.backprop.add` (+=) or `overwrite` (=, the bug)
    gradient  the seed, for a tensor of several elements
    names     a namespace to look node names up in; by default the caller's variables
    until     the pass ends with the first step at which this condition, or one of these, holds: "nan", "inf",
              "|grad| > 100", a node's name, or a function of the step; see `viz.breakpoints.read`
    recursive walk as one does without a topological order, which is wrong too: see `viz.recursion`

    Raises what `root.backward(gradient)` would (of a rule: when its step is asked for), TypeError for what is no node,
    UserError for complex numbers and for a condition that cannot be read. While a trace has taken some of its steps,
    a second pass over the same nodes is refused with RuntimeError.
    """
    check_node(root)
    seed = root._seed(gradient)
    order = topological_order(root)
    with gradients_kept(order):
        graph = describe(order, caller_namespace() if names is None else names, contributions=False)
    signs: dict[Combine, str] = {add: "+=", overwrite: "="}
    operator = signs.get(combine) or str(getattr(combine, "__name__", "combine"))
    rule, needed = partial(chain_rule, root, seed), 0
    if recursive:
        operator = RECURSION if combine is add else f"{RECURSION} and {operator}"
        with np.errstate(all="ignore"):
            needed = steps_needed(root)
        rule = partial(recursive_rule, root, seed)
    return Trace(graph, operator, partial(_run, rule, combine, order, graph), until, needed)


def _run(
    rule: Callable[[], Generator[Contribution, None, None]],
    combine: Combine,
    order: list[Node],
    graph: Graph,
    steps: list[Step],
    hooked: dict[str, Quantity],
) -> Generator[None, None, None]:
    """The whole pass, a step appended to `steps` at each next(); puts all gradients back however it ends."""
    _check_data(order, graph)
    with gradients_kept(order):
        for step in _walk(rule(), combine, order, graph):
            steps.append(step)
            yield
        hooked.update(_after_hooks(steps, order, graph))


def _check_data(order: list[Node], graph: Graph) -> None:
    """Raise RuntimeError where a value is no longer the one that the graph was described with."""
    for node, record in zip(order, graph.nodes, strict=True):
        same = isinstance(record.data, float) and node.data == record.data  # quick, for graphs of many Values
        if not same and not np.array_equal(node.data, record.data, equal_nan=True):
            raise RuntimeError(f"{record.name} has changed since this trace was made: make a new one")


def _walk(
    contributions: Generator[Contribution, None, None], combine: Combine, order: list[Node], graph: Graph
) -> Iterator[Step]:
    """The pass itself: the same loop as `backprop.deliver`, with a record of what it does."""
    records = dict(zip(order, graph.nodes, strict=True))
    turns: dict[Node, _Sender] = {}
    arrived: dict[Node, Quantity] = {}  # the gradients as the last contribution left them
    number = 0
    with closing(contributions):
        following = next(contributions, None)
        while following is not None:
            sender, receiver, sent = following
            to = records[receiver]
            before = keep(receiver.grad) if reached(receiver) else None
            receiver.grad = combine(receiver.grad, sent)
            arrival = (keep(sent), before, keep(receiver.grad))
            arrived[receiver] = arrival[2]
            number += 1
            if sender is None:
                step = Step(None, to.key, 0, *arrival, None, None, None, "the seed", number, None, to.name)
            else:
                slot = turns[sender].next_slot(receiver) if sender in turns else None
                if slot is None:  # its turn has come, or, in a pass in another order, has come again
                    turns[sender] = _Sender(sender, records[sender], graph, arrived[sender])
                    slot = turns[sender].next_slot(receiver)
                step = turns[sender].step(number, slot or 0, to, arrival)
            if receiver._prev or not has_hooks(receiver):
                yield step
                following = next(contributions, None)
            else:  # the hooks of a leaf run when what follows is asked for: so this step can tell of them
                following = next(contributions, None)
                remark = _changed(to.name, "then", arrival[2], keep(receiver.grad))
                yield replace(step, rule=step.rule + remark)


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
            if record.is_leaf and not steps[i].rule.endswith(remark):
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
        self._slot = -1
        self._told: set[Node] = set()  # whom a rule of the user's has sent to, which it does once each

    def next_slot(self, receiver: Node) -> int | None:
        """Which operand the next contribution is for: they come in the operands' order. None where this turn has no
        more for `receiver`."""
        if self.node._closure is not None:
            if receiver in self._told:
                return None
            self._told.add(receiver)
            return self.node._prev.index(receiver)
        prev = self.node._prev
        slot = next((i for i in range(self._slot + 1, len(prev)) if prev[i] is receiver), None)
        self._slot = self._slot if slot is None else slot
        return slot

    def step(self, number: int, slot: int, to: NodeRecord, arrival: tuple[Quantity, Quantity | None, Quantity]) -> Step:
        """The contribution for operand number `slot`, with (contribution, before, after)."""
        local, rule = self._in_words(slot, to)
        if local and np.shape(arrival[0]) != np.shape(self.upstream):
            rule = f"unbroadcast({rule}, {to.name}.shape)"
        rule += self.hooked
        slope = self.slopes[slot] if local else None
        named = (number, self.record.name, to.name)
        return Step(self.record.key, to.key, slot, *arrival, self.upstream, slope, local, rule, *named)

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
