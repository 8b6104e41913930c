"""Attention: averages of values, weighted by how well their keys answer each query."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import common_dtype, is_differentiable, sum_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, operand, quiet, record_joint
from tensorgrad.ops import reduce
from tensorgrad.ops.arithmetic import add, div, mul, sub
from tensorgrad.ops.chance import Dropped, dropped, probability
from tensorgrad.ops.functions import exp
from tensorgrad.ops.linalg import matmul
from tensorgrad.ops.operands import composed, is_lifted
from tensorgrad.ops.transposing import transpose
from tensorgrad.settings import real
from tensorgrad.shapes import broadcasts_to, unbroadcast

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value: query (..., L, E), key (..., S, E) and value (..., S, F) give
    (..., L, F); the axes before the last two are broadcast.

    attn_mask  broadcast to (..., L, S): booleans, False where a query must not look; or numbers to add to the scores
    dropout_p  with this probability a weight is 0, and 1 / (1 - dropout_p) times itself otherwise; there is no
               `training` here, so pass 0.0 in evaluation
    is_causal  query i looks at the keys 0 to i; not together with attn_mask
    scale      1 / sqrt(E) if it is left out

    A query that may look nowhere gets zeros, as in torch (a softmax over nothing alone would give nan). One operation
    with one joint rule: the formulas are those of section 3.1 and appendix B of Dao et al., FlashAttention (2022),
    with the weights kept.

    Raises ShapeError and DtypeError for what does not fit, ValueError for attn_mask beside is_causal.
    """
    op = "scaled_dot_product_attention"
    if enable_gqa:
        raise NotImplementedError(f"{op}: enable_gqa is not here; repeat the keys and values with repeat_interleave")
    dropout_p = probability(op, dropout_p)
    if is_causal and attn_mask is not None:
        raise ValueError(f"{op}: give attn_mask or is_causal, not both")
    operands = [operand(x, op) for x in (query, key, value)]
    shape = _check(op, *(x._data for x in operands))
    if scale is None:
        size = operands[0]._data.shape[-1]
        scale = 1 / sqrt(size) if size else 1.0
    scale = real(op, "scale", scale)
    hidden, added = (_causal(*shape[-2:]), None) if is_causal else _mask(op, attn_mask, shape)
    if added is not None:
        operands.append(added)
    drop = dropped(shape, dropout_p) if dropout_p else None
    if is_lifted(*operands):
        return composed(op, _attention(hidden, drop, scale), *operands)
    return _fused(op, operands, shape, hidden, drop, scale)


def _fused(
    op: str,
    operands: list[ArrayNode],
    shape: tuple[int, ...],
    hidden: np.ndarray | None,
    drop: Dropped | None,
    scale: float,
) -> Tensor:
    dtype = common_dtype([x._data for x in operands])
    q, k, v, *masks = (x._data.astype(sum_dtype(dtype), copy=False) for x in operands)
    scale = q.dtype.type(scale)
    q = q * scale
    weights = np.matmul(q, k.swapaxes(-1, -2))
    weights = weights if weights.shape == shape else np.array(np.broadcast_to(weights, shape))
    if masks:
        weights += masks[0]
    if hidden is not None:
        np.copyto(weights, -np.inf, where=hidden)
    _softmax(weights)
    out = np.matmul(weights if drop is None else drop(weights), v)
    shapes, wanted = [x._data.shape for x in operands], [x._requires_grad for x in operands]
    need_scores = wanted[0] or wanted[1] or wanted[3:] == [True]

    def rule(g: np.ndarray) -> list[np.ndarray | None]:
        g = g.astype(v.dtype, copy=False)
        sent: list[np.ndarray | None] = [None] * len(shapes)
        if wanted[2]:
            used = weights if drop is None else drop(weights)
            sent[2] = np.matmul(used.swapaxes(-1, -2), g)
        if not need_scores:
            return sent
        # of softmax: weights * (slope - the row's sum of weights * slope); the sum of g * out is the same and shorter,
        # but where one weight is 1 it leaves the rounding of a product, times keys, instead of 0
        slope = np.matmul(g, v.swapaxes(-1, -2))
        if drop is not None:
            slope = drop(slope)
        slope -= np.einsum("...i,...i->...", weights, slope)[..., None]
        slope *= weights
        if wanted[3:]:
            sent[3] = slope
        if wanted[1]:
            sent[1] = unbroadcast(np.matmul(slope.swapaxes(-1, -2), q), shapes[1])
        if wanted[0]:
            sent[0] = unbroadcast(np.matmul(slope, k), shapes[0]) * scale
        return sent

    return record_joint(op, out.astype(dtype, copy=False), tuple(operands), rule)


