"""Assertions inside the backward pass, off unless asked for: they cost time at every contribution.

What they find that the gate cannot: a rule whose result has a wrong shape that happens to sum to the right one, data
whose shape was changed between forward and backward, and arrays whose elements were (by NumPy, which tells no one).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import numpy as np

from tensorgrad.versions import held_arrays

_debugging = False
_watching = False
_enabled = False


def enabled() -> bool:
    """Whether the assertions are on."""
    return _enabled


def set_debug(on: bool) -> None:
    """Turn the assertions on or off for every thread."""
    global _debugging, _enabled
    _debugging = bool(on)
    _enabled = _debugging or _watching


def watching() -> bool:
    """Whether contributions are searched for nan as well."""
    return _watching


def watch(on: bool) -> None:
    """Search contributions for nan, for every thread; the assertions are on as long as that."""
    global _watching, _enabled
    _watching = bool(on)
    _enabled = _debugging or _watching


@contextmanager
def debug(on: bool = True) -> Iterator[None]:
    """Turn the assertions on (or off) inside a `with`."""
    before = _debugging
    set_debug(on)
    try:
        yield
    finally:
        set_debug(before)


def gradient(node: Any) -> None:
    """Raise AssertionError unless the gradient of `node` has the shape and dtype of its data."""
    g, data = node._grad, node._data
    if g is None or g.shape != data.shape or g.dtype != data.dtype:
        found = "no gradient" if g is None else f"a gradient of shape {g.shape}, {g.dtype}"
        raise AssertionError(
            f"{node._op or 'a leaf'}: {found} for data of shape {data.shape}, {data.dtype}: was the data replaced "
            "after it was used?"
        )


def contribution(node: Any, parent: Any, sent: np.ndarray) -> None:
    """Raise AssertionError unless `sent` has the shape of the operand, or of the result it was broadcast to; and
    RuntimeError for nan in it, if that is watched for."""
    if sent.shape not in (parent._data.shape, node._data.shape):
        raise AssertionError(
            f"{node._op}: the rule sent a contribution of shape {sent.shape} to an operand of shape "
            f"{parent._data.shape}; the result has shape {node._data.shape}"
        )
    if _watching and sent.dtype.kind == "f" and np.isnan(sent).any():
        had = "held nan already: look at what sent it" if np.isnan(node._grad).any() else "held none: it arose here"
        places = [i for i, other in enumerate(node._prev) if other is parent]
        raise RuntimeError(
            f"anomaly: {node._op!r}, which gave a result of shape {node._data.shape}, sent nan to its operand "
            f"{' and '.join(map(str, places))}, counted from 0, of shape {parent._data.shape}; the gradient of the "
            f"result {had}"
        )


def remember(node: Any) -> None:
    """Keep checksums of the arrays that the rules of `node` hold."""
    node._checksums = _checksums(node)


def unchanged(node: Any) -> None:
    """Raise AssertionError unless these arrays hold what they held when `node` was recorded."""
    if node._checksums is not None and node._checksums != _checksums(node):
        raise AssertionError(
            f"{node._op}: the elements of an array that its rule needs were changed in place between forward and "
            "backward, e.g. by x.data[...] = ...: change a clone(), or go backward first"
        )


def _checksums(node: Any) -> list[int]:
    return [crc32(np.ascontiguousarray(array)) for array in held_arrays(node._rules) if array.dtype != object]
