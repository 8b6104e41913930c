"""The picture of a training run: draw_run("run.jsonl", "run.png")."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from viz.errors import UserError
from viz.plots import paper
from viz.plots.names import shorter
from viz.text import count
from viz.training.heat import draw_heat, heat_of, height_of
from viz.training.log import QUANTITIES, Run, run_of
from viz.training.panels import draw_curve, draw_ratios
from viz.training.report import facts
from viz.training.timeline import mark_findings, timeline

_WIDTH = 11.0
_HEAD = 0.75
_TITLE = 0.32  # above each panel
_ABOVE = 0.24  # between a title and its panel, for numbers of findings and for the legend
_CURVE = 1.35
_BETWEEN = 0.3
_AXIS = 0.5  # numbers and words below a panel
_LETTER = 0.073  # a letter's width, about
_LINE = 0.19
_WRAPPED = 128  # characters of a finding on a line
_MOST_FINDINGS = 20


def draw_run(
    source: Any,
    path: str | os.PathLike[str],
    quantity: Literal["norm", "output", "ratio", "zeros", "nonfinite"] = "norm",
    names: Sequence[str] | None = None,
    *,
    level: Literal["blocks", "parameters"] = "blocks",
    theme: Literal["light", "dark"] = "light",
) -> Path:
    """Draw a training run into a file, .png, .svg or .pdf, and return its path.

    From the top: the loss; the norm of all gradients before clipping; a heat map of `quantity`, steps across and blocks
    from the input down; how far each block's weights move a step; and what the monitor found, numbered as above.

    source    the path of a log of `tensorgrad.monitor`, its records, or a monitor
    quantity  a block's gradient ("norm"), the gradient at its output ("output"), the size of its update relative to
              its weights ("ratio"), or what of the gradient is exactly 0 ("zeros", a share) or not finite ("nonfinite")
    names     the rows of the heat map; by default all
    level     "parameters" for a row each

    Long runs are drawn as medians of neighbouring steps; a column in which anything is not finite shows that.
    Raises UserError for a log that cannot be read, another suffix, names that the run has not, and where matplotlib is
    not installed.
    """
    paper.check_suffix(path)
    colours = paper.theme_of(theme)
    run = run_of(source)
    return paper.save(figure_of(run, quantity, _rows(run, names, level), level, colours), path)


def figure_of(run: Run, quantity: str, rows: Sequence[str], level: str, theme: paper.Theme) -> Any:
    """The picture as a matplotlib Figure."""
    run.values(quantity, level)  # refuses what there is not, before anything is drawn
    findings = _told(run)
    lines = sum(text.count("\n") + 1 for text in findings) + bool(findings)
    if not len(run.steps):
        return _empty(run, findings, lines, theme)
    time = timeline(run)
    heat = heat_of(run, quantity, level, rows, time)
    left = max(0.85, _LETTER * max((len(label) for label in heat.labels), default=0) + 0.25)
    right = max(1.1, _LETTER * max((len(shorter(name)) for name in run.blocks), default=0) + 0.45)
    width = _WIDTH - left - right
    tops = _tops(height_of(len(rows)))
    figure = paper.figure(_WIDTH, tops["findings"] + lines * _LINE + 0.25, theme)
    _head(figure, run, theme)

    loss = _panel(figure, (left, tops["loss"], width, _CURVE), "loss", theme, above=True)
    time.put(loss, theme, named=False)
    draw_curve(loss, run.loss, time, theme, logarithmic=False)
    norm = _panel(
        figure, (left, tops["norm"], width, _CURVE), "norm of all gradients, before clipping (log)", theme, above=True
    )
    time.put(norm, theme, named=False)
    draw_curve(norm, run.norm, time, theme, logarithmic=True)
    for axes in (loss, norm):
        mark_findings(axes, run.findings[:_MOST_FINDINGS], theme)

    if rows:
        title = f"{QUANTITIES[quantity]}, by {level[:-1]}, input at the top"
        height = height_of(len(rows))
        axes = _panel(figure, (left, tops["heat"], width, height), title, theme, above=True)
        bar = paper.axes(figure, (left + width + 0.15, tops["heat"], 0.16, height), theme)
        draw_heat(axes, bar, heat, time, theme)
        time.put(axes, theme, named=True)

    moved = _panel(figure, (left, tops["ratio"], width, _CURVE + 0.25), "", theme)
    still = draw_ratios(moved, run, [name for name in run.blocks if level != "blocks" or name in rows], time, theme)
    title = f"{QUANTITIES['ratio']}, by block (log)"
    if still:
        title += f"; never moved: {', '.join(map(shorter, still[:4]))}{' …' if len(still) > 4 else ''}"
    _title(moved, title, theme)
    time.put(moved, theme, named=True)
    _write_findings(figure, findings, tops["findings"], theme)
    return figure


def _rows(run: Run, names: Sequence[str] | None, level: str) -> Sequence[str]:
    known = run.names(level)
    if names is None:
        return known
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), known, n=3)
            hint = f": did you mean {' or '.join(near)}?" if near else f"; it has {count(len(known), level[:-1])}"
            raise UserError(f"the run has no {level[:-1]} {name!r}{hint}")
    return [name for name in known if name in set(names)]


# -- what is where -----------------------------------------------------------------------------------------------------


def _tops(heat: float) -> dict[str, float]:
    """The upper edge of each panel, in inches."""
    loss = _HEAD + _TITLE + _ABOVE
    norm = loss + _CURVE + _BETWEEN + _TITLE + _ABOVE
    rows = norm + _CURVE + _BETWEEN + _TITLE + _ABOVE
    ratio = rows + heat + _AXIS + _TITLE
    return {"loss": loss, "norm": norm, "heat": rows, "ratio": ratio, "findings": ratio + _CURVE + 0.25 + _AXIS + 0.1}


def _panel(
    figure: Any, box: tuple[float, float, float, float], title: str, theme: paper.Theme, *, above: bool = False
) -> Any:
    axes = paper.axes(figure, box, theme)
    if title:
        _title(axes, title, theme, above=above)
    return axes


def _title(axes: Any, title: str, theme: paper.Theme, *, above: bool = False) -> None:
    """The panel's title, with room for numbers or a legend below it where they are `above` the panel."""
    pad = 6 + (_ABOVE * 72 if above else 0)
    axes.set_title(title, loc="left", pad=pad, color=theme.ink, fontsize=paper.TEXT, parse_math=False)


