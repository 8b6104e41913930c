"""Why a tensor has the gradient that it has: none, zeros, nan, and from where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd.backprop import reached, topological_order
from tensorgrad.dtypes import is_differentiable
from tensorgrad.lean import in_graph
from tensorgrad.node import describe
from tensorgrad.tensor import Tensor
from tensorgrad.versions import clock


@dataclass(frozen=True, repr=False)
class Explanation:
    """What `explain` found.

    reason  in one word or two: "reached", "zero", "not finite", "constant", "no pass yet", "cleared", "not in the
            graph", "detach", "no_grad", "no rule", "released", "loss is gone"
    text    the same in sentences, with what to do
    """

    reason: str
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def explain(tensor: Tensor, loss: Tensor | None = None) -> Explanation:
    """Why `tensor` has no gradient after a backward pass, or one of zeros, or nan; or that all is well.

    loss  where the pass began; by default where the last one did

    Raises TypeError for what is no Tensor.
    """
    for x in (tensor, tensor if loss is None else loss):
        if not isinstance(x, Tensor):
            raise TypeError(f"explain: takes a Tensor, got a {type(x).__name__}")
    if not tensor._requires_grad:
        return _of_constant(tensor)
    roots = [loss] if loss is not None else _last_roots()
    if roots is None:
        return Explanation("no pass yet", f"No backward pass has been run yet, so {describe(tensor)} has no gradient.")
    if not roots:
        return Explanation(
            "loss is gone",
            f"Whether the last backward pass came to {describe(tensor)} is not known: the tensor at which it began no "
            "longer exists. Call explain(tensor, loss) while the loss is at hand.",
        )
    order = graph_below([in_graph(root) for root in roots])
    tensor = in_graph(tensor)
    if tensor not in set(order):
        return _not_in_graph(tensor, order)
    return _without_gradient(tensor, order) if tensor._grad is None else _with_gradient(tensor, order)


def _last_roots() -> list[Tensor] | None:
    """Where the last backward pass began, as far as it is still there; None if there was none."""
    if clock.last_roots is None:
        return None
    return [root for reference in clock.last_roots if (root := reference()) is not None]


def graph_below(roots: Sequence[Tensor]) -> list[Any]:
    """Every node that any of `roots` depends on, once, operands first."""
    if len(roots) == 1:
        return topological_order(roots[0])
    return list(dict.fromkeys(node for root in roots for node in topological_order(root)))


# -- no gradient -------------------------------------------------------------------------------------------------------


def _of_constant(x: Tensor) -> Explanation:
    what = describe(x)
    if x._cuts:
        cut = x._cuts[-1]
        return Explanation(cut.how, f"{_capital(what)} is a constant: {_how(cut)}. {_REMEDY[cut.how]}")
    if not is_differentiable(x._data.dtype):
        return Explanation("constant", f"{_capital(what)} is a constant: only floating-point tensors have gradients.")
    return Explanation(
        "constant",
        f"{_capital(what)} is a constant: it was made without requires_grad, or from numbers (.data, .item()) that "
        "remember no graph. Call .requires_grad_() on it before it is used, if it is a leaf.",
    )


_REMEDY = {
    "detach": "Leave out the detach() if the gradient is to pass.",
    "no_grad": "Compute it outside no_grad() if the gradient is to pass.",
}


def _not_in_graph(tensor: Tensor, order: Sequence[Any]) -> Explanation:
    what = _capital(describe(tensor))
    found = [(node, cut) for node in order for cut in node._cuts]
    for node, cut in found:
        if cut.leads_to(tensor):
            return Explanation(
                cut.how,
                f"{what} went into a part of the computation that is cut off: {_how(cut)}{_whereto(node, order)}. "
                f"{_REMEDY[cut.how]}",
            )
    text = (
        f"{what} is not in the graph of the loss: nothing that the loss was computed from leads back to it. Was it "
        "used at all, and on the way to this loss? Numbers taken with .data, .numpy(), .item() or Tensor(...) remember "
        "nothing."
    )
    if found:
        several = "; ".join(dict.fromkeys(_how(cut) for _, cut in found[:3]))
        text += f" The graph also ends where something was cut off: {several}."
    return Explanation("not in the graph", text)


def _how(cut: Any) -> str:
    made = cut.label or (f"the result of {cut.op!r}" if cut.op else "a leaf")
    if cut.how == "detach":
        return f"detach() was called on {made} of shape {cut.shape}"
    return f"{made} of shape {cut.shape} was computed inside {cut.how}()"


def _whereto(constant: Any, order: Sequence[Any]) -> str:
    user = next((node for node in order if any(parent is constant for parent in node._prev)), None)
    return "" if user is None else f", and became an operand of {user._op!r} of shape {user._data.shape}"


def _without_gradient(tensor: Tensor, order: Sequence[Any]) -> Explanation:
    """In the graph, and no gradient: a node above it has no rule that sends it one, or it was cleared."""
    what = _capital(describe(tensor))
    if tensor._released:
        return Explanation(
            "released",
            f"{what} had a gradient, which the backward pass released once it was sent on (keep_grads=False, or a lean "
            "graph). Call retain_grad() on the tensor before, or keep all gradients.",
        )
    above = _above(tensor, order)
    for node in reversed(order):
        if node in above and node._prev and reached(node) and not any(parent in above for parent, _ in _sent(node)):
            return Explanation(
                "no rule",
                f"{what} is in the graph, but {describe(node)} sends no gradient to the operand that leads to it: the "
                "operation has no rule, or none for that operand. Assign a function to its _backward.",
            )
    return Explanation(
        "cleared",
        f"{what} is in the graph of the loss, but its gradient has been cleared since (zero_grad() or grad = None), or "
        "no backward pass has been run from this loss yet.",
    )


def _above(tensor: Any, order: Sequence[Any]) -> set[Any]:
    """`tensor` and all nodes of the graph that are computed from it."""
    found = {tensor}
    for node in order:
        if any(parent in found for parent in node._prev):
            found.add(node)
    return found


def _sent(node: Any) -> list[tuple[Any, np.ndarray]]:
    return list(node._contributions()) if node._rules is not None or node._closure is not None else []


# -- a gradient that is zero, or not finite ----------------------------------------------------------------------------


def _with_gradient(tensor: Tensor, order: Sequence[Any]) -> Explanation:
    what, grad = _capital(describe(tensor)), tensor._grad
    if not np.isfinite(grad).all():
        return Explanation(
            "not finite",
            f"{what}: {_count(~np.isfinite(grad))} of its gradient are inf or nan. " + _first_not_finite(tensor, order),
        )
    if grad.any():
        zeros = int((grad == 0).sum())
        some = f"{zeros} of {grad.size} elements are zero" if zeros else "no element is zero"
        return Explanation(
            "reached", f"{what} has a gradient: its norm is {np.linalg.norm(grad.astype(np.float64)):.3g}, {some}."
        )
    return Explanation("zero", f"{what} has a gradient of zeros. {_where_zero(tensor, order)}")


def _where_zero(tensor: Tensor, order: Sequence[Any]) -> str:
    """The operations that had a gradient and sent only zeros towards `tensor`."""
    above = _above(tensor, order)
    found = []
    for node in reversed(order):
        if node not in above or not node._prev or not reached(node) or not np.any(node._grad):
            continue
        for parent, sent in _sent(node):
            if parent in above and not np.any(sent):
                found.append(f"{describe(node)} ({_why_zero(node, parent)})")
    if not found:
        return "Nothing but zeros came from above: the gradient of the loss itself is zero there."
    more = f", and {len(found) - 3} more" if len(found) > 3 else ""
    return f"It was blocked by a zero in {'; '.join(dict.fromkeys(found[:3]))}{more}."


def _why_zero(node: Any, parent: Any) -> str:
    data = parent._data
    if node._op in ("relu", "relu6", "hardtanh") and not np.any(data > 0):
        return "no input is above 0"
    if node._op == "*":
        others = [x for x in node._prev if x is not parent]
        if others and not np.any(others[0]._data):
            return f"the other factor{', ' + others[0].label + ',' if others[0].label else ''} is zero"
    if node._op in ("tanh", "sigmoid"):
        return "it is saturated"
    return "its local derivative is zero, or what it selects lies elsewhere"


def _first_not_finite(tensor: Tensor, order: Sequence[Any]) -> str:
    """Where inf or nan first appeared on the way back, and whether it was in the data already."""
    above = _above(tensor, order)
    forward = next((node for node in order if node in above and not np.isfinite(node._data).all()), None)
    said = "" if forward is None else f"In the forward pass inf or nan first appeared in {describe(forward)}. "
    for node in reversed(order):
        if node in above and node._prev and reached(node) and np.isfinite(node._grad).all():
            for parent, sent in _sent(node):
                if parent in above and not np.isfinite(sent).all():
                    return f"{said}In the backward pass the first of them was sent by {describe(node)}."
    return f"{said}The gradient of the loss was not finite to begin with."


def _count(where: np.ndarray) -> str:
    return f"{int(where.sum())} of {where.size} elements"


def _capital(text: str) -> str:
    return text if text[:1].isupper() or not text.startswith(("a ", "the ")) else text[0].upper() + text[1:]
