"""Which loss scales suit an array of gradients in a format. Only powers of two: they change no digits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from precision_lab.formats import Format

_POWERS = np.arange(-126, 128)  # of scales that are normal float32 numbers, as GradScaler's are


@dataclass(frozen=True)
class Scales:
    """Powers of two as scales, each None where there is none.

    largest   the largest at which nothing overflows
    lossless  the smallest and the largest at which nothing overflows and nothing is rounded to 0
    """

    largest: float | None
    lossless: tuple[float, float] | None


def extremes(arrays: Iterable[np.ndarray]) -> tuple[float, float] | None:
    """The smallest and the largest size of the numbers in float32 arrays that are neither 0, inf nor nan."""
    low, high = np.inf, 0.0
    for array in arrays:
        size = np.abs(array)
        fine = (size > 0) & np.isfinite(size)
        low = min(low, float(size.min(initial=np.inf, where=fine)))
        high = max(high, float(size.max(initial=0.0, where=fine)))
    return (low, high) if high else None


def scales(least: float, most: float, kind: Format) -> Scales:
    """The scales for numbers of sizes from `least` to `most`, both positive: the larger the scale, the fewer are lost
    and the more overflow, so that these two decide."""
    factors = 2.0**_POWERS
    fits = np.isfinite(kind.rounded(_products(most, factors)))
    keeps = kind.rounded(_products(least, factors)) != 0
    both = factors[fits & keeps]
    return Scales(
        largest=float(factors[fits][-1]) if fits.any() else None,
        lossless=(float(both[0]), float(both[-1])) if both.size else None,
    )


def _products(x: float, factors: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return (x * factors).astype(np.float32)
