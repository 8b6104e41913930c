"""From the scopes in which nodes were made to groups."""

from __future__ import annotations

from micrograd.scopes import Scope
from viz.grouping.level import Group


def group_of(scope: Scope | None, scopes: dict[Scope, Group], whole: Group) -> Group:
    """The group of a scope, `whole` for none; `scopes` gets it, and those of the scopes around it, if it lacks them."""
    new = []
    while scope is not None and scope not in scopes:
        new.append(scope)
        scope = scope.parent
    group = whole if scope is None else scopes[scope]
    for inner in reversed(new):
        group = scopes[inner] = Group(inner.name, inner.kind, group)
    return group
