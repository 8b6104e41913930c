"""The first value that is not finite, forward or backward, and the operation that made it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorgrad.lean import is_lean
from tensorgrad.monitoring.checks.base import Check
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass

_GROWTH = 100  # times what it was at first
_LEAST = 1e-3  # a first loss below that is taken as that
_LOG = " Keep what it is given above 0; the logarithm of a softmax is log_softmax, that of a sigmoid logsigmoid."
_ROOT = " Keep what it is given above 0, as with a small number that is added to it."
_QUOTIENT = " Keep the divisor away from 0."
_EXP = " Take the largest away first, or logsumexp for the logarithm of a sum."
_REMEDIES = {"log": _LOG, "log2": _LOG, "log10": _LOG, "sqrt": _ROOT, "rsqrt": _ROOT, "/": _QUOTIENT, "exp": _EXP}
_NORMALISED = ("softmax", "log_softmax", "scaled_dot_product_attention")


class Nonfinite(Check):
    """The loss, or the gradient of a parameter, is inf or nan.

    Not this: infinities on the way that do not come to the loss, such as those of a mask before a softmax; gradients
    that overflow under a GradScaler, which leaves such a step out.
    """

    name = "nonfinite"

    def after_pass(self, seen: Pass, run: Run) -> Finding | None:
        """Searches the graph only where something is wrong, before the step can spread it."""
        roots = [root for root in seen.roots if not np.isfinite(_unscaled(root, seen)._data).all()]
        if roots:
            return self.finding(seen.step, _forward(roots[0], seen) + _grown(run))
        if seen.scaled_by == 1 and seen.nonfinite.any():
            names = [seen.parts.names[i] for i in np.flatnonzero(seen.nonfinite)]
            return self.finding(seen.step, _backward(seen, names))
        return None


def _unscaled(root: Any, seen: Pass) -> Any:
    """The loss itself, where a GradScaler's product with it overflowed."""
    return root._prev[0] if seen.scaled_by != 1 and root._prev else root


def _forward(root: Any, seen: Pass) -> str:
    is_bad = np.isnan if np.isnan(root._data).any() else _not_finite
    what = "nan" if is_bad is np.isnan else "inf"
    if is_lean(root):
        return (
            f"the loss is {what}. Its graph is lean, so there are no results to look at: run the step again without "
            "lean_graph() to see where it was made. No step should follow."
        )
    first = _first_below(root, is_bad, seen)
    count = int(is_bad(first._data).sum())
    made = f"the loss is {what}. The first {what} of the forward pass {{}} ({count} of {first._data.size} elements)"
    if not first._prev:
        name = seen.parts.name_of(first)
        who = f"is in {name or 'a constant or input of shape ' + str(first._data.shape)}"
        why = (
            "the step before left it so: take a smaller learning rate, or look at its gradient then."
            if name
            else "look at the data, or at what was computed outside the graph."
        )
        return f"{made.format(who)}: {why}"
    text = f"{made.format(f'was made by {seen.parts.place_of(first)}')} from {_operands(first)}."
    infinite = next((x for x in first._prev if is_bad is np.isnan and _not_finite(x._data).any()), None)
    source = first
    if infinite is not None and (made_by := _first_below(infinite, _not_finite, seen))._prev:
        source = made_by
        text += f" The inf in it was made by {seen.parts.place_of(source)} from {_operands(source)}."
    return f"{text}{_remedy(source)} No step should follow."


def _first_below(node: Any, is_bad: Any, seen: Pass) -> Any:
    """Of the nodes from which what is bad came down to `node`, through bad ones only, the earliest."""
    found, stack = {node}, [node]
    while stack:
        for parent in stack.pop()._prev:
            if parent not in found and is_bad(parent._data).any():
                found.add(parent)
                stack.append(parent)
    return next(x for x in seen.graph if x in found and not any(p in found for p in x._prev))


def _grown(run: Run) -> str:
    before = [loss for loss in run.losses if np.isfinite(loss)]
    if len(before) < 2 or not before[-1] > _GROWTH * max(abs(run.first_loss), _LEAST):
        return ""
    return (
        f" The loss had grown from {run.first_loss:.3g} to {before[-1]:.3g} before: the steps are too large. Take a "
        "smaller learning rate, or clip the gradient."
    )


def _remedy(node: Any) -> str:
    """What keeps an operation within what it can take, where that is known."""
    if node._op in _NORMALISED and not any(np.isfinite(x._data).all() for x in node._prev[:1]):
        return " Where all of a row is masked nothing is left to share out: leave a place in each."
    return _REMEDIES.get(node._op, "")


def _operands(node: Any) -> str:
    """'an operand of 0 to 1', 'operands of 0 to 1, -2 to 3 and 5'."""
    parts = []
    for x in node._prev:
        a = x._data
        finite = a[np.isfinite(a)]
        odd = "" if finite.size == a.size else f" ({a.size - finite.size} not finite)"
        parts.append(f"{_spread(finite)}{odd}" if finite.size else "nothing finite")
    return f"an operand of {parts[0]}" if len(parts) == 1 else f"operands of {'; '.join(parts[:-1])} and {parts[-1]}"


def _spread(a: np.ndarray) -> str:
    low, high = f"{a.min():.3g}", f"{a.max():.3g}"
    return low if low == high else f"{low} to {high}"


def _backward(seen: Pass, names: list[str]) -> str:
    before = (
        f"the loss is finite ({seen.loss:.4g}) and {len(names)} of {len(seen.parts.names)} parameters have gradients "
        "that are not"
    )
    users: dict[Any, list[Any]] = {}
    for node in seen.graph:
        for parent in node._prev:
            users.setdefault(parent, []).append(node)
    for node in reversed(seen.graph):
        grad = node._grad
        if grad is None or not _not_finite(grad).any():
            continue
        for user in users.get(node, ()):
            if user._grad is None or _not_finite(user._grad).any():
                continue
            if any(parent is node and _not_finite(sent).any() for parent, sent in user._contributions()):
                return (
                    f"{before}: the first was sent by {seen.parts.place_of(user)}, whose own gradient is finite, to "
                    f"an operand of {_spread(node._data)}.{_REMEDIES.get(user._op, '')} No step should follow."
                )
        return f"{before}: they arose in the sum of the contributions to {seen.parts.place_of(node)}."
    return f"{before}."


def _not_finite(a: np.ndarray) -> np.ndarray:
    found: np.ndarray = ~np.isfinite(a)
    return found
