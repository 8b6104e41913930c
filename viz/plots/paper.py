"""What pictures with axes are drawn on: matplotlib without its global state, two themes, files written whole."""

from __future__ import annotations

import io
import os
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from viz import files
from viz.errors import UserError
from viz.text import MINUS

SUFFIXES = (".png", ".svg", ".pdf")
DASHES = ("-", (0, (6, 2)), (0, (2, 1.4)), (0, (7, 2, 1.5, 2)), (0, (11, 3)), (0, (4, 1.5, 1, 1.5, 1, 1.5)))
"""How lines differ besides their colour, in points."""

TEXT, SMALL = 9.5, 8.5
"""Sizes of letters in points."""

_DPI = 100


@dataclass(frozen=True)
class Theme:
    """The colours of a picture; `series` and `map` can be told apart by colour-blind people."""

    ground: str
    ink: str
    muted: str
    line: str
    series: tuple[str, ...]
    zero: str
    odd: str


_THEMES = {
    "light": Theme(
        ground="#ffffff",
        ink="#1b1f27",
        muted="#565f6d",
        line="#d5d9e0",
        series=("#005f96", "#b34700", "#00735a", "#7a3e9d", "#7d6200", "#a30d3d", "#1b1f27", "#4a7d00"),
        zero="#e3e0f2",
        odd="#c2003f",
    ),
    "dark": Theme(
        ground="#14171c",
        ink="#e9ecf1",
        muted="#a2acba",
        line="#3a414d",
        series=("#62bdf0", "#ff9f60", "#4fd1a5", "#d3a2fa", "#e8dc55", "#ff8aa8", "#e9ecf1", "#a5d64a"),
        zero="#ffffff",
        odd="#ff2e6e",
    ),
}


THEMES = tuple(_THEMES)


def theme_of(name: str) -> Theme:
    """The theme of that name. Raises UserError for another name."""
    if not isinstance(name, str) or name not in _THEMES:
        raise UserError(f"there is no theme {name!r}: take {' or '.join(_THEMES)}")
    return _THEMES[name]


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raise UserError for a file's name that says no format, for a place where no file can be, and where matplotlib,
    which draws it, is not installed."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise UserError(f"{str(path)!r} names no picture's format: end it in {', '.join(SUFFIXES[:-1])} or .pdf")
    files.check_place(path)
    module("figure")


def module(name: str) -> Any:
    """The module `matplotlib.name`. Raises UserError where matplotlib is not installed."""
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError:
        raise UserError(
            "this picture is drawn by matplotlib, which is not installed: pip install 'plusequals[train]'"
        ) from None


def figure(width: float, height: float, theme: Theme) -> Any:
    """An empty figure, in inches, that pyplot knows nothing of."""
    return module("figure").Figure(figsize=(width, height), dpi=_DPI, facecolor=theme.ground)


def axes(figure: Any, box: tuple[float, float, float, float], theme: Theme) -> Any:
    """Axes at `box`: left, top, width, height in inches, from the figure's upper left corner."""
    left, top, width, height = box
    across, down = figure.get_size_inches()
    drawn = figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))
    drawn.set_facecolor(theme.ground)
    drawn.tick_params(colors=theme.muted, labelsize=SMALL, labelcolor=theme.ink)
    for side, spine in drawn.spines.items():
        spine.set_color(theme.line)
        spine.set_visible(side in ("left", "bottom"))
    drawn.grid(True, color=theme.line, linewidth=0.6, alpha=0.7)
    drawn.set_axisbelow(True)
    return drawn


def drawable(x: np.ndarray) -> np.ndarray:
    """`x` with the numbers that matplotlib would overflow at moved to where it does not; 0, inf and nan stay."""
    size = np.abs(x)
    moved = np.sign(x) * np.clip(size, 1e-140, 1e140)
    return np.where((size > 0) & np.isfinite(x), moved, x)


def steps_across(axes: Any) -> None:
    """Number the axis across with whole steps."""
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axes.xaxis.set_major_formatter(module("ticker").StrMethodFormatter("{x:,.0f}"))


def plain_numbers(axes: Any) -> None:
    """Write the numbers of the upward axis each by itself, without a factor above all of them."""
    axes.yaxis.set_major_formatter(module("ticker").FuncFormatter(lambda x, _: f"{x:.6g}".replace("-", MINUS)))


def logarithmic(axes: Any, theme: Theme) -> None:
    """Make the upward axis logarithmic, with as many plain numbers on it as it has room for; its limits must stand."""
    axes.set_yscale("log")
    ticker = module("ticker")
    low, high = axes.get_ylim()
    decades = np.log10(high) - np.log10(low)  # their quotient may overflow
    if decades < 0.7:
        axes.yaxis.set_major_locator(ticker.MaxNLocator(4))
    else:
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,), numticks=6))
    plain_numbers(axes)
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.tick_params(axis="y", which="minor", color=theme.line)


def write(figure: Any, left: float, top: float, text: str, theme: Theme, **style: Any) -> Any:
    """Put text at a place in inches from the figure's upper left corner; a `$` in it is a dollar sign."""
    across, down = figure.get_size_inches()
    given = {"color": theme.ink, "fontsize": TEXT, "va": "top", "parse_math": False, **style}
    return figure.text(left / across, 1 - top / down, text, **given)


def save(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write the figure, whole or not at all, in the format that the suffix names."""
    suffix = Path(path).suffix.lower()
    written = io.BytesIO()
    # so that the same run gives the same file
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box stands for it; names are the user's
        figure.savefig(written, format=suffix[1:], facecolor=figure.get_facecolor(), metadata=metadata)
    return files.write(path, written.getvalue())
