"""The memory of a graph as bars: draw_memory(viz.memory(loss), "memory.png")."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from viz.errors import UserError
from viz.memory.result import Memory
from viz.memory.sizes import in_megabytes, unit_for
from viz.plots import paper
from viz.text import clip, cut, visible

_MOST_BARS = 16
_MOST_OPERATIONS = 7  # as many as there are colours beside those of the other kinds
_LEAST = 0.002  # of all memory: what is smaller is too thin to be seen
_LONGEST = 36  # letters of a bar's name
_LONGEST_TITLE = 105
_LETTER = 0.075  # inches, of small text
_WIDTH, _RIGHT, _BAR, _GAP = 11.0, 1.35, 0.34, 0.16
_KINDS = {"weights": "weights", "gradients": "gradients", "optimizer": "optimizer's state"}
_OTHERS = "saved by others"
_SHOWN = "shown, not needed"
_REST = {"inputs": "inputs", "nodes": "nodes"}


@dataclass(frozen=True)
class _Part:
    """A part of a bar: what it is, how many bytes, its colour and the pattern on it."""

    name: str
    size: int
    colour: str
    hatch: str = ""


def draw_memory(
    memories: Memory | Mapping[str, Memory],
    path: str | os.PathLike[str],
    *,
    theme: Literal["light", "dark"] = "light",
    title: str = "",
) -> Path:
    """Draw what a graph keeps in memory into one file, .png, .svg or .pdf, and return its path.

    memories  what `viz.memory` returns: a bar for each kind of memory, what rules save apart by operation; or several
              such by name: a bar of all of it for each. A mark shows the peak of a backward pass, if it was measured.

    Raises UserError for another suffix or theme, for none or more than 16 memories, and without matplotlib.
    """
    paper.check_suffix(path)
    colours = paper.theme_of(theme)
    given = _by_name(memories)
    written = unit_for(max(max(memory.total, memory.peak or 0) for _, memory in given))
    parts = _parts([memory for _, memory in given], colours)
    head = clip(visible(str(title)), _LONGEST_TITLE)
    if isinstance(memories, Memory):
        bars = [(part.name, [part]) for part in parts[0]]
        return paper.save(_draw(bars, [None] * len(bars), written, head, _totals(memories, written), colours), path)
    bars = [(name, own) for (name, _), own in zip(given, parts, strict=True)]
    peaks = [memory.peak for _, memory in given]
    return paper.save(_draw(bars, peaks, written, head, _how(peaks), colours), path)


def _by_name(memories: Any) -> list[tuple[str, Memory]]:
    given = {"": memories} if isinstance(memories, Memory) else memories
    if not isinstance(given, Mapping):
        raise UserError(
            f"draw_memory takes what viz.memory returns, or several such by name, got a {type(given).__name__}"
        )
    for name, memory in given.items():
        if not isinstance(memory, Memory):
            raise UserError(f"draw_memory takes what viz.memory returns, and {name!r} is a {type(memory).__name__}")
    if not 1 <= len(given) <= _MOST_BARS:
        raise UserError(f"draw_memory takes 1 to {_MOST_BARS} memories, got {len(given)}")
    return [(cut(visible(" ".join(str(name).split())), _LONGEST), memory) for name, memory in given.items()]


def _parts(memories: Sequence[Memory], theme: paper.Theme) -> list[list[_Part]]:
    """The parts of each bar, in one order and the same colours in all of them; none of 0 bytes."""
    saved = [{group.name: group.saved for group in memory.by_op() if group.saved} for memory in memories]
    sums: Counter[str] = Counter()
    for each in saved:
        sums.update(each)
    seen = [name for name, size in sums.most_common() if size > _LEAST * sum(memory.total for memory in memories)]
    named = seen[:_MOST_OPERATIONS]
    grey = {"weights": "", "gradients": "///", "optimizer": "..."}
    found = []
    for memory, own in zip(memories, saved, strict=True):
        totals = memory.totals
        parts = [_Part(name, totals[kind], theme.muted, grey[kind]) for kind, name in _KINDS.items()]
        parts += [_Part(name, totals[kind], theme.muted, "xx") for kind, name in _REST.items()]
        parts += [_Part(f"saved by {name}", own.get(name, 0), theme.series[i]) for i, name in enumerate(named)]
        others = sum(size for name, size in own.items() if name not in named)
        parts.append(_Part(_OTHERS, others, theme.series[_MOST_OPERATIONS]))
        parts.append(_Part(_SHOWN, totals["shown"], theme.line, "\\\\"))
        found.append([part for part in parts if part.size] or [_Part("nothing", 0, theme.muted)])
    return found


def _draw(
    bars: Sequence[tuple[str, list[_Part]]],
    peaks: Sequence[int | None],
    written: Callable[[int], str],
    title: str,
    note: str,
    theme: paper.Theme,
) -> Any:
    legend = _legend(bars)
    lines = textwrap.wrap(note, 150)
    left = 0.25 + max(len(name) for name, _ in bars) * _LETTER
    tall = len(bars) * (_BAR + _GAP) + 0.1
    head = 0.5 if title else 0.2
    rows = _in_rows(legend, _WIDTH - 0.3)
    foot = 0.45 + 0.24 * len(rows) + 0.17 * len(lines) + 0.15
    figure = paper.figure(_WIDTH, head + tall + foot, theme)
    if title:
        paper.write(figure, 0.14, 0.14, title, theme, fontsize=12, fontweight="bold")
    width = _WIDTH - left - _RIGHT
    axes = paper.axes(figure, (left, head, width, tall), theme)
    most = max([*(sum(part.size for part in parts) for _, parts in bars), *(peak or 0 for peak in peaks), 1])
    axes.set_xlim(0, most)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    for place, (_, parts) in enumerate(bars):
        _bar(axes, place, parts, peaks[place], written, width / most, theme)
    axes.set_yticks(range(len(bars)), labels=[name for name, _ in bars], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    unit, name = _unit(most, written)
    ticks = [x for x in paper.module("ticker").MaxNLocator(6).tick_values(0, most / unit) if 0 <= x * unit <= most]
    axes.set_xticks([x * unit for x in ticks], labels=[f"{x:,.4g} {name}" if x else "0" for x in ticks])
    top = head + tall + 0.42
    for row in rows:
        _write_row(figure, row, top, theme)
        top += 0.24
    paper.write(figure, 0.14, top + 0.03, "\n".join(lines), theme, color=theme.muted, fontsize=paper.SMALL)
    return figure


def _unit(most: int, written: Any) -> tuple[int, str]:
    """The bytes in what the axis counts, and its name: one for all ticks."""
    if written is in_megabytes:
        return 10**6, "MB"
    return next((2**k, name) for k, name in ((20, "MiB"), (10, "KiB"), (0, "bytes")) if most >= 2**k)


def _bar(
    axes: Any,
    place: int,
    parts: Sequence[_Part],
    peak: int | None,
    written: Callable[[int], str],
    scale: float,
    theme: paper.Theme,
) -> None:
    """The parts side by side, their sizes in them where there is room, and their sum behind them."""
    start, high = 0, _BAR / (_BAR + _GAP)
    for part in parts:
        axes.barh(
            place,
            part.size,
            left=start,
            height=high,
            color=part.colour,
            hatch=part.hatch,
            edgecolor=theme.ground,
            linewidth=0.8 if part.size * scale > 0.03 else 0,
            zorder=3,
        )
        text = written(part.size)
        if len(parts) > 1 and len(text) * _LETTER + 0.1 < part.size * scale:
            box = {"facecolor": theme.ground, "edgecolor": "none", "alpha": 0.85, "pad": 1.2}
            style = {"ha": "center", "va": "center", "fontsize": 7.5, "color": theme.ink, "bbox": box, "zorder": 5}
            axes.text(start + part.size / 2, place, text, parse_math=False, **style)
        start += part.size
    end = max(start, peak or 0)
    text = written(start) + (f", peak {written(peak)}" if peak is not None else "")
    if peak is not None:
        axes.plot([start, peak], [place, place], color=theme.ink, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=4)
        axes.plot([peak, peak], [place - high / 2, place + high / 2], color=theme.ink, linewidth=2.0, zorder=4)
    lines = text.replace(", ", "\n") if len(text) > 16 else text
    axes.annotate(
        lines,
        xy=(end, place),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=paper.SMALL,
        color=theme.ink,
        annotation_clip=False,
        parse_math=False,
    )


def _legend(bars: Sequence[tuple[str, list[_Part]]]) -> list[_Part]:
    """A part of each name; none where the bars are called by them."""
    if all(len(parts) == 1 and parts[0].name == name for name, parts in bars):
        return []
    found: dict[str, _Part] = {}
    for _, parts in bars:
        for part in parts:
            found.setdefault(part.name, part)
    order = [*_KINDS.values(), *_REST.values()]
    last = [_OTHERS, _SHOWN]
    middle = [name for name in found if name not in order and name not in last]
    return [found[name] for name in (*order, *middle, *last) if name in found]


def _in_rows(legend: Sequence[_Part], width: float) -> list[list[tuple[float, _Part]]]:
    """Each part with its place from the left, in as many rows as they need."""
    rows: list[list[tuple[float, _Part]]] = []
    at = width
    for part in legend:
        need = 0.45 + len(part.name) * _LETTER
        if at + need > width:
            rows.append([])
            at = 0.0
        rows[-1].append((at, part))
        at += need
    return rows


def _write_row(figure: Any, row: Sequence[tuple[float, _Part]], top: float, theme: paper.Theme) -> None:
    across, down = figure.get_size_inches()
    for at, part in row:
        box = paper.module("patches").Rectangle(
            ((0.16 + at) / across, 1 - (top + 0.14) / down),
            0.18 / across,
            0.13 / down,
            transform=figure.transFigure,
            facecolor=part.colour,
            edgecolor=theme.ground,
            hatch=part.hatch,
            linewidth=0.5,
        )
        figure.add_artist(box)
        paper.write(figure, 0.4 + at, top, part.name, theme, fontsize=paper.SMALL)


def _totals(memory: Memory, written: Callable[[int], str]) -> str:
    told = f"In all {written(memory.total)}; saved for the backward pass {written(memory.saved)}."
    if memory.peak is not None:
        told += f" At the peak of a backward pass {written(memory.peak)}."
    return told


def _how(peaks: Sequence[int | None]) -> str:
    marked = any(peak is not None for peak in peaks)
    told = "What is alive after the forward pass."
    return f"{told} The mark is the peak of a backward pass that begins without gradients." if marked else told
