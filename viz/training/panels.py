"""The curves of a run: loss, norm of all gradients, and how far each block moves."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from viz.plots import paper
from viz.plots.ends import End, write_ends
from viz.plots.names import shorter
from viz.training.log import Run
from viz.training.timeline import Timeline

_MOST_LABELLED = 12  # curves that have a name each; of more, as many evenly chosen ones


def draw_curve(axes: Any, values: np.ma.MaskedArray, time: Timeline, theme: paper.Theme, *, logarithmic: bool) -> None:
    """A curve of one value a step (S,), its reach where steps share a column, and marks where it has no place."""
    values = np.ma.masked_array(paper.drawable(values.filled(0.0)), np.ma.getmaskarray(values))
    medians = time.columns.median(values)
    line = np.where(np.isfinite(medians.filled(np.inf)), medians.filled(np.nan), np.nan)
    if logarithmic:
        axes.set_yscale("log")
        _mark(axes, line == 0, time, "v", "0", theme.ink)
        line = np.where(line > 0, line, np.nan)
    if time.columns.size > 1:
        low, high = (reach.filled(np.nan) for reach in time.columns.reach(values))
        if logarithmic:
            low = np.where(low > 0, low, line)
        axes.fill_between(time.middles, low, high, color=theme.series[0], alpha=0.25, linewidth=0)
    _plot(axes, time, line, color=theme.series[0], linewidth=1.5)
    _mark(axes, np.isinf(medians.filled(0.0)), time, "x", "nan or inf", theme.odd)
    if not np.isfinite(line).any():
        axes.set_yticks([], minor=False)
        axes.set_yticks([], minor=True)
    elif logarithmic:
        paper.logarithmic(axes, theme)
    else:
        paper.plain_numbers(axes)
    if np.ma.getmaskarray(values).all():
        axes.text(0.5, 0.5, "not recorded", transform=axes.transAxes, ha="center", color=theme.muted)


def draw_ratios(axes: Any, run: Run, names: Sequence[str], time: Timeline, theme: paper.Theme) -> list[str]:
    """How far each block moves a step, as a share of its weights. Returns the names of those that never move, which a
    logarithmic axis has no place for."""
    places = {name: i for i, name in enumerate(run.blocks)}
    medians = time.columns.median(run.values("ratio")[[places[name] for name in names]])
    lines = np.where(np.isfinite(medians.filled(np.inf)) & (medians.filled(0.0) > 0), medians.filled(0.0), np.nan)
    lines = paper.drawable(lines)
    moving = [i for i in range(len(names)) if np.isfinite(lines[i]).any()]
    axes.set_yscale("log")
    colours = _colours(len(moving), theme)
    few = len(moving) <= _MOST_LABELLED
    ends = []
    labelled = {
        moving[i] for i in np.linspace(0, len(moving) - 1, min(len(moving), _MOST_LABELLED)).round().astype(int)
    }
    for order, (i, colour) in enumerate(zip(moving, colours, strict=True)):
        dashes = paper.DASHES[order % len(paper.DASHES)] if few else "-"
        _plot(axes, time, lines[i], color=colour, linestyle=dashes, linewidth=1.4 if few else 0.8)
        if i in labelled:
            last = np.flatnonzero(np.isfinite(lines[i]))[-1]
            ends.append(End(float(time.middles[last]), float(lines[i, last]), shorter(names[i]), colour))
    axes.set_xlim(time.edges[0], time.edges[-1])
    if moving:
        paper.logarithmic(axes, theme)
    else:
        axes.set_yticks([], minor=False)
        axes.set_yticks([], minor=True)
    write_ends(axes, ends, theme)
    return [name for i, name in enumerate(names) if i not in moving and run.owned(name)]


def _plot(axes: Any, time: Timeline, line: np.ndarray, **style: Any) -> None:
    """A line; a point where it has only one."""
    alone = np.isfinite(line).sum() == 1
    axes.plot(time.middles, line, marker="o" if alone else None, markersize=4, zorder=3, **style)


def _mark(axes: Any, where: np.ndarray, time: Timeline, marker: str, text: str, colour: str) -> None:
    """Marks at the foot of the axes where a stretch of such columns begins, and a bar as long as it."""
    begins = np.flatnonzero(where & ~np.pad(where, (1, 0))[:-1])
    ends = np.flatnonzero(where & ~np.pad(where, (0, 1))[1:])
    at = axes.get_xaxis_transform()
    for begin, end in zip(begins, ends, strict=True):
        axes.plot(time.middles[[begin, end]], [0.05, 0.05], color=colour, linewidth=2, transform=at, zorder=4)
    if begins.size:
        axes.scatter(
            time.middles[begins], np.full(begins.size, 0.05), marker=marker, s=36, color=colour, transform=at, zorder=5
        )
        late = time.middles[begins[0]] > (time.edges[0] + time.edges[-1]) / 2
        axes.annotate(
            text,
            xy=(time.middles[begins[0]], 0.05),
            xycoords=at,
            xytext=(-6 if late else 6, 6),
            textcoords="offset points",
            ha="right" if late else "left",
            color=colour,
            fontsize=paper.SMALL,
            bbox={"facecolor": axes.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
            zorder=5,
        )


def _colours(number: int, theme: paper.Theme) -> list[Any]:
    """A colour each where there are as many; else by depth, from dark to light or the other way round, whichever of
    the map's ends the ground lets be seen."""
    if number <= len(theme.series):
        return list(theme.series[:number])
    ends = (0.0, 0.6) if theme.ground == "#ffffff" else (0.4, 1.0)
    return list(import_module("matplotlib").colormaps["cividis"](np.linspace(*ends, number)))
