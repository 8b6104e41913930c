"""A backward pass as lines of text: who sends, the rule in words and numbers, and what the gradient becomes."""

from __future__ import annotations

import re

import numpy as np

from viz.arrays import Quantity, is_single
from viz.graph import NodeRecord
from viz.text import MINUS, clip, count, short
from viz.told import in_line
from viz.trace import RECURSION, Step, Trace

_WIDEST = 60  # column; a longer text pushes the rest of its own line only


def steps_text(trace: Trace) -> str:
    """The forward pass and then the steps of the backward pass, one a line, in columns.

    1  seed -> L  the seed = 1            L.grad = 1
    2  L -> f     a * L.grad = 2 * 1 = 2  f.grad = 2
    """
    nodes, steps = len(trace.graph), len(trace)
    lines = [f"forward: {count(nodes, 'node')}"]
    lines += [f"  {clip(node.title)} = {in_line(node.data)}" for node in trace.graph.nodes if not _is_literal(node)]
    lines += ["", f"backward: {count(steps, 'step')} with {trace.operator}{how_far(trace)}"]
    lines += _columns([_row(number, step, trace) for number, step in enumerate(trace.steps, 1)])
    return "\n".join(lines).replace(MINUS, "-")


def how_far(trace: Trace) -> str:
    """What to add to the number of steps of a pass that did not come to its end; "" for one that did."""
    if trace.stopped is not None:
        return f", stopped at {trace.stopped}"
    if trace.needed > len(trace):
        return f", stopped there: it would take {trace.needed:,}" if trace.needed < 10**15 else ", stopped there"
    return ""


def _is_literal(node: NodeRecord) -> bool:
    """Whether it is a number in the user's code, with that number for a name: `3 = 3` tells nobody anything."""
    return node.is_leaf and not node.named and is_single(node.data) and node.name == f"{np.asarray(node.data).item():g}"


def _row(number: int, step: Step, trace: Trace) -> tuple[str, str, str, str]:
    sender = trace.graph[step.sender].name if step.sender else "seed"
    receiver = trace.graph[step.receiver].name
    return str(number), f"{clip(sender)} -> {clip(receiver)}", sent(step, trace), becomes(step, receiver, trace)


def _columns(rows: list[tuple[str, str, str, str]]) -> list[str]:
    number, who, sent = (min(max((len(row[i]) for row in rows), default=0), _WIDEST) for i in range(3))
    return [f"  {row[0]:>{number}}  {row[1]:<{who}}  {row[2]:<{sent}}  {row[3]}" for row in rows]


def sent(step: Step, trace: Trace) -> str:
    """`b * d.grad = -3 * 2 = -6`: the rule, its numbers where it is a product of two, and the contribution."""
    numbers = [_rule(step, trace)]
    if step.local is not None and np.size(step.contribution) == 1 and " * " in step.rule:
        numbers.append(f"{short(float(np.squeeze(step.local)))} * {_operand(step.upstream)}")
    numbers.append(in_line(step.contribution))
    return " = ".join(numbers)


def _rule(step: Step, trace: Trace) -> str:
    """The rule with long names cut as elsewhere in the line."""
    if step.sender is None:
        return step.rule
    sender = trace.graph[step.sender]
    names = {sender.name, *(trace.graph[key].name for key in sender.parents)}
    long = sorted((name for name in names if clip(name) != name), key=len, reverse=True)
    if not long:
        return step.rule
    return re.sub("|".join(map(re.escape, long)), lambda name: clip(name[0]), step.rule)


def becomes(step: Step, receiver: str, trace: Trace) -> str:
    """`a.grad: 4 + (-6) = -2`, or under another operator what is lost; `a.grad = 4` for the first to arrive."""
    grad = f"{clip(receiver)}.grad"
    if step.before is None:
        return f"{grad} = {in_line(step.after)}"
    if trace.operator in ("+=", RECURSION):
        return f"{grad}: {in_line(step.before)} + {_operand(step.contribution)} = {in_line(step.after)}"
    lost = f" ({in_line(step.before)} is lost)" if np.any(step.before) else ""  # of a zero nothing is lost
    return f"{grad} = {in_line(step.after)}{lost}"


def _operand(q: Quantity) -> str:
    """The text of a quantity on the right of an operator: a negative number in parentheses."""
    text = in_line(q)
    return f"({text})" if text.startswith(MINUS) else text
