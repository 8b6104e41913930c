"""The report of the precision lab as a picture: how large the gradients are, and what each format has room for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from common.words import percent

from precision_lab.wording import size
from viz.plots import paper
from viz.text import clip, visible

_WIDTH = 10.0
_LEFT, _RIGHT = 0.95, 0.35
_TOP = 1.1
_PANEL, _BETWEEN = 1.7, 0.72
_ROW = 0.34  # of a format's range
_FREE = 3  # exponents, at least, left free at either side
_LOST, _OVER = "xxxx", "...."


def draw(report: dict[str, Any], path: str | os.PathLike[str], *, theme: str = "light") -> Path:
    """Draw the exponents of the gradients, without and with the scale, and the formats' ranges below them.

    Raises UserError for a suffix that is no picture's, another theme, and where matplotlib is not installed.
    """
    paper.check_suffix(path)
    return paper.save(figure_of(report, paper.theme_of(theme)), path)


def figure_of(report: dict[str, Any], theme: paper.Theme) -> Any:
    """The picture as a matplotlib Figure."""
    shown = [("plain", 1.0)] if report["scale"] == 1 else [("plain", 1.0), ("scaled", report["scale"])]
    strip = _TOP + len(shown) * (_PANEL + _BETWEEN) - 0.3
    rows = len(report["formats"]) * _ROW
    figure = paper.figure(_WIDTH, strip + rows + 0.7, theme)
    width = _WIDTH - _LEFT - _RIGHT
    span = _span(report)
    title = "How large the gradients are, and what the formats hold"
    paper.write(figure, _LEFT, 0.15, title, theme, fontsize=12, fontweight="bold")
    about = clip(visible(report["gradients"]), 130)
    paper.write(figure, _LEFT, 0.42, about, theme, color=theme.muted, fontsize=paper.SMALL)
    for i, (which, scale) in enumerate(shown):
        top = _TOP + i * (_PANEL + _BETWEEN)
        paper.write(figure, _LEFT, top - 0.25, _told(report, which, scale), theme)
        axes = paper.axes(figure, (_LEFT, top, width, _PANEL), theme)
        _histogram(axes, report, which, theme)
        _across(axes, span)
    axes = paper.axes(figure, (_LEFT, strip, width, rows), theme)
    _ranges(axes, report["formats"], span, theme)
    _across(axes, span)
    axes.set_xlabel("size, as a power of two", color=theme.ink, fontsize=paper.TEXT)
    return figure


def _told(report: dict[str, Any], which: str, scale: float) -> str:
    """What the first format does to them, above a histogram."""
    name = report["blocks_format"]
    found = report["formats"][name][which]
    return (
        f"{'times ' + size(scale) if which == 'scaled' else 'as they are'}; in {name}: {found['lost']:,} "
        f"({percent(found['share_lost'])}) rounded to 0, {found['fewer_digits']:,} "
        f"({percent(found['share_fewer_digits'])}) with fewer digits, {found['overflowed']:,} overflow"
    )


def _span(report: dict[str, Any]) -> tuple[float, float]:
    """The exponents across: of all values, and of all formats but those of float32's range."""
    first = report["histogram"]["first_exponent"]
    places = np.nonzero(np.add(report["histogram"]["plain"], report["histogram"]["scaled"]))[0] + first
    limits = [x for kind in report["formats"].values() for x in _limits(kind)]
    ends = [x for x in limits if abs(x) < 64] or limits
    ends += [float(places[0]), float(places[-1]) + 1] if places.size else []
    return _with_room([*ends, *(x for x in limits if _within(x, _with_room(ends)))])


def _with_room(ends: list[float]) -> tuple[float, float]:
    """From the least to the most of these exponents, and room for the limits as text at both sides."""
    free = max(_FREE, 0.08 * (max(ends) - min(ends)))
    return min(ends) - free, max(ends) + free


def _within(x: float, span: tuple[float, float]) -> bool:
    return span[0] < x < span[1]


def _limits(kind: dict[str, Any]) -> tuple[float, float, float]:
    """As exponents: up to where a format rounds to 0, where its numbers have all digits, where they end."""
    names = ("rounded_to_zero_up_to", "smallest_normal", "largest")
    low, normal, high = (float(np.log2(kind[name])) for name in names)
    return low, normal, high


