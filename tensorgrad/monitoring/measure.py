"""What is measured of one array: its norm, its zeros, and what in it is not finite."""

from __future__ import annotations

import math

import numpy as np


def norm(a: np.ndarray) -> float:
    """The Euclidean norm of all elements; inf or nan only where an element is.

    In one sum, which is exact enough to be shown; clipping (`nn.utils`) sums in pieces, and takes longer. Whoever calls
    it keeps NumPy quiet about squares that overflow: it is called some hundred times a step.
    """
    flat = a.reshape(-1)
    if flat.dtype == np.float16:
        flat = flat.astype(np.float32)
    total = float(flat.dot(flat))
    if 1e-30 < total < math.inf or not flat.size:
        return math.sqrt(total)
    largest = float(np.abs(flat).max())  # squares vanished or overflowed, or there is nothing but zeros
    if not 0 < largest < math.inf:
        return largest
    scaled = flat.astype(np.float64) / largest
    return largest * math.sqrt(float(scaled.dot(scaled)))


def share_of_zeros(a: np.ndarray) -> float:
    """How many of the elements are exactly 0, as a share."""
    return np.count_nonzero(a == 0) / a.size if a.size else 0.0


def nonfinite(a: np.ndarray) -> int:
    """How many elements are inf or nan."""
    return int(a.size - np.count_nonzero(np.isfinite(a)))
