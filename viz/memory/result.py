"""What a graph keeps in memory, as numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from viz.errors import UserError
from viz.memory import table
from viz.memory.paths import OUTSIDE
from viz.memory.sizes import unit_for
from viz.text import count

By = Literal["op", "module", "shape"]

KINDS = {
    "weights": "leaves that require gradients",
    "inputs": "data of constants, and of other leaves",
    "saved": "what rules hold for the backward pass and nothing else is",
    "shown": "results that no rule needs, kept to be looked at",
    "gradients": "of leaves and of results",
    "optimizer": "what the optimizer remembers",
    "nodes": "nodes of single numbers, and their tuples",
}
"""The kinds of memory, in words. No memory is of two kinds."""

NUMBER = "float"
"""The dtype of rows that are about nodes of single numbers, many in one row."""


@dataclass(frozen=True)
class Row:
    """One piece of memory, counted once: an array that owns it, with all views of it.

    kind     one of KINDS
    bytes    its size
    shape    of the array that owns it; () of numbers
    dtype    its dtype; "float" of Python's numbers
    made_by  the operation whose result it is; "" of a leaf's, and of what is nobody's result
    name     its node's label, or what an optimizer calls it
    op       the first operation, in the order of the graph, whose rule holds it; else the one whose result it is, or
             whose gradient
    held_by  all operations whose rules hold it, each once
    module   in which module that operation ran
    nodes    how many nodes have it as their data, or in their rules
    """

    kind: str
    bytes: int
    shape: tuple[int, ...]
    dtype: str
    made_by: str = ""
    name: str = ""
    op: str = ""
    held_by: tuple[str, ...] = ()
    module: str = ""
    nodes: int = 1

    @property
    def where(self) -> str:
        """Where it comes from, in words."""
        if self.name:
            return self.name
        if self.made_by:
            return f"the result of {self.made_by}"
        if self.kind == "saved":
            return f"only in the rule of {self.op}"
        return "a leaf"


@dataclass(frozen=True)
class Group:
    """What belongs to one operation, module or shape.

    operations  how many operations of the graph there are in it; of a shape, those with results of it
    arrays      how many pieces of memory are saved; of single numbers, how many nodes' rules
    each        their size, if they are all of one; else None
    saved, shown, gradients  bytes; gradients are those of results
    """

    name: str
    operations: int = 0
    arrays: int = 0
    each: int | None = None
    saved: int = 0
    shown: int = 0
    gradients: int = 0

    @property
    def total(self) -> int:
        """The three together."""
        return self.saved + self.shown + self.gradients


@dataclass(frozen=True, repr=False)
class Memory:
    """What a graph keeps alive, in bytes. Printed, a table.

    rows        every piece of memory, once
    operations  for each operation of the graph: its name, its module, and its result's shape and dtype
    count       how many nodes the graph has
    added       what one backward pass, from empty gradients, needed at its peak beside what was alive; None unless it
                was measured. Arrays are known to it by what NumPy reports to `tracemalloc`; the buffers that a BLAS
                keeps for its products, some MB, are not.
    """

    rows: tuple[Row, ...]
    operations: tuple[tuple[str, str, str], ...] = field(repr=False)
    count: int = 0
    added: int | None = None

    def _sum(self, kind: str) -> int:
        return sum(row.bytes for row in self.rows if row.kind == kind)

    @property
    def weights(self) -> int:
        """Data of leaves that require gradients; with a model, of its parameters."""
        return self._sum("weights")

    @property
    def inputs(self) -> int:
        """Data of constants and of other leaves that nodes or rules hold."""
        return self._sum("inputs")

    @property
    def saved(self) -> int:
        """What rules hold that is neither weights nor inputs: the saved tensors, or activations, of the literature."""
        return self._sum("saved")

    @property
    def shown(self) -> int:
        """Data of results that no rule needs; a graph under `tensorgrad.lean_graph()` has none."""
        return self._sum("shown")

    @property
    def gradients(self) -> int:
        """Gradients of leaves and of results. 0 before the first backward pass: they are made when they arrive."""
        return self._sum("gradients")

    @property
    def optimizer(self) -> int:
        """What the optimizer remembers of the parameters."""
        return self._sum("optimizer")

    @property
    def nodes(self) -> int:
        """Of a graph of single numbers, its nodes themselves."""
        return self._sum("nodes")

    @property
    def total(self) -> int:
        """All of it."""
        return sum(row.bytes for row in self.rows)

    @property
    def totals(self) -> dict[str, int]:
        """By kind."""
        return {kind: self._sum(kind) for kind in KINDS}

    @property
    def peak(self) -> int | None:
        """The most that is alive during a backward pass from empty gradients; None unless it was measured."""
        return None if self.added is None else self.total - self.gradients + self.added

    def by_op(self) -> list[Group]:
        """By the operation whose rule holds it first; the largest first."""
        return self._groups(lambda row: row.op, (op for op, _, _ in self.operations))

    def by_module(self, *, alike: bool = False) -> list[Group]:
        """By the module in which that operation ran. `alike` takes those together that differ in numbers alone:
        blocks.*.norm1."""
        name: Callable[[str], str] = _alike if alike else str
        return self._groups(lambda row: name(row.module), (name(module) for _, module, _ in self.operations))

    def by_shape(self) -> list[Group]:
        """By shape and dtype."""
        return self._groups(lambda row: shape_text(row.shape, row.dtype), (shape for _, _, shape in self.operations))

    def groups(self, by: By, *, alike: bool = False) -> list[Group]:
        """`by_op()`, `by_module()` or `by_shape()`, by name. Raises UserError for another."""
        if by not in ("op", "module", "shape"):
            raise UserError(f"memory is told by op, module or shape, got {by!r}")
        return self.by_module(alike=alike) if by == "module" else self.by_op() if by == "op" else self.by_shape()

    def _groups(self, name: Callable[[Row], str], operations: Iterable[str]) -> list[Group]:
        many = Counter(operations)
        rows: dict[str, list[Row]] = {key: [] for key in many}
        for row in self.rows:
            if row.kind in ("saved", "shown") or (row.kind == "gradients" and row.op):
                rows.setdefault(name(row), []).append(row)
        found = [_group(key, many[key], each) for key, each in rows.items()]
        return sorted(found, key=lambda group: -group.total)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        tables = {f"by_{by}": [asdict(group) for group in self.groups(by)] for by in ("op", "module", "shape")}
        return {
            **self.totals,
            "total": self.total,
            "peak": self.peak,
            "added": self.added,
            "count": self.count,
            "operations": len(self.operations),
            **tables,
            "rows": [{**asdict(row), "shape": list(row.shape), "held_by": list(row.held_by)} for row in self.rows],
        }

    def table(self, *by: By) -> str:
        """The totals, and what is kept by operation and, where there are modules, by module; or as asked."""
        in_modules = any(module != OUTSIDE for _, module, _ in self.operations)
        return table.table(self, by or (("op", "module") if in_modules else ("op",)))

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        written = unit_for(self.total)
        return (
            f"<Memory of {count(self.count, 'node')}: {written(self.saved)} saved of {written(self.total)}: print it "
            "for the table>"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For notebooks and IPython: the table."""
        printer.text(str(self))


def shape_text(shape: tuple[int, ...], dtype: str) -> str:
    """ "64x256 float32"."""
    return f"{'x'.join(map(str, shape)) or 'one number,'} {dtype}"


def _alike(path: str) -> str:
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", path)


def _group(name: str, operations: int, rows: list[Row]) -> Group:
    sizes = {kind: [row.bytes for row in rows if row.kind == kind] for kind in ("saved", "shown", "gradients")}
    saved = [row for row in rows if row.kind == "saved"]
    arrays = sum(row.nodes if row.dtype == NUMBER else 1 for row in saved)
    each = saved[0].bytes if arrays == len(saved) and len({row.bytes for row in saved}) == 1 else None
    return Group(name, operations, arrays, each, *(sum(sizes[kind]) for kind in sizes))
