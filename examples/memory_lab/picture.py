"""Memory over time: what each variant saves and needs at its peak, against how long it takes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory_lab.measured import Run
from memory_lab.variants import Shape, Variant
from viz.plots import paper

SMALL = Shape(tokens=256, batch=8, blocks=12, heads=4, width=256, vocabulary=8_192, context=256)
"""The sizes where none are given: some seconds a run, and scores and blocks in about the shares that GPT-2's have."""

_PANELS = (("saved for the backward pass, MB", "saved"), ("peak beside the weights, MB", "peak"))
_LETTER, _HIGH, _APART = 6.4, 13.0, 3.0  # pixels: of small text, and between it and what is beside it
_PLACES = (
    (8, 0),
    (8, 9),
    (8, -9),
    (0, 13),
    (0, -13),
    (-8, 0),
    (-8, 9),
    (-8, -9),
    (14, 18),
    (14, -18),
    (0, 24),
    (0, -24),
)
"""Where a point's name may stand, in pixels from it: the first free one is taken."""


def draw(shape: Shape, runs: Mapping[Variant, Run | str], path: str, theme: str) -> Path:
    """Two panels, saved and peak over the time relative to plain, with and without a chunked loss. Returns the path."""
    found = {variant: run for variant, run in runs.items() if isinstance(run, Run)}
    return paper.save(_figure(shape, found, paper.theme_of(theme)), path)


def _figure(shape: Shape, runs: Mapping[Variant, Run], theme: paper.Theme) -> Any:
    figure = paper.figure(11.0, 5.2, theme)
    title = "Memory against time: what the backward pass computes again"
    paper.write(figure, 0.14, 0.14, title, theme, fontsize=12, fontweight="bold")
    note = (
        f"GPT of {shape.blocks} blocks, {shape.heads} heads, {shape.width} wide, {shape.vocabulary:,} tokens; batch of "
        f"{shape.batch}, {shape.tokens:,} tokens each; every point measured in a process of its own, the fastest of a "
        "few runs. Names: nothing is computed again; all but products of matrices and attention (selective); 1 to "
        f"{shape.blocks} blocks at a time."
    )
    lines = textwrap.wrap(note, 150)
    paper.write(figure, 0.14, 4.66, "\n".join(lines), theme, color=theme.muted, fontsize=paper.SMALL)
    plain = runs[Variant()].seconds if Variant() in runs else min(run.seconds for run in runs.values())
    for i, (name, size) in enumerate(_PANELS):
        axes = paper.axes(figure, (0.75 + 5.45 * i, 0.8, 4.6, 3.3), theme)
        axes.set_title(name, loc="left", fontsize=paper.TEXT, color=theme.ink)
        beside = "that of plain" if Variant() in runs else "the shortest: plain does not fit"
        axes.set_xlabel(f"time of forward and backward pass, times {beside}", fontsize=paper.SMALL, color=theme.ink)
        points = [(variant, run.seconds / plain, getattr(run, size) / 1e6) for variant, run in runs.items()]
        for chunked, colour, marker in ((False, theme.series[0], "o"), (True, theme.series[1], "s")):
            own = [(x, y) for variant, x, y in points if variant.chunked is chunked]
            label = "chunked loss" if chunked else "all scores held"
            axes.plot(*zip(*own, strict=True), marker, color=colour, label=label, markersize=5, zorder=4)
        heights = [y for _, _, y in points]
        axes.set_ylim(min(heights) / 1.35, max(heights) * 1.25)
        across = [x for _, x, _ in points]
        room = 0.12 * (max(across) - min(across)) or 0.1
        axes.set_xlim(min(across) - room, max(across) + 1.4 * room)
        paper.logarithmic(axes, theme)
        _name(axes, points, theme)
        if i == 0:
            style = {"facecolor": theme.ground, "edgecolor": theme.line, "labelcolor": theme.ink}
            axes.legend(fontsize=paper.SMALL, loc="lower left", **style)
    return figure


def _name(axes: Any, points: Sequence[tuple[Variant, float, float]], theme: paper.Theme) -> None:
    """A name beside each point, on no other name and no point."""
    at = axes.transData.transform([(x, y) for _, x, y in points])
    boxes = [(x - 4, y - 4, x + 4, y + 4) for x, y in at]
    for (variant, x, y), (px, py) in zip(points, at, strict=True):
        text = _short(variant)
        places = [(_box(px + dx, py + dy, text, dx), (dx, dy)) for dx, dy in _PLACES]
        box, (dx, dy) = min(places, key=lambda place: sum(_overlap(place[0], other) for other in boxes))
        boxes.append(box)
        axes.annotate(
            text,
            (x, y),
            (dx, dy),
            textcoords="offset pixels",
            ha="center" if dx == 0 else "left" if dx > 0 else "right",
            va="center",
            fontsize=paper.SMALL,
            color=theme.series[1 if variant.chunked else 0],
            zorder=5,
        )


_Box = tuple[float, float, float, float]


def _box(x: float, y: float, text: str, dx: float) -> _Box:
    wide = _LETTER * len(text)
    left = x - wide / 2 if dx == 0 else x if dx > 0 else x - wide
    return left - _APART, y - _HIGH / 2, left + wide + _APART, y + _HIGH / 2


def _overlap(a: _Box, b: _Box) -> float:
    across = min(a[2], b[2]) - max(a[0], b[0])
    up = min(a[3], b[3]) - max(a[1], b[1])
    return float(np.maximum(across, 0) * np.maximum(up, 0))


def _short(variant: Variant) -> str:
    if variant.checkpoint == "selective":
        return "selective"
    return str(variant.blocks_at_a_time) if variant.checkpoint else "nothing"
