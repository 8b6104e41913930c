"""A comparison's elements as text in aligned columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from viz.comparison.records import NodeComparison, Row
from viz.text import clip, number, short

_DIGITS = 6
_TWO_BUGS = (
    "Under = the engines may differ, and both be right: a sum inside a tensor operation is one edge for each of its "
    "terms in the scalar graph, so there more is overwritten."
)

Column = tuple[str, Callable[[Row], str]]


def table(nodes: Sequence[NodeComparison], *, every: bool = False, most: int = 200) -> str:
    """The elements of the named leaves and of what differs, or with `every` of all nodes; an empty line at the end.

    most  how many rows there are at most; elements that disagree come first in the choice
    """
    nodes = list(nodes) if every else _leaves(nodes)
    rows = [row for node in nodes for row in node.rows()]
    shown = _chosen(rows, most)
    columns = _columns(shown, {node.key: clip(node.formula) for node in nodes})
    lines = _aligned([[title for title, _ in columns], *([text(row) for _, text in columns] for row in shown)])
    if len(shown) < len(rows):
        lines.append(f"... and {len(rows) - len(shown):,} more rows")
    return "\n".join([*lines, "", *([_TWO_BUGS] if _overwritten_differ(shown) else [])])


def _leaves(nodes: Sequence[NodeComparison]) -> list[NodeComparison]:
    """The leaves that take gradients and have a name, and every node that disagrees. Without a name are the numbers
    that a program of Values is written with: they are shown only where nothing else is."""
    leaves = [node for node in nodes if node.is_leaf and not node.is_constant]
    chosen = set([node for node in leaves if node.named or node.shape] or leaves)
    return [node for node in nodes if node in chosen or not node.ok]


def _columns(rows: Sequence[Row], formulas: Mapping[str, str]) -> list[Column]:
    """The columns that hold anything for these rows, in the order in which they are read."""

    def has(field: str) -> bool:
        return any(getattr(row, field) is not None for row in rows)

    columns: list[Column] = [("name", lambda row: clip(row.name))]
    if any(formulas.values()):
        columns.append(("operation", lambda row: formulas[row.node]))
    if any(row.data_differ for row in rows):
        columns.append(("scalar value", lambda row: _text(row.scalar_data)))
        columns.append(("tensor value", lambda row: _text(row.tensor_data)))
    else:
        columns.append(("value", lambda row: _text(row.tensor_data)))
    columns += [
        ("scalar gradient", lambda row: _text(row.scalar_grad, "constant")),
        ("tensor gradient", lambda row: _text(row.tensor_grad, "constant")),
        ("difference", lambda row: "" if row.grad_difference is None else short(row.grad_difference, 2)),
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
