"""Groups of nodes, one inside the other: the modules and scopes that a graph was made in, and what keeps each small.

A page shows a large graph as boxes that open. What is in a box: the nodes made in one call of a module or in one
`with scope(...)`, the leaves that only these use, and boxes of the calls inside. Equal boxes in a row lie in one, a
fold; a level that would still show too much is cut into parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from micrograd.backprop import Node
from micrograd.scopes import Scope
from viz.graph import Graph
from viz.grouping.arrange import arrange
from viz.grouping.labels import label_all
from viz.grouping.level import Group
from viz.grouping.scopes import group_of


@dataclass(frozen=True)
class Groups:
    """The tree of groups of one graph.

    records  one a group, parents before children: "label", "kind" (a module's class in small letters, "scope", "fold",
             "parameters", "part", or "whole" for the first), "parent" (its place in the list, -1 for the first) and
             "copies" (how many equal groups a fold holds, else 1)
    of       for each node the place of the innermost group that it is in
    """

    records: list[dict[str, Any]]
    of: list[int]


def group_tree(order: Sequence[Node], graph: Graph, namespace: Mapping[str, Any]) -> Groups:
    """The groups of `graph`, whose nodes are those in `order`. Modules have the names that `namespace`, and the modules
    around them, have for them."""
    whole = Group(graph.root.name, "whole")
    parents = _places(order)
    of, scopes = _by_scope(order, parents, whole)
    label_all(scopes, namespace)
    groups = _filled(whole, list(scopes.values()), of, parents)
    shapes = [(node._op, getattr(node.data, "shape", ()), len(node._prev)) for node in order]
    arrange(groups, shapes, [node.name for node in graph.nodes])
    return _numbered(whole, len(order))


def _places(order: Sequence[Node]) -> list[list[int]]:
    index = {node: i for i, node in enumerate(order)}
    return [[index[parent] for parent in node._prev] for node in order]


def _by_scope(order: Sequence[Node], parents: list[list[int]], whole: Group) -> tuple[list[Group], dict[Scope, Group]]:
    """The innermost group of each node, and the group of each scope, outer ones first."""
    scopes: dict[Scope, Group] = {}
    of = [group_of(node._scope, scopes, whole) for node in order]
    users: dict[int, Group] = {}
    for child, places in enumerate(parents):
        for place in places:
            if not parents[place]:
                users[place] = _around(users[place], of[child]) if place in users else of[child]
    for leaf, user in users.items():
        if _goes_with_its_users(order[leaf]._scope, of[leaf], user):
            of[leaf] = user
    return of, scopes


def _around(a: Group, b: Group) -> Group:
    """The innermost group that both are in."""
    while a is not b:
        if a.depth >= b.depth and a.parent is not None:
            a = a.parent
        elif b.parent is not None:
            b = b.parent
    return a


def _goes_with_its_users(scope: Scope | None, made_in: Group, user: Group) -> bool:
    """Whether a leaf is shown where it is used rather than where it was made: a parameter of a neuron is in the neuron,
    and a zero that a module starts from is in the module."""
    return scope is None or (scope.kind == "scope" and _around(made_in, user) is made_in)


def _filled(whole: Group, groups: list[Group], of: list[Group], parents: list[list[int]]) -> list[Group]:
    """The groups with their nodes, inner groups and edges; one with a single node in it is that node."""
    size = dict.fromkeys([whole, *groups], 0)
    for group in of:
        size[group] += 1
    for group in reversed(groups):
        size[group.parent] += size[group]
    for i, group in enumerate(of):
        while size[group] < 2 and group.parent is not None:
            group = group.parent
        of[i] = group
        group.items.append(i)
    kept = [whole, *(group for group in groups if size[group] > 1)]
    for group in kept[1:]:
        group.parent.items.append(group)
    for group in reversed(kept):
        group.first = min(item if isinstance(item, int) else item.first for item in group.items)
    for child, places in enumerate(parents):
        for parent in places:
            _add_edge(parent, child, of)
    return kept


def _add_edge(parent: int, child: int, of: list[Group]) -> None:
    """Note an edge in the innermost group that holds both its ends, between what shows them there."""
    a, b = parent, child
    above, below = of[parent], of[child]
    while above is not below:
        deeper = above.depth - below.depth
        if deeper >= 0:
            a, above = above, above.parent
        if deeper <= 0:
            b, below = below, below.parent
    above.edges.append((a, b))


def _numbered(whole: Group, nodes: int) -> Groups:
    records: list[dict[str, Any]] = []
    of = [0] * nodes
    stack = [(whole, -1)]
    while stack:
        group, parent = stack.pop()
        place = len(records)
        records.append({"label": group.label, "kind": group.kind, "parent": parent, "copies": group.copies})
        for item in group.items:
            if isinstance(item, int):
                of[item] = place
        stack += [(item, place) for item in reversed(group.items) if not isinstance(item, int)]
    return Groups(records, of)
