"""One group as a level: what it shows when it is open, in topological order, and the edges between these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Union

Item = Union[int, "Group"]
"""What a group holds: a node, by its place in the topological order, or a group."""


class Group:
    """A group with its items and the edges between them: from operand to result, one for each use.

    first  the place of the first node in it
    """

    __slots__ = ("copies", "depth", "edges", "first", "items", "kind", "label", "parent")

    def __init__(self, label: str, kind: str, parent: Group | None = None, copies: int = 1) -> None:
        self.label = label
        self.kind = kind
        self.parent = parent
        self.copies = copies
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.first = 0
        self.items: list[Item] = []
        self.edges: list[tuple[Item, Item]] = []

    def __repr__(self) -> str:
        return f"<Group {self.label!r} ({self.kind}) of {len(self.items)}>"


class Level:
    """The items of `group`, sorted so that each comes after what it uses; leaves, and groups of leaves, stand before
    their first user. `sources` and `targets` are the ends of each item's edges, repeats kept.

    (Groups that use each other in a circle, as those left by generators that take turns may, stand in the order of
    their first nodes.)
    """

    def __init__(self, group: Group, leaf: Sequence[bool]) -> None:
        self.sources: defaultdict[Item, list[Item]] = defaultdict(list)
        self.targets: defaultdict[Item, list[Item]] = defaultdict(list)
        for a, b in group.edges:
            self.sources[b].append(a)
            self.targets[a].append(b)
        self._leaf = leaf
        self.group = group
        group.items = self._sorted(group.items)

    def loose(self, item: Item) -> bool:
        """Whether the item is a leaf or holds nothing but leaves."""
        return self._leaf[item] if isinstance(item, int) else item.kind == "parameters"

    def _sorted(self, items: Iterable[Item]) -> list[Item]:
        loose = [item for item in items if self.loose(item)]
        waiting = dict.fromkeys(sorted((x for x in items if not self.loose(x)), key=_first), 0)
        for item in waiting:
            waiting[item] = sum(source in waiting for source in self.sources[item])
        ready = [(_first(item), item) for item, count in waiting.items() if not count]  # sorted, so it is a heap
        rest = iter(list(waiting))
        found: dict[Item, None] = {}
        while len(found) < len(waiting):
            item = heappop(ready)[1] if ready else next(item for item in rest if item not in found)
            if item in found:
                continue
            found[item] = None
            for target in self.targets[item]:
                waiting[target] -= 1
                if not waiting[target] and target not in found:
                    heappush(ready, (_first(target), target))
        placed: dict[Item, None] = {item: None for item in loose if not self.targets[item]}
        for item in found:
            for source in self.sources[item]:
                if self.loose(source):
                    placed.setdefault(source)
            placed[item] = None
        return list(placed)


def _first(item: Item) -> int:
    return item if isinstance(item, int) else item.first


def enclose(outer: Group, inner: Sequence[tuple[Group, Sequence[Item]]]) -> None:
    """Move items of `outer` into new groups inside it, and the edges with them."""
    into: dict[Item, Group] = {}
    for group, members in inner:
        for item in members:
            into[item] = group
            if not isinstance(item, int):
                item.parent = group
        group.items = list(members)
        group.first = min(map(_first, members))
    outer.items = list(dict.fromkeys(into.get(item, item) for item in outer.items))
    edges, outer.edges = outer.edges, []
    for a, b in edges:
        above, below = into.get(a, a), into.get(b, b)
        if above is below:
            above.edges.append((a, b))
        else:
            outer.edges.append((above, below))
