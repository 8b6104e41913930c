"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import result_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.node import operand, quiet, record, unbroadcast

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def matmul(x: Any, y: Any) -> Tensor:
    """x @ y for every rank from 1 up: a vector on the left is a row, on the right a column, and the axis that this
    adds is left out of the result; axes before the last two are broadcast.

    Raises ShapeError for 0-d operands and for shapes that do not fit.
    """
    x, y = operand(x, "matmul"), operand(y, "matmul")
    dtype = result_dtype(x._data, y._data)
    a, b = x._data.astype(dtype, copy=False), y._data.astype(dtype, copy=False)
    _check(a.shape, b.shape)
    rows = a[None, :] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    full = (*np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2]), rows.shape[-2], columns.shape[-1])

    # g @ columns.T and rows.T @ g, where g is the gradient with the axes of vectors put back
    def rule_x(g: np.ndarray) -> np.ndarray:
        return unbroadcast(g.reshape(full) @ columns.swapaxes(-1, -2), rows.shape).reshape(a.shape)

    def rule_y(g: np.ndarray) -> np.ndarray:
        return unbroadcast(rows.swapaxes(-1, -2) @ g.reshape(full), columns.shape).reshape(b.shape)

    out = a @ b
    if dtype.kind == "O":
        out = lift.nodes(out)
    return record("@", out, (x, rule_x), (y, rule_y))


def _check(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    if not a or not b:
        raise ShapeError(f"matmul: shapes {a} and {b}: a 0-d operand has no axis to sum over; use *")
    inner = b[-2] if len(b) > 1 else b[-1]
    if a[-1] != inner:
        raise ShapeError(
            f"matmul: shapes {a} and {b}: the last axis of the first ({a[-1]}) and axis {'-2' if len(b) > 1 else '0'} "
            f"of the second ({inner}) must be equal; transpose one of them?"
        )
    try:
        np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise ShapeError(f"matmul: shapes {a} and {b}: the axes before the last two do not broadcast") from None
