"""The heat map of a run: blocks or parameters down, steps across, a quantity as colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from viz.plots import paper
from viz.plots.names import shorter
from viz.text import MINUS
from viz.training.log import Run
from viz.training.rows import NOT_OWN, missing, why_empty
from viz.training.timeline import Timeline

_ROW = 0.2  # inches
_LOWEST, _HIGHEST = 0.9, 6.5
_LABEL = 12.5  # pixels that a name takes
_MOST_NUMBERED = 12  # rows that keep their name because a finding is about them


@dataclass(frozen=True)
class Heat:
    """What is drawn: rows by name, `shown` (rows, columns) as numbers to be coloured.

    shown    the logarithm to base 10; of shares, the number itself. -inf for 0, inf for nan or inf, masked for none
    numbers  of the findings that are about each row
    missing  why there is nothing in a row that is masked as a whole
    """

    quantity: str
    names: Sequence[str]
    numbers: Sequence[str]
    missing: Sequence[str]
    shown: np.ma.MaskedArray

    @property
    def logarithmic(self) -> bool:
        """Whether colours stand for powers of ten: a share of zeros is told by itself."""
        return self.quantity != "zeros"

    @property
    def limits(self) -> tuple[float, float]:
        """What the least and the greatest colour stand for."""
        if not self.logarithmic:
            return 0.0, 1.0
        finite = self.shown.compressed()
        finite = finite[np.isfinite(finite)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        return (low, high) if high - low > 0.1 else (low - 0.5, high + 0.5)

    @property
    def labels(self) -> list[str]:
        """The rows' names, with the numbers of the findings that are about them."""
        return [f"{shorter(name)}{f'  [{n}]' if n else ''}" for name, n in zip(self.names, self.numbers, strict=True)]


def heat_of(run: Run, quantity: str, level: str, names: Sequence[str], time: Timeline) -> Heat:
    """The heat map of those rows of a run."""
    places = {name: i for i, name in enumerate(run.names(level))}
    values = run.values(quantity, level)[[places[name] for name in names]]
    medians = time.columns.median(values)
    if quantity != "zeros":
        with np.errstate(divide="ignore"):
            medians = np.ma.masked_array(np.log10(medians.filled(1.0)), np.ma.getmaskarray(medians))
    numbers = [_about(run, level, name) for name in names]
    return Heat(quantity, names, numbers, [why_empty(run, quantity, level, name) for name in names], medians)


def height_of(rows: int) -> float:
    """How high a heat map of so many rows is drawn, in inches."""
    return min(max(rows * _ROW, _LOWEST), _HIGHEST)


def draw_heat(axes: Any, bar: Any, heat: Heat, time: Timeline, theme: paper.Theme) -> None:
    """Draw it into `axes`, and what its colours stand for into the axes `bar`."""
    rows = len(heat.names)
    low, high = heat.limits
    axes.grid(False)
    axes.patch.set(hatch="////", edgecolor=theme.muted, linewidth=0)  # what is masked lets it show through
    beyond = np.clip(heat.shown, low - 1e3, high + 1e3)  # inf would be taken for masked
    mesh = axes.pcolormesh(
        time.edges,
        np.arange(rows + 1) - 0.5,
        beyond,
        cmap=_colours(theme),
        vmin=low,
        vmax=high,
        rasterized=True,
    )
    axes.set_ylim(rows - 0.5, -0.5)
    pixels = axes.get_window_extent().height / rows
    _name_rows(axes, heat, pixels)
    _name_missing(axes, heat, time, theme, pixels)
    if pixels >= 7:
        x, y = _onsets(heat, time)
        axes.scatter(x, y, marker="x", s=22, color="#ffffff", linewidths=1.4, zorder=4)
    _legend(axes, heat, theme)
    if np.isfinite(heat.shown.compressed()).any():
        _colour_bar(axes.figure.colorbar(mesh, cax=bar, extend="neither"), heat, theme)
    else:
        bar.set_visible(False)


def _about(run: Run, level: str, name: str) -> str:
    """The numbers of the findings about a row: those with its name, and of a block those about its parameters. The
    first three."""
    own = {name} | {p for p, block in run.block_of.items() if level == "blocks" and block == name}
    found = [str(i) for i, finding in enumerate(run.findings, 1) if own & set(finding.names)]
    return ", ".join([*found[:3], *(["…"] if len(found) > 3 else [])])


