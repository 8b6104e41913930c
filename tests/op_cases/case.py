"""What a line of the operator table is: a case, where its operands are taken from, and the shapes it is run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Domain:
    """Where an operand's random elements are taken from: low to high, and with `mirrored` from -high to -low too."""

    low: float
    high: float
    mirrored: bool = False

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
        x = rng.uniform(self.low, self.high, shape)
        return np.asarray(x * rng.choice([-1.0, 1.0], shape) if self.mirrored else x)


REAL = Domain(-2.0, 2.0)
POSITIVE = Domain(0.3, 2.0)
NONZERO = Domain(0.3, 2.0, mirrored=True)

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Case:
    """One operation, or one way of calling it.

    name      the operation in `tensorgrad`, then what is special about the call
    function  of (m, *operands)
    domains   one an operand
    shapes    the operands' shapes, one tuple for each call to test
    scalar    whether it acts on each element and `Value` has it, so that it works on floats and on Values
    torch     whether torch can run it
    lift      whether it can be run on Values, elements of the tensors: whether it has a scalar meaning
    """

    name: str
    function: Callable[..., Any]
    domains: tuple[Domain, ...]
    shapes: tuple[Shapes, ...]
    scalar: bool = False
    torch: bool = True
    lift: bool = True

    @property
    def operation(self) -> str:
        return self.name.split()[0]

    @property
    def broadcasts(self) -> bool:
        """Whether it has two operands of any shapes that broadcast."""
        return self.shapes is _TWO

    def sample(self, rng: np.random.Generator, shapes: Shapes | None = None) -> list[np.ndarray]:
        """Random float64 operands of these shapes, by default of no axes."""
        shapes = ((),) * len(self.domains) if shapes is None else shapes
        return [domain.sample(rng, shape) for domain, shape in zip(self.domains, shapes, strict=True)]


_ONE: tuple[Shapes, ...] = (((),), ((3,),), ((2, 3),), ((0,),), ((2, 0, 1),))
_TWO: tuple[Shapes, ...] = (
    ((), ()),
    ((3,), (3,)),
    ((4, 3), (3,)),
    ((), (2, 3)),
    ((2, 1), (1, 3)),
    ((2, 1, 3), (4, 1)),
    ((0, 3), (3,)),
    ((1,), (0,)),
)


def each(name: str, function: Callable[..., Any], *domains: Domain) -> Case:
    """An operation on each element that `Value` has too, with broadcasting where it has two operands."""
    return Case(name, function, domains, _ONE if len(domains) == 1 else _TWO, scalar=True)


def elements(name: str, function: Callable[..., Any], *domains: Domain, torch: bool = True, lift: bool = True) -> Case:
    """An operation on each element that `Value` has no method for."""
    return Case(name, function, domains, _ONE if len(domains) == 1 else _TWO, torch=torch, lift=lift)


def array(
    name: str,
    function: Callable[..., Any],
    *shapes: Any,
    domain: Domain = REAL,
    torch: bool = True,
    lift: bool = True,
) -> Case:
    """An operation that knows shapes. Give (2, 3) for one operand, ((2, 3), (3,)) for two."""
    calls = tuple(s if s and isinstance(s[0], tuple) else (s,) for s in shapes)
    return Case(name, function, (domain,) * len(calls[0]), calls, torch=torch, lift=lift)
