"""How many numbers of an array lie at each power of two, in so few whole numbers that a page can count from them, for
every scale that is a power of two, exactly what rounding to each format does.

A number is m * 2**e, 1 <= m < 2, and times 2**k it is m * 2**(e + k). So a limit of a format, "from here on it
overflows", is an exponent and an m, a cut: what lies beyond it is in the higher binades, or in its own with an m at or
above the cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from precision_lab.counts import LEAST, MOST, pieces
from precision_lab.formats import Format

Limit = tuple[int, float]
"""The exponent and the m of the least number that is beyond a limit."""


@dataclass(frozen=True)
class Tally:
    """Float32 numbers by their size.

    values, zero, odd  how many there are; of these exactly 0; inf or nan
    rows               (277, cuts): of the numbers with each binary exponent, LEAST to MOST, those with an m at or above
                       each cut; the first cut is 1, so the first column has all of them
    """

    values: int
    zero: int
    odd: int
    rows: np.ndarray

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.values + other.values, self.zero + other.zero, self.odd + other.odd, self.rows + other.rows)


def limits(kind: Format) -> tuple[Limit, Limit, Limit]:
    """The least number that is not rounded to 0, the least that is rounded to one with all digits, and the least that
    overflows.

    Times a scale below 1 a number may become one of float32's subnormals, and be rounded to these first: then what is
    half a step of float32 beside a limit is rounded onto it. Without that, no float32 lies so near.
    """
    below = kind.normal - kind.smallest / 2  # halfway between two of the format, and rounded up, to the even one
    steps = [float(np.spacing(np.float32(size))) / 2 for size in (kind.zero_to, below)]
    kept = np.nextafter(np.float32(1 + steps[0] / kind.zero_to), np.float32(2))
    full = np.float32((below - steps[1]) / (kind.normal / 2))
    m, exponent = np.frexp(kind.overflows_from)
    return (
        (_exponent(kind.zero_to), float(kept)),
        (_exponent(kind.normal) - 1, float(full)),
        (int(exponent) - 1, float(2 * m)),
    )


def cuts(kinds: Sequence[Format]) -> np.ndarray:
    """Every m at which a limit of these formats lies, and 1, in order, as float32."""
    return np.unique(np.array([1.0, *(m for kind in kinds for _, m in limits(kind))], np.float32))


def tally(values: np.ndarray, cuts: np.ndarray) -> Tally:
    """Count numbers of any shape, as float32."""
    found = Tally(0, 0, 0, np.zeros((MOST - LEAST + 1, len(cuts)), np.int64))
    for piece in pieces(np.asarray(values)):
        found = found + _tally(piece, cuts)
    return found


def _tally(flat: np.ndarray, cuts: np.ndarray) -> Tally:
    size = np.abs(flat)
    finite = np.isfinite(size)
    m, exponents = np.frexp(size[finite & (size > 0)])
    cells = (exponents.astype(np.int64) - 1 - LEAST) * len(cuts) + np.searchsorted(cuts, 2 * m, side="right") - 1
    counts = np.bincount(cells, minlength=(MOST - LEAST + 1) * len(cuts)).reshape(-1, len(cuts))
    return Tally(
        values=flat.size,
        zero=int(np.count_nonzero(size == 0)),
        odd=int(np.count_nonzero(~finite)),
        rows=counts[:, ::-1].cumsum(axis=1)[:, ::-1],
    )


def _exponent(power: float) -> int:
    """e of 2**e."""
    return int(np.frexp(power)[1]) - 1
