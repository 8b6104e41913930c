"""Rules of operations that read some elements of their operand, as a slice or rows of a table do: what they send is a
scatter of the result's gradient, zero everywhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Placing:
    """Such a rule. Called with the gradient of the result it makes the contribution, an array of the operand's shape.

    Where a gradient is there already, `add` puts the elements into it, without the array of zeros and the sum of both:
    of three parts of an array only the first has zeros made, and a few rows of a long table cost a few rows.

    make  from the gradient of the result to a new array
    add   (total, g) adds to `total`, in place, what `make(g)` would be (a scatter-add), to the same bits
    """

    __slots__ = ("add", "make")

    def __init__(self, make: Callable[[np.ndarray], np.ndarray], add: Callable[[np.ndarray, np.ndarray], None]) -> None:
        self.make = make
        self.add = add

    def __call__(self, g: np.ndarray) -> np.ndarray:
        return self.make(g)


class Placed:
    """A contribution of such a rule to a gradient that is there already: `gradient + placed` puts it into it.

    Only a pass that nobody looks at sends these (see `gate.unseen_pass`): in between there is no array to be seen.
    """

    __slots__ = ("g", "rule")
    __array_ufunc__ = None  # so that `gradient + placed` asks here

    def __init__(self, rule: Placing, g: np.ndarray) -> None:
        self.rule = rule
        self.g = g

    def __radd__(self, gradient: Any) -> Any:
        shared = gradient.base is not None or not gradient.flags.writeable  # another node may hold it too
        if shared or gradient.dtype != self.g.dtype:  # that of data which were replaced since
            return gradient + self.array().astype(gradient.dtype, copy=False)
        self.rule.add(gradient, self.g)
        return gradient

    def array(self) -> np.ndarray:
        """The contribution itself, as the rule makes it."""
        return self.rule.make(self.g)
