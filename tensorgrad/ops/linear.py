"""The layer of a network that has all its weights in one matrix."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.dtypes import common_dtype, sum_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.node import operand, quiet, record
from tensorgrad.ops.arithmetic import add
from tensorgrad.ops.linalg import matmul
from tensorgrad.ops.operands import composed, is_lifted
from tensorgrad.ops.transposing import T
from tensorgrad.remembering import remembered
from tensorgrad.shapes import broadcasts_to

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """input @ weight.T + bias: (..., n) with weights (m, n) and a bias (m,) gives (..., m); weights (n,) give (...).

    All axes before the last are taken as one, so that forward and backward are one product of matrices each.
    Raises ShapeError for shapes that do not fit.
    """
    operands = [operand(x, "linear") for x in ((input, weight) if bias is None else (input, weight, bias))]
    shapes = [x._data.shape for x in operands]
    out_shape = _result_shape(*shapes)
    if is_lifted(*operands):
        return composed("linear", _linear, *operands)
    arrays = [x._data for x in operands]
    dtype = common_dtype(arrays)
    run = sum_dtype(dtype) if dtype.kind == "f" else dtype  # of float16, float32
    x, w = arrays[:2]
    x_shape, w_shape = shapes[:2]
    n, count, m = x_shape[-1], prod(x_shape[:-1]), prod(w_shape[:-1])
    x_rows, w_rows, out_rows = (count, n), (m, n), (count, m)

    def compute() -> np.ndarray:
        out = _shaped(_matrix(x, x_rows, run) @ _matrix(w, w_rows, run).T, out_shape)
        if bias is not None:
            out += arrays[2]
        return out if out.dtype is dtype else out.astype(dtype)

    out = remembered("linear", compute, operands)
    of_x = operands[0], lambda g: _shaped(_matrix(g, out_rows, run) @ _matrix(w, w_rows, run), x_shape)
    of_w = operands[1], lambda g: _shaped(_matrix(g, out_rows, run).T @ _matrix(x, x_rows, run), w_shape)
    if bias is None:
        return record("linear", out, of_x, of_w)
    return record("linear", out, of_x, of_w, (operands[2], lambda g: g))


def _matrix(a: np.ndarray, shape: tuple[int, int], run: np.dtype) -> np.ndarray:
    """`a` as a matrix in the dtype in which products run. Rules do it anew each time, since that may be a copy."""
    return _shaped(a if a.dtype is run else a.astype(run), shape)


def _shaped(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`a` in `shape`; itself, not a view, where it has it."""
    return a if a.shape == shape else a.reshape(shape)


def _linear(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """The composed twin."""
    product = matmul(x, T(w))
    return product if b is None else add(product, b)


def _result_shape(x: tuple[int, ...], w: tuple[int, ...], b: tuple[int, ...] = ()) -> tuple[int, ...]:
    if len(w) not in (1, 2):
        raise ShapeError(f"linear: weight of shape {w}: it has the axes (outputs, inputs), or (inputs,) for one output")
    if not x or x[-1] != w[-1]:
        hint = "; the weight is transposed: (outputs, inputs)" if x and len(w) == 2 and x[-1] == w[0] else ""
        raise ShapeError(
            f"linear: input of shape {x} and weight of shape {w}: the last axis of both is the inputs', and must be "
            f"equal{hint}"
        )
    out = (*x[:-1], *w[:-1])
    if not broadcasts_to(b, out):
        raise ShapeError(f"linear: bias of shape {b} for a result of shape {out}: give one number an output")
    return out
