"""What the stepper page shows, as JSON: every number and every rule already in words, each stored once.

The page itself computes nothing with numbers. So they read the same as in pictures and tables, and nan and inf,
which JSON lacks, need no special care.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from viz import text
from viz.graph import Graph, NodeRecord
from viz.pages.layout import NODE_HEIGHT, Layout, layouts
from viz.pages.quantities import Interned, Quantities
from viz.trace import OWN_RULE, UNKNOWN_RULE, Step, Trace
from viz.words import formula

MOST_NAME_CHARACTERS = 200
"""Of a name or title on the page, which repeats them many times; longer ones end in an ellipsis."""

_MOST_RULE_CHARACTERS = 500
_MOST_TITLE_CHARACTERS = 30  # in a box

# The page's fonts, as step.css sets them: pixels a character, a little more than the widest common font needs.
_TITLE_CHARACTER = 8.2
_VALUE_CHARACTER = 7.6
_CHIP = {"height": 20, "character": 7.6, "padding": 12}  # of a number on an edge; the padding is both sides' together
_ROW_NAME_WIDTH = 44  # "data" and "grad" at the left of a node
_PADDING = 20
_CONSTANT = "constant"  # what tables.js writes as the gradient of a node that takes none
_STEP_FIELDS = (
    "sender",
    "receiver",
    "slot",
    "contribution",
    "before",
    "after",
    "upstream",
    "local",
    "localText",
    "rule",
    "ruleKind",
)


def page_data(accumulated: Trace, overwritten: Trace) -> dict[str, Any]:
    """Everything the page needs, for json.dumps.

    accumulated, overwritten  the same pass under `+=` and under `=`

    Nodes, quantities and texts are referred to by their index. Of a step, `local`, `before` and others are null
    where the trace has None.
    """
    quantities, words = Quantities(), Interned()
    graph = accumulated.graph
    passes = {
        "add": [_step_row(step, graph, quantities, words) for step in accumulated.steps],
        "overwrite": [_step_row(step, graph, quantities, words) for step in overwritten.steps],
    }
    nodes = [_node(node, graph, quantities) for node in graph.nodes]
    widths = _node_widths(nodes, passes, quantities.records)
    chip = _chip_width(passes, quantities.records), _CHIP["height"]
    return {
        "nodes": [node | {"width": width} for node, width in zip(nodes, widths, strict=True)],
        "nodeHeight": NODE_HEIGHT,
        "chip": _CHIP,
        "leaves": [_index(node.key) for node in _leaves(graph)],
        "edges": [[_index(edge.parent), _index(edge.child), edge.slot] for edge in graph.edges],
        "layouts": {name: _layout(layout) for name, layout in layouts(graph, widths, chip).items()},
        "stepFields": list(_STEP_FIELDS),
        "passes": passes,
        "quantities": quantities.records,
        "words": words.records,
    }


def script_json(data: Any) -> str:
    """`data` as JSON that is safe between <script> tags: nothing in it can end the script or begin a comment."""
    raw = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return raw.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _node(node: NodeRecord, graph: Graph, quantities: Quantities) -> dict[str, Any]:
    return {
        "name": text.cut(node.name, MOST_NAME_CHARACTERS),
        "title": text.cut(node.title, MOST_NAME_CHARACTERS),
        "short": _short_title(node, graph),
        "parents": [_index(parent) for parent in node.parents],
        "data": quantities.of(node.data),
        "constant": not node.requires_grad,
    }


def _short_title(node: NodeRecord, graph: Graph) -> str:
    """The title as it fits into a box: long operand names keep their last part, as in `h = …w[2]*x`."""
    if len(node.title) <= _MOST_TITLE_CHARACTERS or node.is_leaf:
        return text.clip(node.title, _MOST_TITLE_CHARACTERS)
    names = [graph[key].name for key in node.parents]
    tails = [f"…{name.rpartition('.')[2]}" if "." in name else name for name in names]
    return text.clip(f"{node.name} = {formula(node.op, tails, node.part)}", _MOST_TITLE_CHARACTERS)


def _leaves(graph: Graph) -> list[NodeRecord]:
    """The leaves that take a gradient, without the numbers that a program of Values is written with; with them where
    there is nothing else."""
    leaves = [node for node in graph.nodes if node.is_leaf and node.requires_grad]
    return [node for node in leaves if node.named or np.shape(node.data)] or leaves


def _step_row(step: Step, graph: Graph, quantities: Quantities, words: Interned) -> list[int | str | None]:
    """One step as a row of _STEP_FIELDS."""

    def word(text_of_step: str | None) -> int | None:
        return None if text_of_step is None else words.index(text.cut(text_of_step, _MOST_RULE_CHARACTERS))

    return [
        None if step.sender is None else _index(step.sender),
        _index(step.receiver),
        step.slot,
        quantities.of(step.contribution),
        quantities.of(step.before),
        quantities.of(step.after),
        quantities.of(step.upstream),
        quantities.of(step.local),
        word(step.local_text),
        word(step.rule),
        _rule_kind(step, graph),
    ]


def _rule_kind(step: Step, graph: Graph) -> str:
    """What `step.rule` is: an expression ("code"), the name of an operation's rule ("name"), or a mention of the rule
    that the user assigned ("own")."""
    if step.rule.startswith(OWN_RULE):
        return "own"
    named = step.sender is None or step.rule.startswith(UNKNOWN_RULE.format(op=graph[step.sender].op))
    return "name" if named else "code"


def _index(key: str) -> int:
    return int(key[1:])


def _node_widths(nodes: list[dict], passes: dict[str, list[list]], quantities: list[dict]) -> list[int]:
    """Wide enough for the title and for the widest number that any node shows at any step."""
    receiver, after = _STEP_FIELDS.index("receiver"), _STEP_FIELDS.index("after")
    longest = [len(quantities[node["data"]]["text"]) for node in nodes]
    for row in (row for steps in passes.values() for row in steps):
        longest[row[receiver]] = max(longest[row[receiver]], len(quantities[row[after]]["text"]))
    numbers = _ROW_NAME_WIDTH + max(len(_CONSTANT), *longest) * _VALUE_CHARACTER
    return [round(max(numbers, len(node["short"]) * _TITLE_CHARACTER) + _PADDING) for node in nodes]


def _chip_width(passes: dict[str, list[list]], quantities: list[dict]) -> int:
    sent = _STEP_FIELDS.index("contribution")
    longest = max(len(quantities[row[sent]]["chip"]) for steps in passes.values() for row in steps)
    return round(longest * _CHIP["character"] + _CHIP["padding"])


def _layout(layout: Layout) -> dict[str, Any]:
    return {"width": layout.width, "height": layout.height, "nodes": layout.nodes, "edges": layout.edges}
