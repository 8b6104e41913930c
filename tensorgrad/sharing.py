"""Which tensors show the same memory, where an assignment that is recorded must know it.

Such an assignment gives its tensor an array of its own (see `inplace`). Whoever shares the old one (a view, `detach()`)
would keep the old elements without a word. Views that are results of the graph are found there; those that are not,
constants, are known here: relatives, in a set of weak references.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from tensorgrad.versions import owner

_WORK = 10_000  # how long to look for a common element before two arrays are taken to have one


def joined(out: Any, operands: Iterable[Any]) -> None:
    """Note that `out`, if its array is a view of one of the `operands`' memory, is a relative of that operand."""
    memory = owner(out._data)
    for operand in operands:
        if operand is not out and owner(operand._data) is memory:
            if operand._kin is None:
                operand._kin = WeakSet((operand,))
            operand._kin.add(out)
            out._kin = operand._kin
            return


def part_ways(x: Any, place: np.ndarray, value: Any, between: Sequence[Any]) -> bool:
    """Whether x can have its own array from here on: False where another tensor, that somebody beside the graph of
    `value` can see, shows elements of `place`, the part of x's array that is to be assigned.

    The others that show x's memory keep it, read-only: a change of it would be lost to x.

    between  the nodes that are younger than x and lead to `value`, `value` among them
    """
    memory = owner(x._data)
    handles = [node._handle() for node in between if node._handle is not None]
    known = {id(y): y for y in (*(x._kin or ()), *between, *handles) if y is not None}
    found = [y for y in known.values() if y is not x and y is not value and owner(y._data) is memory]
    del known, handles
    held = []
    while found:
        references = sys.getrefcount(found[-1]) - 2  # beside the list and the argument
        y = found.pop()
        if references > sum(other is y for node in between for other in (node, *node._prev)):
            held.append(y)
    if any(_overlap(y._data, place) for y in held):
        return False
    for y in held:
        y._data.flags.writeable = False
    return True


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=_WORK)
    except np.exceptions.TooHardError:
        return True
