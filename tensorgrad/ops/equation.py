"""Reading the equations of `einsum`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

from tensorgrad.errors import ShapeError
from tensorgrad.ops.contraction import Names

_ELLIPSIS = "..."
_PART = re.compile(r"\.\.\.|[A-Za-z]|.", re.DOTALL)


def parse(equation: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[Names], Names]:
    """(the names of each operand's axes, those of the result's) from an equation and the operands' shapes.

    A name is a letter, or for an axis under an ellipsis a number: the last is 0, the one before it 1, so that
    ellipses of different lengths meet at the right. Raises ShapeError where something does not fit.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    sides = left.split(",")
    if len(sides) != len(shapes):
        _refuse(equation, shapes, f"it has {len(sides)} operands, and {len(shapes)} were given")
    names = [
        _names(part, shape, f"operand {i}", equation, shapes)
        for i, (part, shape) in enumerate(zip(sides, shapes, strict=True))
    ]
    under = max((n for of_one in names for n in of_one if isinstance(n, int)), default=-1)
    ellipsis = list(range(under, -1, -1))
    _check_lengths(names, equation, shapes)
    counts = Counter(n for of_one in names for n in of_one if isinstance(n, str))
    if not arrow:
        return names, [*ellipsis, *sorted(n for n, times in counts.items() if times == 1)]
    out: list[str | int] = []
    for part in _parts(right, "the result", equation, shapes):
        if part == _ELLIPSIS:
            out += ellipsis
            continue
        if part not in counts:
            _refuse(equation, shapes, f"the result's {part!r} is in no operand")
        if part in out:
            _refuse(equation, shapes, f"{part!r} stands twice in the result")
        out.append(part)
    return names, out


def _names(
    part: str, shape: tuple[int, ...], where: str, equation: str, shapes: Sequence[tuple[int, ...]]
) -> list[str | int]:
    parts = _parts(part, where, equation, shapes)
    letters = len(parts) - (_ELLIPSIS in parts)
    extra = len(shape) - letters
    if extra < 0 or (extra and _ELLIPSIS not in parts):
        _refuse(equation, shapes, f"{where} has {len(shape)} axes and {letters} letters ({part!r})")
    found: list[str | int] = []
    for one in parts:
        found += range(extra - 1, -1, -1) if one == _ELLIPSIS else [one]
    return found


def _parts(part: str, where: str, equation: str, shapes: Sequence[tuple[int, ...]]) -> list[str]:
    """The letters and at most one ellipsis."""
    parts = _PART.findall(part)
    for one in parts:
        if one != _ELLIPSIS and not one.isalpha():
            _refuse(equation, shapes, f"{one!r} in {where} is no letter; axes are named by letters, or by one '...'")
    if parts.count(_ELLIPSIS) > 1:
        _refuse(equation, shapes, f"{where} has more than one '...'")
    return parts


def _check_lengths(names: Sequence[Names], equation: str, shapes: Sequence[tuple[int, ...]]) -> None:
    """A letter has one length in an operand, and between operands one or 1."""
    known: dict[str | int, tuple[int, int]] = {}
    for i, (of_one, shape) in enumerate(zip(names, shapes, strict=True)):
        here: dict[str | int, int] = {}
        for name, length in zip(of_one, shape, strict=True):
            if here.setdefault(name, length) != length:
                _refuse(
                    equation,
                    shapes,
                    f"{name!r} is {here[name]} and {length} in operand {i}, of which it takes the diagonal",
                )
        for name, length in here.items():
            j, before = known.get(name, (i, 1))
            if 1 not in (before, length) and before != length:
                what = repr(name) if isinstance(name, str) else f"axis {-1 - name} under '...'"
                _refuse(equation, shapes, f"{what} is {before} in operand {j} and {length} in operand {i}")
            if before == 1:
                known[name] = (i, length)


def _refuse(equation: str, shapes: Sequence[tuple[int, ...]], why: str) -> NoReturn:
    raise ShapeError(f"einsum: {equation!r} with the shapes {', '.join(map(str, shapes)) or 'of nothing'}: {why}")