def _across(axes: Any, span: tuple[float, float]) -> None:
    axes.set_xlim(*span)
    axes.xaxis.set_major_locator(paper.module("ticker").MaxNLocator(12, integer=True, steps=[1, 2, 4, 5, 8, 10]))
    axes.xaxis.set_major_formatter(paper.module("ticker").FuncFormatter(lambda x, _: f"$2^{{{x:.0f}}}$"))


def _histogram(axes: Any, report: dict[str, Any], which: str, theme: paper.Theme) -> None:
    """A bar for each exponent, hatched where the first format loses its numbers or has no room for them. What lies at
    2**-25, or from 65,520 on below 2**16, is drawn like the rest of its bar; the counts above are exact."""
    heights = np.array(report["histogram"][which])
    exponents = np.arange(len(heights)) + report["histogram"]["first_exponent"]
    name = report["blocks_format"]
    low, normal, high = _limits(report["formats"][name])
    for chosen, colour, hatch, label in (
        (exponents < low, theme.series[1], _LOST, "rounded to 0"),
        ((exponents >= low) & (exponents < normal), theme.series[0], "//", "with fewer digits"),
        ((exponents >= normal) & (exponents <= high), theme.series[0], "", "with all digits"),
        (exponents > high, theme.series[3], _OVER, "overflow"),
    ):
        chosen = chosen & (heights > 0)
        axes.bar(
            exponents[chosen],
            heights[chosen],
            width=0.9,
            align="edge",
            facecolor=(colour, 0.35 if hatch else 0.85),
            edgecolor=colour,
            hatch=hatch,
            linewidth=0.6,
            label=f"in {name}: {label}" if chosen.any() else None,
        )
    axes.set_yscale("log")
    most = max(3.0, heights.max(initial=1))
    axes.set_ylim(0.7, most * (most / 0.7) ** 0.4)  # room above the bars for the key
    axes.set_ylabel("values (log)", color=theme.ink, fontsize=paper.TEXT)
    axes.yaxis.set_major_locator(paper.module("ticker").LogLocator(numticks=6))
    axes.yaxis.set_major_formatter(paper.module("ticker").StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(paper.module("ticker").NullFormatter())
    for x in (low, normal, high):
        axes.axvline(x, color=theme.muted, linewidth=1, linestyle=paper.DASHES[1])
    if heights.any():
        axes.legend(
            loc="upper right",
            ncols=4,
            fontsize=paper.SMALL,
            facecolor=theme.ground,
            edgecolor=theme.line,
            labelcolor=theme.ink,
        )


def _ranges(axes: Any, formats: dict[str, Any], span: tuple[float, float], theme: paper.Theme) -> None:
    """A bar for the range of each format: hatched where its numbers have fewer digits."""
    names = list(formats)
    for row, kind in enumerate(formats.values()):
        ends = (float(np.log2(kind[name])) for name in ("smallest", "smallest_normal", "largest"))
        low, normal, high = (min(max(x, span[0]), span[1]) for x in ends)
        colour = theme.series[0]
        for start, end, hatch in ((low, normal, "//"), (normal, high, "")):
            axes.barh(
                row,
                end - start,
                left=start,
                height=0.5,
                facecolor=(colour, 0.12 if hatch else 0.45),
                edgecolor=colour,
                hatch=hatch,
                linewidth=0.8,
            )
        _end(axes, theme, (low, row), kind["smallest"], left=True, outside=low == span[0])
        _end(axes, theme, (high, row), kind["largest"], left=False, outside=high == span[1])
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.set_yticks(range(len(names)), names)
    axes.grid(False, axis="y")


def _end(axes: Any, theme: paper.Theme, place: tuple[float, int], limit: float, *, left: bool, outside: bool) -> None:
    """Write a format's limit beside its bar, or where the bar leaves the picture, within it, with an arrow."""
    text = size(limit)
    if outside:
        text = f"\N{LEFTWARDS ARROW} {text}" if left else f"{text} \N{RIGHTWARDS ARROW}"
    forward = left == outside  # the text goes on to the right of it
    axes.annotate(
        text,
        place,
        xytext=(4 if forward else -4, 0),
        textcoords="offset points",
        ha="left" if forward else "right",
        va="center",
        color=theme.ink,
        fontsize=paper.SMALL,
    )
