"""Normalisation of rows: to mean 0 and variance 1, to mean square 1, to length 1; and the cosine between two."""

from __future__ import annotations

from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import is_differentiable, sum_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, operand, quiet, record, record_joint
from tensorgrad.ops.arithmetic import add, div, mul, sub
from tensorgrad.ops.axes import Dims, either, normalize_one
from tensorgrad.ops.choosing import clamp
from tensorgrad.ops.functions import sqrt
from tensorgrad.ops.norms import vector_norm
from tensorgrad.ops.operands import apply, composed, is_lifted, pair
from tensorgrad.ops.reduce import mean
from tensorgrad.pieces import row_pieces
from tensorgrad.settings import real
from tensorgrad.sums import sum_over

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def layer_norm(
    input: Any, normalized_shape: int | tuple[int, ...], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """(input - mean) / sqrt(variance + eps) over the last axes, which `normalized_shape` gives, times `weight`, plus
    `bias`, both of that shape.

    The variance is the mean square (no n - 1). It is taken from differences from the mean, whose own mean is taken off
    once more: in float32 a mean of 40000 is off by 0.002, and that would stay in every element. The backward pass is
    equation 3 of Ioffe and Szegedy, Batch Normalization (2015), for rows.

    Raises ShapeError for shapes that do not fit, DtypeError for integers.
    """
    if weight is None and bias is not None:
        weight = np.ones(normalized_shape, dtype=operand(bias, "layer_norm")._data.dtype)
    operands, shape, dtype = _operands("layer_norm", input, normalized_shape, (weight, bias))
    eps = real("layer_norm", "eps", eps)
    if is_lifted(*operands):
        return composed("layer_norm", _layer_norm(shape, weight is not None, eps), *operands)
    rows, w, b, run = _arrays(operands, shape, weight is not None)
    n = rows.shape[1]
    each = 1 / n if n else 0.0
    ones = np.full(n, each, run)  # a product with it is a mean, and faster than mean()
    kept = np.empty((3, len(rows), 1), run)  # of each row, for the backward pass: it computes the rest anew
    out = np.empty(rows.shape, dtype)
    for piece in row_pieces(rows.shape):
        center, rest, inverse = kept[:, piece]
        x = np.ascontiguousarray(rows[piece], run)  # of strided numbers a product adds one after the other
        np.matmul(x, ones, out=center[:, 0])
        y = np.subtract(x, center, out=out[piece] if dtype == run else None)
        np.matmul(y, ones, out=rest[:, 0])
        y -= rest
        np.divide(1, np.sqrt(_dots(y, y) * each + run.type(eps)), out=inverse)
        y *= inverse
        _finish(y, w, b, out, piece)
    a, w, biased = operands[0]._data, operands[1]._data if w is not None else None, b is not None
    rows_shape, wanted = rows.shape, operands[0]._requires_grad

    def rule(g: np.ndarray) -> list[np.ndarray | None]:
        rows, g = a.reshape(rows_shape), g.reshape(rows_shape)
        scale = None if w is None else w.reshape(-1).astype(run, copy=False)
        slopes = np.empty(rows_shape, a.dtype)
        of_weight, of_bias = [], []
        x = None
        for piece in row_pieces(rows_shape):
            center, rest, inverse = kept[:, piece]
            part = g[piece].astype(run, copy=False)
            x = np.empty(part.shape, run) if x is None else x[: len(part)]  # in the last one's place
            np.subtract(rows[piece], center, out=x)
            x -= rest
            slope = np.multiply(part, inverse, out=slopes[piece] if a.dtype == run else None)
            if scale is not None:
                of_weight.append(_down(slope, x))
                slope *= scale
            if biased:
                of_bias.append(_down(part))
            if wanted:
                x *= _dots(slope, x) * each * inverse * inverse
                slope -= (slope @ ones)[:, None]
                slope -= x
                if a.dtype != run:
                    slopes[piece] = slope
        sums = ([] if scale is None else [of_weight]) + ([of_bias] if biased else [])
        sent = [_summed(found, n, run).reshape(shape) for found in sums]
        return [slopes.reshape(a.shape) if wanted else None, *sent]

    return record_joint("layer_norm", out.reshape(a.shape), tuple(operands), rule)


def _layer_norm(shape: tuple[int, ...], weighted: bool, eps: float) -> Any:
    """The composed twin."""
    dims = tuple(range(-len(shape), 0))

    def program(x: Tensor, *rest: Tensor) -> Tensor:
        centred = sub(x, mean(x, dims, True))
        out = div(centred, sqrt(add(mean(mul(centred, centred), dims, True), eps)))
        return _scaled(out, rest, weighted)

    return program


@quiet
def rms_norm(
    input: Any, normalized_shape: int | tuple[int, ...], weight: Any = None, eps: float | None = None
) -> Tensor:
    """input / sqrt(mean square + eps) over the last axes, which `normalized_shape` gives, times `weight` of that shape.

    eps  without it, the smallest step at 1 of the dtype in which it runs, as in torch: of float16 that of float32

    From Zhang and Sennrich, Root Mean Square Layer Normalization (2019). Raises as layer_norm.
    """
    operands, shape, dtype = _operands("rms_norm", input, normalized_shape, (weight,))
    if eps is None:
        eps = float(np.finfo(np.float64 if dtype.kind == "O" else sum_dtype(dtype)).eps)
    eps = real("rms_norm", "eps", eps)
    if is_lifted(*operands):
        return composed("rms_norm", _rms_norm(shape, weight is not None, eps), *operands)
    rows, w, _, run = _arrays(operands, shape, weight is not None)
    n = rows.shape[1]
    share = 1 / n if n else 0.0
    out, inverse = np.empty(rows.shape, dtype), np.empty((len(rows), 1), run)
    for piece in row_pieces(rows.shape):
        x = np.ascontiguousarray(rows[piece], run)
        inverse[piece] = 1 / np.sqrt(_dots(x, x) * share + run.type(eps))
        y = np.multiply(x, inverse[piece], out=out[piece] if dtype == run else None)
        _finish(y, w, None, out, piece)
    a, w = operands[0]._data, operands[1]._data if w is not None else None
    rows_shape, wanted = rows.shape, operands[0]._requires_grad

    def rule(g: np.ndarray) -> list[np.ndarray | None]:
        rows, g = a.reshape(rows_shape), g.reshape(rows_shape)
        scale = None if w is None else w.reshape(-1).astype(run, copy=False)
        slopes = np.empty(rows_shape, a.dtype)
        sums = []
        for piece in row_pieces(rows_shape):
            x, times = np.ascontiguousarray(rows[piece], run), inverse[piece]
            slope = np.multiply(g[piece].astype(run, copy=False), times, out=slopes[piece] if a.dtype == run else None)
            if scale is not None:
                sums.append(_down(slope, x))
                slope *= scale
            if wanted:
                slope -= x * (_dots(slope, x) * share * times * times)
                if a.dtype != run:
                    slopes[piece] = slope
        sent = [] if scale is None else [_summed(sums, n, run).reshape(shape)]
        return [slopes.reshape(a.shape) if wanted else None, *sent]

    return record_joint("rms_norm", out.reshape(a.shape), tuple(operands), rule)


def _rms_norm(shape: tuple[int, ...], weighted: bool, eps: float) -> Any:
    """The composed twin."""
    dims = tuple(range(-len(shape), 0))

    def program(x: Tensor, *rest: Tensor) -> Tensor:
        return _scaled(div(x, sqrt(add(mean(mul(x, x), dims, True), eps))), rest, weighted)

    return program


def _scaled(x: Tensor, rest: tuple[Tensor, ...], weighted: bool) -> Tensor:
    if weighted:
        x, rest = mul(x, rest[0]), rest[1:]
    return add(x, rest[0]) if rest else x


def _operands(
    op: str, input: Any, normalized_shape: Any, parameters: tuple[Any, ...]
) -> tuple[list[ArrayNode], tuple[int, ...], np.dtype]:
    """The operands that were given, the shape that is normalised over, and the result's dtype: the input's, as in
    torch, so that parameters of float32 leave a network of float16 one."""
    try:
        shape = tuple(index(n) for n in normalized_shape)
    except TypeError:
        try:
            shape = (index(normalized_shape),)
        except TypeError:
            raise TypeError(f"{op}: normalized_shape is a tuple of lengths, got {normalized_shape!r}") from None
    x = operand(input, op)
    dtype = x._data.dtype
    if not is_differentiable(dtype):
        raise DtypeError(f"{op}: of floats only, this tensor is {dtype}: convert it first")
    if not shape or x._data.shape[-len(shape) :] != shape:
        raise ShapeError(
            f"{op}: normalized_shape {shape} for an input of shape {x._data.shape}: give the lengths of its last axes, "
            "one or more"
        )
    operands = [x]
    for name, given in zip(("weight", "bias"), parameters, strict=False):
        if given is not None:
            parameter = operand(given, op)
            if parameter._data.shape != shape:
                raise ShapeError(f"{op}: {name} of shape {parameter._data.shape}: it must be normalized_shape, {shape}")
            operands.append(parameter)
    return operands, shape, dtype


def _arrays(
    operands: list[ArrayNode], shape: tuple[int, ...], weighted: bool
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None, np.dtype]:
    """The input as rows; weight and bias in the dtype in which the operation runs; and that dtype."""
    run = sum_dtype(np.result_type(*(x._data.dtype for x in operands)))
    a = operands[0]._data
    rows = a.reshape(prod(a.shape[: a.ndim - len(shape)]), prod(shape))
    rest = [x._data.astype(run, copy=False).reshape(-1) for x in operands[1:]]
    return rows, rest[0] if weighted else None, rest[-1] if len(rest) > weighted else None, run


def _finish(y: np.ndarray, w: np.ndarray | None, b: np.ndarray | None, out: np.ndarray, piece: slice) -> None:
    """Scale and shift the normalised rows `y` in place, and put them into `out`, if they are not part of it."""
    if w is not None:
        y *= w
    if b is not None:
        y += b
    if y.dtype != out.dtype:
        out[piece] = y


def _dots(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product of each row of x with the same row of y, as a column."""
    return np.vecdot(x, y)[:, None]


def _down(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """The sum of x, or of x * y, over the rows."""
    if len(x) > 256:  # so many, added one after the other, would lose digits
        return sum_over(x if y is None else x * y, 0)
    return np.add.reduce(x, 0) if y is None else np.einsum("ij,ij->j", x, y)


def _summed(sums: list[np.ndarray], n: int, dtype: np.dtype) -> np.ndarray:
    """The sum of the sums of pieces of rows, of length n."""
    if len(sums) == 1:
        return sums[0]
    return sum_over(np.array(sums), 0) if sums else np.zeros(n, dtype)


def normalize(input: Any, p: float = 2.0, dim: Dims = None, eps: float = 1e-12, *, axis: Dims = None) -> Tensor:
    """`input` divided by its p-norm along `dim`, 1 if it is left out; a norm below `eps` counts as `eps`."""
    x = operand(input, "normalize")
    dims = either("normalize", "dim", dim, "axis", axis, 1)
    length = clamp(vector_norm(x, p, dims, True), real("normalize", "eps", eps))
    return div(x, length)


@quiet
def cosine_similarity(
    x1: Any, x2: Any, dim: int | None = None, eps: float = 1e-8, *, axis: int | None = None
) -> Tensor:
    """The cosine of the angle between x1 and x2 along `dim` (1 if it is left out), broadcast.

    Lengths below `eps` count as `eps`, with no gradient of their own. Raises DtypeError for integers.
    """
    x, y, a, b = pair("cosine_similarity", x1, x2)
    eps = real("cosine_similarity", "eps", eps)
    if not is_differentiable(a.dtype):
        raise DtypeError(f"cosine_similarity: of floats only, got {a.dtype}: convert them first")
    products = apply("cosine_similarity", np.multiply, a, b)
    d = normalize_one("cosine_similarity", either("cosine_similarity", "dim", dim, "axis", axis, 1), products.shape)
    if not products.ndim:
        raise ShapeError("cosine_similarity: 0-d operands have no axis to compare along; give vectors")
    run = sum_dtype(a.dtype)  # float32 for float16, whose range the squares leave
    (length_a, live_a), (length_b, live_b) = (
        _length(v.astype(run, copy=False), d, products.shape, eps) for v in (a, b)
    )
    cosine = sum_over((a / length_a) * (b / length_b), d, True)
    out = lift.nodes(cosine) if a.dtype == object else cosine.astype(a.dtype, copy=False)
    of_x, of_y = x._data, y._data

    def towards(
        own: np.ndarray, other: np.ndarray, length: np.ndarray, length_other: np.ndarray, live: np.ndarray
    ) -> Any:
        def rule(g: np.ndarray) -> np.ndarray:
            slope = other / length_other - np.where(live, cosine * (own / length), 0)
            return np.expand_dims(g, d) * slope / length

        return rule

    return record(
        "cosine_similarity",
        out.squeeze(d),
        (x, towards(of_x, of_y, length_a, length_b, live_a)),
        (y, towards(of_y, of_x, length_b, length_a, live_b)),
    )


def _length(a: np.ndarray, d: int, shape: tuple[int, ...], eps: float) -> tuple[np.ndarray, np.ndarray]:
    """The length of the vectors along axis `d` of `shape`, to which `a` broadcasts, and where it counts: where it is
    not below `eps`. Of axes that `a` lacks, but for `d`, the length is 1."""
    a = a.reshape((1,) * (len(shape) - a.ndim) + a.shape)
    a = np.broadcast_to(a, (*a.shape[:d], shape[d], *a.shape[d + 1 :]))
    squares = sum_over(a * a, d, True)
    length = np.sqrt(lift.nodes(squares) if a.dtype == object else squares)
    live = lift.numbers(length) >= eps
    return np.where(live | np.isnan(lift.numbers(length)), length, eps), live
