"""Rows of a table read by number, and the gradient that comes back to the table: rows read often receive a sum."""

from __future__ import annotations

import numpy as np


class Rows:
    """table (V, C), numbers (N,); arrays are made once.

    The numbers of a batch are not known before, so their order is found in every step, and the sums of rows with equal
    numbers are taken by one call.
    """

    def __init__(self, table: np.ndarray, count: int) -> None:
        self.table = table
        self.out = np.empty((count, table.shape[1]), table.dtype)
        self.sorted = np.empty_like(self.out)
        self.gradient = np.empty_like(table)

    def forward(self, numbers: np.ndarray) -> np.ndarray:
        """The rows, (N, C)."""
        return np.take(self.table, numbers, 0, self.out, "clip")

    def backward(self, numbers: np.ndarray, g: np.ndarray) -> np.ndarray:
        """From the gradient of the rows (N, C) to that of the table."""
        order = np.argsort(numbers, kind="stable")
        named = numbers[order]
        np.take(g, order, 0, self.sorted, "clip")
        starts = np.flatnonzero(np.concatenate(([True], named[1:] != named[:-1])))
        self.gradient.fill(0)
        self.gradient[named[starts]] = np.add.reduceat(self.sorted, starts, 0)
        return self.gradient
