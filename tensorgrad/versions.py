"""Which arrays were changed in place, and when: what a rule that holds one must know before it computes with it.

There is one clock. It ticks at every change in place (`wrote`) and at the end of every backward pass; a node keeps the
time at which it was recorded. A rule may compute only if no array that it holds has been changed since. Nothing is
looked up unless something was changed at all, so that training loops, which change parameters between one backward
pass and the next forward pass, pay one comparison a node.

What is noticed: operators and methods in place (`+=`, `x[i] = ...`, `copy_`, `fill_`, `zero_`, an optimizer's step) and
`x.data += ...`, through views and `detach()` too, since they share memory. A write to the elements of a NumPy array
(`x.data[0] = 1`) is not seen by anyone; under `tensorgrad.debug()` the arrays are checked by their contents.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from micrograd.backprop import Node
from tensorgrad.holding import held


class _Clock:
    """`now`, the times of the last change in place and of the end of the last backward pass, and where that began."""

    __slots__ = ("last_pass", "last_roots", "last_write", "now")

    def __init__(self) -> None:
        self.now = self.last_write = self.last_pass = 0
        self.last_roots: list[weakref.ref[Any]] | None = None


clock = _Clock()

_writes: dict[int, list[Any]] = {}
"""By the id of the array that owns the memory: [weak reference to it, time of the last change]."""


def wrote(array: np.ndarray) -> None:
    """Note that `array`, or the memory that it is a view of, was changed in place."""
    ticked()
    memory = owner(array)
    key = id(memory)
    entry = _writes.get(key)
    if entry is None:
        _writes[key] = [weakref.ref(memory, lambda _: _writes.pop(key, None)), clock.now]
    else:
        entry[1] = clock.now


def ticked() -> None:
    """Note that something was changed that older nodes may need: they look again before they send."""
    clock.now += 1
    clock.last_write = clock.now


def passed(roots: Iterable[Any]) -> None:
    """Note that a backward pass from `roots` has ended."""
    clock.now += 1
    clock.last_pass = clock.now
    clock.last_roots = [weakref.ref(root) for root in roots]


def changed_since(array: np.ndarray, time: int) -> bool:
    """Whether `array`'s memory was changed in place after `time`."""
    entry = _writes.get(id(owner(array)))
    return entry is not None and entry[1] > time


def held_arrays(rule: Any) -> Iterator[np.ndarray]:
    """Every array that a rule keeps alive; of a Tensor its own array, not its history. See `holding`."""
    for x in held(rule):
        array = getattr(x, "_data", None) if isinstance(x, Node) else x
        if isinstance(array, np.ndarray):
            yield array


def owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory `array` is a view of; itself, if it has its own."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
