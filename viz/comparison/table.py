"""A comparison's elements as text in aligned columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from viz.comparison.records import NodeComparison, Row
from viz.text import aligned, clip, count, number, short

_DIGITS = 6
_TWO_BUGS = (
    "Under = (the columns = scalar and = tensor) the engines may differ, and both be right: a sum inside a tensor "
    "operation is one edge for each of its terms in the scalar graph, so there more is overwritten."
)

Column = tuple[str, Callable[[Row], str]]


@dataclass(frozen=True)
class Table:
    """A comparison's elements as text.

    titles    of the columns
    rows      a text for each column
    differ    for each row, whether the engines differ there
    left_out  how many more rows there are
    notes     what the reader should know of the columns
    """

    titles: list[str]
    rows: list[list[str]]
    differ: list[bool]
    left_out: int
    notes: list[str]

    @property
    def more(self) -> list[str]:
        """A line that says how many rows are left out, if any."""
        return [f"... and {count(self.left_out, 'more row')}"] if self.left_out else []

    def __str__(self) -> str:
        """In aligned columns; then an empty line, and the notes."""
        return "\n".join([*aligned([self.titles, *self.rows]), *self.more, "", *self.notes])


def table(nodes: Sequence[NodeComparison], *, every: bool = False, most: int = 200) -> Table:
    """The elements of the named leaves and of what differs, or with `every` of all nodes.

    most  how many rows there are at most; elements that disagree come first in the choice
    """
    nodes = sorted(nodes, key=_literals(nodes).__contains__) if every else _leaves(nodes)
    rows = [row for node in nodes for row in node.rows()]
    shown = _chosen(rows, most)
    columns = _columns(shown, {node.key: clip(node.formula) for node in nodes})
    return Table(
        titles=[title for title, _ in columns],
        rows=[[text(row) for _, text in columns] for row in shown],
        differ=[not row.matches for row in shown],
        left_out=len(rows) - len(shown),
        notes=[_TWO_BUGS] if _overwritten_differ(shown) else [],
    )


def _literals(nodes: Sequence[NodeComparison]) -> set[NodeComparison]:
    """The numbers that the program is written with, as far as can be told: nameless leaves that are used once. (What is
    used again was kept in a variable that has another value by now.) They are listed last."""
    uses = Counter(parent for node in nodes for parent in node.parents)
    return {node for node in nodes if node.is_leaf and not node.named and not node.shape and uses[node.key] < 2}


def _leaves(nodes: Sequence[NodeComparison]) -> list[NodeComparison]:
    """The leaves that take gradients and have a name, and every node that disagrees. Without a name are the numbers
    that a program of Values is written with: they are shown only where nothing else is."""
    leaves = [node for node in nodes if node.is_leaf and not node.is_constant]
    literals = _literals(nodes)
    chosen = set([node for node in leaves if node not in literals] or leaves)
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
        ("difference", _difference),
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
    if any(map(_mark, rows)):
        columns.append(("", _mark))
    return columns


def _difference(row: Row) -> str:
    return "" if row.grad_difference is None or row.zero_times_inf else short(row.grad_difference, 2)


def _mark(row: Row) -> str:
    return "<- 0 times inf" if row.zero_times_inf and row.matches else "" if row.matches else "<- differs"


def _overwritten_differ(rows: Sequence[Row]) -> bool:
    return any(_text(row.scalar_overwritten) != _text(row.tensor_overwritten) for row in rows if not row.zero_times_inf)


def _chosen(rows: Sequence[Row], most: int) -> list[Row]:
    """At most `most` of the rows, those that disagree before others, in their old order."""
    if len(rows) <= most:
        return list(rows)
    places = sorted(range(len(rows)), key=lambda i: rows[i].matches)[:most]
    return [rows[i] for i in sorted(places)]


def _text(x: float | None, missing: str = "") -> str:
    return missing if x is None else number(x, _DIGITS)
