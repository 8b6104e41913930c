"""What keeps each level of the groups small: folds of equal groups, groups of shared parameters, and parts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from math import ceil

from viz.grouping.level import Group, Item, Level, enclose

MOST = 40
"""A level that shows more is cut into parts,"""

SMALL = 60
"""unless the whole graph has no more nodes than this, and is shown opened."""

FEW = 12
"""So many neighbours, or shared parameters, are shown one by one."""

_LEAST_COPIES = 3


def arrange(groups: list[Group], kinds: Sequence[tuple[str, Hashable, int]], names: Sequence[str]) -> None:
    """Sort and restructure the groups in place; `groups` are all, outer ones first.

    kinds  of each node its operation, shape and number of operands
    names  of each node
    """
    leaf = [not operands for _, _, operands in kinds]
    signatures: dict[Group, int] = {}
    for group in reversed(groups):
        signatures[group] = _signature(Level(group, leaf), kinds, signatures)
    stack = groups[:1]
    while stack:
        group = stack.pop()
        if group.kind == "parameters":
            _by_owner(group, names)
        elif group.kind != "part":
            level = Level(group, leaf)
            if group.kind != "fold" and _fold(level, signatures):
                level = Level(group, leaf)
            if _gather(level, names):
                Level(group, leaf)
        if len(group.items) > MOST and len(leaf) > SMALL:
            _cut(Level(group, leaf))
        stack += [item for item in group.items if not isinstance(item, int)]


# -- folds -------------------------------------------------------------------------------------------------------------


def _signature(level: Level, kinds: Sequence[Hashable], inner: dict[Group, int]) -> int:
    """A number that groups of equal structure share: of the same kind, with the same operations wired in the same way.

    Leaves do not count, as nothing does that comes from outside: a leaf that only the first of several calls uses is
    inside that one.
    """
    known: dict[Item, int] = {}
    for item in level.group.items:
        if not level.loose(item):
            below = [known.get(source, 0) for source in level.sources[item] if not level.loose(source)]
            own = kinds[item] if isinstance(item, int) else inner[item]
            known[item] = hash((own, tuple(below if isinstance(item, int) else sorted(below))))
    return hash((level.group.kind, tuple(sorted(known.values()))))


def _fold(level: Level, signatures: dict[Group, int]) -> bool:
    """Put runs of equal groups into one group each; whether there were any. Single neurons and the like stay as they
    are where they are few."""
    group = level.group
    inner = [item for item in group.items if item in signatures]
    folds = []
    for run in _runs(inner, signatures):
        nested = any(not isinstance(item, int) for item in run[0].items)
        if len(run) >= _LEAST_COPIES and (nested or len(inner) > FEW) and len(run) < len(group.items):
            fold = Group(f"{_stem(run)} × {len(run)}", "fold", group, len(run))
            folds.append((fold, [*run, *_between(level, run)]))
    if folds:
        taken: set[Item] = set()
        for _, members in folds:
            inside = set(members)
            members += [
                item
                for item in group.items
                if level.loose(item) and _used_inside(level, item, inside) and item not in taken
            ]
            taken.update(members)
        enclose(group, folds)
    return bool(folds)


def _runs(inner: list[Group], signatures: dict[Group, int]) -> Iterator[list[Group]]:
    start = 0
    for i in range(1, len(inner) + 1):
        if i == len(inner) or signatures[inner[i]] != signatures[inner[start]]:
            yield inner[start:i]
            start = i


def _between(level: Level, run: list[Group]) -> list[Item]:
    """The nodes on the way from one group of the run to another: left outside, they would use the fold and be used by
    it."""
    members = set(run)
    items = level.group.items
    span = items[items.index(run[0]) : items.index(run[-1]) + 1]
    after: set[Item] = set(run)
    for item in span:
        if any(source in after for source in level.sources[item]):
            after.add(item)
    before: set[Item] = set(run)
    for item in reversed(span):
        if any(target in before for target in level.targets[item]):
            before.add(item)
    return [item for item in span if item in after and item in before and item not in members]


def _used_inside(level: Level, leaf: Item, inside: set[Item]) -> bool:
    return leaf not in inside and bool(level.targets[leaf]) and all(user in inside for user in level.targets[leaf])


def _stem(run: list[Group]) -> str:
    """What the labels have in common without their numbers: "blocks" for "blocks[0]" and "blocks[1]"."""
    stems = {re.sub(r"[\W\d]+$", "", re.sub(r", call \d+$", "", group.label)) for group in run}
    stem = stems.pop()
    return stem if not stems and stem else run[0].kind


# -- parameters that several groups use --------------------------------------------------------------------------------


def _gather(level: Level, names: Sequence[str]) -> bool:
    """Put leaves that several items use, a group among them, into a group of their own; whether there were many."""
    shared: list[Item] = []
    for item in level.group.items:
        users = set(level.targets[item]) if isinstance(item, int) and level.loose(item) else ()
        if len(users) > 1 and any(not isinstance(user, int) for user in users):
            shared.append(item)
    if len(shared) <= FEW:
        return False
    owners = {_path(names[item])[0] for item in shared}
    label = f"{owners.pop()} parameters" if len(owners) == 1 else "parameters"
    enclose(level.group, [(Group(label, "parameters", level.group), shared)])
    return True


def _by_owner(group: Group, names: Sequence[str]) -> None:
    """Group parameters by the module that they belong to, as their names say: net.layers[0].neurons[1].w[2]."""
    depth = 0
    while len(group.items) > FEW:
        owned: defaultdict[tuple[str, ...], list[Item]] = defaultdict(list)
        for item in group.items:
            path = _path(names[item]) if isinstance(item, int) else []
            if len(path) > depth + 1:
                owned[tuple(path[: depth + 1])].append(item)
        depth += 1
        if not owned:
            return
        if len(owned) > 1:
            inner = [(path, members) for path, members in owned.items() if len(members) > 1]
            enclose(group, [(Group(path[-1], "parameters", group), members) for path, members in inner])
            return


def _path(name: str) -> list[str]:
    return name.split(".")


# -- parts -------------------------------------------------------------------------------------------------------------


def _cut(level: Level) -> None:
    """Cut the items into parts, one after the other, as many as leaves the parts of parts equally large. Where there
    are few groups, or few that this module made, these stay as they are, and what stands between them is cut."""
    group = level.group
    count = len(group.items)
    inner = [item for item in group.items if not isinstance(item, int)]
    if len(inner) > FEW:
        inner = [item for item in inner if item.kind in ("fold", "parameters")]
    whole = set(inner) if len(inner) <= FEW else set()
    most = MOST - 2 * len(whole) - 1  # there may be a smaller part before and after each of these
    levels = 2
    while most**levels < count:
        levels += 1
    target = ceil(count / ceil(count ** (1 / levels)))
    parts: list[list[Item]] = [[]]
    for unit in _units(level, target, whole):
        alone = unit[0] in whole
        if parts[-1] and (alone or parts[-1][0] in whole or len(parts[-1]) >= target):
            parts.append([])
        parts[-1] += unit
    parts = [part for part in parts if len(part) > 1]
    prefix = f"{group.label}." if group.kind == "part" else "part "
    enclose(
        group,
        [(Group(_span(part) or f"{prefix}{i}", "part", group), part) for i, part in enumerate(parts, 1)],
    )


def _units(level: Level, most: int, whole: set[Item]) -> Iterator[list[Item]]:
    """Each item with the leaves before it, which are its operands; no more than `most` together. Those in `whole` stand
    alone."""
    unit: list[Item] = []
    for item in level.group.items:
        if item in whole and unit:
            yield unit
            unit = []
        unit.append(item)
        if len(unit) == most or item in whole or not level.loose(item):
            yield unit
            unit = []
    if unit:
        yield unit


def _span(part: list[Item]) -> str:
    """A label for groups in a row: "neurons[0] – neurons[9]"; "" for others."""
    if any(isinstance(item, int) for item in part) or _stem(part) == part[0].kind:
        return ""
    return f"{part[0].label} – {part[-1].label}"
