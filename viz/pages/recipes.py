"""How each operation is written on the page: its formula, and for each operand the local derivative and the rule.

Nodes made in the same way share one recipe; the page puts in their names. So a text stands in the file once, however
many nodes it serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node
from viz.graph import Graph, NodeRecord
from viz.pages.scripted import is_number, lines
from viz.trace import OWN_RULE, UNKNOWN_RULE
from viz.words import contribution, entry, formula, local_derivative

_NAME = "\x01{}\x02"
"""Where the name of an operand goes, by its place, or of the result: control characters, which no name holds."""

_OUT = _NAME.format("o")


def recipe_key(node: Node, record: NodeRecord, graph: Graph) -> tuple[Any, ...]:
    """What two nodes have in common that are written in the same way."""
    made = record.op, record.part, node._closure is not None, node._local is not None
    operands = [graph[key] for key in record.parents]
    if isinstance(node, Value):  # whose line in a script depends on which operands are numbers, and on a divisor of 0
        return (*made, *map(is_number, operands), record.op == "/" and operands[-1].data == 0.0)
    return (*made, *(np.shape(operand.data) for operand in operands), np.shape(record.data))


def recipe(node: Node, record: NodeRecord, graph: Graph) -> dict[str, Any]:
    """{"op", "formula", "slots", "lines"}, with marks where names go. "slots" has for each operand
    [local, rule, kind, summed].

    local   d(node)/d(operand) as text, None where the rule is no product with one
    rule    the contribution as text
    kind    what `rule` is: an expression ("code"), the name of an operation's rule ("name"), or a mention of the
            rule that the user assigned ("own")
    summed  which axes unbroadcasting sums over, in words; None where it has nothing to do

    "lines", of a Value alone, has the line of each contribution in a script, with `+=`; None for a number.
    """
    operands = [_NAME.format(i) for i in range(len(record.parents))]
    shapes = [np.shape(graph[key].data) for key in record.parents]
    place = entry(record.op, [len(shape) for shape in shapes], np.ndim(record.data))
    slots = [_slot(node, record.op, place, i, operands, shapes) for i in range(len(operands))]
    found = {"op": record.op, "formula": formula(record.op, operands, record.part), "slots": slots}
    if isinstance(node, Value):
        several = [2] * len(operands)
        found["lines"] = lines(node, [graph[key] for key in record.parents], operands, _OUT, several)
    return found


def _slot(
    node: Node, op: str, place: str, i: int, operands: Sequence[str], shapes: Sequence[tuple[int, ...]]
) -> list[str | None]:
    if node._closure is not None:
        return [None, OWN_RULE, "own", None]
    local = local_derivative(op, i, operands, _OUT)
    if local is None and node._local is not None:  # a scalar operation of the user's, which has no words
        local = f"d{_OUT}/d{operands[i]}"
        return [local, f"{local} * {_OUT}.grad", "code", None]
    text = contribution(place, i, operands, _OUT)
    if text is None:
        return [None, UNKNOWN_RULE.format(op=op), "name", None]
    summed = summed_axes(np.shape(node.data), shapes[i]) if local else None
    if summed:
        text = f"unbroadcast({text}, {operands[i]}.shape)"
    return [local, text, "code", summed]


def summed_axes(out: tuple[int, ...], operand: tuple[int, ...]) -> str | None:
    """What undoing the broadcast from `operand` to `out` sums, in words; None where the shapes are equal.

    Axes that the operand lacks, and those along which it has one element.
    """
    if out == operand:
        return None
    missing = len(out) - len(operand)
    axes = [i for i, n in enumerate(out) if i < missing or (operand[i - missing] == 1 and n != 1)]
    listed = ", ".join(map(str, axes))
    return f"{'axis' if len(axes) == 1 else 'axes'} {listed}: from {out} to {operand}"


def filled(template: str, record: NodeRecord, graph: Graph) -> str:
    """A text of a recipe with the names of one node and its operands, as the page writes it."""
    for i, key in enumerate(record.parents):
        template = template.replace(_NAME.format(i), graph[key].name)
    return template.replace(_OUT, record.name)
