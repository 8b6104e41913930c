"""Rules of operations that read some elements of their operand: what they send is zero everywhere else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


class Placing:
    """Such a rule. Called with the gradient of the result it makes the contribution, an array of the operand's shape.

    Where a gradient is there already, `add` puts the elements into it, without the array of zeros and the sum of both:
    of three parts of an array only the first has zeros made, and a few rows of a long table cost a few rows.

    make  from the gradient of the result to a new array
    add   (total, g) adds to `total`, in place, what `make(g)` would be
    """

    __slots__ = ("add", "make")

    def __init__(self, make: Callable[[np.ndarray], np.ndarray], add: Callable[[np.ndarray, np.ndarray], None]) -> None:
        self.make = make
        self.add = add

    def __call__(self, g: np.ndarray) -> np.ndarray:
        return self.make(g)
