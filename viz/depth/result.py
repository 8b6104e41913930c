"""What a gradient is along the depth of a model, as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viz import plain
from viz.depth.table import table
from viz.text import count

Norms = tuple[float | None, ...]


@dataclass(frozen=True, repr=False)
class Depth:
    """Norms of gradients along blocks, in the order in which they run. Printed, a table.

    names    of the blocks
    inputs   at what each block reads from the one before it
    outputs  at what each block returns
    weights  of all the parameters of a block together

    None stands where there is no such gradient: at a first block's input that is data, for example, and for a block
    without parameters. 0.0 is a gradient that is 0, or that never came; nan and inf are what the gradient holds.
    """

    names: tuple[str, ...]
    inputs: Norms
    outputs: Norms
    weights: Norms

    def __post_init__(self) -> None:
        """Raises ValueError for what are no norms of these blocks."""
        for what in ("inputs", "outputs", "weights"):
            norms = getattr(self, what)
            if len(norms) != len(self.names):
                raise ValueError(f"{count(len(self.names), 'block')} but {count(len(norms), 'norm')} in {what}")
            if any(x is not None and x < 0 for x in norms):
                raise ValueError(f"a norm is not below 0, but one in {what} is")

    @property
    def at_inputs(self) -> float:
        """The gradient at the first block's input over that at the last one's."""
        return first_over_last(self.inputs)

    @property
    def at_outputs(self) -> float:
        """The gradient at the first block's output over that at the last one's."""
        return first_over_last(self.outputs)

    @property
    def at_weights(self) -> float:
        """The gradient of the first block's parameters over that of the last one's."""
        return first_over_last(self.weights)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        found = {name: getattr(self, name) for name in ("names", "inputs", "outputs", "weights")}
        ratios = {name: getattr(self, f"at_{name}") for name in ("inputs", "outputs", "weights")}
        content: dict[str, Any] = plain.plain({**found, "first_over_last": ratios})
        return content

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        return table(self)

    def __repr__(self) -> str:
        return f"<Depth of {count(len(self), 'block')}: print it for the table>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For notebooks and IPython: the table."""
        printer.text(str(self))


def first_over_last(norms: Sequence[float | None]) -> float:
    """The first norm over the last, of those that are known; nan where the last is 0 or not finite, and where none is
    known, or of several one alone."""
    known = [x for x in norms if x is not None]
    if len(known) < min(len(norms), 2) or not known or not 0 < known[-1] < math.inf:
        return math.nan
    return float(known[0]) / float(known[-1])
