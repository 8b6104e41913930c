"""The memory of a graph as text in aligned columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from viz.memory.sizes import unit_for
from viz.text import aligned, clip, count

if TYPE_CHECKING:
    from viz.memory.result import By, Group, Memory

MOST_ROWS = 12
"""Of one table; what is smaller is added up in one more."""

_NAMES = {
    "weights": "weights",
    "inputs": "inputs",
    "saved": "saved for backward",
    "shown": "shown, not needed",
    "gradients": "gradients",
    "optimizer": "optimizer's state",
    "nodes": "nodes",
}
_HEADS = {"op": "by operation", "module": "by module", "shape": "by shape"}


def table(memory: Memory, by: Sequence[By]) -> str:
    """The totals, then what the graph keeps, in one table for each of `by`."""
    written = unit_for(max(memory.total, memory.peak or 0))
    parts = [_totals(memory, written)]
    grouped = [(each, memory.groups(each, alike=True)) for each in by]
    parts += [_groups(_HEADS[each], groups, written) for each, groups in grouped]
    return "\n\n".join("\n".join(part) for part in parts)


def _totals(memory: Memory, written: Callable[[int], str]) -> list[str]:
    rows = [
        [_NAMES[kind], written(size)] for kind, size in memory.totals.items() if size or kind not in ("nodes", "inputs")
    ]
    rows.append(["in all", written(memory.total)])
    if memory.peak is not None:
        rows.append(["at the peak of a backward pass", written(memory.peak)])
    told = aligned([[f"{count(len(memory.operations), 'operation')}", ""], *rows])
    if memory.nodes and memory.count:
        told.append(f"{memory.total / memory.count:,.0f} bytes a node")
    return told


def _groups(head: str, groups: Sequence[Group], written: Callable[[int], str]) -> list[str]:
    shown = list(groups[:MOST_ROWS])
    rows = [
        [
            clip(group.name),
            f"{group.operations:,}",
            f"{group.arrays:,}",
            "–" if group.each is None else written(group.each),
            *map(written, (group.saved, group.shown, group.gradients, group.total)),
        ]
        for group in shown
    ]
    left = groups[MOST_ROWS:]
    if left:
        sums = [sum(getattr(group, what) for group in left) for what in ("saved", "shown", "gradients", "total")]
        many = (f"{sum(getattr(group, what) for group in left):,}" for what in ("operations", "arrays"))
        rows.append([f"{len(left):,} more", *many, "", *map(written, sums)])
    return aligned([[head, "operations", "arrays", "each", "saved", "shown", "gradients", "in all"], *rows])
