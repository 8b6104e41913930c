"""Gradients split by use as text in aligned columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from viz.text import MINUS, aligned, clip, count, short, signed

if TYPE_CHECKING:
    from viz.uses.result import Split, Use, Uses

MOST_TABLES = 12
"""Nodes that are told, the largest gradients first."""

MOST_ROWS = 20
"""Uses of one node in the table: more of them are told in one line."""

_MOST_COSINES = 6  # uses whose angles with each other are shown
_DIGITS = 4
_LEAST_SHARE = 1e-6
_NOTHING = "–"
_USE, _PLACE = 1, 2  # columns of words; the last one is, too


def table(uses: Uses) -> str:
    """A table for each node, and a line with the norm of the whole gradient."""
    if not uses.splits:
        return f"no leaf below {clip(uses.root)} is used more than once"
    whole = f"The gradient of {_leaves(uses.leaves)} has norm {short(uses.norm, _DIGITS)}."
    left_out = len(uses) - MOST_TABLES
    more = [f"... and {count(left_out, 'node')} with less: ask for one by its name"] if left_out > 0 else []
    return "\n\n".join([*map(_one, uses.splits[:MOST_TABLES]), *more, whole])


def share_text(share: float) -> str:
    """A share as a percentage, in as many digits as tell it from none and from all: 31 %, 0.052 %, 99.948 %."""
    if math.isnan(share):
        return "nan"
    rest = min(share, 1 - share)
    if 0 < rest < _LEAST_SHARE:
        return f"< {100 * _LEAST_SHARE:g} %" if share < 0.5 else f"> {100 - 100 * _LEAST_SHARE:g} %"
    digits = max(1, math.ceil(-math.log10(rest)) - 1) if 0 < rest < 0.095 else 0
    return f"{100 * share:.{digits}f} %"


def _leaves(n: int) -> str:
    return "the one leaf" if n == 1 else f"all {n:,} leaves"


def _one(split: Split) -> str:
    rows = [_row(use, split) for use in _chosen(split)]
    left_out = len(split.uses) - len(rows)
    cells = [_titles(split), *rows, _sum_row(split)]
    words = (_USE, _PLACE, len(cells[0]) - 1)
    lines = [_head(split), "", *(f"  {line}" for line in aligned(cells, words))]
    if left_out:
        lines.insert(-1, f"  ... and {count(left_out, 'use')} with less")
    return "\n".join([*lines, *_remarks(split)])


def _head(split: Split) -> str:
    shape = f" {split.shape} {split.dtype}" if split.shape else ""
    of_all = "" if split.part is None else f": {share_text(split.part)} of the whole gradient's squared norm"
    return f"{clip(split.name)}{shape}, {count(len(split.uses), 'use')}{of_all}"


def _chosen(split: Split) -> list[Use]:
    """The uses with the largest contributions, in their order."""
    if len(split.uses) <= MOST_ROWS:
        return list(split.uses)
    largest = sorted(split.uses, key=lambda use: use.norm, reverse=True)[:MOST_ROWS]
    return [use for use in split.uses if use in largest]


def _titles(split: Split) -> list[str]:
    angles = [f"cos({use.number})" for use in _compared(split)]
    return ["", "use", "in", "norm" if split.shape else "sends", "share", "cos(sum)", *angles, ""]


def _compared(split: Split) -> Sequence[Use]:
    """The uses whose angles with each other are shown: of arrays, where there are few."""
    return split.arrived if split.shape and 1 < len(split.arrived) <= _MOST_COSINES else ()


def _row(use: Use, split: Split) -> list[str]:
    compared = _compared(split)
    place = clip(use.place or _NOTHING)
    if use.number is None:
        return [_NOTHING, clip(use.formula), place, "nothing", "", "", *[""] * len(compared), use.why or ""]
    angles = [_cosine(split.cosines[use.number - 1][other]) for other in range(len(compared))]
    return [
        str(use.number),
        clip(use.formula),
        place,
        size_text(use),
        share_text(use.share),
        _cosine(use.cosine),
        *angles,
        use.why or "",
    ]


def _sum_row(split: Split) -> list[str]:
    return ["", "their sum", "", sum_text(split), "", "", *[""] * len(_compared(split)), ""]


def size_text(use: Use) -> str:
    """What a use sends: its norm, or the number that it is, with its sign."""
    if use.contribution is None:
        return "nothing"
    return short(use.norm, _DIGITS) if np.shape(use.contribution) else signed(float(use.contribution), _DIGITS)


def sum_text(split: Split) -> str:
    """What all uses of a node send together, in the same way."""
    if split.sum is None:
        return "nothing"
    return short(split.norm, _DIGITS) if split.shape else signed(float(split.sum), _DIGITS)


def _cosine(x: float | None) -> str:
    if x is None:
        return _NOTHING
    return f"{x:+.3f}".replace("-", MINUS)


def _remarks(split: Split) -> list[str]:
    lines = []
    if len(split.arrived) > 1:
        last = split.arrived[-1]
        lines.append(f"  = in the place of += would leave the last to arrive: {size_text(last)}, of use {last.number}")
    if split.sum is None:
        lines.append(f"  no gradient reaches {clip(split.name)} from here")
    if split.hooked:
        lines.append("  a hook then makes another gradient of the sum")
    return lines
