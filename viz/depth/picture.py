"""Gradients along depth as curves on a logarithmic axis: draw_depth(viz.depth(model, loss), "depth.png")."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from viz.depth.decades import set_decades
from viz.depth.result import Depth, first_over_last
from viz.errors import UserError
from viz.plots import paper
from viz.plots.ends import End, write_ends
from viz.plots.names import shorter
from viz.text import clip, count, cut, short, visible

_MOST_CURVES = 24
_LONGEST = 36  # letters of a curve's name
_LONGEST_TITLE = 105  # as many as fit into one line
_MOST_MARKED = 24  # blocks that have a point each
_LETTER = 0.07  # inches
_WIDTH, _HEIGHT = 11.0, 4.2
_LEFT, _FOOT = 0.85, 0.72
_BAND = 0.045  # of the axes' height, for each curve with something that a logarithm has no place for

QUANTITIES = {
    "inputs": "gradient at each block's input",
    "outputs": "gradient at each block's output",
    "weights": "gradient of each block's parameters",
}
"""The norms that can be drawn, in words."""


@dataclass(frozen=True)
class _Curve:
    """A curve: its name, exponents (n,) with nan where there is none, and where the norms are what has no logarithm."""

    name: str
    exponents: np.ndarray
    odd: Mapping[str, np.ndarray]
    ratio: float
    colour: str
    dashes: Any


def draw_depth(
    curves: Depth | Mapping[str, Depth],
    path: str | os.PathLike[str],
    *,
    quantity: Literal["inputs", "outputs", "weights"] = "inputs",
    theme: Literal["light", "dark"] = "light",
    title: str = "",
) -> Path:
    """Draw the norms of gradients along blocks into one file, .png, .svg or .pdf, and return its path.

    curves    what `viz.depth` returns, or several such by name, in one panel; blocks lie from the input at the left to
              the output at the right
    quantity  which of the norms

    The axis is logarithmic; what has no place on it has a mark: 0 at the foot, inf and nan at the top. A block where
    there is no such gradient is a gap. The foot of the picture counts them.

    Raises UserError for another suffix, theme or quantity, for no curves or more than 24, and without matplotlib.
    """
    paper.check_suffix(path)
    colours = paper.theme_of(theme)
    if quantity not in QUANTITIES:
        raise UserError(f"there is no quantity {quantity!r}: take {', '.join(QUANTITIES)}")
    given = _by_name(curves)
    drawn = [_curve(name, getattr(depth, quantity), colours, place) for place, (name, depth) in enumerate(given)]
    head = clip(visible(str(title)), _LONGEST_TITLE)
    return paper.save(_draw(drawn, [depth for _, depth in given], QUANTITIES[quantity], head, colours), path)


def _by_name(curves: Any) -> list[tuple[str, Depth]]:
    given = {"": curves} if isinstance(curves, Depth) else curves
    if not isinstance(given, Mapping):
        raise UserError(
            f"draw_depth takes what viz.depth returns, or several such by name, got a {type(given).__name__}"
        )
    for name, depth in given.items():
        if not isinstance(depth, Depth):
            raise UserError(f"draw_depth takes what viz.depth returns, and {name!r} is a {type(depth).__name__}")
        if not len(depth):
            raise UserError("there is nothing to draw: no blocks" + (f" in {name!r}" if name else ""))
    if not 1 <= len(given) <= _MOST_CURVES:
        raise UserError(f"draw_depth takes 1 to {_MOST_CURVES} curves, got {len(given)}")
    return [(cut(visible(" ".join(str(name).split())), _LONGEST), depth) for name, depth in given.items()]


def _curve(name: str, norms: Any, theme: paper.Theme, place: int) -> _Curve:
    known = np.array([x is not None for x in norms])
    values = np.array([0.0 if x is None else float(x) for x in norms])
    exponents = np.full(len(values), np.nan)
    drawable = known & (values > 0) & np.isfinite(values)
    exponents[drawable] = np.log10(values[drawable])
    colour = theme.series[place % len(theme.series)]
    dashes = paper.DASHES[(place + place // len(theme.series)) % len(paper.DASHES)]
    odd = {
        "0": known & (values == 0),
        "inf": known & np.isinf(values),
        "nan": known & np.isnan(values),
        "not there": ~known,
    }
    return _Curve(name, exponents, odd, first_over_last(norms), colour, dashes)


def _draw(curves: list[_Curve], depths: list[Depth], what: str, title: str, theme: paper.Theme) -> Any:
    note = textwrap.wrap(" ".join(_how(curves)), 165)
    head = 0.5 if title else 0.2
    below = _FOOT + 0.16 * len(note)
    figure = paper.figure(_WIDTH, head + _HEIGHT + below, theme)
    if title:
        paper.write(figure, 0.14, 0.14, title, theme, fontsize=12, fontweight="bold")
    longest = max(len(_end_text(curve)) for curve in curves)
    width = _WIDTH - _LEFT - 0.35 - longest * _LETTER
    axes = paper.axes(figure, (_LEFT, head, width, _HEIGHT), theme)
    axes.set_ylabel(f"norm of the {what} (log)", color=theme.muted, fontsize=paper.SMALL)
    _across(axes, depths, width, theme)
    _upward(axes, curves)
    for curve in curves:
        _line(axes, curve)
    _marks(axes, curves, theme)
    _ends(axes, curves, theme)
    paper.write(figure, 0.14, head + _HEIGHT + 0.6, "\n".join(note), theme, color=theme.muted, fontsize=paper.SMALL)
    return figure


def _across(axes: Any, depths: list[Depth], width: float, theme: paper.Theme) -> None:
    """Blocks from 1 on: by their names where these are the same for all curves, as many as there is room for."""
    most = max(map(len, depths))
    axes.set_xlim(0.5, most + 0.5)
    names, what = depths[0].names, "blocks"
    if any(depth.names != names for depth in depths) or names == tuple(map(str, range(1, most + 1))):
        paper.steps_across(axes)
    else:
        holders = {name.rpartition(".")[0] for name in names}
        if len(holders) == 1 and "" not in holders:
            (holder,) = holders
            names, what = tuple(name.rpartition(".")[2] for name in names), shorter(visible(holder))
        texts = [shorter(visible(name)) for name in names]
        room = max(int(width / (max(map(len, texts)) * _LETTER + 0.12)), 1)
        places = range(0, most, -(-most // room))
        axes.set_xticks([place + 1 for place in places], labels=[texts[place] for place in places], parse_math=False)
    label = f"{what}, from the input to the output"
    axes.set_xlabel(label, color=theme.muted, fontsize=paper.SMALL, parse_math=False)


def _upward(axes: Any, curves: list[_Curve]) -> None:
    """Limits that hold all points, at least one power of ten, and the bands of the marks below and above them."""
    seen = np.concatenate([curve.exponents for curve in curves])
    seen = seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (-0.5, 0.5)
    if high - low < 1:
        low, high = (low + high - 1) / 2, (low + high + 1) / 2
    below, above = (0.05 + band * many for band, many in (_bands(curves, _at_foot), _bands(curves, _at_top)))
    whole = (high - low) / (1 - below - above)
    set_decades(axes, low - below * whole, high + above * whole)


def _bands(curves: list[_Curve], odd: Callable[[_Curve], bool]) -> tuple[float, int]:
    """The height of a band, as a share of the axes', and how many there are."""
    many = sum(map(odd, curves))
    return min(_BAND, 0.35 / max(many, 1)), many


