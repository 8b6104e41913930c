"""Where time went, as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from viz.errors import UserError
from viz.memory.paths import OUTSIDE
from viz.profiling import table
from viz.profiling.attribute import ADDING, OUTSIDE_OPS
from viz.profiling.record import ORDER
from viz.profiling.units import unit_for
from viz.text import count

By = Literal["op", "module", "shape"]

_NO_OPERATIONS = (OUTSIDE_OPS, ORDER, ADDING)


@dataclass(frozen=True)
class Row:
    """The time of one kind of operation in one module, in seconds.

    op        the operation's name, or what else it was: "(outside of operations)", "(order and clearing)" of a pass,
              "(+= of gradients)" of what the operations there sent
    module    the path of the module in which it ran
    stack     the names of the modules around it, from the outermost to that one
    shape     of the result
    calls     how often it was done; of +=, how many gradients were added
    forward, backward  where its time was spent
    again     in the backward pass, for doing it again in a checkpoint
    """

    op: str
    module: str
    stack: tuple[str, ...]
    shape: tuple[int, ...]
    calls: int
    forward: float
    backward: float
    again: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.forward + self.backward + self.again

    @property
    def is_operation(self) -> bool:
        """Whether it is none of the three that are no operations."""
        return self.op not in _NO_OPERATIONS


@dataclass(frozen=True)
class Group:
    """What was spent on one operation, in one module, or on results of one shape, in seconds.

    calls   how many operations
    inside  of a module, the time in it and in the modules in it; else that of the group
    """

    name: str
    calls: int
    forward: float
    backward: float
    again: float
    inside: float

    @property
    def total(self) -> float:
        """All of it, without other modules inside."""
        return self.forward + self.backward + self.again


@dataclass(frozen=True, repr=False)
class Profile:
    """Where the time of a forward and backward pass goes, in seconds. Printed, a table.

    rows      by operation, module and shape, in the order in which they came first; they add up to all that was
              measured
    wall      how long both passes took while they were looked at
    plain     how long they took when nobody looked
    runs      how many of each there were
    averaged  of how many the figures are the mean: the slower half is left out
    """

    rows: tuple[Row, ...]
    wall: float
    plain: float
    runs: int
    averaged: int

    @property
    def forward(self) -> float:
        """All of the forward pass."""
        return sum(row.forward for row in self.rows)

    @property
    def backward(self) -> float:
        """All of the backward pass, with what is computed again in it."""
        return sum(row.backward + row.again for row in self.rows)

    @property
    def again(self) -> float:
        """What the backward pass computes again."""
        return sum(row.again for row in self.rows)

    @property
    def outside(self) -> float:
        """What is outside of operations."""
        return sum(row.total for row in self.rows if row.op == OUTSIDE_OPS)

    @property
    def total(self) -> float:
        """All rows together, which is `wall` but for the reading of clocks."""
        return sum(row.total for row in self.rows)

    def by_op(self) -> list[Group]:
        """By operation; what took longest first."""
        return self._groups(lambda row: row.op)

    def by_module(self, *, alike: bool = False) -> list[Group]:
        """By the module in which it was spent, without modules inside. `alike` takes those together that differ in
        numbers alone: blocks.*.norm1."""
        name: Callable[[str], str] = _alike if alike else str
        return self._groups(lambda row: name(row.module), of_modules=True)

    def by_shape(self) -> list[Group]:
        """By operation and the shape of its result: "linear 64x256"."""
        return self._groups(lambda row: f"{row.op} {'x'.join(map(str, row.shape))}".rstrip())

    def groups(self, by: By, *, alike: bool = False) -> list[Group]:
        """`by_op()`, `by_module()` or `by_shape()`, by name. Raises UserError for another."""
        if by not in ("op", "module", "shape"):
            raise UserError(f"a profile is told by op, module or shape, got {by!r}")
        return self.by_module(alike=alike) if by == "module" else self.by_op() if by == "op" else self.by_shape()

    def _groups(self, name: Callable[[Row], str], of_modules: bool = False) -> list[Group]:
        rows: dict[str, list[Row]] = {}
        for row in self.rows:
            rows.setdefault(name(row), []).append(row)
        inside = self._inside(name) if of_modules else {}
        found = [
            Group(
                key,
                sum(row.calls for row in each if row.is_operation or not of_modules),
                sum(row.forward for row in each),
                sum(row.backward for row in each),
                sum(row.again for row in each),
                inside.get(key, 0.0) if of_modules else sum(row.total for row in each),
            )
            for key, each in rows.items()
        ]
        return sorted(found, key=lambda group: -group.total)

    def _inside(self, name: Callable[[Row], str]) -> dict[str, float]:
        """For each module by its name, the time in it and in those inside of it."""
        names = {row.stack: name(row) for row in self.rows}
        sums: dict[str, float] = {}
        for row in self.rows:
            around = (row.stack[:depth] for depth in range(len(row.stack) + 1))
            for each in {names[stack] for stack in around if stack in names}:  # once where a module calls itself
                sums[each] = sums.get(each, 0.0) + row.total
        return sums

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data, in seconds."""
        return {
            "wall": self.wall,
            "plain": self.plain,
            "runs": self.runs,
            "averaged": self.averaged,
            **{name: getattr(self, name) for name in ("forward", "backward", "again", "outside", "total")},
            **{f"by_{by}": [asdict(group) for group in self.groups(by)] for by in ("op", "module", "shape")},
            "rows": [{**asdict(row), "stack": list(row.stack), "shape": list(row.shape)} for row in self.rows],
        }

    def table(self, *by: By) -> str:
        """The totals, and the time by operation and, where there are modules, by module; or as asked."""
        in_modules = any(row.module != OUTSIDE for row in self.rows)
        return table.table(self, by or (("op", "module") if in_modules else ("op",)))

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        written = unit_for(self.total)
        calls = sum(row.calls for row in self.rows if row.is_operation)
        return (
            f"<Profile of {count(calls, 'operation')}: forward {written(self.forward)}, backward "
            f"{written(self.backward)}: print it for the table>"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For notebooks and IPython: the table."""
        printer.text(str(self))


def _alike(path: str) -> str:
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", path)
