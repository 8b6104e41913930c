"""How each operation of `Value` is written in a script: its value, and what it sends to each operand.

The texts give the same bits as the engine: they multiply and round in the same order. {a} and {b} are the operands,
{out} is the result and {g} its gradient. A test walks the engine's operations and compares.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

from micrograd.engine import Value


class Rule(NamedTuple):
    """One operation.

    again      the engine's own operation, on as many Values as there are operands
    value      the text of the value
    sent       the text of the contribution for each operand
    of_arrays  (value, sent) for arrays, where a condition needs another form there; None where both are the same
    """

    again: Callable[..., Value]
    value: str
    sent: tuple[str, ...]
    of_arrays: tuple[str, tuple[str, ...]] | None = None


def rule(op: str, operands: Sequence[str | float]) -> Rule | None:
    """The rule of an operation by its name, for operands of which the numbers are known and baked in.

    None for a name that no operation of the engine has with so many operands.
    """
    if op == "/" and len(operands) == 2 and isinstance(operands[1], float) and operands[1] != 0.0:
        return _BY_A_NUMBER
    if op.startswith("**") and len(op) > 2 and len(operands) == 1:
        return _to_the_power(op[2:])
    found = RULES.get(op)
    return found if found is not None and len(found.sent) == len(operands) else None


RULES: dict[str, Rule] = {
    "+": Rule(operator.add, "{a} + {b}", ("{g}", "{g}")),
    "-": Rule(operator.sub, "{a} - {b}", ("{g}", "-{g}")),
    "*": Rule(operator.mul, "{a} * {b}", ("{b} * {g}", "{a} * {g}")),
    "/": Rule(operator.truediv, "divide({a}, {b})", ("divide(1.0, {b}) * {g}", "-divide({out}, {b}) * {g}")),
    "**": Rule(
        operator.pow,
        "power({a}, {b})",
        (
            "0.0 if {b} == 0.0 else {b} * power({a}, {b} - 1.0) * {g}",
            "0.0 if {a} == 0.0 and {b} >= 0.0 else {out} * log({a}) * {g}",
        ),
        (
            "power({a}, {b})",
            (
                "where({b} == 0.0, 0.0, {b} * power({a}, {b} - 1.0) * {g})",
                "where(({a} == 0.0) & ({b} >= 0.0), 0.0, {out} * log({a}) * {g})",
            ),
        ),
    ),
    "neg": Rule(operator.neg, "-{a}", ("-{g}",)),
    "abs": Rule(abs, "abs({a})", ("sign({a}) * {g}",)),
    "ReLU": Rule(
        Value.relu,
        "0.0 if {a} <= 0.0 else {a}",
        ("0.0 if {a} <= 0.0 else {g}",),
        ("where({a} <= 0.0, 0.0, {a})", ("where({a} <= 0.0, 0.0, {g})",)),
    ),
    "tanh": Rule(Value.tanh, "tanh({a})", ("(1.0 - {out} * {out}) * {g}",)),
    "sigmoid": Rule(
        Value.sigmoid,
        "sigmoid({a})",
        ("{out} * (1.0 - {out}) * {g}",),
        (
            "where({a} >= 0.0, 1.0, exp(-abs({a}))) / (1.0 + exp(-abs({a})))",
            ("{out} * (1.0 - {out}) * {g}",),
        ),
    ),
    "exp": Rule(Value.exp, "exp({a})", ("{out} * {g}",)),
    "log": Rule(Value.log, "log({a})", ("divide(1.0, {a}) * {g}",)),
    "sqrt": Rule(Value.sqrt, "sqrt({a})", ("divide(0.5, {out}) * {g}",)),
    "sin": Rule(Value.sin, "sin({a})", ("cos({a}) * {g}",)),
    "cos": Rule(Value.cos, "cos({a})", ("-sin({a}) * {g}",)),
}

_BY_A_NUMBER = Rule(operator.truediv, "{a} / {b}", ("1.0 / {b} * {g}", ""))
"""A quotient whose divisor is a number other than 0, which cannot raise: nothing is sent to the number."""


def _to_the_power(exponent: str) -> Rule | None:
    try:
        n = float(exponent)
    except ValueError:
        return None
    of_arrays = None
    if n == 0.0:
        sent = "0.0"
    elif n == 1.0:
        sent = "{g}"
    elif n == 2.0:
        sent = "2.0 * {a} * {g}"
        of_arrays = ("{a} * {a}", (sent,))
    else:
        sent = f"{number(n)} * power({{a}}, {number(n - 1.0)}) * {{g}}"
    return Rule(lambda a: a**n, f"power({{a}}, {number(n)})", (sent,), of_arrays)


def number(x: float) -> str:
    """A float as source: what `repr` writes, with `inf` and `nan` as names."""
    return "nan" if math.isnan(x) else repr(float(x))  # somebody may have set `data` to a number of another kind
