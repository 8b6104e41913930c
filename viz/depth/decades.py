"""A logarithmic axis from exponents: from 1e-320 to 1e300, where a library's own would overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_MOST_TICKS = 7


def set_decades(axes: Any, low: float, high: float) -> None:
    """Limits of the upward axis from 10**low to 10**high, and numbers at round powers of ten; the axis itself is
    linear, in exponents."""
    axes.set_ylim(low, high)
    places = ticks(low, high)
    axes.set_yticks([place for place, _ in places], labels=[text for _, text in places])


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Exponents between two exponents, and how their powers of ten are written."""
    decades = high - low
    if decades <= 3:
        parts = (1, 2, 5) if decades <= 2 else (1, 3)
        wholes = range(math.floor(low), math.ceil(high) + 1)
        found = [(e + math.log10(part), _written(part, e)) for e in wholes for part in parts]
        return [(place, text) for place, text in found if low <= place <= high]
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200) if decades / s <= _MOST_TICKS)
    return [(float(e), _written(1, int(e))) for e in np.arange(math.ceil(low / step) * step, high + 1e-9, step)]


def _written(part: int, exponent: int) -> str:
    """part * 10**exponent, which a float may be too small for: 0.001, 5, 2,000, 1e−9."""
    if -4 <= exponent <= 5:
        return f"{part * 10.0**exponent:,.{max(-exponent, 0)}f}"
    return f"{part}e{exponent}".replace("-", "\N{MINUS SIGN}")
