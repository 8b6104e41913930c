"""What a comparison found about one tensor node, array by array, and about one element of it, number by number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viz.comparison.tolerance import close
from viz.graph import Titled


def element_name(name: str, index: tuple[int, ...]) -> str:
    """What to call one element of a node: "w[0, 1]"; of a 0-d node its own name."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


@dataclass(frozen=True)
class Row:
    """One element of a tensor node.

    node, name, op        the node's key ("n3"), the element's name ("w[0, 1]"), the node's operation ("" for a leaf)
    index                 the element's place in the node
    tensor_data, scalar_data    its data, as either engine computed it
    tensor_grad, scalar_grad    its gradient by either engine; None for a constant
    data_difference, grad_difference    how far the two are apart; 0 also where both are nan or the same infinity,
                          and for `zero_times_inf`
    data_error, grad_error      the same in units of what is allowed: over 1 where the two differ, and only there
    finite_difference, torch_grad    the gradient by other means; None where there is none
    tensor_overwritten, scalar_overwritten    what it would hold with `=` in the place of `+=`
    zero_times_inf        whether the tensor gradient is nan, and the scalar one is not, only because the tensor engine
                          sends 0 times inf through what the result does not depend on; that is no mismatch
    matches               whether data and gradient agree within the tolerance
    """

    node: str
    name: str
    op: str
    index: tuple[int, ...]
    tensor_data: float
    scalar_data: float
    data_difference: float
    data_error: float
    tensor_grad: float | None
    scalar_grad: float | None
    grad_difference: float | None
    grad_error: float | None
    finite_difference: float | None
    torch_grad: float | None
    tensor_overwritten: float | None
    scalar_overwritten: float | None
    zero_times_inf: bool
    matches: bool

    @property
    def data_differ(self) -> bool:
        return self.data_error > 1


_NUMBERS = tuple(field for field, kind in Row.__annotations__.items() if kind.startswith("float"))
"""The fields of a Row that a NodeComparison holds an array of, under the same name."""


@dataclass(frozen=True, eq=False)
class NodeComparison(Titled):
    """One tensor node and its scalar nodes; all arrays have the node's shape and are float64.

    key, name, named, op, formula, parents    as in `viz.graph.NodeRecord`
    dtype           of the tensor
    data_allowed, grad_allowed    how far data and gradients may be apart
    For the other fields see `Row`; gradients are None for a constant.
    """

    key: str
    name: str
    named: bool
    op: str
    formula: str
    parents: tuple[str, ...]
    dtype: str
    tensor_data: np.ndarray
    scalar_data: np.ndarray
    data_allowed: np.ndarray
    tensor_grad: np.ndarray | None = None
    scalar_grad: np.ndarray | None = None
    grad_allowed: np.ndarray | None = None
    tensor_overwritten: np.ndarray | None = None
    scalar_overwritten: np.ndarray | None = None
    finite_difference: np.ndarray | None = None
    torch_grad: np.ndarray | None = None
    zero_times_inf: np.ndarray | None = None

    @property
    def is_constant(self) -> bool:
        return self.tensor_grad is None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor_data.shape

    @property
    def size(self) -> int:
        return self.tensor_data.size

    @cached_property
    def data_matches(self) -> np.ndarray:
        """Where the data agree."""
        return close(self.tensor_data, self.scalar_data, self.data_allowed)

    @cached_property
    def grad_matches(self) -> np.ndarray:
        """Where the gradients agree; everywhere for a constant."""
        if self.is_constant:
            return np.ones(self.shape, dtype=bool)
        return close(self.tensor_grad, self.scalar_grad, self.grad_allowed) | self._excused

    @cached_property
    def matches(self) -> np.ndarray:
        """Where both agree."""
        return self.data_matches & self.grad_matches

    @cached_property
    def data_difference(self) -> np.ndarray:
        """How far the data are apart; inf where only one of them is finite or nan."""
        return distance(self.tensor_data, self.scalar_data)

    @cached_property
    def grad_difference(self) -> np.ndarray | None:
        """How far the gradients are apart; inf where only one of them is finite or nan, but for 0 times inf."""
        if self.is_constant:
            return None
        return np.where(self._excused, 0.0, distance(self.tensor_grad, self.scalar_grad))

    @cached_property
    def data_error(self) -> np.ndarray:
        """How far the data are apart in units of what is allowed: over 1 where they differ, and only there."""
        return _in_units(self.data_difference, self.data_allowed, self.data_matches)

    @cached_property
    def grad_error(self) -> np.ndarray | None:
        """How far the gradients are apart in units of what is allowed: over 1 where they differ, and only there."""
        return None if self.is_constant else _in_units(self.grad_difference, self.grad_allowed, self.grad_matches)

    @property
    def _excused(self) -> np.ndarray:
        return np.zeros(self.shape, dtype=bool) if self.zero_times_inf is None else self.zero_times_inf

    @property
    def ok(self) -> bool:
        return bool(self.matches.all())

    @property
    def mismatches(self) -> int:
        """How many elements disagree."""
        return int((~self.matches).sum())

    @property
    def largest_difference(self) -> float:
        """The largest distance between data or between gradients; 0 for an empty node."""
        found = [self.data_difference] if self.is_constant else [self.data_difference, self.grad_difference]
        return max(float(array.max(initial=0.0)) for array in found)

    def row(self, index: tuple[int, ...]) -> Row:
        """The record of one element."""
        return Row(
            node=self.key,
            name=element_name(self.name, index),
            op=self.op,
            index=index,
            zero_times_inf=bool(self._excused[index]),
            matches=bool(self.matches[index]),
            **{field: _at(getattr(self, field), index) for field in _NUMBERS},
        )

    def rows(self) -> Iterator[Row]:
        """A record for each element."""
        return map(self.row, np.ndindex(self.shape))


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|a - b|; 0 where both are nan or the same infinity, inf where that holds for one alone."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(apart), math.inf, apart))


def _in_units(apart: np.ndarray, allowed: np.ndarray, matches: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        ratio = np.where(apart == 0, 0.0, apart / allowed)
    return np.where(matches, np.minimum(ratio, 1.0), np.maximum(ratio, np.nextafter(1.0, 2.0)))  # rounded across 1?


def _at(array: np.ndarray | None, index: tuple[int, ...]) -> float | None:
    return None if array is None else float(array[index])
