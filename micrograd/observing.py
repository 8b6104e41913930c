"""Observers: who is told what happens inside of scopes, such as a profile, with its clock.

Whoever is in the list `observers` is told of it, in all threads, when it has happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from micrograd.scopes import Scope


class Observer(Protocol):
    """What one must have."""

    def made(self, node: Any) -> None:
        """This node has been made, with all its fields."""

    def named(self, op: str) -> None:
        """The last node is the result of this operation, which was not recorded."""

    def entered(self, scope: Scope) -> None:
        """This scope has been entered."""

    def left(self, scope: Scope | None) -> None:
        """This scope has been left."""

    def inner(self, contributions: Iterator[Any]) -> Iterator[Any]:
        """These contributions are those of a pass inside of a rule: they are to be handed on as they come."""


observers: list[Observer] = []
"""Empty, it costs a node that is made inside of a scope one test, and others nothing."""


def made(node: Any) -> None:
    """Tell observers of a new node."""
    for observer in observers:
        observer.made(node)


def named(op: str) -> None:
    """Tell observers which operation the last node is the result of."""
    for observer in observers:
        observer.named(op)


def entered(scope: Scope) -> None:
    """Tell observers that a scope has been entered."""
    for observer in observers:
        observer.entered(scope)


def left(scope: Scope | None) -> None:
    """Tell observers that a scope has been left."""
    for observer in observers:
        observer.left(scope)


def inner(contributions: Iterator[Any]) -> Iterator[Any]:
    """The contributions of a pass inside of a rule, through the hands of observers."""
    for observer in observers:
        contributions = observer.inner(contributions)
    return contributions
