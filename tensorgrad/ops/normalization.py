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
    rows, w, b = _arrays(operands, shape, weight is not None)
    n = rows.shape[1]
    ones = np.full(n, 1 / n if n else 0.0, dtype=rows.dtype)  # a product with it is a mean, and faster than mean()
    xhat = rows - (rows @ ones)[:, None]
    xhat -= (xhat @ ones)[:, None]
    inverse = 1 / np.sqrt(np.einsum("ij,ij->i", xhat, xhat)[:, None] * (1 / n if n else 0.0) + rows.dtype.type(eps))
    xhat *= inverse
    out = xhat if w is None else xhat * w
    if b is not None:
        out = np.add(out, b, out=None if out is xhat else out)
    biased = b is not None
    full, wanted = operands[0]._data.shape, [x._requires_grad for x in operands]

    def rule(g: np.ndarray) -> list[np.ndarray | None]:
        g = g.reshape(rows_shape).astype(xhat.dtype, copy=False)
        product = g * xhat
        sent = [sum_over(product, 0).reshape(shape)] if w is not None else []
        if biased:
            sent.append(sum_over(g, 0).reshape(shape))
        if not wanted[0]:
            return [None, *sent]
        # weights for the means over a row, which are then subtracted
        means = ones if w is None else w * ones
        slope = g * w if w is not None else g.copy()
        slope -= (g @ means)[:, None]
        slope -= np.multiply(xhat, (product @ means)[:, None], out=product)
        slope *= inverse
        return [slope.reshape(full), *sent]

    rows_shape = rows.shape
    return record_joint("layer_norm", out.reshape(full).astype(dtype, copy=False), tuple(operands), rule)


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
    rows, w, _ = _arrays(operands, shape, weight is not None)
    n = rows.shape[1]
    share = 1 / n if n else 0.0
    inverse = 1 / np.sqrt(np.einsum("ij,ij->i", rows, rows)[:, None] * share + rows.dtype.type(eps))
    xhat = rows * inverse
    out = xhat if w is None else xhat * w
    full, rows_shape, wanted = operands[0]._data.shape, rows.shape, [x._requires_grad for x in operands]

    def rule(g: np.ndarray) -> list[np.ndarray | None]:
        g = g.reshape(rows_shape).astype(xhat.dtype, copy=False)
        product = g * xhat
        sent = [sum_over(product, 0).reshape(shape)] if w is not None else []
        if not wanted[0]:
            return [None, *sent]
        slope = g * w if w is not None else g.copy()
        means = np.einsum("ij,ij->i", slope, xhat)[:, None] * share
        slope -= np.multiply(xhat, means, out=product)
        slope *= inverse
        return [slope.reshape(full), *sent]

    return record_joint("rms_norm", out.reshape(full).astype(dtype, copy=False), tuple(operands), rule)


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
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The input as rows, weight and bias, in the dtype in which the operation runs."""
    dtype = sum_dtype(np.result_type(*(x._data.dtype for x in operands)))
    n = prod(shape)
    x, *rest = (x._data.astype(dtype, copy=False) for x in operands)
    rows = x.reshape(prod(x.shape[: x.ndim - len(shape)]), n)
    w = rest[0].ravel() if weighted else None
    b = rest[-1].ravel() if len(rest) > weighted else None
    return rows, w, b


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
    (unit_a, length_a, live_a), (unit_b, length_b, live_b) = (
        _unit(np.broadcast_to(v, products.shape).astype(run, copy=False), d, eps) for v in (a, b)
    )
    cosine = sum_over(unit_a * unit_b, d, True)
    out = lift.nodes(cosine) if a.dtype == object else cosine.astype(a.dtype)

    def towards(unit: np.ndarray, other: np.ndarray, length: np.ndarray, live: np.ndarray) -> Any:
        return lambda g: np.expand_dims(g, d) * (other - np.where(live, cosine * unit, 0)) / length

    return record(
        "cosine_similarity",
        out.squeeze(d),
        (x, towards(unit_a, unit_b, length_a, live_a)),
        (y, towards(unit_b, unit_a, length_b, live_b)),
    )


def _unit(a: np.ndarray, d: int, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`a` divided by its length along `d`, that length, and where it counts: where it is not below `eps`."""
    squares = sum_over(a * a, d, True)
    length = np.sqrt(lift.nodes(squares) if a.dtype == object else squares)
    live = lift.numbers(length) >= eps
    length = np.where(live | np.isnan(lift.numbers(length)), length, eps)
    return a / length, length, live
