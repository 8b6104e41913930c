"""Numbers and arrays as the stepper page shows them: each different one stored once."""

from __future__ import annotations

import hashlib
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

MOST_CELLS = 200_000
"""Of the heat maps of one page; those of later arrays have few cells."""

_MOST_CHARACTERS_IN_NODE = 26  # of an array's elements
_MOST_CHARACTERS_ON_EDGE = 20
_FEW_DIGITS = 4
_MATRIX_DIGITS = 3  # four columns fit the panel
_MOST_WHOLE = 1_024  # elements of an array with a cell for each
_SIDE = 24  # cells along each side of the heat map of a larger array
_SMALL_SIDE = 8  # the same, once the page has its fill


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
    """The numbers and arrays of the page; two have the same index exactly when they are equal.

    A number of a scalar node is stored as itself (see `plain`): the page makes its texts. An array is stored as a
    record, see `_describe`.

    cells    how many cells the heat maps have so far
    sampled  whether an array got fewer cells than it would have on a page with fewer arrays
    """

    def __init__(self) -> None:
        super().__init__()
        self.cells = 0
        self.sampled = False

    def of(self, q: Quantity | None) -> int | None:
        """The place of `q`, None for None."""
        if q is None:
            return None
        values = np.asarray(q, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
        values = np.where(np.isnan(values), np.nan, values)  # of the many nans, one
        if not isinstance(q, np.ndarray):
            key = (False, values.tobytes())
            return self._index[key] if key in self._index else self.index(key, plain(values.item()))
        dtype = str(q.dtype)
        key = (True, dtype, values.shape, _digest(values))
        if key not in self._index:
            record = _describe(values, dtype)
            if values.size > 1:
                record["grid"] = self._grid(values)
            self.index(key, record)
        return self._index[key]

    def _grid(self, values: np.ndarray) -> dict[str, Any]:
        """The heat map of an array, which is smaller once the page has enough of them."""
        side = None if values.size <= _MOST_WHOLE else _SIDE
        if self.cells + min(values.size, _MOST_WHOLE) > MOST_CELLS and values.size > _SMALL_SIDE**2:
            side, self.sampled = _SMALL_SIDE, True
        found = grid(values, side)
        self.cells += len(found["values"])
        return found


def plain(x: float) -> float | str:
    """`x` as JSON can hold it: nan and the infinities by name."""
    return x if np.isfinite(x) else repr(x)


def grid(values: np.ndarray, side: int | None = None) -> dict[str, Any]:
    """An array as a heat map: as a matrix, where it has more axes its matrices below each other.

    side     how many cells it may have along each side; None for a cell for each element

    rows, columns  how many cells there are
    values         what they hold, row by row, in four digits; nan and the infinities by name
    exact          whether each cell is one element; else each is the element of greatest magnitude in its block
    note           what a cell is, where it is a block
    shape          the array's
    block          how many rows and columns of the matrix go into a cell
    """
    matrix = values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)
    height, width = _block(matrix.shape, side)
    cells = matrix if height == width == 1 else _largest(matrix, height, width)
    exact = cells is matrix
    return {
        "rows": cells.shape[0],
        "columns": cells.shape[1],
        "values": [_rounded(x) for x in cells.ravel().tolist()],
        "exact": exact,
        "note": "" if exact else f"each cell: the largest of {min(height, len(matrix))} × {width}",
        "shape": list(values.shape),
        "block": [height, width],
    }


def _block(size: tuple[int, ...], side: int | None) -> tuple[int, int]:
    """How many rows and columns go into one cell, so that there are at most `side` each way. A vector may have as many
    cells as a matrix: the page breaks it into lines."""
    if side is None:
        return 1, 1
    rows, columns = size
    if rows == 1:
        return 1, -(-columns // side**2)
    if columns == 1:
        return -(-rows // side**2), 1
    return -(-rows // side), -(-columns // side)


def _largest(matrix: np.ndarray, height: int, width: int) -> np.ndarray:
    """The element of greatest magnitude in each block; nan where a block holds one."""
    rows, columns = -(-matrix.shape[0] // height), -(-matrix.shape[1] // width)
    margin = ((0, rows * height - matrix.shape[0]), (0, columns * width - matrix.shape[1]))

    def blocks(array: np.ndarray, outside: float) -> np.ndarray:
        padded = np.pad(array, margin, constant_values=outside)
        return padded.reshape(rows, height, columns, width).swapaxes(1, 2).reshape(rows, columns, -1)

    parts = blocks(matrix, 0.0)
    lacks = np.isnan(matrix)
    found = blocks(np.where(lacks, -1.0, np.abs(matrix)), -1.0).argmax(axis=-1)
    largest = np.take_along_axis(parts, found[..., None], axis=-1)[..., 0]
    return np.where(blocks(lacks, False).any(axis=-1), np.nan, largest)


def _rounded(x: float) -> float | int | str:
    """`x` in four digits, as short as JSON can write it."""
    if not np.isfinite(x):
        return repr(x)
    near = float(f"{x:.{_FEW_DIGITS}g}")
    return int(near) if near.is_integer() and abs(near) < 1e6 else near


def _digest(values: np.ndarray) -> bytes:
    """What stands for the elements of an array: of a large one, not all of them are kept."""
    raw = np.ascontiguousarray(values).tobytes()
    return raw if len(raw) <= 64 else hashlib.sha256(raw).digest()


def _describe(values: np.ndarray, dtype: str) -> dict[str, Any]:
    """An array as the page shows it.

    text   with a fixed number of decimals, for nodes and tables
    short  for equations
    chip   for an edge: with its sign
    sign   1, 0 or -1; null where there is none to speak of; 0 of an array means that all of it is zero
    shape  as Python writes it
    dtype  the name of its dtype
    value  of a single element, that as a number, see `plain`
    stats  of several: least, greatest, mean, norm, the share of zeros
    rows   the elements of a small array, a line of text for each row
    more   what stands for the elements of a large one
    grid   of several elements: the heat map, see `grid`
    odd    "nan" and "inf", those of them that it holds; absent where all is finite
    """
    record: dict[str, Any]
    if is_single(values):
        x = values.item()
        sign = None if np.isnan(x) else int(np.sign(x))
        record = {"text": text.number(x), "short": text.short(x), "chip": text.signed(x, _FEW_DIGITS), "sign": sign}
        record["value"] = plain(x)
    else:
        line = _written_out(values, _MOST_CHARACTERS_IN_NODE) or in_words(values)
        chip = _written_out(values, _MOST_CHARACTERS_ON_EDGE) or norm_in_words(values)
        record = {"text": line, "short": line, "chip": chip, "sign": None if values.any() else 0}
    if odd := _odd(values):
        record["odd"] = odd
    record["shape"] = shape(values)
    record["dtype"] = dtype
    if values.size > 1:
        record["stats"] = _summary(values)
    if values.size > MOST_IN_PANEL:
        record["more"] = record["stats"]
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
