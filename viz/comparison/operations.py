"""The operations of `Value` by name, to be done again on other operands: Values, Tensors, or torch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from operator import add, methodcaller, mul, neg, pow, sub, truediv
from typing import Any

Operation = Callable[..., Any]

_OPERATIONS: dict[str, Operation] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": truediv,
    "**": pow,
    "neg": neg,
    "abs": abs,
    "ReLU": methodcaller("relu"),
} | {name: methodcaller(name) for name in ("tanh", "sigmoid", "exp", "log", "sqrt", "sin", "cos")}
"""As operators and methods that Tensors, and torch's, have as well."""


_OF_TWO = {"+", "-", "*", "/", "**"}


@cache
def operation(name: str, operands: int) -> Operation | None:
    """What made a node with `_op == name` from so many operands, or None where that is no operation of `Value`'s."""
    if operands != (2 if name in _OF_TWO else 1):
        return None
    if name in _OPERATIONS:
        return _OPERATIONS[name]
    exponent = _number(name[2:]) if name.startswith("**") else None
    return None if exponent is None else lambda x: x**exponent


def _number(text: str) -> int | float | None:
    """The exponent that an operation's name spells: 2, 0.5, 1e-05."""
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return None
