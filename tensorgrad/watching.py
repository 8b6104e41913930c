"""Who is told when a backward pass begins and ends: monitors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from weakref import WeakSet


class Watcher(Protocol):
    """What is called with the tensors at which a pass begins."""

    def before_pass(self, roots: Sequence[Any]) -> None:
        """No contribution has been sent yet."""

    def after_pass(self, roots: Sequence[Any]) -> None:
        """All have arrived."""


watchers: WeakSet[Watcher] = WeakSet()
"""Empty, it costs a pass one test."""


def begins(roots: Sequence[Any]) -> None:
    """Tell all watchers that a pass begins."""
    for watcher in list(watchers):
        watcher.before_pass(roots)


def ended(roots: Sequence[Any]) -> None:
    """Tell all watchers that it has ended."""
    for watcher in list(watchers):
        watcher.after_pass(roots)
