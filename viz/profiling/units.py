"""Seconds in words, one unit in one table."""

from __future__ import annotations

from collections.abc import Callable

_UNITS = ((1.0, "s"), (1e-3, "ms"), (0.0, "µs"))


def unit_for(longest: float) -> Callable[[float], str]:
    """How times are written beside one of so many seconds, with the unit."""
    scale, name = scale_for(longest)
    return lambda seconds: f"{decimals(seconds / scale)} {name}"


def scale_for(longest: float) -> tuple[float, str]:
    """The unit for times of up to so many seconds, in seconds, and its name."""
    least, name = next(unit for unit in _UNITS if longest >= unit[0])
    return least or 1e-6, name


def decimals(x: float) -> str:
    """Two decimals; "0" of nothing at all."""
    return f"{x:,.2f}" if x else "0"
