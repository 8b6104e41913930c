"""Seconds in words, one unit in one table."""

from __future__ import annotations

from collections.abc import Callable

_UNITS = ((10.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (0.0, 1e-6, "µs"))
"""From how many seconds on, the unit in seconds, its name."""


def unit_for(longest: float) -> Callable[[float], str]:
    """How times are written beside one of so many seconds, with the unit."""
    scale, name = scale_for(longest)
    return lambda seconds: f"{decimals(seconds / scale)} {name}"


def scale_for(longest: float) -> tuple[float, str]:
    """The unit for times of up to so many seconds, in seconds, and its name."""
    return next((scale, name) for least, scale, name in _UNITS if longest >= least)


def decimals(x: float) -> str:
    """Two decimals; "0" of nothing at all."""
    return f"{x:,.2f}" if x else "0"
