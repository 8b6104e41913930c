"""Long runs in a picture: a column of pixels for several steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MOST = 600
"""Columns of a picture, about one a pixel."""


@dataclass(frozen=True)
class Columns:
    """Which steps share a column: those from `starts[i]` up to `starts[i + 1]` or the end, by their places."""

    starts: np.ndarray
    steps: int

    @property
    def size(self) -> int:
        """How many steps a column holds at most."""
        return int(np.diff(self.starts, append=self.steps).max(initial=1))

    def firsts(self, x: np.ndarray) -> np.ndarray:
        """The first of each column's elements of `x` (S,)."""
        return x[self.starts]

    def lasts(self, x: np.ndarray) -> np.ndarray:
        """The last of each column's elements of `x` (S,)."""
        return x[np.append(self.starts[1:], self.steps)[: len(self.starts)] - 1]

    def median(self, values: Any) -> np.ma.MaskedArray:
        """The medians by column of `values` (..., S), of what is not masked; inf where any of it is not finite."""
        values = np.ma.asarray(values)
        odd = ~np.isfinite(values.filled(0.0))
        sound = np.ma.masked_array(np.where(odd, 0.0, values.filled(0.0)), np.ma.getmaskarray(values))
        if self.size > 1:
            sound = np.ma.stack([np.ma.median(part, axis=-1) for part in self._parts(sound)], axis=-1)
            odd = np.stack([part.any(axis=-1) for part in self._parts(odd)], axis=-1)
        sound[odd] = np.inf
        return sound

    def reach(self, values: Any) -> tuple[np.ma.MaskedArray, np.ma.MaskedArray]:
        """The least and the greatest finite value of each column of `values` (S,)."""
        finite = np.ma.masked_invalid(values)
        if self.size == 1:
            return finite, finite
        parts = self._parts(finite)
        return np.ma.stack([part.min() for part in parts]), np.ma.stack([part.max() for part in parts])

    def _parts(self, values: Any) -> list[Any]:
        ends = np.append(self.starts[1:], self.steps)
        return [values[..., start:end] for start, end in zip(self.starts, ends, strict=True)]


def columns(steps: int, most: int = MOST) -> Columns:
    """At most `most` columns of nearly the same number of steps each."""
    number = min(steps, most)
    return Columns(np.arange(number, dtype=np.int64) * steps // max(number, 1), steps)
