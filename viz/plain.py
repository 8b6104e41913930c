"""Records as plain data for JSON: dictionaries, lists, numbers and strings.

JSON has no nan and no inf: they are the strings "nan", "inf" and "-inf".
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from viz.graph import Graph, NodeRecord
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
            {"from": e.parent, "to": e.child, "slot": e.slot, "contribution": plain(e.contribution)} for e in g.edges
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
        "data": plain(record.data),
        "grad": plain(record.grad),
    }


def trace(t: Trace) -> dict[str, Any]:
    """The graph before the pass, the operator, every step, and the gradients at the end by node key."""
    return {
        "operator": t.operator,
        **graph(t.graph),
        "steps": [step(s) for s in t.steps],
        "gradients": {key: plain(grad) for key, grad in t.grads.items()},
    }


def step(s: Step) -> dict[str, Any]:
    """One contribution; `from` is null for the seed."""
    return {
        "from": s.sender,
        "to": s.receiver,
        "slot": s.slot,
        "rule": s.rule,
        "local": plain(s.local),
        "upstream": plain(s.upstream),
        "contribution": plain(s.contribution),
        "before": plain(s.before),
        "after": plain(s.after),
    }


def plain(x: Any) -> Any:
    """`x` with lists in the place of arrays and tuples, and strings in the place of nan and the infinities."""
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(element) for element in x]
    if isinstance(x, (np.ndarray, np.generic)):
        return plain(x.tolist())
    return x if not isinstance(x, float) or math.isfinite(x) else str(x)
