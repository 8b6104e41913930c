"""In which modules and scopes each node of a graph was computed, as one line: model > blocks[0] > proj."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from micrograd.backprop import Node
from micrograd.scopes import Scope
from viz.grouping.labels import label_all
from viz.grouping.level import Group
from viz.grouping.scopes import group_of

_SEPARATOR = " > "


def places(order: Sequence[Node], namespace: Mapping[str, Any]) -> dict[Node, str]:
    """The place of each node, with the labels that the page's groups have; "" outside of all modules and scopes."""
    scopes: dict[Scope, Group] = {}
    whole = Group("", "whole")
    for node in order:
        group_of(node._scope, scopes, whole)
    label_all(scopes, namespace)
    lines = {group: _line(group) for group in scopes.values()}
    return {node: "" if node._scope is None else lines[scopes[node._scope]] for node in order}


def _line(group: Group) -> str:
    labels = []
    around: Group | None = group
    while around is not None and around.kind != "whole":
        labels.append(around.label)
        around = around.parent
    return _SEPARATOR.join(reversed(labels))
