"""The operator table: every operation of the engines, one line a case.

A case is a function of (m, operands), where m is whatever holds the functions: `FLOATS`, `VALUES`, `ARRAYS`,
`tensorgrad` or torch. So one line is run on floats, on Values, on NumPy arrays, on Tensors and on torch's tensors, and
test_ops.py compares what comes out. A new operation is a new line here; a public operation without one fails a test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from micrograd.engine import Value


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
    scalar    whether it acts on each element, so that it works on floats and on Values
    torch     whether torch can run it
    """

    name: str
    function: Callable[..., Any]
    domains: tuple[Domain, ...]
    shapes: tuple[Shapes, ...]
    scalar: bool = False
    torch: bool = True

    @property
    def operation(self) -> str:
        return self.name.split()[0]

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
    """An operation on each element, with broadcasting where it has two operands."""
    return Case(name, function, domains, _ONE if len(domains) == 1 else _TWO, scalar=True)


def array(name: str, function: Callable[..., Any], *shapes: Any, torch: bool = True) -> Case:
    """An operation that knows shapes. Give (2, 3) for one operand, ((2, 3), (3,)) for two."""
    calls = tuple(s if s and isinstance(s[0], tuple) else (s,) for s in shapes)
    return Case(name, function, (REAL,) * len(calls[0]), calls, torch=torch)


EACH = (
    each("add", lambda m, x, y: x + y, REAL, REAL),
    each("add number", lambda m, x: x + 3, REAL),
    each("add number first", lambda m, x: 3.5 + x, REAL),
    each("add itself", lambda m, x: x + x, REAL),
    each("sub", lambda m, x, y: x - y, REAL, REAL),
    each("sub number", lambda m, x: x - 3, REAL),
    each("sub number first", lambda m, x: 3.5 - x, REAL),
    each("mul", lambda m, x, y: x * y, REAL, REAL),
    each("mul number", lambda m, x: x * 3, REAL),
    each("mul number first", lambda m, x: 3.5 * x, REAL),
    each("mul itself", lambda m, x: x * x, REAL),
    each("div", lambda m, x, y: x / y, REAL, NONZERO),
    each("div number", lambda m, x: x / 3, REAL),
    each("div number first", lambda m, x: 2 / x, NONZERO),
    each("pow", lambda m, x, y: x**y, POSITIVE, REAL),
    each("pow number 0", lambda m, x: x**0, REAL),
    each("pow number 1", lambda m, x: x**1, REAL),
    each("pow number 2", lambda m, x: x**2, REAL),
    each("pow number 3", lambda m, x: x**3, REAL),
    each("pow number -1", lambda m, x: x**-1, NONZERO),
    each("pow number 0.5", lambda m, x: x**0.5, POSITIVE),
    each("pow number -2.5", lambda m, x: x**-2.5, POSITIVE),
    each("pow number first", lambda m, x: 2**x, REAL),
    each("neg", lambda m, x: -x, REAL),
    each("abs", lambda m, x: abs(x), NONZERO),
    each("exp", lambda m, x: m.exp(x), REAL),
    each("log", lambda m, x: m.log(x), POSITIVE),
    each("sqrt", lambda m, x: m.sqrt(x), POSITIVE),
    each("sin", lambda m, x: m.sin(x), REAL),
    each("cos", lambda m, x: m.cos(x), REAL),
    each("tanh", lambda m, x: m.tanh(x), REAL),
    each("sigmoid", lambda m, x: m.sigmoid(x), REAL),
    each("relu", lambda m, x: m.relu(x), NONZERO),
)

_REPEATS = np.array([0, 1, 1, 0, 1])
_TABLE = np.array([[0, 2], [2, 2]])
_MASK = np.array([[True, False, True], [False, True, False]])

