"""Rows of a table by number, and numbers as rows of zeros with a one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import ShapeError
from tensorgrad.node import new, operand, record
from tensorgrad.ops.keys import add_rows, positions, scattered
from tensorgrad.ops.targets import check_range
from tensorgrad.placing import Placing
from tensorgrad.settings import whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` (rows, width) with the numbers in `input`: of shape (*input.shape, width).

    A row that is read several times receives the sum of what comes back; row `padding_idx` receives nothing.
    Raises IndexError for a number that names no row, DtypeError for numbers that are not whole.
    """
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError(
            "embedding: max_norm, scale_grad_by_freq and sparse are not here; to limit rows, scale the weight by hand "
            "under no_grad()"
        )
    w = operand(weight, "embedding")
    table = w._data
    if table.ndim != 2:
        raise ShapeError(f"embedding: weight of shape {table.shape}: it needs the axes (rows, width)")
    where = positions("embedding", input, "the numbers of rows")
    check_range("embedding", "row", where, len(table), "rows")
    if padding_idx is not None:
        padding_idx = _row("embedding", padding_idx, len(table))
    out = table[where]
    if table.dtype == object and padding_idx is not None:
        padded = where == padding_idx
        out[padded] = lift.numbers(out[padded])
    shape = table.shape

    def make(g: np.ndarray) -> np.ndarray:
        sent = scattered(shape, (where,), g)
        if padding_idx is not None:
            sent[padding_idx] = 0
        return sent

    def add(total: np.ndarray, g: np.ndarray) -> None:
        if padding_idx is None:
            add_rows(total, where, g)
        else:
            live = where != padding_idx
            add_rows(total, where[live], g[live])

    return record("embedding", out, (w, Placing(make, add)))


def one_hot(input: Any, num_classes: int = -1) -> Tensor:
    """For each whole number k in `input` a row of `num_classes` zeros with a one in place k, as int64.

    With num_classes=-1 there are as many as the largest number asks for. Raises IndexError for a number that is not
    from 0 to num_classes - 1, ValueError where there is nothing to count the classes by.
    """
    found = positions("one_hot", input, "classes")
    num_classes = whole("one_hot", "num_classes", num_classes)
    if num_classes == -1:
        if found.size == 0:
            raise ValueError(f"one_hot: input of shape {found.shape} holds no class to count by: give num_classes")
        num_classes = max(int(found.max()), 0) + 1
    if num_classes < 0 or (num_classes == 0 and found.size):
        raise ValueError(f"one_hot: num_classes must be 1 or more, or -1 to count them, got {num_classes}")
    check_range("one_hot", "class", found, num_classes, "classes")
    out = np.zeros((found.size, num_classes), dtype=np.int64)
    out[np.arange(found.size), found.ravel()] = 1
    return new(out.reshape(*found.shape, num_classes))


def _row(op: str, number: int, rows: int) -> int:
    number = whole(op, "padding_idx", number)
    if not -rows <= number < rows:
        raise IndexError(f"{op}: padding_idx {number} names no row of {rows}")
    return number % rows
