"""What rounding does to an array of gradients: how many of its numbers are lost, and a histogram of their exponents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from precision_lab.formats import Format

LEAST, MOST = -149, 127
"""Binary exponents of float32's positive numbers: 2**-149 is the smallest."""

_AT_ONCE = 1 << 16  # numbers of an array that are looked at together: what is computed of them stays in the cache


@dataclass(frozen=True)
class Counts:
    """Numbers of one array, or of several, in one format, after multiplication by a scale.

    values      all
    zero        exactly 0 before
    odd         inf or nan before
    lost        not 0 before, and 0 after
    short       kept with fewer digits than the format has, as subnormal numbers
    overflowed  finite before, and inf or nan after
    cosine      between the array and what the format makes of it, where both are finite; nan where one of them is 0
    """

    values: int
    zero: int
    odd: int
    lost: int
    short: int
    overflowed: int
    cosine: float

    @property
    def nonzero(self) -> int:
        """Those that were neither 0 nor odd, of which the shares are."""
        return self.values - self.zero - self.odd

    @property
    def share_lost(self) -> float:
        """Of those that were neither 0 nor odd; 0.0 where there are none."""
        return self.lost / max(self.nonzero, 1)

    @property
    def share_short(self) -> float:
        """Of those that were neither 0 nor odd; 0.0 where there are none."""
        return self.short / max(self.nonzero, 1)

    @property
    def share_overflowed(self) -> float:
        """Of those that were neither 0 nor odd; 0.0 where there are none."""
        return self.overflowed / max(self.nonzero, 1)


def counted(values: np.ndarray | Iterable[np.ndarray], kind: Format, scale: float = 1.0) -> Counts:
    """Count what becomes of float32 numbers that are multiplied by `scale` and rounded to a format.

    values  an array of any shape, or several, which are counted as one; what is no float32 is made that first

    The product is a float32, too, as a scaled loss makes it. It takes memory for a few hundred thousand numbers.
    """
    numbers = np.zeros(6, np.int64)
    products = np.zeros(3)  # of the array with what becomes of it, and of each with itself
    for before in pieces(values):
        finite = np.isfinite(before)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            after = kind.rounded(before.astype(np.float64) * scale)
        size = np.abs(after)
        kept = np.isfinite(after)
        numbers += (
            before.size,
            np.count_nonzero(before == 0),
            np.count_nonzero(~finite),
            np.count_nonzero((after == 0) & (before != 0)),
            np.count_nonzero((size < kind.normal) & (size > 0) & finite),
            np.count_nonzero(finite & ~kept),
        )
        both = finite & kept
        x, y = (before, after) if both.all() else (before[both], after[both])
        x = x.astype(np.float64)  # squares of float32's numbers are far from this type's limits
        products += [np.einsum("i,i", a, b) for a, b in ((x, y), (x, x), (y, y))]  # BLAS would start threads
    between, ours, theirs = products
    cosine = float(between / np.sqrt(ours) / np.sqrt(theirs)) if ours and theirs else float("nan")
    return Counts(*map(int, numbers), cosine=min(cosine, 1.0))  # rounding leads beyond it; nan stays nan


def histogram(values: np.ndarray | Iterable[np.ndarray]) -> np.ndarray:
    """How many of float32 numbers have each binary exponent: (277,) whole numbers, of LEAST to MOST. 2.0 to 4.0,
    without 4.0, have the exponent 1. Zeros, inf and nan are left out."""
    found = np.zeros(MOST - LEAST + 1, np.int64)
    for part in pieces(values):
        size = np.abs(part)
        _, exponents = np.frexp(size[(size > 0) & np.isfinite(size)])
        found += np.bincount(exponents.astype(np.int64) - 1 - LEAST, minlength=len(found))
    return found


def scaled(values: np.ndarray | Iterable[np.ndarray], scale: float) -> Iterator[np.ndarray]:
    """float32 numbers multiplied by `scale`, in pieces: as float32, as a scaled loss makes them. One may become inf."""
    for part in pieces(values):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            yield (part.astype(np.float64) * scale).astype(np.float32)


def pieces(values: np.ndarray | Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """One array after the other, as float32, in flat pieces of a size that fits into a processor's cache."""
    for array in [values] if isinstance(values, np.ndarray) else values:
        flat = np.asarray(array).reshape(-1)
        for start in range(0, flat.size, _AT_ONCE):
            with np.errstate(over="ignore", under="ignore"):
                yield flat[start : start + _AT_ONCE].astype(np.float32, copy=False)
