"""Where a graph was cut: what a constant knows of the tensors that it was computed from, for `explain`.

Only weak references and words are kept, and only so many: a constant does not keep alive what it was cut off from.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MOST_SOURCES = 64
_MOST_CUTS = 4
_FARTHEST = 256


@dataclass(frozen=True, eq=False)
class Cut:
    """One place where a graph ended.

    how      "detach" or the mode that was on: "no_grad"
    op       the operation whose result was cut off, "" for a leaf
    label    its label
    shape    the result's shape
    sources  tensors that required gradients and went into it, as far as they are still there
    """

    how: str
    op: str
    label: str
    shape: tuple[int, ...]
    sources: tuple[weakref.ref[Any], ...]

    def leads_to(self, tensor: Any) -> bool:
        """Whether `tensor` is known to have gone into what was cut off."""
        return any(source() is tensor for source in self.sources)


def joined(op: str, operands: Sequence[Any], mode: str) -> tuple[Cut, ...]:
    """The cuts of a constant made by `op`: its operands' own, and one here if it was not recorded because of `mode`."""
    known = list({id(cut): cut for operand in operands for cut in operand._cuts}.values())
    here = [operand for operand in operands if operand._requires_grad]
    if here and mode:
        earlier = [source for cut in known if cut.how == mode for source in cut.sources]
        known = [cut for cut in known if cut.how != mode]
        known.append(Cut(mode, op, "", operands[0]._data.shape, _alive([*map(weakref.ref, here), *earlier])))
    return tuple(known[-_MOST_CUTS:])


def detached(x: Any) -> tuple[Cut, ...]:
    """The cuts of `x.detach()`."""
    if not x._requires_grad:
        return x._cuts
    sources = [weakref.ref(node) for node in _nearby(x) if node is x or not node._prev]
    return (*x._cuts, Cut("detach", x._op, x.label, x._data.shape, _alive(sources)))[-_MOST_CUTS:]


def _alive(sources: Sequence[weakref.ref[Any]]) -> tuple[weakref.ref[Any], ...]:
    """Each tensor that still exists once, up to a limit."""
    found = {id(tensor): source for source in sources if (tensor := source()) is not None}
    return tuple(found.values())[:_MOST_SOURCES]


def _nearby(x: Any) -> list[Any]:
    """`x` and what it was made from, nearest first, up to a limit: the whole graph may be large."""
    found, seen = [x], {x}
    for node in found:  # which grows
        for parent in node._prev:
            if parent._requires_grad and parent not in seen:
                seen.add(parent)
                found.append(parent)
        if len(found) > _FARTHEST:
            break
    return found
