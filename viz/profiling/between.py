"""How much of the time before an operation's result is there was the program's own Python, before the call.

Nothing notes when an operation begins. Python can tell, with `sys.setprofile`, but reporting each call makes it several
times as slow; so this is measured in a run of its own, of which only the shares are used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from micrograd.scopes import Scope
from viz.profiling import record
from viz.profiling.attribute import OUTSIDE_OPS, Key, Spent, forward
from viz.profiling.places import Places
from viz.profiling.record import ENDED, Event, Recording, Shape, observed

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAMS = (
    "micrograd/nn.py",
    "micrograd/scopes.py",
    "tensorgrad/grad_mode.py",
    "tensorgrad/nn/",
    "tensorgrad/models/",
    "tensorgrad/utils/",
)
"""What is written with operations, as a user's program is, or calls what is."""

Shares = Mapping[Key, float]
"""For each operation in each place, which part of its time was the program's: from 0 to 1."""


class Outside(Recording):
    """Events, with how long the program itself had run when they came: its own functions, and what they call, but for
    operations and what these call."""

    def __init__(self) -> None:
        super().__init__()
        self.own: list[float] = []
        self._ran, self._since = 0.0, 0.0
        self._open: list[bool] = []  # for each call of a function that is open, whether it is an operation's

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow the calls of this thread."""
        before = sys.getprofile()
        self._since = record.clock()
        sys.setprofile(self._follow)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _follow(self, frame: FrameType, event: str, arg: Any) -> None:
        was = bool(self._open) and self._open[-1]
        if event == "call":
            inside = was or _is_operation(frame.f_code.co_filename)
            if inside and not was:
                self._ran += record.clock() - self._since
            self._open.append(inside)
        elif event == "return" and self._open:
            self._open.pop()
            if was and not (self._open and self._open[-1]):
                self._since = record.clock()

    def _now(self) -> None:
        if not (self._open and self._open[-1]):
            now = record.clock()
            self._ran, self._since = self._ran + now - self._since, now
        self.own.append(self._ran)

    def begin(self) -> float:
        begun = super().begin()
        self.own.append(0.0)
        return begun

    def note(self, kind: int, op: str = "", scope: Scope | None = None, shape: Shape = ()) -> None:
        super().note(kind, op, scope, shape)
        self._now()

    def made(self, node: Any) -> None:
        super().made(node)
        self._now()

    def named(self, op: str) -> None:
        super().named(op)
        self._now()


@cache
def _is_operation(file: str) -> bool:
    """Whether code of this file is an operation, or a part of one."""
    path = Path(file)
    if not path.is_relative_to(_ROOT):
        return False
    inner = path.relative_to(_ROOT).as_posix()
    return inner.startswith(("micrograd/", "tensorgrad/")) and not inner.startswith(_PROGRAMS)


def shares(loss_fn: Callable[[], Any], model: Any, around: Scope) -> Shares:
    """Run the forward pass once more, in the scope `around`, and measure them."""
    outside = Outside()
    with around, observed(outside):
        outside.begin()
        with outside.following():
            loss_fn()
        outside.note(ENDED)
    events = outside.events()
    whole = forward(events, Places(model, around))
    ran: list[Event] = [(own, *event[1:]) for own, event in zip(outside.own, events, strict=True)]
    own = forward(ran, Places(model, around))
    return {
        key: min(own[key].forward / one.forward, 1.0)
        for key, one in whole.items()
        if one.forward > 0 and key[0] != OUTSIDE_OPS
    }


def moved(found: Mapping[Key, Spent], parts: Shares) -> dict[Key, Spent]:
    """The times with these parts of each operation, also where it is done again, moved to what is outside of operations
    in the same place."""
    kept = dict(found)
    for key, one in found.items():
        part = parts.get(key, 0.0)
        if part:
            _, path, stack, _ = key
            ahead, again = part * one.forward, part * one.again
            kept[key] = replace(one, forward=one.forward - ahead, again=one.again - again)
            outside = (OUTSIDE_OPS, path, stack, ())
            there = kept.get(outside, Spent())
            kept[outside] = replace(there, forward=there.forward + ahead, again=there.again + again)
    return kept
