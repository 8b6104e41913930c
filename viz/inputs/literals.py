"""Values on the command line: `a=2`, `w=[[1, 2], [3, nan]]`. Numbers and nested lists of them, nothing else."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
import warnings
from collections.abc import Iterable

import numpy as np

from viz.errors import UserError
from viz.text import clip

Literal = float | np.ndarray
"""A number, or for a list a float64 array."""

_ASSIGNMENT = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)(.*)", re.DOTALL)
_NAMED = {"nan": float("nan"), "inf": float("inf")}
_MOST_AXES = 32


def is_assignment(text: str) -> bool:
    """Whether `text` has the form name=value."""
    return _ASSIGNMENT.fullmatch(text) is not None


def parse_values(arguments: Iterable[str]) -> dict[str, Literal]:
    """The values of name=value arguments, by name.

    Raises UserError for an argument of another form, a name given twice, and what `parse_literal` refuses.
    """
    values: dict[str, Literal] = {}
    for argument in arguments:
        found = _ASSIGNMENT.fullmatch(argument)
        if found is None:
            raise UserError(f"{clip(argument)!r} is no value: write name=value, e.g. a=2 or 'w=[[1, 2], [3, 4]]'")
        name = unicodedata.normalize("NFKC", found[1])  # as Python does with names
        if keyword.iskeyword(name):
            raise UserError(f"{name!r} is a word of Python's own and can be no name: choose another")
        if name in values:
            raise UserError(f"{name} is given twice: leave one out")
        values[name] = parse_literal(found[2], name)
    return values


def parse_literal(text: str, name: str) -> Literal:
    """A number (2, -3, 1e-3, nan, inf, -inf) as a float; a nested list of numbers as a float64 array.

    Raises UserError for anything else; `name` says in the message what it was for.
    """
    text = text.strip()
    if not text:
        raise UserError(f"{name}= has no value: write a number, e.g. {name}=2, or a list, e.g. '{name}=[1, 2]'")
    try:
        with warnings.catch_warnings():  # about spellings that are refused below anyway
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
        nested = _literal(tree, _MOST_AXES)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        raise UserError(
            f"{name}={clip(text)} is no number: write one (2, -3.5, 1e-3, nan, inf), or a list of them, "
            f"e.g. '{name}=[[1, 2], [3, 4]]'"
        ) from None
    if isinstance(nested, float):
        return nested
    try:
        return np.array(nested, dtype=np.float64)
    except ValueError:
        raise UserError(f"{name}={clip(text)} is ragged: every row of a list needs the same length") from None


def _literal(node: ast.expr, axes_left: int) -> float | list:
    """The number or nested list that `node` spells. Raises ValueError for anything else."""
    if isinstance(node, (ast.List, ast.Tuple)) and axes_left:
        return [_literal(element, axes_left - 1) for element in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _number(node.operand) * (-1.0 if isinstance(node.op, ast.USub) else 1.0)
    return _number(node)


def _number(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id in _NAMED:
        return _NAMED[node.id]
    raise ValueError(ast.dump(node))
