"""The line that runs, for a graph of Values: the text of a contribution in what `micrograd.script` writes.

The page puts together what the script does: the same names and the same rules, with every node a line of its own. A
number that stands in the program gets none in a script, and has no line here.
"""

from __future__ import annotations

from collections.abc import Sequence

from micrograd import Value
from micrograd.backprop import Node, has_hooks
from micrograd.scripting.checks import has_own_rule
from micrograd.scripting.names import gradient, identifiers
from micrograd.scripting.rules import number, rule
from micrograd.scripting.writing import contribution_line
from viz.graph import Graph, NodeRecord


def variables(order: Sequence[Node], graph: Graph) -> list[str] | None:
    """What each node is called in the script: its variable, or its number; None for a graph that has no script."""
    known: dict[tuple[str, int], bool] = {}
    if not all(_can_be_written(node, known) for node in order):
        return None
    baked = [is_number(record) for record in graph.nodes]
    given = {node: record.name for node, record, known in zip(order, graph.nodes, baked, strict=True) if not known}
    leaves = [node for node in given if not node._prev]
    names = identifiers(order[-1], dict.fromkeys((*leaves, *given)), given)
    return [names[node] if node in names else number(node.data) for node in order]


def is_number(record: NodeRecord) -> bool:
    """Whether a node is a number of the program's, which a script takes as it is."""
    return record.is_leaf and not record.named and record.name == f"{float(record.data):g}"


def lines(
    node: Node, operands: Sequence[NodeRecord], names: Sequence[str], out: str, uses: Sequence[int]
) -> list[str | None]:
    """The line of the contribution to each operand; None for a number.

    operands  their records
    names     what they are called in the script, and `out` what the node is
    uses      how many contributions they receive
    """
    baked = list(map(is_number, operands))
    found = rule(node._op, [p.data if known else "" for p, known in zip(node._prev, baked, strict=True)])
    if found is None:
        return [None] * len(operands)
    a, b = (*names, "", "")[:2]
    sent = [text.format(a=a, b=b, out=out, g=gradient(out)) for text in found.sent]
    return [None if known else contribution_line(*line) for known, *line in zip(baked, names, sent, uses, strict=True)]


def _can_be_written(node: Node, known: dict[tuple[str, int], bool]) -> bool:
    """Whether a script has a line for a node; `known` remembers for which operations there is one."""
    if not isinstance(node, Value) or has_own_rule(node) or has_hooks(node):
        return False
    operation = node._op, len(node._prev)
    if operation not in known:
        known[operation] = not node._prev or rule(node._op, [""] * len(node._prev)) is not None
    return known[operation]
