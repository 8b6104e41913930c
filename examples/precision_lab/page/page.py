"""The precision lab as a page: one file, with a histogram that moves as the slider for the scale does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from precision_lab.blocks import blocks
from precision_lab.counts import LEAST
from precision_lab.formats import NEEDS, Format, formats
from precision_lab.page.binades import Tally, cuts, limits, tally
from viz.kit.page import SCRIPTS, Page, assemble
from viz.text import count, short, visible

MOST_ARRAYS = 1_000
"""Arrays that can be chosen by themselves, the largest; all of them count among the whole and the blocks."""

_LAST = 32  # the slider ends at 2**32
_FARTHEST = 126  # or at most here, where the first scale or the gradients need it

_HERE = Path(__file__).parent
_STYLES = ("kit/kit.css", _HERE / "page.css", "kit/print.css")
_SCRIPTS = (
    *SCRIPTS,
    *(_HERE / name for name in ("binades.js", "words.js", "histogram.js", "slider.js", "tables.js", "page.js")),
)


def page(gradients: Mapping[str, np.ndarray], title: str, start: float = 1.0, remarks: Sequence[str] = ()) -> Page:
    """The page of gradients by their names, which count as float32.

    title    what they are the gradients of
    start    the scale that is shown first: if it is no power of two, the next one below
    remarks  what else is to be known of them, a sentence each

    Raises ValueError for a start that is not above 0 and finite.
    """
    if not (start > 0 and math.isfinite(start)):
        raise ValueError(f"the scale is a number above 0, got {start}")
    kinds = formats()
    at = cuts(kinds)
    found = {name: tally(values, at) for name, values in gradients.items()}
    empty = tally(np.zeros(0, np.float32), at)
    whole = sum(found.values(), empty)
    members = blocks(found)
    several = {block: names for block, names in members.items() if len(names) > 1}
    shown = set(sorted(found, key=lambda name: -found[name].values)[:MOST_ARRAYS])
    tallies = {
        ("all", ""): whole,
        **{("block", block): sum((found[name] for name in names), empty) for block, names in several.items()},
        **{("array", name): each for name, each in found.items() if name in shown},
    }
    groups = [_group(kind, visible(name), each) for (kind, name), each in tallies.items()]
    place = {part: i for i, part in enumerate(tallies)}
    parts = [("block", block) if block in several else ("array", names[0]) for block, names in members.items()]
    first = max(-_FARTHEST, min(math.frexp(start)[1] - 1, _FARTHEST))
    data = {
        "formats": [_format(kind, at) for kind in kinds],
        "groups": groups,
        "slider": {"least": min(0, first, _lowest(whole, kinds)), "most": max(_LAST, first), "start": first},
        "parts": [place[part] for part in parts if part in place],
        "said": [*remarks, *_said(len(found), start, first, kinds)],
    }
    title = visible(title)
    return Page(assemble(_HERE / "page.html", title, data, _STYLES, _SCRIPTS), title)


def _format(kind: Format, at: np.ndarray) -> dict[str, Any]:
    kept, full, over = ([exponent, int(np.searchsorted(at, m))] for exponent, m in limits(kind))
    return {
        "name": kind.name,
        "about": kind.about,
        "smallest": kind.smallest,
        "normal": kind.normal,
        "largest": kind.largest,
        "zeroTo": kind.zero_to,
        "overflowsFrom": kind.overflows_from,
        "isFrom": bool(np.nextafter(np.float32(kind.overflows_from), 0) != _halfway(kind)),
        "kept": kept,
        "full": full,
        "over": over,
    }


def _halfway(kind: Format) -> float:
    """Between the largest number and what would be the next."""
    return kind.largest + 2.0 ** (math.floor(math.log2(kind.largest)) - kind.digits - 1)


def _group(kind: str, name: str, found: Tally) -> dict[str, Any]:
    taken = np.flatnonzero(found.rows[:, 0])
    first, end = (int(taken[0]), int(taken[-1]) + 1) if len(taken) else (0, 0)
    return {
        "kind": kind,
        "name": name,
        "values": found.values,
        "zero": found.zero,
        "odd": found.odd,
        "first": first + LEAST,
        "rows": found.rows[first:end].tolist(),
    }


def _lowest(whole: Tally, kinds: list[Format]) -> int:
    """The power of two at which the largest number overflows in no format."""
    taken = np.flatnonzero(whole.rows[:, 0])
    if not len(taken):
        return 0
    return min(limits(kind)[2][0] for kind in kinds) - 1 - (int(taken[-1]) + LEAST)


def _said(arrays: int, start: float, first: int, kinds: list[Format]) -> list[str]:
    """What must be known of this page, a sentence each."""
    found = []
    if 2.0**first != start:
        asked, shown = (f"{x:,.0f}" if x.is_integer() and x < 1e9 else short(x) for x in (float(start), 2.0**first))
        found.append(f"The scales here are powers of two: {asked} was asked for, {shown} is shown.")
    if arrays > MOST_ARRAYS:
        found.append(f"Of {count(arrays, 'array')} the {MOST_ARRAYS:,} largest can be chosen by themselves.")
    if len(kinds) == 1:
        found.append(f"fp16 alone is shown: {NEEDS}")
    return found