def _colours(theme: paper.Theme) -> Any:
    """A map that rises evenly in lightness, for every eye and in grey, less its end nearest to the colour of 0."""
    whole = import_module("matplotlib").colormaps["cividis"]
    colours = paper.module("colors").ListedColormap(whole(np.linspace(0, 0.92, 256)), name="gradients")
    return colours.with_extremes(bad=(0, 0, 0, 0), under=theme.zero, over=theme.odd)


def _name_rows(axes: Any, heat: Heat, pixels: float) -> None:
    chosen = chosen_rows(len(heat.names), pixels, [i for i, n in enumerate(heat.numbers) if n])
    labels = heat.labels
    axes.set_yticks(chosen, [labels[i] for i in chosen])
    for i, label in zip(chosen, axes.get_yticklabels(), strict=True):
        label.set(parse_math=False, fontweight="bold" if heat.numbers[i] else "normal")
    axes.tick_params(axis="y", length=0)


def chosen_rows(rows: int, pixels: float, numbered: Sequence[int]) -> list[int]:
    """The rows whose names there is room for, with `pixels` a row: `numbered` ones first, the first, the last, and
    between them as many as fit."""
    apart = max(math.ceil(_LABEL / pixels), 1)
    wanted = [*numbered[:_MOST_NUMBERED], 0, rows - 1, *range(0, rows, apart)]
    chosen: list[int] = []
    for row in wanted:
        if all(abs(row - other) >= apart for other in chosen):
            chosen.append(row)
    return sorted(chosen)


def _name_missing(axes: Any, heat: Heat, time: Timeline, theme: paper.Theme, pixels: float) -> None:
    if pixels < 11:
        return
    for row in np.flatnonzero(np.ma.getmaskarray(heat.shown).all(axis=1)):
        axes.text(
            (time.edges[0] + time.edges[-1]) / 2,
            row,
            heat.missing[row],
            ha="center",
            va="center",
            color=theme.ink,
            fontsize=paper.SMALL,
            bbox={"facecolor": theme.ground, "edgecolor": "none", "pad": 1.0},
        )


def _onsets(heat: Heat, time: Timeline) -> tuple[np.ndarray, np.ndarray]:
    """Where in each row what is not finite begins."""
    odd = heat.shown.filled(0.0) == np.inf
    begins = odd & ~np.pad(odd, ((0, 0), (1, 0)))[:, :-1]
    rows, places = np.nonzero(begins)
    return time.middles[places], rows


def _legend(axes: Any, heat: Heat, theme: paper.Theme) -> None:
    """What the colours beside those of the bar mean, those that occur."""
    patch = paper.module("patches").Patch
    shown = heat.shown.filled(0.0)
    handles = []
    if (shown == -np.inf).any():
        handles.append(patch(facecolor=theme.zero, edgecolor=theme.muted, label="exactly 0"))
    if (shown == np.inf).any():
        handles.append(patch(facecolor=theme.odd, edgecolor=theme.odd, label="nan or inf (from ×)"))
    if any(masked.any() and why != NOT_OWN for masked, why in zip(np.ma.getmaskarray(heat.shown), heat.missing)):
        handles.append(patch(facecolor=theme.ground, edgecolor=theme.muted, hatch="////", label=missing(heat.quantity)))
    if handles:
        axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=len(handles),
            frameon=False,
            fontsize=paper.SMALL,
            labelcolor=theme.ink,
            borderaxespad=0.2,
            borderpad=0.1,
            handlelength=1.6,
        )


def _colour_bar(bar: Any, heat: Heat, theme: paper.Theme) -> None:
    bar.outline.set_edgecolor(theme.line)
    bar.ax.grid(False)
    bar.ax.tick_params(colors=theme.muted, labelcolor=theme.ink, labelsize=paper.SMALL)
    if heat.logarithmic:
        low, high = heat.limits
        bar.locator = paper.module("ticker").MaxNLocator(nbins=5, integer=high - low >= 2)
        bar.formatter = paper.module("ticker").FuncFormatter(lambda power, _: _power_of_ten(power))
        bar.update_ticks()


def _power_of_ten(power: float) -> str:
    text = f"{10**power:.2g}" if -3 <= power <= 4 else f"1e{power:.0f}" if power == round(power) else f"1e{power:.1f}"
    return text.replace("-", MINUS)