def _at_foot(curve: _Curve) -> bool:
    return bool(curve.odd["0"].any())


def _at_top(curve: _Curve) -> bool:
    return bool(curve.odd["inf"].any() or curve.odd["nan"].any())


def _line(axes: Any, curve: _Curve) -> None:
    """The line, and points where there are few blocks, and where a block has no neighbours that are drawn."""
    x, y = np.arange(1, len(curve.exponents) + 1), curve.exponents
    axes.plot(x, y, color=curve.colour, linestyle=curve.dashes, linewidth=1.7, zorder=3)
    there = np.pad(np.isfinite(y), 1)
    alone = there[1:-1] & ~there[:-2] & ~there[2:]
    marked = np.isfinite(y) if len(y) <= _MOST_MARKED else alone
    axes.scatter(x[marked], y[marked], s=14, color=curve.colour, zorder=4)


def _marks(axes: Any, curves: list[_Curve], theme: paper.Theme) -> None:
    """What has no logarithm, in a row of its own for each curve: 0 at the foot, inf and nan at the top."""
    at = axes.get_xaxis_transform()
    foot, top = 0.025, 0.975
    for curve in curves:
        for name, marker, height, colour in (
            ("0", "v", foot, curve.colour),
            ("inf", "^", top, curve.colour),
            ("nan", "x", top, theme.odd),
        ):
            blocks = np.flatnonzero(curve.odd[name]) + 1
            if not blocks.size:
                continue
            axes.scatter(
                blocks, np.full(blocks.size, height), marker=marker, s=30, color=colour, transform=at, zorder=5
            )
            axes.annotate(
                f"{curve.name}: {name}" if curve.name else name,
                xy=(_beside(blocks, len(curve.exponents)), height),
                xycoords=at,
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                color=theme.ink,
                fontsize=7.5,
                parse_math=False,
                bbox={"facecolor": theme.ground, "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
                zorder=6,
            )
        foot += _bands(curves, _at_foot)[0] * _at_foot(curve)
        top -= _bands(curves, _at_top)[0] * _at_top(curve)


def _beside(blocks: np.ndarray, most: int) -> int:
    """The mark that has its name at its right: the last of the first in a row, or the first where there is no room."""
    breaks = np.flatnonzero(np.diff(blocks) > 1)
    last = blocks[breaks[0] if breaks.size else -1]
    return int(last if last < 0.7 * most else blocks[0])


def _ends(axes: Any, curves: list[_Curve], theme: paper.Theme) -> None:
    ends = []
    for curve in curves:
        there = np.flatnonzero(np.isfinite(curve.exponents))
        if there.size:
            x, y = float(there[-1] + 1), float(curve.exponents[there[-1]])
            ends.append(End(x, y, _end_text(curve), curve.colour))
    write_ends(axes, ends, theme)


def _end_text(curve: _Curve) -> str:
    ratio = f"first : last = {_ratio(curve.ratio)}"
    return f"{curve.name}  {ratio}" if curve.name else ratio


def _ratio(x: float) -> str:
    """8e-18, 0.512, 10.5, 8,650: three digits, but two beside a power of ten."""
    if 999.5 <= x < 999_500:
        return f"{float(f'{x:.3g}'):,.0f}"
    return short(x, 3 if 1e-3 <= x < 1e6 else 2)


def _how(curves: list[_Curve]) -> list[str]:
    """How to read the picture, and what it has no line for."""
    told = ["The backward pass runs from right to left. first : last is the leftmost norm over the rightmost."]
    signs = {"0": "0 (at the foot)", "inf": "inf (at the top)", "nan": "nan (at the top)", "not there": "none (a gap)"}
    for curve in curves:
        found = [
            f"{signs[name]} at {count(int(where.sum()), 'block')}" for name, where in curve.odd.items() if where.any()
        ]
        if found:
            told.append(f"{curve.name + ': ' if curve.name else ''}{', '.join(found)}.")
    return told
