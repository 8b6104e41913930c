"""The losses of several runs in one picture: draw_runs({"correct": losses, "tied": "run.jsonl"}, "curves.png")."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from viz.errors import UserError
from viz.plots import paper
from viz.plots.ends import End, spread, write_ends
from viz.text import visible
from viz.training.log import Run, run_of
from viz.training.thinning import columns

_MOST_RUNS = 24
_WIDTH = 11.0
_PANEL_HEIGHT = 2.1
_TOGETHER_HEIGHT = 4.2
_LOGARITHMIC_FROM = 20.0  # the greatest over the least value, from which a linear axis shows nothing of the least


@dataclass(frozen=True)
class Curve:
    """A run's losses (S,), the steps that they belong to, and their smoothed values, nan where the loss is not finite.

    window  how many losses a smoothed value is the mean of
    """

    label: str
    steps: np.ndarray
    losses: np.ndarray
    smooth: np.ndarray
    window: int

    @property
    def last(self) -> float:
        """The last smoothed value; nan where there is none."""
        found = self.smooth[np.isfinite(self.smooth)]
        return float(found[-1]) if found.size else math.nan


def draw_runs(
    losses: Mapping[str, Sequence[float] | Any],
    path: str | os.PathLike[str],
    *,
    baselines: Mapping[str, float] | None = None,
    title: str = "",
    theme: Literal["light", "dark"] = "light",
    together: bool = False,
    smooth: int | None = None,
    scale: Literal["linear", "log"] | None = None,
) -> Path:
    """Draw the losses of several runs into one file, .png, .svg or .pdf, and return its path.

    losses     by the run's name: one loss a step, from step 1 on, in nats; or the path of a monitor's log
    baselines  levels to compare with, in nats, as dotted lines
    together   all runs in one panel, with their names at their ends; else a panel for each beside the first run, which
               shows runs that differ by orders of magnitude
    smooth     the curves are means of so many steps around each; by default of a fiftieth of the run
    scale      of the loss; by default logarithmic in panels where the largest is more than 20 times the smallest

    Raises UserError for another suffix, for what is no list of numbers, and where matplotlib is not installed.
    """
    paper.check_suffix(path)
    colours = paper.theme_of(theme)
    if not isinstance(losses, Mapping):
        raise UserError(f"draw_runs takes losses by the run's name, got a {type(losses).__name__}")
    levels = _levels(baselines or {})
    curves = [curve_of(visible(str(label)), values, smooth) for label, values in losses.items()]
    if not curves or len(curves) > _MOST_RUNS:
        raise UserError(f"draw_runs takes 1 to {_MOST_RUNS} runs, got {len(curves)}")
    draw = _together if together else _apart
    return paper.save(draw(curves, levels, visible(title), colours, scale), path)


def _levels(baselines: Any) -> dict[str, float]:
    """Baselines as numbers by name. Raises UserError, naming it, for what is none."""
    if not isinstance(baselines, Mapping):
        raise UserError(f"baselines are levels by name, got a {type(baselines).__name__}")
    found = {}
    for name, level in baselines.items():
        try:
            found[visible(str(name))] = float(level)
        except (TypeError, ValueError, OverflowError):
            raise UserError(f"the baseline {name!r} is no number") from None
    return found


def curve_of(label: str, losses: Any, smooth: int | None = None) -> Curve:
    """The curve of a run. Raises UserError, naming it, for what is no list of numbers."""
    steps = None
    if isinstance(losses, (str, os.PathLike, Run)) or hasattr(losses, "records"):
        run = run_of(losses)
        losses, steps = run.loss.filled(np.nan), run.steps
    try:
        values = np.asarray(losses, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(f"the losses of {label!r} are no list of numbers") from None
    if values.ndim != 1:
        raise UserError(f"the losses of {label!r} have shape {values.shape}: give one number a step")
    window = max(len(values) // 50, 1) if smooth is None else smooth
    if not isinstance(window, int) or window < 1:
        raise UserError(f"smooth={smooth!r} is no number of steps: give 1 or more")
    window -= window % 2 == 0  # as many before a step as after it
    steps = np.arange(1, len(values) + 1) if steps is None else steps
    values = paper.drawable(values)
    return Curve(label, steps, values, mean_around(values, window), window)


def mean_around(x: np.ndarray, window: int) -> np.ndarray:
    """The mean of the finite values in a `window` around each of `x` (S,), shorter at the ends; nan where x is not."""
    finite = np.isfinite(x)
    if window == 1 or not len(x):
        return np.where(finite, x, np.nan)
    ones = np.ones(min(window, 2 * len(x) - 1))
    beside = len(ones) // 2
    total = np.convolve(np.where(finite, x, 0.0), ones)[beside : beside + len(x)]
    number = np.convolve(finite.astype(np.float64), ones)[beside : beside + len(x)]
    return np.where(finite, total / np.maximum(number, 1.0), np.nan)


# -- a panel for each run ----------------------------------------------------------------------------------------------


def _apart(curves: list[Curve], baselines: dict[str, float], title: str, theme: paper.Theme, scale: str | None) -> Any:
    across = min(len(curves), 3)
    down = -(-len(curves) // across)
    head, foot, left, between, below = (0.5 if title else 0.15), 0.5, 0.8, 1.2, 0.95
    figure = paper.figure(_WIDTH, head + down * (_PANEL_HEIGHT + below) + foot, theme)
    if title:
        paper.write(figure, 0.14, 0.14, title, theme, fontsize=12, fontweight="bold")
    width = (_WIDTH - left - 0.75 - (across - 1) * between) / across
    for i, curve in enumerate(curves):
        row, column = divmod(i, across)
        box = (left + column * (width + between), head + 0.35 + row * (_PANEL_HEIGHT + below), width, _PANEL_HEIGHT)
        axes = paper.axes(figure, box, theme)
        _panel(axes, curve, curves[0] if i else None, baselines, theme, scale)
    _note(figure, _how(curves, baselines, curves[0].label if len(curves) > 1 else None), theme)
    return figure


def _panel(
    axes: Any,
    curve: Curve,
    reference: Curve | None,
    baselines: dict[str, float],
    theme: paper.Theme,
    scale: str | None,
) -> None:
    colour = theme.series[0]
    seen = [curve.losses, *([reference.smooth] if reference else []), np.array(list(baselines.values()))]
    _scale(axes, scale or _fitting(seen), seen, theme)
    _across(axes, [curve, *([reference] if reference else [])], theme)
    _baselines(axes, baselines, theme)
    if reference is not None:
        _line(axes, reference, theme.muted, paper.DASHES[1], 1.3)
    _raw(axes, curve, colour)
    _line(axes, curve, colour, "-", 2.0)
    axes.set_title(curve.label, loc="left", color=theme.ink, fontsize=10.5, fontweight="bold", parse_math=False)
    _ends(axes, [curve], [colour], theme, names=False)
    _tell_odd(axes, curve, theme)


# -- all runs in one panel ---------------------------------------------------------------------------------------------


def _together(
    curves: list[Curve], baselines: dict[str, float], title: str, theme: paper.Theme, scale: str | None
) -> Any:
    head = 0.5 if title else 0.15
    figure = paper.figure(_WIDTH, head + _TOGETHER_HEIGHT + 1.1, theme)
    if title:
        paper.write(figure, 0.14, 0.14, title, theme, fontsize=12, fontweight="bold")
    longest = max(len(curve.label) for curve in curves)
    axes = paper.axes(figure, (0.7, head + 0.1, _WIDTH - 1.5 - min(longest, 40) * 0.075, _TOGETHER_HEIGHT), theme)
    seen = [*(curve.losses for curve in curves), np.array(list(baselines.values()))]
    _scale(axes, scale or _fitting(seen), seen, theme)
    _across(axes, curves, theme)
    _baselines(axes, baselines, theme)
    colours = [theme.series[i % len(theme.series)] for i in range(len(curves))]
    for i, (curve, colour) in enumerate(zip(curves, colours, strict=True)):
        _raw(axes, curve, colour)
        _line(axes, curve, colour, paper.DASHES[(i + i // len(theme.series)) % len(paper.DASHES)], 1.8)
    _ends(axes, curves, colours, theme, names=True)
    _note(figure, _how(curves, baselines), theme)
    return figure


# -- what both draw ----------------------------------------------------------------------------------------------------


def _fitting(seen: list[np.ndarray]) -> str:
    """The scale that shows the least and the greatest of what is drawn."""
    values = np.concatenate(seen)
    values = values[np.isfinite(values)]
    spans = values.size and values.min() > 0 and values.max() > _LOGARITHMIC_FROM * values.min()
    return "log" if spans else "linear"


def _scale(axes: Any, scale: str, seen: list[np.ndarray], theme: paper.Theme) -> None:
    """Set the scale, and limits that hold all values (on a logarithmic one, all that it has a place for)."""
    if scale not in ("linear", "log"):
        raise UserError(f"there is no scale {scale!r}: take linear or log")
    values = np.concatenate(seen)
    values = values[np.isfinite(values) & (values > 0 if scale == "log" else True)]
    low, high = (float(values.min()), float(values.max())) if values.size else (1.0, 10.0)
    axes.set_yscale(scale)
    if scale == "log":
        factor = max((high / low) ** 0.06, 1.05)
        axes.set_ylim(low / factor, high * factor)
        paper.logarithmic(axes, theme)
    else:
        margin = max((high - low) * 0.06, abs(high) * 0.02, 1e-12)
        axes.set_ylim(low - margin, high + margin)
        paper.plain_numbers(axes)
    axes.set_ylabel(f"loss, nats{' (log)' if scale == 'log' else ''}", color=theme.muted, fontsize=paper.SMALL)


def _baselines(axes: Any, baselines: dict[str, float], theme: paper.Theme) -> None:
    """Dotted lines, with their names above them at the right, apart from each other."""
    box = axes.get_window_extent()
    above = [axes.transData.transform((1.0, level))[1] - box.y0 + 7 for level in baselines.values()]
    for (label, level), height in zip(baselines.items(), spread(above, 12.0, box.height - 2), strict=True):
        axes.axhline(level, color=theme.ink, linewidth=1.0, linestyle=":", zorder=1.5)
        axes.annotate(
            f"{label} {level:.2f}",
            xy=(box.width - 4, height),
            xycoords="axes pixels",
            ha="right",
            va="center",
            color=theme.ink,
            fontsize=7.5,
            parse_math=False,
            bbox={"facecolor": theme.ground, "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
            zorder=1.6,  # below the curves
        )


def _raw(axes: Any, curve: Curve, colour: str) -> None:
    """Every step, faint: of a long run the reach of each column of pixels."""
    if not len(curve.losses):
        return
    shared = columns(len(curve.losses))
    low, high = shared.reach(curve.losses)
    steps = shared.firsts(curve.steps)
    if shared.size == 1:
        axes.plot(steps, low.filled(np.nan), color=colour, linewidth=0.7, alpha=0.35, zorder=2)
    else:
        axes.fill_between(
            steps, low.filled(np.nan), high.filled(np.nan), color=colour, alpha=0.25, linewidth=0, zorder=2
        )


def _line(axes: Any, curve: Curve, colour: str, dashes: Any, width: float) -> None:
    if not len(curve.losses):
        return
    at = columns(len(curve.losses)).lasts(np.arange(len(curve.losses)))
    steps, values = curve.steps[at], curve.smooth[at]
    marker = "o" if len(steps) == 1 else None  # a line needs two points
    axes.plot(
        steps, values, color=colour, linewidth=width, linestyle=dashes, marker=marker, zorder=3, label=curve.label
    )


def _across(axes: Any, curves: list[Curve], theme: paper.Theme) -> None:
    """Limits from the first step to the last."""
    last = max((int(curve.steps[-1]) for curve in curves if len(curve.steps)), default=1)
    axes.set_xlim(*((1, last) if last > 1 else (0.5, 1.5)))
    paper.steps_across(axes)
    axes.set_xlabel("step", color=theme.muted, fontsize=paper.SMALL)


def _ends(axes: Any, curves: list[Curve], colours: list[str], theme: paper.Theme, *, names: bool) -> None:
    ends = []
    for curve, colour in zip(curves, colours, strict=True):
        found = np.flatnonzero(np.isfinite(curve.smooth))
        if found.size:
            text = f"{curve.last:.3g}"
            text = f"{text}  {curve.label}" if names else text
            ends.append(End(float(curve.steps[found[-1]]), curve.last, text, colour))
    write_ends(axes, ends, theme)


def _tell_odd(axes: Any, curve: Curve, theme: paper.Theme) -> None:
    odd = np.flatnonzero(~np.isfinite(curve.losses))
    text = ""
    if odd.size:
        text = f"× {curve.losses[odd[0]]:g} from step {curve.steps[odd[0]]:,}"
        axes.axvline(curve.steps[odd[0]], color=theme.odd, linewidth=1.2)
    elif not len(curve.losses):
        text = "no steps"
    if text:
        axes.text(0.02, 0.04, text, transform=axes.transAxes, color=theme.odd, fontsize=paper.SMALL, fontweight="bold")


def _note(figure: Any, text: str, theme: paper.Theme) -> None:
    """Put how to read the picture at its foot."""
    lines = "\n".join(textwrap.wrap(text, 150))
    height = figure.get_size_inches()[1]
    paper.write(figure, 0.14, height - 0.42, lines, theme, color=theme.muted, fontsize=paper.SMALL)


def _how(curves: list[Curve], baselines: dict[str, float], reference: str | None = None) -> str:
    """How the lines were made, in words."""
    windows = sorted({curve.window for curve in curves})
    of = f"{windows[0]:,}" if len(windows) == 1 else f"{windows[0]:,} to {windows[-1]:,}"
    thinned = any(columns(len(curve.losses)).size > 1 for curve in curves)
    faint = "the least to the greatest loss of neighbouring steps" if thinned else "every step"
    told = ["Line: every step." if windows == [1] else f"Line: mean of the {of} steps around each. Faint: {faint}."]
    told.append("The number beside a line is its last value.")
    if reference is not None:
        told.append(f"Dashed: {reference}.")
    if baselines:
        told.append("Dotted: baselines.")
    return " ".join(told)
