"""The steps of a run across a picture, the same in all of its panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from viz.plots import paper
from viz.plots.ends import spread
from viz.training.log import Run, RunFinding
from viz.training.thinning import Columns, columns


@dataclass(frozen=True)
class Timeline:
    """Columns of steps, the edges between them and their middles, in steps."""

    columns: Columns
    edges: np.ndarray
    middles: np.ndarray

    @property
    def label(self) -> str:
        """What the axis says."""
        size = self.columns.size
        return "step" if size == 1 else f"step (each column of pixels: the median of {size:,} steps)"

    def put(self, axes: Any, theme: paper.Theme, *, named: bool) -> None:
        """Give the axes their limits, and where `named` their numbers and words."""
        axes.set_xlim(self.edges[0], self.edges[-1])
        paper.steps_across(axes)
        axes.tick_params(labelbottom=named)
        if named:
            axes.set_xlabel(self.label, color=theme.muted, fontsize=paper.SMALL)


def timeline(run: Run) -> Timeline:
    """The columns of a run that has steps."""
    shared = columns(len(run.steps))
    first = shared.firsts(run.steps).astype(np.float64)
    last = shared.lasts(run.steps).astype(np.float64)
    between = (last[:-1] + first[1:]) / 2
    edges = np.concatenate([[first[0] - 0.5], between, [last[-1] + 0.5]])
    return Timeline(shared, edges, (first + last) / 2)


def mark_findings(axes: Any, findings: Sequence[RunFinding], theme: paper.Theme) -> None:
    """A line at each step with a finding, with the findings' numbers above it, apart from each other."""
    low, high = axes.get_xlim()
    numbered = sorted(enumerate(findings, 1), key=lambda pair: pair[1].step)
    steps = {step: [i for i, _ in group] for step, group in groupby(numbered, key=lambda pair: pair[1].step)}
    shown = [step for step in steps if low <= step <= high]
    box = axes.get_window_extent()
    texts = [_numbers(steps[step]) for step in shown]
    places = [axes.transData.transform((step, axes.get_ylim()[0]))[0] - box.x0 for step in shown]
    gap = 14.0 + 6.0 * max(map(len, texts), default=1)
    for step, text, place in zip(shown, texts, spread(places, gap, box.width), strict=True):
        axes.axvline(step, color=theme.odd, linewidth=1.0, linestyle=(0, (3, 2)), zorder=2.5)
        axes.annotate(
            text,
            xy=(step, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(place, box.height + 13),
            textcoords="axes pixels",
            ha="center",
            va="center",
            color=theme.ground,
            fontsize=paper.SMALL,
            fontweight="bold",
            bbox={"boxstyle": "round,pad=0.22", "facecolor": theme.odd, "edgecolor": "none"},
            arrowprops={"arrowstyle": "-", "color": theme.odd, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0},
            annotation_clip=False,
            zorder=6,
        )


def _numbers(found: list[int]) -> str:
    """1, 1-3 or 1, 3."""
    together = found[-1] - found[0] == len(found) - 1
    return f"{found[0]}\N{EN DASH}{found[-1]}" if together and len(found) > 2 else ", ".join(map(str, found))
