"""What rounding does to an array of gradients: how many of its numbers are lost, and a histogram of their exponents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from precision_lab.formats import Format

LEAST, MOST = -149, 127
"""Binary exponents of float32's positive numbers: 2**-149 is the smallest."""


@dataclass(frozen=True)
class Counts:
    """Numbers of one array in one format, after multiplication by a scale.

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
    def share_lost(self) -> float:
        """Of those that were neither 0 nor odd; 0.0 where there are none."""
        return self.lost / max(self.values - self.zero - self.odd, 1)

    @property
    def share_overflowed(self) -> float:
        """Of those that were neither 0 nor odd; 0.0 where there are none."""
        return self.overflowed / max(self.values - self.zero - self.odd, 1)


def counted(values: np.ndarray, kind: Format, scale: float = 1.0) -> Counts:
    """Count what becomes of float32 numbers, of any shape, that are multiplied by `scale` and rounded to a format."""
    before = np.asarray(values, np.float32).astype(np.float64).ravel()
    finite = np.isfinite(before)
    after = kind.rounded(before * scale)
    size = np.abs(after)
    both = finite & np.isfinite(after)
    return Counts(
        values=before.size,
        zero=int(np.count_nonzero(before == 0)),
        odd=int(np.count_nonzero(~finite)),
        lost=int(np.count_nonzero((before != 0) & (after == 0))),
        short=int(np.count_nonzero(finite & (size > 0) & (size < kind.normal))),
        overflowed=int(np.count_nonzero(finite & ~np.isfinite(after))),
        cosine=_cosine(before[both], after[both]),
    )


def histogram(values: np.ndarray) -> np.ndarray:
    """How many of float32 numbers have each binary exponent: (277,) whole numbers, of LEAST to MOST. 2.0 to 4.0,
    without 4.0, have the exponent 1. Zeros, inf and nan are left out."""
    size = np.abs(np.asarray(values, np.float32)).ravel()
    _, exponents = np.frexp(size[(size > 0) & np.isfinite(size)])
    return np.bincount(exponents.astype(np.int64) - 1 - LEAST, minlength=MOST - LEAST + 1)


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = [float(np.abs(x).max(initial=0.0)) for x in (a, b)]
    if not all(lengths):
        return float("nan")
    a, b = a / lengths[0], b / lengths[1]
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))
