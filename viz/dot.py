"""A graph as DOT text: micrograd's familiar look, with each contribution on its edge.

Every node is a box with its name, data and gradient; an ellipse for the operation stands before each result. The
helpers are public so that other pictures (the comparison of two graphs) look the same.
"""

from __future__ import annotations

from collections.abc import Collection

import graphviz
import numpy as np

from viz.errors import UserError
from viz.graph import Edge, Graph, NodeRecord
from viz.labels import DIRECTIONS, Direction, Sign, contribution_label, escape, node_label, sign, tooltip
from viz.text import clip

FONT = "Helvetica"  # the dot programs agree on Helvetica and Courier only

BLUE = "#0072B2"  # these three are of Okabe and Ito's palette, which people with colour blindness can tell apart
VERMILION = "#D55E00"
YELLOW = "#F0E442"
INK = "#222222"
GREY = "#666666"

_LINE: dict[Sign, str] = {"+": BLUE, "-": VERMILION, "0": GREY, "mixed": INK, "not finite": INK}
_TEXT = _LINE | {"-": "#B34700"}  # vermilion, darkened so that small text reads well on white

# Up to these, room is made for the labels of edges; beyond, they go where some is left: many times faster to lay out.
_MOST_LABELLED_NODES = 500
_MOST_LABELLED_SPANS = 1_000  # columns that edges cross together: a weight that is used 50 times in a row crosses more
_MOST_FREE_SIZE = 150  # nodes; above it the picture is scaled to fit
_LARGEST = "60,60"  # inches

_CAPTION = "On an edge: the contribution that goes back to that operand's gradient"
_MEANING: dict[Sign, str] = {
    "+": "blue adds",
    "-": "orange subtracts",
    "mixed": "black adds to some elements and subtracts from others",
    "0": "dashed is 0",
    "not finite": "thick is inf or nan",
}


def to_dot(graph: Graph, direction: Direction = "LR") -> str:
    """The DOT text of a graph's picture."""
    dot = new_digraph(clip(graph.root.title), len(graph), direction)
    kinds = {sign(edge.contribution) for edge in graph.edges if edge.contribution is not None}
    if kinds:
        dot.attr(label=escape(_caption(kinds)), labelloc="b", fontsize="11", fontcolor=GREY)
    add_graph(dot, graph, direction=direction)
    return dot.source


def _caption(kinds: Collection[Sign]) -> str:
    """What the numbers on the edges are, and below it what the colours of those `kinds` say."""
    return f"{_CAPTION}.\n{', '.join(text for kind, text in _MEANING.items() if kind in kinds).capitalize()}."


def new_digraph(title: str, nodes: int, direction: Direction = "LR") -> graphviz.Digraph:
    """An empty graph with the attributes that all our pictures share.

    title      what the picture shows, for its SVG's <title>
    nodes      how many nodes it will have: large graphs are scaled to fit
    direction  where it grows to from its leaves: "LR", "RL", "TB" or "BT"

    Raises UserError for another direction.
    """
    if direction not in DIRECTIONS:
        raise UserError(f"direction is {direction!r}; it can be {', '.join(DIRECTIONS)}")
    dot = graphviz.Digraph(
        name=escape(title),
        graph_attr={"rankdir": direction, "bgcolor": "white", "fontname": FONT, "nodesep": "0.2", "ranksep": "0.25"},
        node_attr={"fontname": FONT, "fontsize": "13", "fontcolor": INK, "color": INK, "height": "0.4"},
        edge_attr={"fontname": FONT, "fontsize": "12", "color": GREY, "arrowsize": "0.7"},
    )
    if nodes > _MOST_FREE_SIZE:
        dot.attr(size=_LARGEST)
    return dot


def add_graph(dot: graphviz.Digraph, graph: Graph, *, prefix: str = "", direction: Direction = "LR") -> None:
    """Add all nodes and edges of `graph` to `dot`, their DOT names preceded by `prefix`."""
    for record in graph.nodes:
        add_node(dot, graph, record, prefix=prefix, direction=direction)
    add_edges(dot, graph, prefix=prefix, direction=direction)


def add_node(
    dot: graphviz.Digraph, graph: Graph, record: NodeRecord, *, prefix: str = "", direction: Direction = "LR"
) -> None:
    """Add one node of `graph`, and the ellipse of its operation before it."""
    dot.node(prefix + record.key, **node_attributes(record, direction, is_root=record is graph.root))
    if not record.is_leaf:
        op = _op_key(record, prefix)
        dot.node(op, **_op_attributes(record))
        dot.edge(op, prefix + record.key, weight="10")


def add_edges(dot: graphviz.Digraph, graph: Graph, *, prefix: str = "", direction: Direction = "LR") -> None:
    """Add an edge for each use of a node of `graph`, from the operand to the ellipse of the operation."""
    place = "label" if len(graph) <= _MOST_LABELLED_NODES and _spans(graph) <= _MOST_LABELLED_SPANS else "xlabel"
    for edge in graph.edges:
        dot.edge(prefix + edge.parent, _op_key(graph[edge.child], prefix), **edge_attributes(edge, direction, place))


def _spans(graph: Graph) -> int:
    """How many columns the edges cross together, which is what the time of a layout with labels grows with."""
    column: dict[str, int] = {}
    spans = 0
    for record in graph.nodes:
        operands = [column[key] for key in record.parents]
        column[record.key] = max(operands, default=-1) + 1
        spans += sum(column[record.key] - c for c in operands)
    return spans


def _op_key(record: NodeRecord, prefix: str = "") -> str:
    """The DOT name of the ellipse that stands before a node: n3op."""
    return f"{prefix}{record.key}op"


def node_attributes(record: NodeRecord, direction: Direction = "LR", *, is_root: bool = False) -> dict[str, str]:
    """The DOT attributes of a node's box. Leaves are tinted, constants grey and dashed, the root drawn bold, and
    what holds nan or inf yellow with a thick border."""
    attributes = {
        "label": node_label(record, direction),
        "shape": "record",
        "style": "filled",
        "fillcolor": "#E3F0F9" if record.is_leaf else "white",
        "tooltip": tooltip(record.title),
    }
    if is_root:
        attributes |= {"penwidth": "2"}
    if not record.requires_grad:
        attributes |= {"style": "filled,dashed", "fillcolor": "#F2F2F2", "color": GREY, "fontcolor": "#555555"}
    if not _finite(record):
        attributes |= {"fillcolor": YELLOW, "penwidth": "3", "color": INK, "fontcolor": INK}
    return attributes


def _op_attributes(record: NodeRecord) -> dict[str, str]:
    """The DOT attributes of the ellipse for the operation that made a node."""
    return {"label": escape(clip(record.op)), "width": "0.45", "margin": "0.06,0.02", "tooltip": tooltip(record.title)}


def edge_attributes(edge: Edge, direction: Direction = "LR", place: str = "label") -> dict[str, str]:
    """The DOT attributes of one use of a node: its contribution, coloured by its sign.

    place  "label" to make room for the text, "xlabel" to place it where room is left
    """
    if edge.contribution is None:
        return {}
    which = sign(edge.contribution)
    attributes = {
        place: contribution_label(edge.contribution, direction),
        "color": _LINE[which],
        "fontcolor": _TEXT[which],
        "penwidth": "3" if which == "not finite" else "1.4",
    }
    return attributes | ({"style": "dashed"} if which == "0" else {})


def _finite(record: NodeRecord) -> bool:
    held = (record.data,) if record.grad is None else (record.data, record.grad)
    return all(np.isfinite(q).all() for q in held)
