"""Products of matrices and vectors."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import common_dtype, result_dtype, sum_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, Rule, operand, quiet, record
from tensorgrad.ops.operands import pair
from tensorgrad.remembering import remembered
from tensorgrad.settings import real
from tensorgrad.shapes import broadcasts_to, unbroadcast

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def matmul(x: Any, y: Any) -> Tensor:
    """x @ y for every rank from 1 up: a vector on the left is a row, on the right a column, and the axis that this
    adds is left out of the result; axes before the last two are broadcast. Of float16, computed in float32.

    Raises ShapeError for 0-d operands and for shapes that do not fit.
    """
    return _matmul("matmul", operand(x, "matmul"), operand(y, "matmul"))


def mm(x: Any, y: Any) -> Tensor:
    """The product of two matrices: (n, k) with (k, m) gives (n, m). Raises ShapeError for other ranks."""
    return _matmul("mm", *_ranked("mm", (x, y), (2, 2)))


def bmm(x: Any, y: Any) -> Tensor:
    """The products of two rows of matrices: (b, n, k) with (b, k, m) gives (b, n, m).

    Raises ShapeError for other ranks, and for different b, which are not broadcast here.
    """
    x, y = _ranked("bmm", (x, y), (3, 3))
    a, b = x._data.shape, y._data.shape
    if a[0] != b[0]:
        raise ShapeError(
            f"bmm: shapes {a} and {b}: the first axes ({a[0]} and {b[0]}) must be equal; matmul broadcasts"
        )
    return _matmul("bmm", x, y)


def mv(x: Any, y: Any) -> Tensor:
    """A matrix times a vector: (n, k) with (k,) gives (n,). Raises ShapeError for other ranks."""
    return _matmul("mv", *_ranked("mv", (x, y), (2, 1)))


def dot(x: Any, y: Any) -> Tensor:
    """The sum of the products of two vectors of equal length. Raises ShapeError for other ranks."""
    return _matmul("dot", *_ranked("dot", (x, y), (1, 1)))


@quiet
def outer(x: Any, y: Any) -> Tensor:
    """All products of an element of the vector x with one of the vector y: (n,) with (m,) gives (n, m).

    Raises ShapeError for other ranks.
    """
    x, y, a, b = pair("outer", *_ranked("outer", (x, y), (1, 1)))
    return record("outer", np.multiply.outer(a, b), (x, lambda g: g @ b), (y, lambda g: a @ g))


@quiet
def addmm(input: Any, x: Any, y: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (x @ y), of matrices x and y; `input` is broadcast. With beta = 0 it is not read: inf and
    nan in it do not count.

    Raises ShapeError for shapes that do not fit.
    """
    x, y = _ranked("addmm", (x, y), (2, 2))
    beta, alpha = real("addmm", "beta", beta), real("addmm", "alpha", alpha)
    c = operand(input, "addmm", x)
    dtype = common_dtype([c._data, x._data, y._data])
    run = sum_dtype(dtype) if dtype.kind == "f" else dtype
    a, b = x._data, y._data
    _batch("addmm", a.shape, b.shape)
    product = a.astype(run, copy=False) @ b.astype(run, copy=False)
    if not broadcasts_to(c._data.shape, product.shape):
        raise ShapeError(f"addmm: input of shape {c._data.shape} does not broadcast to {product.shape}, that of x @ y")
    out = lift.nodes(product) if dtype.kind == "O" else product
    out = alpha * out if alpha != 1 else out
    out = out + beta * c._data if beta != 0 else out
    return record(
        "addmm",
        np.asarray(out, dtype=dtype),
        (c, lambda g: g * beta),
        (x, lambda g: (g @ b.T.astype(run, copy=False)) * alpha),  # widened anew: the rules hold the operands alone
        (y, lambda g: (a.T.astype(run, copy=False) @ g) * alpha),
    )


def trace(x: Any) -> Tensor:
    """The sum of the diagonal of a matrix. Raises ShapeError for other ranks."""
    (x,) = _ranked("trace", (x,), (2,))
    a = x._data
    shape, run = a.shape, sum_dtype(a.dtype)
    out = np.asarray(a.diagonal().sum(dtype=run))
    out = lift.nodes(out) if a.dtype == object else out.astype(a.dtype) if a.dtype == np.float16 else out

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, g.dtype)
        np.fill_diagonal(sent[: shape[1]], g)  # of a high matrix NumPy would go on below the square
        return sent

    return record("trace", out, (x, rule))


# -- what they share ---------------------------------------------------------------------------------------------------


