"""Records as plain data for JSON: dictionaries, lists, numbers and strings.

The keys are the names of the records' fields. JSON has no nan and no inf: they are the strings "nan", "inf" and "-inf".
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

from viz.comparison.records import NodeComparison, Row
from viz.graph import Edge, Graph, NodeRecord
from viz.trace import Step, Trace


def dumps(data: Any) -> str:
    """`data` as JSON text, in ASCII, so that it is JSON whatever encoding it is printed in."""
    return json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False)


def graph(g: Graph) -> dict[str, Any]:
    """The nodes, parents before children, and the edges, one for each use of a node.

    A node's `grad` is null where no contribution has arrived, an edge's `contribution` where none is sent.
    """
    structure = _structure(g)
    return structure | {
        "nodes": [known | {"grad": plain(r.grad)} for known, r in zip(structure["nodes"], g.nodes, strict=True)],
        "edges": [record(edge) for edge in g.edges],
    }


def trace(t: Trace) -> dict[str, Any]:
    """The operator, the graph before the pass, every step, and the gradients at the end by node key.

    A step's `sender` is null for the seed.
    """
    return {
        "operator": t.operator,
        **_structure(t.graph),
        "steps": [record(step) for step in t.steps],
        "grads": plain(t.grads),
    }


def _structure(g: Graph) -> dict[str, Any]:
    """The graph without what a backward pass leaves in it."""
    return {
        "root": g.root.key,
        "nodes": [
            {**_node(r, np.shape(r.data), np.asarray(r.data).dtype, r.requires_grad), "data": plain(r.data)}
            for r in g.nodes
        ],
        "edges": [{"parent": edge.parent, "child": edge.child, "slot": edge.slot} for edge in g.edges],
    }


def compared_node(node: NodeComparison) -> dict[str, Any]:
    """One node of a comparison, without its elements."""
    return {
        **_node(node, node.shape, node.dtype, not node.is_constant),
        "ok": node.ok,
        "mismatches": node.mismatches,
    }


def _node(r: NodeRecord | NodeComparison, shape: tuple[int, ...], dtype: Any, requires_grad: bool) -> dict[str, Any]:
    """What the nodes of draw, step and compare have in common."""
    return {
        "key": r.key,
        "name": r.name,
        "named": r.named,
        "op": r.op,
        "formula": r.formula,
        "parents": list(r.parents),
        "shape": list(shape),
        "dtype": str(dtype),
        "requires_grad": requires_grad,
    }


def record(r: Edge | Step | Row | None) -> dict[str, Any] | None:
    """A record by the names of its fields."""
    return None if r is None else {field.name: plain(getattr(r, field.name)) for field in fields(r)}


def plain(x: Any) -> Any:
    """`x` with lists in the place of arrays and tuples, and strings in the place of nan and the infinities."""
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(element) for element in x]
    if isinstance(x, (np.ndarray, np.generic)):
        return plain(x.tolist())
    return x if not isinstance(x, float) or math.isfinite(x) else str(x)
