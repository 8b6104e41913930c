"""One run with a clock: what happened, and when, noted as it happens and looked at later.

Each event ends the time since the one before it. Nothing is made for an event that outlives it and that Python's
garbage collector follows, and nodes and arrays are not kept alive: the run is to be what it is without being looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any

from micrograd.backprop import Contribution
from micrograd.observing import observers
from micrograd.scopes import Scope
from tensorgrad.node import ArrayNode

clock: Callable[[], float] = time.perf_counter
"""Seconds. Tests put another one here."""

Shape = tuple[int, ...]
Event = tuple[float, int, str, "Scope | None", Shape]
"""When, what, of which operation ("" of a leaf, and where there is none), in which scope, its result's shape."""

BEGUN, ENDED, MADE, NAMED, BORDER, SENT, ADDED, SENT_INSIDE, SEEDED_INSIDE = range(9)
"""What an event is: a phase begins; it is over; a node was made; it is the result of this operation, which was not
recorded; a scope was entered or left; a rule has computed, or the order of a pass was found; a contribution was added;
a rule has computed in a pass inside of another rule; such a pass has begun."""

ORDER = "(order and clearing)"
"""What a pass does beside rules and additions: it sorts the graph and clears the gradients of earlier passes."""


class Recording:
    """The events of one run. It is an `observing.Observer`."""

    def __init__(self) -> None:
        self._flat: list[Any] = []  # five things an event

    def events(self) -> list[Event]:
        """All of them, in order."""
        parts = iter(self._flat)
        return list(zip(parts, parts, parts, parts, parts, strict=True))

    def begin(self) -> float:
        """Note that a phase begins, and return when."""
        begun = clock()
        self._flat += (begun, BEGUN, "", None, ())
        return begun

    def note(self, kind: int, op: str = "", scope: Scope | None = None, shape: Shape = ()) -> None:
        """Note an event, which has just happened."""
        self._flat += (clock(), kind, op, scope, shape)

    def made(self, node: Any) -> None:
        self._flat += (clock(), MADE, node._op, node._scope, shape_of(node))

    def named(self, op: str) -> None:
        self._flat += (clock(), NAMED, op, *self._flat[-2:])

    def entered(self, scope: Scope) -> None:
        self.note(BORDER, "", scope.parent)

    def left(self, scope: Scope | None) -> None:
        self.note(BORDER, "", scope)

    def inner(self, contributions: Iterator[Contribution]) -> Generator[Contribution, None, None]:
        return self._timed(contributions, SEEDED_INSIDE, SENT_INSIDE)

    def timed(self, contributions: Iterator[Contribution]) -> Generator[Contribution, None, None]:
        """The contributions of a pass as they come."""
        return self._timed(contributions, SENT, SENT)

    def _timed(self, contributions: Any, seeded: int, sent: int) -> Generator[Contribution, None, None]:
        """Between two `next()` whoever asks adds what came first. A rule computes all that its node sends at once."""
        turn, scope = None, None
        with closing(contributions):
            for contribution in contributions:
                sender = contribution[0]
                if sender is None:
                    self.note(seeded, ORDER)
                elif sender is not turn:
                    turn, scope = sender, sender._scope
                    self._flat += (clock(), sent, sender._op, scope, shape_of(sender))
                yield contribution
                del contribution  # an array that has been added need not live while the next rule runs
                self._flat += (clock(), ADDED, "", scope, ())


def shape_of(node: Any) -> Shape:
    """The shape of a Tensor; () of a Value, which is one number."""
    data = getattr(node, "_data", None) if isinstance(node, ArrayNode) else None
    return () if data is None else data.shape


@contextmanager
def observed(recording: Recording) -> Iterator[None]:
    """Tell `recording` of what happens inside."""
    observers.append(recording)
    try:
        yield
    finally:
        observers.remove(recording)