def _attention(hidden: np.ndarray | None, drop: Dropped | None, scale: float) -> Any:
    """The composed twin."""

    def program(q: Tensor, k: Tensor, v: Tensor, added: Tensor | None = None) -> Tensor:
        scores = matmul(mul(q, scale), transpose(k, -1, -2))
        if added is not None:
            scores = add(scores, added)
        numbers = lift.numbers(scores._data)
        if hidden is not None:
            numbers = np.where(hidden, -np.inf, numbers)
        largest = numbers.max(axis=-1, keepdims=True, initial=-np.inf)
        nowhere = largest == -np.inf
        shift = np.where(nowhere, 0, largest)
        if hidden is not None:  # what is hidden may be larger than the largest: it becomes exp(0), and then nothing
            shift = np.where(hidden, lift.numbers(scores._data), shift)
        shifted = sub(scores, shift)
        exps = exp(shifted)
        if hidden is not None:
            exps = mul(exps, ~hidden * 1.0)
        weights = div(exps, add(reduce.sum(exps, -1, True), nowhere * 1.0))
        if drop is not None:
            weights = mul(weights, drop.keep * drop.share)
        return matmul(weights, v)

    return program


def _softmax(scores: np.ndarray) -> None:
    """Softmax along the last axis, in place; of a row that is -inf throughout, zeros."""
    if not scores.shape[-1]:
        return
    largest = scores.max(axis=-1, keepdims=True)
    nowhere = largest == -np.inf
    largest[nowhere] = 0
    scores -= largest
    np.exp(scores, out=scores)
    totals = scores.sum(axis=-1, keepdims=True)
    totals[nowhere] = 1
    scores /= totals


def _causal(rows: int, columns: int) -> np.ndarray:
    """True where a query must not look: at the keys after its own place."""
    return ~np.tri(rows, columns, dtype=bool)


def _mask(op: str, mask: Any, shape: tuple[int, ...]) -> tuple[np.ndarray | None, ArrayNode | None]:
    """What is hidden, of a mask of booleans; or the mask itself, of one that is added."""
    if mask is None:
        return None, None
    found = operand(mask, op)
    kind, given = found._data.dtype.kind, found._data.shape
    if kind not in "bfO":
        raise DtypeError(f"{op}: attn_mask of {found._data.dtype}: give booleans (True: may look) or floats to add")
    if not broadcasts_to(given, shape):
        raise ShapeError(f"{op}: attn_mask of shape {given} does not broadcast to the scores' shape {shape}")
    return (~found._data, None) if kind == "b" else (None, found)


def _check(op: str, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[int, ...]:
    """The shape of the scores, (..., L, S)."""
    shapes = f"query {q.shape}, key {k.shape}, value {v.shape}"
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ShapeError(f"{op}: {shapes}: each needs the axes (..., length, size)")
    if not all(is_differentiable(a.dtype) for a in (q, k, v)):
        raise DtypeError(f"{op}: of floats only, got {q.dtype}, {k.dtype} and {v.dtype}: convert them first")
    if q.shape[-1] != k.shape[-1]:
        raise ShapeError(f"{op}: {shapes}: the last axes of query and key must be equal")
    if k.shape[-2] != v.shape[-2]:
        raise ShapeError(f"{op}: {shapes}: there must be as many keys as values, in axis -2")
    try:
        batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    except ValueError:
        raise ShapeError(f"{op}: {shapes}: the axes before the last two do not broadcast") from None
    return (*batch, q.shape[-2], k.shape[-2])
