"""A comparison of training runs in several precisions as a picture: losses, loss scales, what is rounded to 0."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from precision_lab.training import Comparison, Ran
from precision_lab.wording import size
from viz.plots import paper
from viz.plots.ends import End, write_ends
from viz.text import clip, short, visible
from viz.training.curves import curve_of

_WIDTH = 11.6
_LEFT, _RIGHT = 0.85, 4.1
_HEIGHTS = (3.0, 1.3, 1.3)
_TOP, _BETWEEN, _FOOT = 0.75, 0.55, 0.5

Panel = Callable[[Any, Sequence[Ran], Sequence[str], paper.Theme], None]


def picture(comparison: Comparison, path: str | os.PathLike[str], *, theme: str = "light") -> Path:
    """Draw the runs' losses, with the steps that were skipped, above the scales and the shares that were lost.

    Raises UserError for a suffix that is no picture's, another theme, and where matplotlib is not installed.
    """
    paper.check_suffix(path)
    return paper.save(figure_of(comparison, paper.theme_of(theme)), path)


def figure_of(comparison: Comparison, theme: paper.Theme) -> Any:
    """The picture as a matplotlib Figure."""
    runs = comparison.runs
    scaled = any(ran.plan.scaled for ran in runs)
    panels: list[tuple[float, str, Panel]] = [(_HEIGHTS[0], "training loss, nats a character", _losses)]
    if scaled:
        panels.append((_HEIGHTS[1], "loss scale (log)", _scales))
    if any(ran.plan.kind for ran in runs):
        panels.append((_HEIGHTS[2], "share of the gradients between the layers that is rounded to 0", _lost))
    height = _TOP + sum(each + _BETWEEN for each, _, _ in panels) + _FOOT
    figure = paper.figure(_WIDTH, height, theme)
    paper.write(figure, 0.14, 0.14, "The same training in several precisions", theme, fontsize=12, fontweight="bold")
    colours = [theme.series[i % len(theme.series)] for i in range(len(runs))]
    top = _TOP
    steps = max(len(ran.losses) for ran in runs)
    for tall, name, draw in panels:
        paper.write(figure, _LEFT, top - 0.24, name, theme)
        axes = paper.axes(figure, (_LEFT, top, _WIDTH - _LEFT - _RIGHT, tall), theme)
        axes.set_xlim(*((1, steps) if steps > 1 else (0.5, 1.5)))
        paper.steps_across(axes)
        draw(axes, runs, colours, theme)
        top += tall + _BETWEEN
    axes.set_xlabel("step", color=theme.ink, fontsize=paper.SMALL)
    foot = [f"Losses: means of the {_window(steps)} steps around each." if _window(steps) > 1 else "Losses: each step."]
    if any(ran.plan.kind is None for ran in runs):
        foot.append("The broad band: float32.")
    if scaled:
        foot.append("×: a step that the scaler skipped after an overflow.")
    foot.append(f"{clip(visible(comparison.text))}, {comparison.targets:,} targets in a micro-batch.")
    paper.write(figure, 0.14, height - 0.3, " ".join(foot), theme, color=theme.muted, fontsize=paper.SMALL)
    return figure


def _losses(axes: Any, runs: Sequence[Ran], colours: Sequence[str], theme: paper.Theme) -> None:
    ends = []
    curves = [curve_of(ran.name, ran.losses, _window(max(len(other.losses) for other in runs))) for ran in runs]
    drawn = np.concatenate([curve.smooth[np.isfinite(curve.smooth)] for curve in curves])
    low, high = (drawn.min(), drawn.max()) if drawn.size else (0.0, 1.0)
    axes.set_ylim(low - 0.06 * (high - low) - 1e-3, high + 0.06 * (high - low) + 1e-3)
    for i, (ran, curve, colour) in enumerate(zip(runs, curves, colours, strict=True)):
        if ran.plan.kind is None:  # under those that are hardly to be told from it
            axes.plot(curve.steps, paper.drawable(curve.smooth), color=colour, linewidth=6, alpha=0.3)
        _line(axes, curve.steps, curve.smooth, i, colour)
        _skips(axes, ran, curve.smooth, theme)
        finite = np.flatnonzero(np.isfinite(curve.smooth))
        if finite.size:
            last = finite[-1]
            broken = "" if last == len(curve.smooth) - 1 else ", then inf or nan"
            text = f"{_loss(curve.smooth[last])}  {ran.name}{broken}"
            ends.append(End(float(curve.steps[last]), float(curve.smooth[last]), text, colour))
    write_ends(axes, ends, theme)


def _loss(x: float) -> str:
    return f"{x:.2f}" if x < 1000 else short(x, 3)


def _scales(axes: Any, runs: Sequence[Ran], colours: Sequence[str], theme: paper.Theme) -> None:
    axes.set_yscale("log", base=2)
    ends = []
    for i, (ran, colour) in enumerate(zip(runs, colours, strict=True)):
        if ran.plan.scaled:
            scales = np.asarray(ran.scales)
            _line(axes, np.arange(1, len(scales) + 1), scales, i, colour)
            _skips(axes, ran, scales, theme)
            ends.append(End(len(scales), float(scales[-1]), f"{size(scales[-1])}  {ran.name}", colour))
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2, high * 2)
    axes.yaxis.set_major_locator(paper.module("ticker").LogLocator(base=2, numticks=5))
    write_ends(axes, ends, theme)


def _lost(axes: Any, runs: Sequence[Ran], colours: Sequence[str], theme: paper.Theme) -> None:
    axes.set_ylim(-0.04, 1.04)
    axes.yaxis.set_major_formatter(paper.module("ticker").PercentFormatter(1.0, symbol=" %"))
    ends = []
    for i, (ran, colour) in enumerate(zip(runs, colours, strict=True)):
        if ran.plan.kind is not None and ran.lost_between:
            _line(axes, np.arange(1, len(ran.lost_between) + 1), np.asarray(ran.lost_between), i, colour)
            ends.append(End(len(ran.lost_between), ran.lost_between[-1], ran.name, colour))
    write_ends(axes, ends, theme)


def _window(steps: int) -> int:
    """How many losses, an odd number, a point of a curve is the mean of."""
    return steps // 40 * 2 + 1


def _line(axes: Any, steps: np.ndarray, values: np.ndarray, place: int, colour: str) -> None:
    marker = "o" if len(steps) == 1 else None  # a line needs two points
    dashes = paper.DASHES[place % len(paper.DASHES)]
    axes.plot(steps, paper.drawable(values), color=colour, linewidth=1.7, linestyle=dashes, marker=marker)


def _skips(axes: Any, ran: Ran, values: np.ndarray, theme: paper.Theme) -> None:
    at = np.asarray(ran.skipped, dtype=int)
    axes.plot(
        at, values[at - 1], linestyle="", marker="x", markersize=7, markeredgewidth=1.8, color=theme.odd, zorder=4
    )
