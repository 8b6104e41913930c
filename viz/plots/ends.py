"""Names at the ends of curves, moved apart where they would lie on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz.plots.paper import SMALL, Theme

_LINE = 13.0  # pixels from one name to the next


@dataclass(frozen=True)
class End:
    """The last point of a curve, and what is written beside it."""

    x: float
    y: float
    text: str
    colour: str


def write_ends(axes: Any, ends: Sequence[End], theme: Theme) -> None:
    """Write each name right of the axes, at its curve's height if there is room, with a line to its point.

    The limits of the axes must stand by then.
    """
    box = axes.get_window_extent()
    heights = [axes.transData.transform((end.x, end.y))[1] - box.y0 for end in ends]
    for end, height in zip(ends, spread(heights, _LINE, box.height), strict=True):
        axes.annotate(
            end.text,
            xy=(end.x, end.y),
            xytext=(box.width + 12, height),
            textcoords="axes pixels",
            arrowprops={
                "arrowstyle": "-",
                "color": end.colour,
                "linewidth": 0.9,
                "linestyle": (0, (1, 1.5)),  # so that it is not taken for the curve going on
                "relpos": (0.0, 0.5),
                "shrinkA": 1,
                "shrinkB": 0,
            },
            color=theme.ink,
            fontsize=SMALL,
            va="center",
            annotation_clip=False,
            parse_math=False,
        )


def spread(heights: Sequence[float], gap: float, top: float) -> list[float]:
    """Heights in the order given, each as near its own as a `gap` between neighbours and 0 to `top` allow.

    Where they do not fit, the gap is what fits.
    """
    if not heights:
        return []
    gap = min(gap, top / max(len(heights) - 1, 1))
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    # less the gaps, the places need only not to fall: the nearest such are means of neighbours that would overtake
    pools: list[list[float]] = []
    for height in np.asarray(heights, dtype=np.float64)[order] - steps:
        pools.append([height])
        while len(pools) > 1 and np.mean(pools[-2]) >= np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    flat = np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools])
    placed = np.empty(len(heights))
    placed[order] = np.clip(flat, 0, top - steps[-1]) + steps
    return placed.tolist()
