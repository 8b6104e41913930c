"""What there is to say about an array in a few words: statistics, and its elements as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def norm(array: np.ndarray) -> float:
    """The square root of the sum of squares, scaled so that the squares cannot overflow; 0 of an empty array."""
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
