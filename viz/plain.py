"""Records as plain data for JSON: dictionaries, lists, numbers and strings. JSON has no nan and no inf: strings here."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from viz.graph import Graph, NodeRecord, Quantity
from viz.trace import Step, Trace


def dumps(data: Any) -> str:
    """`data` as JSON text."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def graph(g: Graph) -> dict[str, Any]:
    """The nodes, parents before children, and the edges, one for each use of a node."""
    return {
        "root": g.root.key,
        "nodes": [node(record) for record in g.nodes],
        "edges": [
            {"from": e.parent, "to": e.child, "slot": e.slot, "contribution": quantity(e.contribution)} for e in g.edges
        ],
    }


def node(record: NodeRecord) -> dict[str, Any]:
    """One node; its `grad` is null where no contribution has arrived."""
    return {
        "key": record.key,
        "name": record.name,
        "op": record.op,
        "formula": record.formula,
        "parents": list(record.parents),
        "shape": list(np.shape(record.data)),
        "dtype": str(np.asarray(record.data).dtype),
        "requires_grad": record.requires_grad,
        "data": quantity(record.data),
        "grad": quantity(record.grad),
    }


def trace(t: Trace) -> dict[str, Any]:
    """The graph before the pass, the operator, every step, and the gradients at the end by node key."""
    return {
        "operator": t.operator,
        **graph(t.graph),
        "steps": [step(s) for s in t.steps],
        "gradients": {key: quantity(grad) for key, grad in t.grads.items()},
    }


def step(s: Step) -> dict[str, Any]:
    """One contribution; `from` is null for the seed."""
    return {
        "from": s.sender,
        "to": s.receiver,
        "slot": s.slot,
        "rule": s.rule,
        "local": quantity(s.local),
        "upstream": quantity(s.upstream),
        "contribution": quantity(s.contribution),
        "before": quantity(s.before),
        "after": quantity(s.after),
    }


def quantity(q: Quantity | None) -> Any:
    """A number, or nested lists of them; null for None."""
    return None if q is None else _finite(np.asarray(q).tolist())


def _finite(x: Any) -> Any:
    if isinstance(x, list):
        return [_finite(element) for element in x]
    return x if not isinstance(x, float) or math.isfinite(x) else str(x)
