"""What an expression becomes: a flat list of steps for a machine with one stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from micrograd import Value
from viz.errors import UserError

_WRONG_USE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What the engines raise for operands that do not fit an operation."""


@dataclass(frozen=True)
class Apply:
    """A step: `function` of the topmost `count` things on the stack.

    column       where the text spells it
    arrays_only  its name, if only Tensors have it, else ""
    """

    function: Callable[..., Any]
    count: int
    column: int
    arrays_only: str = ""


Step = str | int | float | Apply
"""A variable to look up, a number, or an operation."""


@dataclass(frozen=True)
class Program:
    """An expression that can be run: `program(*operands)`, one operand for each of `parameters`, in this order.

    source       the text
    parameters   the names of its variables, in the order of their first use
    steps        what to do, operands before operations
    columns      where each variable is used first, counted in characters from 1
    for_arrays   the first operation in it that only Tensors have (`@`, `sum`, an index ...), or ""
    """

    source: str
    parameters: tuple[str, ...]
    steps: tuple[Step, ...]
    columns: tuple[int, ...]
    for_arrays: str

    def __call__(self, *operands: Any) -> Any:
        """The value of the expression on Values, Tensors or torch's tensors.

        Raises UserError, with the place in the text, where an operation does not take its operands.
        """
        values = dict(zip(self.parameters, operands, strict=True))
        stack: list[Any] = []
        for step in self.steps:
            if isinstance(step, Apply):
                taken = stack[-step.count :]
                del stack[-step.count :]
                stack.append(self._apply(step, taken))
            else:
                stack.append(values[step] if isinstance(step, str) else step)
        return stack.pop()

    def _apply(self, step: Apply, operands: list[Any]) -> Any:
        where = place(self.source, step.column)
        if step.arrays_only and isinstance(operands[0], (Value, int, float)):
            raise UserError(f"{step.arrays_only} is an operation on arrays, and this is one number ({where})")
        try:
            if any(not isinstance(x, (int, float)) for x in operands):
                return step.function(*operands)
            return step.function(*map(Value, operands)).data  # numbers alone make a number, outside of the graph
        except _WRONG_USE as error:
            raise UserError(f"{error} ({where})") from error


def place(source: str, column: int) -> str:
    """Where something stands, for messages: the column, counted from 1, and the text around it."""
    start, end = max(column - 31, 0), column + 29
    around = ("…" if start else "") + source[start:end] + ("…" if end < len(source) else "")
    return f"column {column} of {around!r}"
