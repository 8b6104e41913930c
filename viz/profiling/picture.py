"""A profile as a picture: draw_profile(viz.profile(loss_fn), "profile.svg")."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from viz.errors import UserError
from viz.plots import paper
from viz.profiling.attribute import ADDING, OUTSIDE_OPS
from viz.profiling.bars import Bar, bars
from viz.profiling.record import ORDER
from viz.profiling.result import Profile
from viz.profiling.units import scale_for, unit_for
from viz.text import clip, cut, visible

_MOST_COLOURS = 7  # of operations; one more is that of all others
_THINNEST = 0.0004  # of the width: a bar below that is not seen
_LONGEST_TITLE = 105
_DEEPEST = 24
_LETTER = 0.062  # inches, of text in bars
_WIDTH, _SIDE, _LEVEL = 11.0, 0.3, 0.3
_LONGEST = 40  # letters of an operation's name
_SHORT = {OUTSIDE_OPS: "outside", ORDER: "order", ADDING: "+="}
_WORDS = {
    OUTSIDE_OPS: "outside of operations",
    ADDING: "+= of gradients",
    ORDER: "order of the pass, clearing",
}
_HATCHES = {"again": "////", OUTSIDE_OPS: "////", ADDING: "....", ORDER: "xxxx"}


def draw_profile(
    profile: Profile,
    path: str | os.PathLike[str],
    *,
    theme: Literal["light", "dark"] = "light",
    title: str = "",
) -> Path:
    """Draw where time goes into one file, .png, .svg or .pdf, and return its path.

    profile  what `viz.profile` returns: a bar for each pass, below it the modules that were called in it, and so on
             down to operations, each as wide as its time. Calls of one module, and in it operations of one name, are
             one bar; the forward pass is in the order in which they came, the backward pass in the reverse of it

    Raises UserError for another suffix or theme, for what is no profile, and without matplotlib.
    """
    paper.check_suffix(path)
    colours = paper.theme_of(theme)
    if not isinstance(profile, Profile):
        raise UserError(f"draw_profile takes what viz.profile returns, got a {type(profile).__name__}")
    found = bars(profile)
    if not found:
        raise UserError("there is nothing to draw: no time has passed")
    return paper.save(_draw(found, profile, clip(visible(str(title)), _LONGEST_TITLE), colours), path)


def _draw(found: Sequence[Bar], profile: Profile, title: str, theme: paper.Theme) -> Any:
    total = profile.total
    named = _named(found, theme)
    levels = min(max(bar.level for bar in found), _DEEPEST) + 1
    legend = _in_rows(_legend(found, named, theme), _WIDTH - 2 * _SIDE)
    head, tall = 0.5 if title else 0.2, levels * _LEVEL
    note = textwrap.wrap(_told(profile), 150)
    figure = paper.figure(_WIDTH, head + tall + 0.6 + 0.24 * len(legend) + 0.17 * len(note), theme)
    if title:
        paper.write(figure, 0.14, 0.14, title, theme, fontsize=12, fontweight="bold")
    width = _WIDTH - 2 * _SIDE
    axes = paper.axes(figure, (_SIDE, head, width, tall), theme)
    axes.set_xlim(0, total)
    axes.set_ylim(levels, 0)
    axes.set_yticks([])
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    for bar in found:
        if bar.seconds > _THINNEST * total and bar.level < levels:
            _bar(axes, bar, width / total, named, theme)
    _ticks(axes, total)
    top = head + tall + 0.45
    for row in legend:
        for at, sample in row:
            _write(figure, _SIDE + at, top, sample, theme)
        top += 0.24
    paper.write(figure, _SIDE, top + 0.04, "\n".join(note), theme, color=theme.muted, fontsize=paper.SMALL)
    return figure


def _named(found: Sequence[Bar], theme: paper.Theme) -> dict[str, str]:
    """The colours of the operations that take most time."""
    sums: Counter[str] = Counter()
    for bar in found:
        if bar.kind in ("op", "again"):
            sums[bar.name] += bar.seconds  # type: ignore[assignment]
    return {name: theme.series[i] for i, (name, _) in enumerate(sums.most_common(_MOST_COLOURS))}


def _bar(axes: Any, bar: Bar, scale: float, named: dict[str, str], theme: paper.Theme) -> None:
    across = bar.seconds * scale
    colour, ink, hatch = _look(bar, named, theme)
    patch = paper.module("patches").Rectangle(
        (bar.start, bar.level + 0.04),
        bar.seconds,
        0.92,
        facecolor=colour,
        edgecolor=_edge(bar.kind, theme),
        linewidth=0.7 if across > 0.05 else 0.0,
        hatch=hatch or None,
    )
    axes.add_patch(patch)
    text = _text(bar, across)
    if text:
        box = {"facecolor": colour, "edgecolor": "none", "pad": 1.0} if hatch else None
        style = {"ha": "center", "va": "center", "fontsize": 7.5, "color": ink, "bbox": box, "clip_on": True}
        axes.text(bar.start + bar.seconds / 2, bar.level + 0.5, text, parse_math=False, **style)


def _text(bar: Bar, across: float) -> str:
    """What there is room for in a bar so many inches wide: name and time, the name, some of it, nothing."""
    room = int((across - 0.08) / _LETTER)
    name = visible(" ".join(_SHORT.get(bar.name, bar.name).split()))
    long = f"{name} {unit_for(bar.seconds)(bar.seconds)}"
    if len(long) <= room:
        return long
    return cut(name, room) if room >= min(len(name), 4) else ""


def _look(bar: Bar, named: dict[str, str], theme: paper.Theme) -> tuple[str, str, str]:
    """A bar's colour, that of the letters on it, and its pattern."""
    if bar.kind == "pass":
        return theme.muted, theme.ground, ""
    if bar.kind == "module":
        return theme.line, theme.ink, ""
    if bar.kind == "other":
        return theme.ground, theme.ink, _HATCHES[bar.name]
    return named.get(bar.name, theme.series[_MOST_COLOURS]), theme.ground, _HATCHES.get(bar.kind, "")


