"""Triangles and diagonals of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, operand, record
from tensorgrad.ops.axes import normalize_one
from tensorgrad.settings import whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def tril(x: Any, diagonal: int = 0) -> Tensor:
    """The matrix, or each of a batch, with zeros above a diagonal: 0 is the main one, 1 the next above it.

    What is left out may be inf or nan. Raises ShapeError for fewer than two axes.
    """
    x, k = _matrices("tril", x, diagonal)
    return record("tril", np.tril(x._data, k), (x, lambda g: np.tril(g, k)))


def triu(x: Any, diagonal: int = 0) -> Tensor:
    """The matrix, or each of a batch, with zeros below a diagonal: 0 is the main one, 1 the next above it.

    What is left out may be inf or nan. Raises ShapeError for fewer than two axes.
    """
    x, k = _matrices("triu", x, diagonal)
    return record("triu", np.triu(x._data, k), (x, lambda g: np.triu(g, k)))


def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals of the matrices in the axes dim1 and dim2, as the last axis; `offset` counts upwards. A view.

    Raises ShapeError for fewer than two axes, ValueError where the two are one.
    """
    x, k = _matrices("diagonal", x, offset)
    shape = x._data.shape
    i, j = (normalize_one("diagonal", d, shape) for d in (dim1, dim2))
    if i == j:
        raise ValueError(f"diagonal: dim1 {dim1} and dim2 {dim2} of shape {shape} are one axis")

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, dtype=g.dtype)
        _writable_diagonal(sent, k, i, j)[...] = g
        return sent

    return record("diagonal", _writable_diagonal(x._data, k, i, j), (x, rule))


def diag(x: Any, diagonal: int = 0) -> Tensor:
    """Of a vector the square matrix with it on a diagonal and zeros elsewhere; of a matrix that diagonal, copied.

    Raises ShapeError for other ranks.
    """
    x = operand(x, "diag")
    a = x._data
    k = whole("diag", "diagonal", diagonal)
    if a.ndim not in (1, 2):
        raise ShapeError(f"diag: of a vector or a matrix, this tensor has shape {a.shape}: use diagonal for a batch")
    if a.ndim == 1:
        return record("diag", np.diag(a, k), (x, lambda g: np.diagonal(g, k)))
    shape = a.shape

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, dtype=g.dtype)
        _writable_diagonal(sent, k, 0, 1)[...] = g
        return sent

    return record("diag", np.diagonal(a, k).copy(), (x, rule))


def _matrices(op: str, x: Any, offset: int) -> tuple[ArrayNode, int]:
    x = operand(x, op)
    k = whole(op, "the diagonal", offset)
    if x._data.ndim < 2:
        raise ShapeError(f"{op}: of matrices, with at least two axes; this tensor has shape {x._data.shape}")
    most = max(x._data.shape)
    return x, min(max(k, -most), most)


def _writable_diagonal(a: np.ndarray, offset: int, i: int, j: int) -> np.ndarray:
    """np.diagonal, which locks its view for historical reasons."""
    view = np.diagonal(a, offset, i, j)
    view.flags.writeable = a.flags.writeable
    return view
