"""Arrays as text: the elements where they are few, else what there is to say about them in a few words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz import text

Quantity = float | np.ndarray
"""A number for a scalar node, an array for a tensor node."""

# How many elements of an array are written out: more would not fit.
MOST_IN_LINE = 6  # a line of text
MOST_ON_EDGE = 4  # an edge of a picture
MOST_IN_BOX = 12  # a node of a picture
MOST_IN_PANEL = 64  # the panel of a page

_DIGITS = 4  # of an element, or of a norm, within a line


def is_single(q: Quantity) -> bool:
    """Whether `q` is one number: a scalar node's, or an array's with a single element."""
    return np.size(q) == 1


def shape(q: Quantity) -> str:
    """The shape as Python writes it, e.g. (4, 3); of a scalar ()."""
    return str(np.shape(q))


def nested(array: np.ndarray, digits: int = _DIGITS) -> str:
    """The elements on one line, as Python would write them: [[1, 2], [3, 4]]."""
    if array.ndim == 0:
        return text.short(array.item(), digits)
    return f"[{', '.join(nested(np.asarray(part), digits) for part in array)}]"


def in_words(array: np.ndarray) -> str:
    """Shape and norm, for an array whose elements are too many: (4, 5) norm 4.472."""
    return f"{shape(array)} {norm_in_words(array)}"


def norm_in_words(array: np.ndarray) -> str:
    """The norm, as in "norm 4.472"; of an array without elements that it has none."""
    return f"norm {text.short(norm(array), _DIGITS)}" if np.size(array) else "no elements"


def norm(array: np.ndarray) -> float:
    """The square root of the sum of squares, scaled so that the squares cannot overflow; 0 of an empty array."""
    array = np.asarray(array, dtype=np.float64)
    largest = float(np.abs(array).max(initial=0.0))
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.linalg.norm(np.ravel(array) / largest))


def statistics(array: np.ndarray) -> dict[str, float]:
    """Least, greatest, mean and norm of the elements that are finite; nothing where none is."""
    numbers = np.asarray(array, dtype=np.float64).ravel()
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return {}
    largest = float(np.abs(finite).max()) or 1.0  # dividing by it keeps the sum from overflowing
    mean = float((finite / largest).mean()) * largest
    return {"min": float(finite.min()), "max": float(finite.max()), "mean": mean, "norm": norm(finite)}


def oddities(array: np.ndarray) -> list[str]:
    """How many elements are nan or infinite, and the share of zeros, each in words; none of them are left out."""
    numbers = np.asarray(array, dtype=np.float64).ravel()
    counts = {"nan": np.isnan(numbers).sum(), "inf": np.isinf(numbers).sum()}
    lines = [f"{name} in {count} of {numbers.size}" for name, count in counts.items() if count]
    zeros = (numbers == 0).mean()
    return [*lines, f"zero {zeros:.0%}"] if zeros else lines


def matrices(rows: Sequence[str], shape: tuple[int, ...]) -> list[str]:
    """One line for each row of an array of `shape`, with an empty line between its matrices."""
    if len(shape) < 3:
        return list(rows)
    height = shape[-2]
    return [line for i, row in enumerate(rows) for line in (["", row] if i and i % height == 0 else [row])]
