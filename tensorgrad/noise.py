"""Warnings where nothing is wrong by the rules and something is probably not meant."""

from __future__ import annotations

import sys
import warnings
from typing import Any

_NOT_THE_USERS = (__name__.partition(".")[0], "numpy", "contextlib")
"""Packages whose lines a warning does not point to: this one, and those whose decorators stand around its functions."""

_ON_THE_WAY = frozenset({"sum", "mean", "**2", "**2.0", "square", "abs", "sqrt", "+", "-", "*", "/", "neg"})
_FARTHEST = 32


def warn(message: str) -> None:
    """A UserWarning that points to the user's line that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_USERS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


def warn_of_lost_parts(op: str, data: Any) -> None:
    """Warn where a constant is made from tensors that require gradients, such as tensor([x[0], x[1]]): it holds their
    numbers, and no gradient passes."""
    part = _requiring(data)
    if part is not None:
        warn(
            f"{op}: a constant is made from a tensor of shape {part._data.shape} that requires a gradient, and none "
            "will pass: stack, cat and clone() are part of the graph; write .detach() if a constant is meant"
        )


def _requiring(data: Any) -> Any:
    """The first tensor in nested lists that requires a gradient, or None."""
    if isinstance(data, (list, tuple)):
        for element in data:
            if type(element) is not float and type(element) is not int:  # most are: no call for these
                found = _requiring(element)
                if found is not None:
                    return found
        return None
    return data if getattr(data, "_requires_grad", False) else None


def warn_of_broadcast_loss(root: Any) -> None:
    """Warn where a loss, such as ((p - y) ** 2).mean(), subtracts (N,) and (N, 1): all N times N differences.

    Called when a backward pass starts at `root`. Looks at what lies below a few simple operations: terms and weights
    beside the difference are no hindrance, anything else on the way is.
    """
    found = [root]
    for node in found:  # which grows
        if node._op == "-" and _crosses(*(operand._data.shape for operand in node._prev)):
            a, b = (operand._data.shape for operand in node._prev)
            warn(
                f"the loss is of a difference of shapes {a} and {b}, which broadcast to {node._data.shape}: every "
                "element with every other one. Give both one shape, e.g. with .squeeze(-1) or .reshape(-1); if all "
                "pairs are meant, write x[:, None] - y[None, :]"
            )
            return
        if node._op in _ON_THE_WAY and len(found) < _FARTHEST:
            found += node._prev


def _crosses(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether one shape is (N,) and the other (N, 1), for N > 1."""
    short, tall = sorted((a, b), key=len)
    return len(short) == 1 and short[0] > 1 and tall == (short[0], 1)
