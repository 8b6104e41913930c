"""Numbers and arrays as the stepper page shows them: text in a few forms, each different one stored once."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz import text
from viz.arrays import (
    MOST_IN_LINE,
    MOST_IN_PANEL,
    Quantity,
    in_words,
    is_single,
    matrices,
    nested,
    norm_in_words,
    oddities,
    shape,
    statistics,
)

_MOST_CHARACTERS_IN_NODE = 26  # of an array's elements
_MOST_CHARACTERS_ON_EDGE = 20
_FEW_DIGITS = 4
_MATRIX_DIGITS = 3  # four columns fit the panel


class Interned:
    """A list in which equal entries stand once."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self._index: dict[Any, int] = {}

    def index(self, key: Any, record: Any = None) -> int:
        """The place of `record` (by default the key itself), which is added if the key is new."""
        if key not in self._index:
            self._index[key] = len(self.records)
            self.records.append(key if record is None else record)
        return self._index[key]


class Quantities(Interned):
    """The numbers and arrays of the page; two have the same index exactly when they are equal."""

    def of(self, q: Quantity | None) -> int | None:
        """The place of `q`, None for None."""
        if q is None:
            return None
        values = np.asarray(q, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
        values = np.where(np.isnan(values), np.nan, values)  # of the many nans, one
        is_array = isinstance(q, np.ndarray)
        key = (is_array, values.shape, values.tobytes())
        return self._index[key] if key in self._index else self.index(key, _describe(values, is_array))


def _describe(values: np.ndarray, is_array: bool) -> dict[str, Any]:
    """A quantity as the page shows it.

    text   with a fixed number of decimals, for nodes and tables
    short  for equations
    chip   for an edge: with its sign
    sign   1, 0 or -1; null where there is none to speak of; 0 of an array means that all of it is zero
    shape  of an array
    rows   the elements of a small array, a line of text for each row
    more   what stands for the elements of a large one
    odd    "nan" and "inf", those of them that it holds; absent where all is finite
    """
    if is_single(values):
        x = values.item()
        sign = None if np.isnan(x) else int(np.sign(x))
        record: dict[str, Any] = {"text": text.number(x), "short": text.short(x), "sign": sign}
        record["chip"] = text.signed(x, _FEW_DIGITS)
    else:
        line = _written_out(values, _MOST_CHARACTERS_IN_NODE) or in_words(values)
        chip = _written_out(values, _MOST_CHARACTERS_ON_EDGE) or norm_in_words(values)
        record = {"text": line, "short": line, "chip": chip, "sign": None if values.any() else 0}
    if odd := _odd(values):
        record["odd"] = odd
    if is_array:
        record["shape"] = shape(values)
        if values.size > MOST_IN_PANEL:
            record["more"] = _summary(values)
        elif values.size > 1:
            record["rows"] = _rows(values)
    return record


def _odd(values: np.ndarray) -> list[str]:
    """Which of "nan" and "inf" (of either sign) are among the elements."""
    return [name for name, found in (("nan", np.isnan(values)), ("inf", np.isinf(values))) if found.any()]


def _written_out(values: np.ndarray, most: int) -> str | None:
    """The elements on one line, None where that takes more than `most` characters."""
    if not 0 < values.size <= MOST_IN_LINE:
        return None
    line = nested(values)
    return line if len(line) <= most else None


def _rows(values: np.ndarray) -> list[str]:
    """One line for each row, columns aligned; an empty line between the matrices of an array of more axes."""
    rows = [[text.short(x, _MATRIX_DIGITS) for x in row] for row in values.reshape(-1, values.shape[-1])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(element.rjust(width) for element, width in zip(row, widths, strict=True)) for row in rows]
    return matrices(lines, values.shape)


def _summary(values: np.ndarray) -> str:
    figures = [f"{name} {text.short(x, _FEW_DIGITS)}" for name, x in statistics(values).items()]
    return ", ".join(figures + oddities(values))
