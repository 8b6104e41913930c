"""Memory over time: what each variant saves and needs at its peak, against how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_lab.measured import Run
from memory_lab.variants import Shape, Variant
from viz.plots import paper

SMALL = Shape(tokens=256, batch=2, blocks=12, heads=6, width=384, vocabulary=16_384, context=256)
"""The sizes where none are given: some seconds a run."""


def draw(shape: Shape, runs: Mapping[Variant, Run | str], path: str, theme: str) -> Path:
    """Two panels, saved and peak over the time relative to plain; a curve with and one without a chunked loss."""
    return paper.save(
        _figure(shape, {v: r for v, r in runs.items() if isinstance(r, Run)}, paper.theme_of(theme)), path
    )


def _figure(shape: Shape, runs: Mapping[Variant, Run], theme: paper.Theme) -> Any:
    figure = paper.figure(11.0, 4.9, theme)
    paper.write(
        figure, 0.14, 0.14, "Memory against time of forward and backward pass", theme, fontsize=12, fontweight="bold"
    )
    note = (
        f"GPT of {shape.blocks} blocks, {shape.heads} heads, {shape.width} wide, {shape.vocabulary:,} tokens; batch "
        f"{shape.batch} of {shape.tokens:,} tokens; each measured in a process of its own, the fastest of a few runs. "
        "Numbers at points: blocks that are computed again at a time."
    )
    paper.write(figure, 0.14, 4.6, note, theme, color=theme.muted, fontsize=paper.SMALL)
    plain = runs[Variant()].seconds
    for i, (title, size) in enumerate(
        (("saved for the backward pass, MB", "saved"), ("peak beside the weights, MB", "peak"))
    ):
        axes = paper.axes(figure, (0.7 + 5.5 * i, 0.75, 4.6, 3.25), theme)
        axes.set_title(title, loc="left", fontsize=paper.TEXT, color=theme.ink)
        axes.set_xlabel("time, times that of plain", fontsize=paper.SMALL, color=theme.ink)
        for chunked, colour, marker in ((False, theme.series[0], "o"), (True, theme.series[1], "s")):
            points = [(v, r.seconds / plain, getattr(r, size) / 1e6) for v, r in runs.items() if v.chunked is chunked]
            across, up = [x for _, x, _ in points], [y for _, _, y in points]
            label = "chunked loss" if chunked else "all scores held"
            axes.plot(across, up, marker, linestyle="none", color=colour, label=label, zorder=4)
            for v, x, y in points:
                axes.annotate(_short(v), (x, y), (5, 4), textcoords="offset points", fontsize=paper.SMALL, color=colour)
        axes.set_ylim(0, None)
        axes.margins(x=0.12)
        paper.plain_numbers(axes)
        if i == 0:
            axes.legend(fontsize=paper.SMALL, facecolor=theme.ground, edgecolor=theme.line, labelcolor=theme.ink)
    return figure


def _short(variant: Variant) -> str:
    if variant.checkpoint == "selective":
        return "selective"
    return str(variant.blocks_at_a_time) if variant.checkpoint else "none"
