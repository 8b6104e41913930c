"""Attention: averages of values, weighted by how well their keys answer each query."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import common_dtype, is_differentiable, sum_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, operand, quiet, record_joint
from tensorgrad.ops import reduce
from tensorgrad.ops.arithmetic import add, div, mul, sub
from tensorgrad.ops.attention_tiles import Attention, backward, forward
from tensorgrad.ops.chance import Dropped, dropped, go_on_from, place, probability
from tensorgrad.ops.functions import exp
from tensorgrad.ops.linalg import matmul
from tensorgrad.ops.operands import composed, is_lifted
from tensorgrad.ops.transposing import transpose
from tensorgrad.remembering import remembered
from tensorgrad.settings import real
from tensorgrad.shapes import broadcasts_to

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
    with one joint rule, which holds no matrix of all scores: `attention_tiles` says how.

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
        scale = 1 / math.sqrt(size) if size else 1.0
    scale = real(op, "scale", scale)
    look, added = _mask(op, attn_mask, shape)
    if added is not None:
        operands.append(added)
    if is_lifted(*operands):
        hidden = ~np.tri(*shape[-2:], dtype=bool) if is_causal else None if look is None else ~look
        drop = dropped(shape, dropout_p) if dropout_p else None
        return composed(op, _attention(hidden, drop, scale), *operands)
    return _fused(op, operands, shape, look, is_causal, dropout_p, scale)


def _fused(
    op: str,
    operands: list[ArrayNode],
    shape: tuple[int, ...],
    look: np.ndarray | None,
    is_causal: bool,
    dropout_p: float,
    scale: float,
) -> Tensor:
    dtype = common_dtype([x._data for x in operands])
    added = _matrix(operands[3]._data) if operands[3:] else None
    look = None if look is None else _matrix(look)
    a = Attention(
        *[x._data for x in operands[:3]],
        shape=shape,
        dtype=sum_dtype(dtype),
        scale=scale,
        causal=is_causal,
        look=look,
        added=added,
        place=place() if dropout_p else None,
        p=dropout_p,
    )
    if a.place is None:
        out, rows, kept = remembered(op, partial(forward, a, None), operands)
    else:  # not remembered: draws are not to be skipped
        draws = a.place()  # as backward draws again, whatever other threads draw in between
        out, rows, kept = forward(a, draws)
        go_on_from(draws)
    wanted = [x._requires_grad for x in operands]
    given = operands[-1]._data.shape

    def rule(g: np.ndarray) -> list[np.ndarray | None]:
        sent = backward(a, rows, kept, g, wanted)
        if sent[-1] is not None and sent[-1].shape != given:
            sent[-1] = sent[-1].reshape(given)
        return sent

    return record_joint(op, out.astype(dtype, copy=False), tuple(operands), rule)


def _matrix(a: np.ndarray) -> np.ndarray:
    """With two axes at least."""
    return a if a.ndim > 1 else a.reshape(1, a.size)


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


def _mask(op: str, mask: Any, shape: tuple[int, ...]) -> tuple[np.ndarray | None, ArrayNode | None]:
    """Booleans, False where a query must not look; or the mask that is added, which may require a gradient."""
    if mask is None:
        return None, None
    found = operand(mask, op)
    kind, given = found._data.dtype.kind, found._data.shape
    if kind not in "bfO":
        raise DtypeError(f"{op}: attn_mask of {found._data.dtype}: give booleans (True: may look) or floats to add")
    if not broadcasts_to(given, shape):
        raise ShapeError(f"{op}: attn_mask of shape {given} does not broadcast to the scores' shape {shape}")
    return (found._data, None) if kind == "b" else (None, found)


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