def _edge(kind: str, theme: paper.Theme) -> str:
    """The colour of a bar's edge, and of the pattern on it."""
    return theme.muted if kind == "other" else theme.ground


def _ticks(axes: Any, total: float) -> None:
    scale, unit = scale_for(total)
    places = [x for x in paper.module("ticker").MaxNLocator(8).tick_values(0, total / scale) if 0 <= x * scale <= total]
    axes.set_xticks([x * scale for x in places], labels=[f"{x:,.4g} {unit}" if x else "0" for x in places])


Sample = tuple[str, str, str, str]
"""Of the legend: words, colour, colour of the pattern, pattern."""


def _legend(found: Sequence[Bar], named: dict[str, str], theme: paper.Theme) -> list[Sample]:
    kinds = {bar.kind for bar in found}
    samples = [(cut(visible(name), _LONGEST), colour, theme.ground, "") for name, colour in named.items()]
    if any(bar.name not in named for bar in found if bar.kind in ("op", "again")):
        samples.append(("other operations", theme.series[_MOST_COLOURS], theme.ground, ""))
    if "again" in kinds:
        samples.append(("done again in backward", theme.muted, theme.ground, _HATCHES["again"]))
    others = {bar.name for bar in found if bar.kind == "other"}
    samples += [(words, theme.ground, theme.muted, _HATCHES[op]) for op, words in _WORDS.items() if op in others]
    return samples


def _in_rows(samples: Sequence[Sample], width: float) -> list[list[tuple[float, Sample]]]:
    """Each sample with its place from the left, in as many rows as they need."""
    rows: list[list[tuple[float, Sample]]] = []
    at = width
    for sample in samples:
        need = 0.5 + len(sample[0]) * _LETTER * 1.08
        if at + need > width:
            rows.append([])
            at = 0.0
        rows[-1].append((at, sample))
        at += need
    return rows


def _write(figure: Any, left: float, top: float, sample: Sample, theme: paper.Theme) -> None:
    words, colour, edge, hatch = sample
    across, down = figure.get_size_inches()
    box = paper.module("patches").Rectangle(
        (left / across, 1 - (top + 0.14) / down),
        0.18 / across,
        0.13 / down,
        transform=figure.transFigure,
        facecolor=colour,
        edgecolor=edge,
        hatch=hatch or None,
        linewidth=0.5,
    )
    figure.add_artist(box)
    paper.write(figure, left + 0.25, top, words, theme, fontsize=paper.SMALL)


def _told(profile: Profile) -> str:
    written = unit_for(profile.total)
    told = f"Forward {written(profile.forward)}, backward {written(profile.backward)}, in all {written(profile.total)}"
    told += f"; without the profile {written(profile.plain)}. Each bar is as wide as its time; "
    return told + "calls of one module, and in it operations of one name, are one bar."
