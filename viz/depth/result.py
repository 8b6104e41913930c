"""What a gradient is along the depth of a model, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Depth:
    """Norms of gradients along blocks, in the order in which they run. nan stands where nothing is known.

    names    of the blocks
    inputs   at what each block reads from the one before it
    outputs  at what each block returns
    weights  of all the parameters of a block together; 0.0 for a block that has none
    """

    names: tuple[str, ...]
    inputs: tuple[float, ...]
    outputs: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def at_inputs(self) -> float:
        """The gradient at the first block's input over that at the last one's."""
        return _first_over_last(self.inputs)

    @property
    def at_outputs(self) -> float:
        """The gradient at the first block's output over that at the last one's."""
        return _first_over_last(self.outputs)

    @property
    def at_weights(self) -> float:
        """The gradient of the first block's parameters over that of the last one's."""
        return _first_over_last(self.weights)


def _first_over_last(norms: tuple[float, ...]) -> float:
    if not norms or not norms[-1]:
        return math.nan
    return norms[0] / norms[-1]
