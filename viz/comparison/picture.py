"""A comparison as one picture: the tensor graph, and the scalar graph with the nodes of each tensor in a box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import graphviz
import numpy as np

from micrograd.backprop import Node, chain_rule, deliver, topological_order
from viz.comparison.lifted import Pair
from viz.comparison.records import NodeComparison
from viz.dot import GREY, INK, VERMILION, add_edges, add_graph, add_node, new_digraph
from viz.drawing import Drawing
from viz.graph import Graph, NodeRecord, describe
from viz.labels import escape, node_label
from viz.limits import check_picture
from viz.passes import empty_gradients
from viz.text import clip, short

_TENSOR, _SCALAR = "t", "s"  # what the DOT names of the two graphs' nodes start with


def draw_pair(pair: Pair, nodes: Sequence[NodeComparison], elements: Mapping[Node, str], max_nodes: int) -> Drawing:
    """Both graphs after one backward pass, what differs marked.

    nodes     what is known of each of the pair's tensors
    elements  what to call their scalar nodes

    Raises TooLargeError over `max_nodes` nodes.
    """
    order = topological_order(pair.scalar_root)
    check_picture(len(pair.tensors) + len(order), max_nodes, subject="both graphs together have")
    tensor_names = {t: node.name for node, t in zip(nodes, pair.tensors, strict=True)}
    tensors = _after_a_pass(pair.tensors, pair.seed, tensor_names)
    owners = owned_by(pair, order)
    scalar_names = {**elements, **_parts(nodes, elements, order, owners)}
    scalars = _after_a_pass(order, pair.scalar_seed, scalar_names)

    dot = new_digraph(f"{clip(nodes[-1].title)}, tensors and scalars", len(tensors) + len(scalars))
    dot.attr(ranksep="0.2", nodesep="0.12")
    # dot places what comes first at the bottom
    with dot.subgraph(name="cluster_scalars") as box:
        box.attr(**_frame(f"Values: {len(scalars)} nodes, in a box for each tensor that they stand for"))
        _add_scalars(box, scalars, owners, nodes)
        _mark_scalars(box, dict(zip(order, scalars.nodes, strict=True)), pair, nodes)
    with dot.subgraph(name="cluster_tensors") as box:
        box.attr(**_frame(f"Tensors: {len(tensors)} nodes"))
        add_graph(box, tensors, prefix=_TENSOR)
        _mark_tensors(box, tensors, nodes)
    return Drawing(dot.source)


def _after_a_pass(order: Sequence[Node], seed: Any, names: Mapping[Node, str]) -> Graph:
    """The graph as one backward pass leaves it; gradients are put back."""
    with empty_gradients(order), np.errstate(over="ignore", invalid="ignore"):
        deliver(chain_rule(order[-1], seed))
        return describe(list(order), {}, contributions=True, given=names)


def _parts(
    nodes: Sequence[NodeComparison], elements: Mapping[Node, str], order: Sequence[Node], owners: Sequence[int | None]
) -> dict[Node, str]:
    """Names for the scalar nodes on the way to an element: the tensor's name and a number, "h.1"."""
    counted: Counter[int] = Counter()
    names = {}
    for node, owner in zip(order, owners, strict=True):
        if owner is not None and node._prev and node not in elements:
            counted[owner] += 1
            names[node] = f"{nodes[owner].name}.{counted[owner]}"
    return names


def _add_scalars(
    dot: graphviz.Digraph, graph: Graph, owners: Sequence[int | None], nodes: Sequence[NodeComparison]
) -> None:
    for i, node in enumerate(nodes):
        members = [record for record, owner in zip(graph.nodes, owners, strict=True) if owner == i]
        if not members:
            continue
        with dot.subgraph(name=f"cluster_{node.key}") as box:
            box.attr(**_tensor_box(node))
            for record in reversed(members):
                add_node(box, graph, record, prefix=_SCALAR)
    for record, owner in zip(graph.nodes, owners, strict=True):
        if owner is None:
            add_node(dot, graph, record, prefix=_SCALAR)
    add_edges(dot, graph, prefix=_SCALAR)


def owned_by(pair: Pair, order: Sequence[Node]) -> list[int | None]:
    """For each scalar node the place of the tensor that it was made for: as an element, or on the way to one (the
    partial sums of a product of matrices, a constant). None for the weighted sum that a pass may start from."""
    owner: dict[Node, int] = {
        node: i for i, elements in enumerate(pair.elements) for node in elements.flat if isinstance(node, Node)
    }
    for i, elements in enumerate(pair.elements):
        waiting = [parent for node in elements.flat if isinstance(node, Node) for parent in node._prev]
        while waiting:
            node = waiting.pop()
            if node not in owner:
                owner[node] = i
                waiting += node._prev
    return [owner.get(node) for node in order]


# -- marks -------------------------------------------------------------------------------------------------------------

_DIFFERS = {"color": VERMILION, "penwidth": "4"}


def _frame(title: str) -> dict[str, str]:
    return {"label": escape(title), "labeljust": "l", "color": "white", "fontsize": "16", "fontcolor": INK}


def _tensor_box(node: NodeComparison) -> dict[str, str]:
    style = {"label": escape(clip(node.title)), "style": "rounded", "color": GREY, "fontcolor": GREY, "fontsize": "13"}
    if not node.ok:
        style |= _DIFFERS | {
            "label": escape(f"{clip(node.title)}: {node.mismatches} of {node.size} differ"),
            "fontcolor": INK,
        }
    return style | {"labeljust": "l", "margin": "6"}


def _mark_tensors(dot: graphviz.Digraph, graph: Graph, nodes: Sequence[NodeComparison]) -> None:
    for record, node in zip(graph.nodes, nodes, strict=True):
        if not node.ok:
            _mark(dot, _TENSOR, record, f"differs from the scalars in {node.mismatches} of {node.size}")


def _mark_scalars(
    dot: graphviz.Digraph, records: Mapping[Node, NodeRecord], pair: Pair, nodes: Sequence[NodeComparison]
) -> None:
    for node, elements in zip(nodes, pair.elements, strict=True):
        for index in map(tuple, np.argwhere(~node.matches)):
            if elements[index] in records:
                _mark(dot, _SCALAR, records[elements[index]], _other(node, index))


def _mark(dot: graphviz.Digraph, prefix: str, record: NodeRecord, text: str) -> None:
    """Draw a node's border thick, and add a field to the foot of its box."""
    dot.node(prefix + record.key, label=f"{node_label(record)}|{escape(text)}", **_DIFFERS)


def _other(node: NodeComparison, index: tuple[int, ...]) -> str:
    """What the tensor engine says in the place of what the box says."""
    if not node.data_matches[index]:
        return f"tensor: data {short(node.tensor_data[index])}"
    return f"tensor: grad {short(node.tensor_grad[index])}"
