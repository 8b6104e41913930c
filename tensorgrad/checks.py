"""Shape and dtype assertions inside the backward pass, off unless asked for: they cost time at every contribution.

What they find that the gate cannot: a rule whose result has a wrong shape that happens to sum to the right one, and
data whose shape was changed between forward and backward.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_enabled = False


def enabled() -> bool:
    """Whether the assertions are on."""
    return _enabled


def set_debug(on: bool) -> None:
    """Turn the assertions on or off for every thread."""
    global _enabled
    _enabled = bool(on)


@contextmanager
def debug(on: bool = True) -> Iterator[None]:
    """Turn the assertions on (or off) inside a `with`."""
    before = _enabled
    set_debug(on)
    try:
        yield
    finally:
        set_debug(before)


def gradient(node: Any) -> None:
    """Raise AssertionError unless the gradient of `node` has the shape and dtype of its data."""
    g, data = node.grad, node.data
    if g is None or g.shape != data.shape or g.dtype != data.dtype:
        found = "no gradient" if g is None else f"a gradient of shape {g.shape}, {g.dtype}"
        raise AssertionError(
            f"{node._op or 'a leaf'}: {found} for data of shape {data.shape}, {data.dtype}: was the data replaced "
            "after it was used?"
        )


def contribution(node: Any, parent: Any, sent: np.ndarray) -> None:
    """Raise AssertionError unless `sent` has the shape of the operand, or of the result it was broadcast to."""
    if sent.shape not in (parent.data.shape, node.data.shape):
        raise AssertionError(
            f"{node._op}: the rule sent a contribution of shape {sent.shape} to an operand of shape "
            f"{parent.data.shape}; the result has shape {node.data.shape}"
        )
