"""A comparison as text: aligned columns, and sentences that sum it up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from viz.text import clip, number, short

if TYPE_CHECKING:
    from viz.comparison.result import Comparison, NodeComparison, Row

_DIGITS = 6
_TWO_BUGS = (
    "Under = the engines may differ, and both be right: a sum inside a tensor operation is one edge for each of its "
    "terms in the scalar graph, so there more is overwritten."
)

Column = tuple[str, Callable[["Row"], str]]


def element_name(name: str, index: Sequence[int]) -> str:
    """What to call one element of a node: "w[0, 1]"; of a 0-d node its own name."""
    return f"{name}[{', '.join(map(str, index))}]" if len(index) else name


def table(comparison: Comparison, *, every: bool = False, most: int = 200) -> str:
    """The elements of the named leaves, or with `every` of all nodes, and the summary.

    most  how many rows there are at most; elements that disagree come first in the choice
    """
    nodes = list(comparison.nodes) if every else _leaves(comparison.nodes)
    rows = [row for node in nodes for row in node.rows()]
    shown = _chosen(rows, most)
    columns = _columns(shown, {node.key: clip(node.formula) for node in nodes})
    lines = _aligned([[title for title, _ in columns], *([text(row) for _, text in columns] for row in shown)])
    if len(shown) < len(rows):
        lines.append(f"... and {len(rows) - len(shown):,} more rows")
    footnote = [_TWO_BUGS] if _overwritten_differ(shown) else []
    return "\n".join([*lines, "", *footnote, *comparison.notes, summary(comparison)])


def _leaves(nodes: Sequence[NodeComparison]) -> list[NodeComparison]:
    """The leaves that take gradients and have a name, and every node that disagrees. Without a name are the numbers
    that a program of Values is written with: they are shown only where nothing else is."""
    leaves = [node for node in nodes if node.is_leaf and not node.is_constant]
    named = [node for node in leaves if not _is_number(node.name)] or leaves
    chosen = set(named)
    return [node for node in nodes if node in chosen or not node.ok]


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def summary(comparison: Comparison) -> str:
    """Whether all agree; if not, how many differ, which is the first, and where to look."""
    what = f"{_count(comparison.elements, 'element')} of {_count(len(comparison.nodes), 'tensor node')}"
    if comparison.ok:
        return f"{what}: scalar and tensor engine agree{_worst(comparison)}."
    first, suspects = comparison.first_mismatch, comparison.suspects
    return "\n".join(
        [
            f"{what}: {_count(comparison.mismatches, 'element')} DIFFER{_worst(comparison)}.",
            f"First in the order of computation: {_difference_of(first)}.",
            f"Look at {', '.join(clip(node.title, 80) for node in suspects)}.",
        ]
    )


def _columns(rows: Sequence[Row], formulas: Mapping[str, str]) -> list[Column]:
    """The columns that hold anything for these rows, in the order in which they are read."""

    def has(field: str) -> bool:
        return any(getattr(row, field) is not None for row in rows)

    columns: list[Column] = [("name", lambda row: clip(row.name))]
    if any(formulas.values()):
        columns.append(("operation", lambda row: formulas[row.node]))
    if all(row.value == row.scalar_value or row.matches for row in rows):
        columns.append(("value", lambda row: _text(row.value)))
    else:
        columns.append(("scalar value", lambda row: _text(row.scalar_value)))
        columns.append(("tensor value", lambda row: _text(row.value)))
    columns += [
        ("scalar gradient", lambda row: _text(row.scalar_grad, "constant")),
        ("tensor gradient", lambda row: _text(row.tensor_grad, "constant")),
        ("difference", lambda row: "" if row.difference is None else short(row.difference, 2)),
    ]
    if has("finite_difference"):
        columns.append(("finite difference", lambda row: _text(row.finite_difference)))
    if has("torch_grad"):
        columns.append(("torch", lambda row: _text(row.torch_grad)))
    if _overwritten_differ(rows):
        columns.append(("= scalar", lambda row: _text(row.scalar_overwritten)))
        columns.append(("= tensor", lambda row: _text(row.tensor_overwritten)))
    elif has("tensor_overwritten"):
        columns.append(("= gradient", lambda row: _text(row.tensor_overwritten)))
    if not all(row.matches for row in rows):
        columns.append(("", lambda row: "" if row.matches else "<- differs"))
    return columns


def _overwritten_differ(rows: Sequence[Row]) -> bool:
    return any(_text(row.scalar_overwritten) != _text(row.tensor_overwritten) for row in rows)


def _chosen(rows: Sequence[Row], most: int) -> list[Row]:
    """At most `most` of the rows, those that disagree before others, in their old order."""
    if len(rows) <= most:
        return list(rows)
    places = sorted(range(len(rows)), key=lambda i: rows[i].matches)[:most]
    return [rows[i] for i in sorted(places)]


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the first column to the left, the others to the right, the last as it comes if it has no title."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in cells
    ]


def _text(x: float | None, missing: str = "") -> str:
    return missing if x is None else number(x, _DIGITS)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _worst(comparison: Comparison) -> str:
    worst = comparison.worst
    if worst is None or worst.difference == 0:
        return ""
    return f" (largest difference of gradients {short(worst.difference, 2)}, at {clip(worst.name)})"


def _difference_of(row: Row) -> str:
    if row.value_differs:
        return f"{row.name}: value {number(row.scalar_value, 8)} by scalars, {number(row.value, 8)} by tensors"
    return f"{row.name}: gradient {number(row.scalar_grad, 8)} by scalars, {number(row.tensor_grad, 8)} by tensors"
