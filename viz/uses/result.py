"""A gradient split by use, as records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from viz import plain
from viz.arrays import MOST_IN_PANEL, Quantity, norm
from viz.text import count
from viz.uses.table import table

__all__ = ["Split", "Use", "Uses", "cosine"]


def cosine(a: Quantity, b: Quantity) -> float | None:
    """The cosine of the angle between two arrays, in float64; None where one of them has no direction: it is 0 or not
    finite."""
    x, y = (np.asarray(q, dtype=np.float64).ravel() for q in (a, b))
    lengths = norm(x), norm(y)
    if not all(0 < length < np.inf for length in lengths):
        return None
    found = float(np.dot(x / lengths[0], y / lengths[1]))
    return min(1.0, max(-1.0, found))


@dataclass(frozen=True, eq=False)
class Use:
    """One operation that reads a node, and what it sends back to it in one backward pass.

    number        which of the contributions it is, in the order in which they arrive, from 1; None where none came
    key, name     of the operation's result: its key as in `viz.snapshot`, and what to call it
    op, formula   the operation: "linear", "linear(h, w)"
    slot          which of its operands the node is
    place         the modules and scopes that it was computed in, "model > blocks[0] > proj"; "" outside of all
    contribution  what it sends, an array of the node's shape or a number; None where nothing came
    norm          the contribution's norm, 0 where none came
    share         its square's share of the sum of those of all uses, from 0 to 1
    cosine        with the sum of all contributions; None where one of the two is 0 or not finite
    why           why nothing, or next to nothing, goes back here: "detached", "dead relu: 37 of 64"
    """

    number: int | None
    key: str
    name: str
    op: str
    formula: str
    slot: int
    place: str
    contribution: Quantity | None
    norm: float
    share: float
    cosine: float | None
    why: str | None

    def to_json(self) -> dict[str, Any]:
        """The fields as plain data; a contribution of more than 64 elements is null."""
        fields = ("number", "key", "name", "op", "formula", "slot", "place", "norm", "share", "cosine", "why")
        found = {name: plain.plain(getattr(self, name)) for name in fields}
        return found | {"contribution": _few(self.contribution)}


@dataclass(frozen=True, eq=False)
class Split:
    """The gradient of one node, split by use.

    key     as in `viz.snapshot`; None of a node that is in the graph only in front of a cut
    name    what to call it
    shape   of its data, () of a number
    dtype   of its data
    uses    in the order in which their contributions arrive; then those that send nothing
    sum     of the contributions, in float64; None where none came
    norm    the sum's
    grad    the gradient that the pass leaves, as the engine rounds it, and hooks included; None where none came
    hooked  whether a hook has made it something else than the sum
    part    its square's share of that of the gradient of all leaves, from 0 to 1; None where it is none of them, and
            where that norm is 0 or not finite
    """

    key: str | None
    name: str
    shape: tuple[int, ...]
    dtype: str
    uses: tuple[Use, ...]
    sum: Quantity | None
    norm: float
    grad: Quantity | None
    hooked: bool
    part: float | None

    @property
    def arrived(self) -> tuple[Use, ...]:
        """The uses that sent something, in the order of arrival."""
        return tuple(use for use in self.uses if use.number is not None)

    @property
    def last(self) -> Use | None:
        """The last to arrive: what `=` in the place of `+=` would leave here. None where nothing came."""
        return self.arrived[-1] if self.arrived else None

    @cached_property
    def cosines(self) -> list[list[float | None]]:
        """Of the uses that sent something with each other."""
        sent = [use.contribution for use in self.arrived if use.contribution is not None]
        found: list[list[float | None]] = [[None] * len(sent) for _ in sent]
        for i, a in enumerate(sent):
            for j, b in enumerate(sent[: i + 1]):
                found[i][j] = found[j][i] = cosine(a, b)
        return found

    def to_json(self) -> dict[str, Any]:
        """The fields as plain data, and "last" (a use's number) and "cosines"; a sum of more than 64 elements is
        null."""
        return {
            "key": self.key,
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "norm": plain.plain(self.norm),
            "part": plain.plain(self.part),
            "hooked": self.hooked,
            "last": None if self.last is None else self.last.number,
            "sum": _few(self.sum),
            "grad": _few(self.grad),
            "uses": [use.to_json() for use in self.uses],
            "cosines": plain.plain(self.cosines),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Uses:
    """Gradients split by use: a sequence of `Split`, also by name (`uses["tokens.weight"]`). Printed, a table.

    root    what to call the node that the pass started from
    splits  one a node, the largest gradient first
    norm    of the gradient of all leaves together: what `clip_grad_norm_` would return for them
    leaves  how many of them it reaches
    """

    root: str
    splits: tuple[Split, ...]
    norm: float
    leaves: int

    def __iter__(self) -> Iterator[Split]:
        return iter(self.splits)

    def __len__(self) -> int:
        return len(self.splits)

    def __getitem__(self, which: int | str) -> Split:
        if not isinstance(which, str):
            return self.splits[which]
        for split in self.splits:
            if split.name == which:
                return split
        raise KeyError(which)

    def __str__(self) -> str:
        return table(self)

    def __repr__(self) -> str:
        return f"<Uses of {count(len(self), 'node')} below {self.root}: print it for the table>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For notebooks and IPython: the table."""
        printer.text(str(self))

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; numbers that JSON lacks are "nan", "inf" and "-inf"."""
        return {
            "root": self.root,
            "norm": plain.plain(self.norm),
            "leaves": self.leaves,
            "nodes": [split.to_json() for split in self.splits],
        }


def _few(q: Quantity | None) -> Any:
    return None if q is None or np.size(q) > MOST_IN_PANEL else plain.plain(q)