@quiet
def _matmul(op: str, x: ArrayNode, y: ArrayNode) -> Tensor:
    """The product, under the name "@" in the graph; `op` is what an error calls it."""
    a, b = x._data, y._data
    dtype = result_dtype(a, b)
    run = sum_dtype(dtype) if dtype.kind == "f" else dtype
    # two matrices of one dtype: nothing to broadcast, to cast or to sum, which takes longer than a small product
    if a.ndim == b.ndim == 2 and a.shape[1] == b.shape[0] and run is a.dtype is b.dtype and run.kind == "f":
        out = remembered("matmul", lambda: a @ b, (x, y))
        return record("@", out, (x, lambda g: g @ b.T), (y, lambda g: a.T @ g))
    batch = _batch(op, a.shape, b.shape)
    rows = a[None, :] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    full = (*batch, rows.shape[-2], columns.shape[-1])
    out_shape = (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))

    def compute() -> np.ndarray:
        out = _product(rows.astype(run, copy=False), columns.astype(run, copy=False), full).astype(dtype, copy=False)
        return out if out_shape == full else out.reshape(out_shape)

    out = lift.nodes(compute()) if dtype.kind == "O" else remembered("matmul", compute, (x, y))
    rule_x = _for_rows(columns, run, rows.shape, full, a.shape)
    rule_y = _for_columns(rows, run, columns.shape, full, b.shape)
    return record("@", out, (x, rule_x), (y, rule_y))


def _for_rows(
    columns: np.ndarray, run: np.dtype, rows: tuple[int, ...], full: tuple[int, ...], shape: tuple[int, ...]
) -> Rule:
    """What a product sends to its first operand, g @ columns.T, computed in `run`; it holds the second one alone."""

    def rule(g: np.ndarray) -> np.ndarray:
        g = g.reshape(full).astype(run, copy=False)
        sent = _product(g, columns.astype(run, copy=False).swapaxes(-1, -2), (*full[:-1], rows[-1]))
        return unbroadcast(sent, rows).reshape(shape)

    return rule


def _for_columns(
    rows: np.ndarray, run: np.dtype, columns: tuple[int, ...], full: tuple[int, ...], shape: tuple[int, ...]
) -> Rule:
    """What a product sends to its second operand, rows.T @ g, computed in `run`; it holds the first one alone."""

    def rule(g: np.ndarray) -> np.ndarray:
        g, wide = g.reshape(full).astype(run, copy=False), rows.astype(run, copy=False)
        if len(columns) == 2 and wide.shape[:-1] == full[:-1]:  # one matrix for all rows: one product, not a sum
            n = prod(full[:-1])
            return (wide.reshape(n, columns[0]).T @ g.reshape(n, columns[1])).reshape(shape)
        return unbroadcast(wide.swapaxes(-1, -2) @ g, columns).reshape(shape)

    return rule


def _product(rows: np.ndarray, columns: np.ndarray, full: tuple[int, ...]) -> np.ndarray:
    """rows @ columns; with one matrix of columns, all rows are taken as one matrix."""
    if columns.ndim == 2 < rows.ndim:
        return (rows.reshape(prod(rows.shape[:-1]), rows.shape[-1]) @ columns).reshape(full)
    return rows @ columns


def _ranked(op: str, operands: tuple[Any, ...], ranks: tuple[int, ...]) -> list[ArrayNode]:
    """The operands, if they have these numbers of axes. Raises ShapeError if not."""
    tensors = [operand(x, op) for x in operands]
    shapes = [x._data.shape for x in tensors]
    if tuple(map(len, shapes)) != ranks:
        wanted = " and ".join(f"{n} {'axis' if n == 1 else 'axes'}" for n in ranks)
        hint = "" if len(ranks) == 1 else "; matmul takes every rank"
        raise ShapeError(
            f"{op}: takes {wanted}, got {'shapes' if len(ranks) > 1 else 'shape'} "
            f"{' and '.join(map(str, shapes))}{hint}"
        )
    return tensors


def _batch(op: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a product before its rows and columns. Raises ShapeError for operands that do not fit."""
    if not a or not b:
        raise ShapeError(f"{op}: shapes {a} and {b}: a 0-d operand has no axis to sum over; use *")
    inner = b[-2] if len(b) > 1 else b[-1]
    if a[-1] != inner:
        raise ShapeError(
            f"{op}: shapes {a} and {b}: the last axis of the first ({a[-1]}) and axis {'-2' if len(b) > 1 else '0'} "
            f"of the second ({inner}) must be equal; transpose one of them?"
        )
    if a[:-2] == b[:-2]:
        return a[:-2]
    try:
        return np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise ShapeError(f"{op}: shapes {a} and {b}: the axes before the last two do not broadcast") from None