def _head(figure: Any, run: Run, theme: paper.Theme) -> None:
    paper.write(figure, 0.15, 0.14, shorter(run.name) or "training run", theme, fontsize=12, fontweight="bold")
    paper.write(figure, 0.15, 0.43, facts(run), theme, color=theme.muted)


def _empty(run: Run, findings: list[str], lines: int, theme: paper.Theme) -> Any:
    figure = paper.figure(_WIDTH, _HEAD + 0.6 + lines * _LINE + 0.25, theme)
    _head(figure, run, theme)
    paper.write(figure, 0.15, _HEAD + 0.1, "no step has been recorded", theme)
    _write_findings(figure, findings, _HEAD + 0.5, theme)
    return figure


# -- findings ----------------------------------------------------------------------------------------------------------


def _told(run: Run) -> list[str]:
    """The findings as numbered paragraphs."""
    if not run.findings:
        return ["The monitor found nothing."]
    told = [
        textwrap.fill(f"[{i}]  step {found.step:,}: {found.text}", _WRAPPED, subsequent_indent="      ")
        for i, found in enumerate(run.findings[:_MOST_FINDINGS], 1)
    ]
    more = len(run.findings) - len(told)
    return [*told, f"and {more:,} more in the log"] if more else told


def _write_findings(figure: Any, findings: list[str], top: float, theme: paper.Theme) -> None:
    for text in findings:
        paper.write(figure, 0.15, top, text, theme, linespacing=1.35)
        top += (text.count("\n") + 1) * _LINE
