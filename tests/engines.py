"""Both engines under one set of names, for tests that run the same program on each.

Programs use operators and methods (`a * b`, `a.tanh()`), which the engines share; only leaves are made differently, a
float64 tensor without axes standing for a number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from micrograd import Value
from micrograd.backprop import Node
from tensorgrad import Tensor


@dataclass(frozen=True)
class Engine:
    """leaf(number) makes a leaf that takes gradients; custom(number, parents, name) a node that has no rule yet."""

    name: str
    leaf: Callable[[float], Any]
    custom: Callable[[float, tuple[Any, ...], str], Any]

    def __str__(self) -> str:
        return self.name


SCALAR = Engine("Value", Value, lambda x, parents, op: Value(x, parents, op))
TENSOR = Engine(
    "Tensor",
    lambda x: Tensor(np.float64(x), requires_grad=True),
    lambda x, parents, op: Tensor(np.float64(x), _prev=parents, _op=op),
)

ENGINES = [SCALAR, TENSOR]
on_both_engines = pytest.mark.parametrize("engine", ENGINES, ids=str)


def number(x: Any) -> float:
    """A node's data, or a gradient (0 where nothing has arrived), as a float."""
    if x is None:
        return 0.0
    return float(x.data if isinstance(x, Node) else x)


UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "relu": lambda x: x.relu(),
    "x**3": lambda x: x**3,
    "x**-1.5": lambda x: x**-1.5,
    "x+2": lambda x: x + 2,
    "2+x": lambda x: 2 + x,
    "x-2": lambda x: x - 2,
    "2-x": lambda x: 2 - x,
    "x*2": lambda x: x * 2,
    "2*x": lambda x: 2 * x,
    "x/2": lambda x: x / 2,
    "2/x": lambda x: 2 / x,
    "2**x": lambda x: 2**x,
}
"""Every operation on one node, numbers on either side included; all are smooth at 0.7."""

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "**": lambda x, y: x**y,
}
"""Every operation on two nodes."""
