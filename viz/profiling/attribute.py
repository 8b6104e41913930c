"""From the events of a run to time by operation and place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viz.profiling.places import Places, Stack
from viz.profiling.record import (
    ADDED,
    BEGUN,
    BORDER,
    ENDED,
    MADE,
    NAMED,
    ORDER,
    SEEDED_INSIDE,
    SENT,
    SENT_INSIDE,
    Event,
    Shape,
)

OUTSIDE_OPS = "(outside of operations)"
"""The program's own time, and that of modules: between operations, before the first and after the last."""

ADDING = "(+= of gradients)"

Key = tuple[str, str, Stack, Shape]
"""Operation, path, the modules around it, the result's shape."""


@dataclass
class Spent:
    """Seconds, and how often."""

    calls: int = 0
    forward: float = 0.0
    backward: float = 0.0
    again: float = 0.0


class Sums(dict[Key, Spent]):
    """Time by what it was spent on, in the order in which that came first."""

    def __init__(self, places: Places) -> None:
        super().__init__()
        self._places = places

    def of(self, op: str, scope: Any = None, shape: Shape = ()) -> Spent:
        """That of one operation in one place."""
        path, stack = self._places.at(scope)
        return self.setdefault((op, path, stack, shape), Spent())


def forward(events: Sequence[Event], places: Places) -> Sums:
    """The time of a forward pass, all of it, by what it was spent on. (`places` learns where modules were called.)

    The time from one event to the next belongs to the second. That of a node that was made is the operation's whose
    result it is; of a leaf, as of the begin and the end of a module, it is the program's.
    """
    found = Sums(places)
    since = events[0][0]
    for i, (time, kind, op, scope, shape) in enumerate(events):
        if kind == ENDED:
            found.of(OUTSIDE_OPS).forward += time - since
        elif kind == BEGUN or not places.is_ours(scope):  # or another thread's
            continue
        elif kind == BORDER or (kind == MADE and not op and events[i + 1][1] != NAMED):
            found.of(OUTSIDE_OPS, scope).forward += time - since
        elif op and kind in (MADE, NAMED):
            one = found.of(op, scope, shape)
            one.forward += time - since
            one.calls += 1
        else:
            continue
        since = time
    return found


def backward(events: Sequence[Event], places: Places) -> Sums:
    """The time of a backward pass, all of it, by what it was spent on.

    The time before a contribution comes is the rule's that has computed it. Nodes that a rule makes are operations that
    are computed again, if they are recorded, and so are modules that it calls; what else it does is a part of it.
    """
    found = Sums(places)
    places.again = True
    since, inside, around = events[0][0], 0.0, places.around  # inside: what a rule does itself
    for time, kind, op, scope, shape in events:
        if kind == ENDED:
            found.of(ORDER).backward += time - since
        elif kind == SEEDED_INSIDE or (kind == SENT_INSIDE and scope is None) or (kind == BORDER and scope is around):
            inside += time - since
        elif kind in (SENT, SENT_INSIDE):
            one = found.of(op, scope, shape)
            one.backward += time - since
            if kind == SENT:
                one.backward, inside = one.backward + inside, 0.0
        elif kind == ADDED:
            one = found.of(ADDING, scope)
            one.backward += time - since
            one.calls += 1
        elif kind == BORDER and places.is_ours(scope):
            found.of(OUTSIDE_OPS, scope).again += time - since
        elif kind == MADE and op and places.is_ours(scope):
            found.of(op, scope, shape).again += time - since
        else:
            continue
        since = time
    return found
