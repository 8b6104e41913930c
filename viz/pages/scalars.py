"""A scalar graph as numbers, for the page's own engine (engine.js): it runs the passes, and computes again for
other leaves."""

from __future__ import annotations

import base64
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node, has_hooks

_OPERATIONS: dict[str, tuple[int, Callable[..., Value]]] = {
    "+": (2, operator.add),
    "-": (2, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "**": (2, operator.pow),
    "neg": (1, operator.neg),
    "abs": (1, Value.abs),
    "ReLU": (1, Value.relu),
    "tanh": (1, Value.tanh),
    "sigmoid": (1, Value.sigmoid),
    "exp": (1, Value.exp),
    "log": (1, Value.log),
    "sqrt": (1, Value.sqrt),
    "sin": (1, Value.sin),
    "cos": (1, Value.cos),
}
"""The operations that engine.js computes, with their number of operands; beside them `**n`, with a number."""

_POWER = "**"
_EXACT = 2**53


def recordable(order: Sequence[Node]) -> bool:
    """Whether the page can run the passes over this graph itself: Values whose local derivatives are all known, with
    no rules of the user's and no hooks."""
    return all(_is_plain(node) for node in order)


def pack(order: Sequence[Value]) -> dict[str, Any]:
    """The numbers of a graph that is `recordable`, in topological order, for json.dumps.

    data        of each node, as base64 of little-endian 64-bit floats
    local       the local derivative of each edge, node by node and operand by operand, likewise
    blocked     the edges through which nothing passes: 0 times any gradient is 0, nan and inf included
    ops, op     the different operations, and which of them made each node, as base64 of 32-bit integers
    computable  whether the page can compute the nodes anew from other leaves: it knows all operations, and with the
                present leaves they give the present data (not so where data were changed afterwards)
    """
    local = [slope for node in order if node._prev for slope in node._local or ()]
    ops: dict[str, int] = {}
    op = [ops.setdefault(str(node._op or ""), len(ops)) for node in order]
    return {
        "data": _floats(node.data for node in order),
        "local": _floats(local),
        "blocked": [i for i, slope in enumerate(local) if _is_blocked(slope)],
        "ops": list(ops),
        "op": base64.b64encode(np.array(op, dtype="<i4").tobytes()).decode(),
        "computable": all(not node._prev or _gives_the_same(node) for node in order),
    }


def _is_plain(node: Node) -> bool:
    if not isinstance(node, Value) or type(node)._vjp is not Value._vjp or node._closure is not None or has_hooks(node):
        return False
    if not isinstance(node.data, (float, int, np.floating)):
        return False
    if not node._prev:
        return not node._local
    local = node._local
    return local is not None and len(local) == len(node._prev) and all(map(_is_double, local))


def _is_double(slope: Any) -> bool:
    """Whether products with it are those of 64-bit floats."""
    return isinstance(slope, float) or (isinstance(slope, int) and abs(slope) <= _EXACT)


def _is_blocked(slope: float) -> bool:
    return slope == 0.0 and slope * math.inf == 0.0


def _floats(numbers: Iterable[float]) -> str:
    return base64.b64encode(np.array([float(x) for x in numbers], dtype="<f8").tobytes()).decode()


def _gives_the_same(node: Value) -> bool:
    """Whether the operation that the node is named after, done again, gives its data and its local derivatives."""
    again = _again(str(node._op), [Value(parent.data) for parent in node._prev])
    if again is None:
        return False
    pairs = zip((again.data, *again._local), (node.data, *node._local), strict=True)
    return all(a == b or (a != a and b != b) for a, b in pairs)


def _again(op: str, operands: list[Value]) -> Value | None:
    """The operation on other operands, None if it is none of the engine's."""
    if op in _OPERATIONS:
        arity, function = _OPERATIONS[op]
        return function(*operands) if len(operands) == arity else None
    if op.startswith(_POWER) and len(operands) == 1:
        try:
            return operands[0] ** float(op.removeprefix(_POWER))
        except ValueError:
            return None
    return None