ARRAY = (
    array("matmul", lambda m, x, y: x @ y, ((2, 3), (3, 4)), ((1, 1), (1, 1))),
    array("matmul vector", lambda m, x, y: x @ y, ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2))),
    array("matmul batch", lambda m, x, y: x @ y, ((2, 4, 3), (2, 3, 2)), ((2, 1, 2, 3), (4, 3, 2))),
    array("matmul batch of one", lambda m, x, y: x @ y, ((5, 2, 3), (1, 3, 2))),
    array("matmul batch, matrix", lambda m, x, y: x @ y, ((2, 2, 4, 3), (3, 2)), ((4, 3), (2, 3, 2))),
    array("matmul batch, vector", lambda m, x, y: x @ y, ((2, 4, 3), (3,)), ((3,), (2, 3, 4)), ((2, 2, 4, 3), (3,))),
    array("matmul empty", lambda m, x, y: x @ y, ((0,), (0,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((0, 2, 3), (3, 2))),
    array("matmul itself", lambda m, x: x @ x, (3,), (2, 2), (2, 3, 3)),
    array("sum", lambda m, x: m.sum(x), (), (3,), (2, 3), (0,), (2, 1, 3)),
    array("sum one axis", lambda m, x: m.sum(x, 1), (2, 3), (2, 0), (0, 2), (2, 1, 3)),
    array("sum last axis", lambda m, x: m.sum(x, -1), (3,), (2, 3), (2, 3, 2)),
    array("sum two axes", lambda m, x: m.sum(x, (0, 2)), (2, 3, 4), (2, 0, 1)),
    array("sum keepdims", lambda m, x: m.sum(x, axis=0, keepdims=True), (3,), (2, 3), (0, 2)),
    array("mean", lambda m, x: m.mean(x), (), (3,), (2, 3)),
    array("mean one axis", lambda m, x: m.mean(x, 1), (2, 3), (0, 2), (2, 1, 3)),
    array("mean two axes, keepdims", lambda m, x: m.mean(x, axis=(-1, 0), keepdims=True), (2, 3, 4)),
    array("max", lambda m, x: m.max(x), (), (3,), (2, 3)),
    array("max one axis", lambda m, x: m.max(x, 1).values, (2, 3), (0, 2), (2, 4, 3)),
    array("max last axis", lambda m, x: m.max(x, -1).values, (3,), (2, 3)),
    array("reshape", lambda m, x: m.reshape(x, (3, 2)), (6,), (2, 3), (1, 6, 1)),
    array("reshape -1", lambda m, x: m.reshape(x, (-1, 2)), (4,), (2, 3, 2), (0, 2)),
    array("reshape to no axes", lambda m, x: m.reshape(x, ()), (), (1,), (1, 1)),
    array("transpose", lambda m, x: m.transpose(x, 0, 1), (2, 3), (2, 3, 4), (0, 2)),
    array("transpose negative", lambda m, x: m.transpose(x, -1, -2), (2, 3), (2, 3, 4)),
    array("permute", lambda m, x: m.permute(x, (2, 0, 1)), (2, 3, 4), (1, 0, 2)),
    array("permute negative", lambda m, x: m.permute(x, (1, -2)), (2, 3)),
    array("T", lambda m, x: x.T, (2, 3), (0, 2)),
    array("index integer", lambda m, x: x[1], (3,), (2, 3), (2, 0)),
    array("index integers", lambda m, x: x[-1, 0], (2, 3), (2, 3, 4)),
    array("index slice", lambda m, x: x[1:], (3,), (2, 3), (1, 2)),
    array("index step", lambda m, x: x[:, ::2], (2, 3)),
    array("index backwards", lambda m, x: x[::-1], (3,), (2, 3), torch=False),
    array("index new axes", lambda m, x: x[None, ..., None], (), (3,), (2, 3)),
    array("index all kinds", lambda m, x: x[1, None, ..., 0:1], (2, 3), (2, 3, 2)),
    array("index repeats", lambda m, x: x[_REPEATS], (2,), (2, 3)),
    array("index list", lambda m, x: x[[0, 0, 1]], (2,), (2, 3)),
    array("index repeats, second axis", lambda m, x: x[:, _REPEATS], (3, 2), (3, 2, 2)),
    array("index table", lambda m, x: x[_TABLE], (3,), (3, 2)),
    array("index pairs", lambda m, x: x[[0, 1, 1], [2, 0, 0]], (2, 3)),
    array("index mask", lambda m, x: x[_MASK], (2, 3), (2, 3, 2)),
    array("index twice", lambda m, x: x[:3] * x[1:] + x[-1], (4,)),
)  # fmt: skip

CASES = EACH + ARRAY

COMPARISONS = {
    # operation: the comparison, and whether it works on floats and on Values (whose == is identity)
    "lt": (lambda x, y: x < y, True),
    "le": (lambda x, y: x <= y, True),
    "gt": (lambda x, y: x > y, True),
    "ge": (lambda x, y: x >= y, True),
    "eq": (lambda x, y: x == y, False),
    "ne": (lambda x, y: x != y, False),
}

FLOATS = SimpleNamespace(
    exp=math.exp,
    log=math.log,
    sqrt=math.sqrt,
    sin=math.sin,
    cos=math.cos,
    tanh=math.tanh,
    sigmoid=lambda x: 1 / (1 + math.exp(-x)),
    relu=lambda x: max(x, 0.0),
)

VALUES = Value  # its methods, as functions

ARRAYS = SimpleNamespace(
    exp=np.exp,
    log=np.log,
    sqrt=np.sqrt,
    sin=np.sin,
    cos=np.cos,
    tanh=np.tanh,
    sigmoid=lambda x: 1 / (1 + np.exp(-x)),
    relu=lambda x: np.maximum(x, 0),
    sum=np.sum,
    mean=np.mean,
    max=lambda x, dim=None: np.max(x) if dim is None else SimpleNamespace(values=np.max(x, axis=dim)),
    reshape=np.reshape,
    transpose=np.swapaxes,
    permute=np.transpose,
)


def calls(cases: tuple[Case, ...] = CASES) -> Iterator[tuple[str, Case, Shapes]]:
    """(a name for the test, the case, the operands' shapes) for every call in the table."""
    for case in cases:
        for shapes in case.shapes:
            yield f"{case.name} {' '.join(map(str, shapes))}", case, shapes
