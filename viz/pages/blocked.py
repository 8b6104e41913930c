"""Where nothing, or next to nothing, passes along an edge, and why, in few words.

Read from the operation and its operands; no pass is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from micrograd.backprop import Node
from tensorgrad import Tensor
from tensorgrad.node import quiet
from tensorgrad.selection import Selected

MOST_SLOPE = 0.01
"""Of a tanh or sigmoid that counts as saturated."""

_HOW = {"detach": "detached"}  # a cut, as a participle; the modes ("no_grad") stay as they are


def blocked(order: Sequence[Node]) -> dict[int, str]:
    """Why an edge passes nothing or next to nothing, by its place among the edges: nodes in order, then operands.

    Of an array, an edge counts as blocked where that holds for more than half of the elements; the words say for how
    many ("dead relu: 37 of 64").
    """
    found: dict[int, str] = {}
    edge = 0
    for node in order:
        reasons = _of_tensor(node) if isinstance(node, Tensor) else _of_scalar(node)
        for slot, words in reasons:
            found[edge + slot] = words
        edge += len(node._prev)
    return found


def cut_words(node: Node) -> str | None:
    """Where the graph below a constant was cut off, as a sentence; None for one that never was part of a graph."""
    cuts = getattr(node, "_cuts", ())
    if not cuts:
        return None
    cut = cuts[-1]
    made = cut.label or (f"the result of {cut.op!r}" if cut.op else "a leaf")
    if cut.how == "detach":
        return f"detach() was called on {made} of shape {cut.shape}: no gradient goes back from here"
    return f"{made} of shape {cut.shape} was computed inside {cut.how}(): no gradient goes back from here"


# -- scalars -----------------------------------------------------------------------------------------------------------

_NO_REASON: tuple[tuple[int, str], ...] = ()
_ZERO_SLOPE = {
    "ReLU": ("dead relu",),
    "*": ("zero factor", "zero factor"),
    "/": ("infinite divisor", "zero numerator"),
    "abs": ("abs at 0",),
    "exp": ("exp is 0",),
    "sin": ("flat sin",),
    "cos": ("flat cos",),
}


def _of_scalar(node: Node) -> Sequence[tuple[int, str]]:
    op, local = node._op, node._local
    if op in ("+", "-") or not node._prev or node._closure is not None:
        return _NO_REASON
    if local is None:
        return [(slot, "no rule") for slot in range(len(node._prev))]
    if op in ("tanh", "sigmoid"):
        return [(0, f"saturated {op}")] if abs(local[0]) < MOST_SLOPE else _NO_REASON
    if all(local):
        return _NO_REASON
    words = _ZERO_SLOPE.get(op) or (_power_words(op, node._prev[0].data),) * len(local)
    return [(slot, words[slot]) for slot, slope in enumerate(local) if slope == 0]


def _power_words(op: str, base: float) -> str:
    if not op.startswith("**"):
        return "zero slope"
    return "zero base" if base == 0 else "exponent 0" if op in ("**0", "**0.0") else "zero slope"


# -- tensors -----------------------------------------------------------------------------------------------------------


@quiet
def _of_tensor(node: Tensor) -> list[tuple[int, str]]:
    operands = node._prev
    if not operands:
        return []
    if node._closure is not None or node._data.dtype == object:  # a rule of the user's own; lifted Values
        return _constants(operands)
    rules = node._rules
    if rules is None:
        return [(slot, "no rule") for slot in range(len(operands))]
    found = dict(_constants(operands))
    look = _LOOKS.get(node._op) or (_power if node._op.startswith("**") else None)
    for slot in range(len(operands)):
        if slot in found:
            continue
        if type(rules) is tuple and rules[slot] is None:
            found[slot] = "constant when it was used"
        elif look is not None and (words := look(node, slot)):
            found[slot] = words
    return sorted(found.items())


def _constants(operands: Sequence[Tensor]) -> list[tuple[int, str]]:
    return [(slot, _constant(operand)) for slot, operand in enumerate(operands) if not operand._requires_grad]


def _constant(operand: Tensor) -> str:
    return _HOW.get(operand._cuts[-1].how, operand._cuts[-1].how) if operand._cuts else "constant"


def _share(words: str, dead: Any) -> str | None:
    """`words` with how many elements they are about, None where these are not more than half of them."""
    dead = np.asarray(dead)
    count = int(dead.sum())
    if 2 * count <= dead.size:
        return None
    return words if dead.size == 1 else f"{words}: {count:,} of {dead.size:,}"


def _relu(node: Tensor, slot: int) -> str | None:
    return _share("dead relu", node._prev[0]._data <= 0)


def _tanh(node: Tensor, slot: int) -> str | None:
    return _share("saturated tanh", np.abs(1 - node._data * node._data) < MOST_SLOPE)


def _sigmoid(node: Tensor, slot: int) -> str | None:
    return _share("saturated sigmoid", np.abs(node._data * (1 - node._data)) < MOST_SLOPE)


def _times(node: Tensor, slot: int) -> str | None:
    other = node._prev[1 - slot]._data
    return "zero factor" if not other.any() else _share("zero factor", np.broadcast_to(other == 0, node._data.shape))


def _matrix_product(node: Tensor, slot: int) -> str | None:
    other = node._prev[1 - slot]._data
    return "zero factor" if other.size and not other.any() else None


def _linear(node: Tensor, slot: int) -> str | None:
    return _matrix_product(node, slot) if slot < 2 else None


def _over(node: Tensor, slot: int) -> str | None:
    above, below = (operand._data for operand in node._prev)
    dead, words = (np.isinf(below), "infinite divisor") if slot == 0 else (above == 0, "zero numerator")
    return _share(words, np.broadcast_to(dead, node._data.shape))


def _power(node: Tensor, slot: int) -> str | None:
    if node._op in ("**0", "**0.0"):
        return "exponent 0"
    if node._op in ("**", "**1", "**1.0") or node._op.startswith("**-"):
        return None
    return _share("zero base", (node._prev[0]._data == 0) & (node._data == 0))


def _sent_nothing(words: str) -> Callable[[Tensor, int], str | None]:
    """For operations that choose: where the rule answers with 0 to a gradient of 1."""

    def look(node: Tensor, slot: int) -> str | None:
        if type(node._rules) is not tuple:
            return None
        sent = node._rules[slot](np.ones_like(node._data))
        dead = ~np.broadcast_to(sent.live, node._data.shape) if isinstance(sent, Selected) else np.asarray(sent) == 0
        return _share(words if slot == 0 else "not selected", dead)

    return look


_LOOKS: dict[str, Callable[[Tensor, int], str | None]] = {
    "relu": _relu,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "*": _times,
    "@": _matrix_product,
    "linear": _linear,
    "/": _over,
    "where": _sent_nothing("not selected"),
    "maximum": _sent_nothing("not selected"),
    "minimum": _sent_nothing("not selected"),
    "masked_fill": _sent_nothing("masked"),
    "dropout": _sent_nothing("dropped"),
} | dict.fromkeys(("clamp", "clamp_min", "clamp_max", "clamp_between", "relu6", "hardtanh"), _sent_nothing("clamped"))
