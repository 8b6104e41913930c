"""Clipping gradients, and parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import missing
from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, describe, new, quiet
from tensorgrad.ops.joining import cat
from tensorgrad.parameters import own_gradient, parameter_list
from tensorgrad.settings import kind, real
from tensorgrad.tensor import Tensor

_PIECE = 1 << 12  # elements of a gradient whose powers are summed at a time; the sums are summed in float64
_TINY = 1e-30  # below this a sum of squares of float32 may have lost digits

Tensors = Tensor | Iterable[Tensor]


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """Scale all gradients by one factor so that their norm, as of one long vector, is at most about `max_norm`.

    The factor is max_norm / (norm + 1e-6), or 1 where that is larger (Pascanu et al. 2013, algorithm 1; the 1e-6 is
    torch's). Gradients are changed in place. Parameters without one are passed over; one that is listed twice counts
    once. Returns the norm before, a 0-d tensor. A norm of inf makes finite gradients 0, one of nan makes all nan; with
    `error_if_nonfinite` both raise RuntimeError instead and change nothing.
    """
    found = parameter_list("clip_grad_norm_", parameters)
    limit = _limit("clip_grad_norm_", "max_norm", max_norm)
    grads = [p._grad for p in found if p._grad is not None]
    total = _total_norm("clip_grad_norm_", grads, norm_type, error_if_nonfinite)
    _scale(found, limit, total)
    return _as_tensor(total, grads)


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """The norm of the elements of all tensors (or arrays), as of one long vector: a 0-d tensor."""
    given = [tensors] if isinstance(tensors, (ArrayNode, np.ndarray)) else list(tensors)
    arrays = [x._data if isinstance(x, ArrayNode) else np.asarray(x) for x in given]
    return _as_tensor(_total_norm("get_total_norm", arrays, norm_type, error_if_nonfinite), arrays)


def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Any, foreach: Any = None) -> None:
    """Scale all gradients as `clip_grad_norm_` does, by a norm that is known already."""
    found = parameter_list("clip_grads_with_norm_", parameters)
    _scale(found, _limit("clip_grads_with_norm_", "max_norm", max_norm), float(total_norm))


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: Any = None) -> None:
    """Bring every element of every gradient into [-clip_value, clip_value], in place; nan stays nan."""
    limit = _limit("clip_grad_value_", "clip_value", clip_value)
    for p in parameter_list("clip_grad_value_", parameters):
        g = own_gradient(p)
        if g is not None:
            np.clip(g, -limit, limit, out=g)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other: a tensor of one axis that gradients flow through."""
    found = _all("parameters_to_vector", parameters)
    if not found:
        raise ValueError("parameters_to_vector: there are no parameters (a generator can be gone through only once)")
    return cat([p.reshape(-1) for p in found])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the elements of `vec`, as `parameters_to_vector` has them, into the parameters."""
    if not isinstance(vec, ArrayNode) or vec._data.ndim != 1:
        raise ShapeError("vector_to_parameters: takes a Tensor of one axis")
    found = _all("vector_to_parameters", parameters)
    wanted = sum(p._data.size for p in found)
    if vec._data.size != wanted:
        raise ShapeError(f"vector_to_parameters: {describe(vec)} for parameters of {wanted} elements in all")
    start = 0
    for p in found:
        n = p._data.size
        p._data[...] = vec._data[start : start + n].reshape(p._data.shape)
        p._bump()
        start += n


def _all(op: str, parameters: Any) -> list[Tensor]:
    """The Tensors in `parameters`, also one that is there twice. Raises TypeError for anything else."""
    found = list(parameters) if isinstance(parameters, Iterable) else [parameters]
    for p in found:
        if not isinstance(p, Tensor):
            raise TypeError(f"{op}: takes an iterable of Tensors, got {kind(p)} in it")
    return found


def _limit(op: str, name: str, limit: Any) -> float:
    limit = float(real(op, name, limit))
    if not limit >= 0:
        raise ValueError(f"{op}: {name} is {limit}, a limit is 0 or more")
    return limit


@quiet
def _scale(parameters: list[ArrayNode], max_norm: float, total: float) -> None:
    factor = max_norm / (total + 1e-6)
    if factor >= 1:
        return
    scaled: set[int] = set()
    for p in parameters:
        g = own_gradient(p)
        if g is not None and id(g) not in scaled:  # a user may have given two parameters one array
            scaled.add(id(g))
            np.multiply(g, factor, out=g)


# -- the norm of many arrays -------------------------------------------------------------------------------------------


def _as_tensor(total: float, arrays: list[np.ndarray]) -> Tensor:
    dtype = np.result_type(*{a.dtype for a in arrays}) if arrays else np.dtype(np.float32)
    with np.errstate(over="ignore"):
        return new(np.array(total).astype(dtype))


def _total_norm(op: str, arrays: list[np.ndarray], norm_type: Any, error_if_nonfinite: bool) -> float:
    p = np.inf if isinstance(norm_type, str) and norm_type == "inf" else float(real(op, "norm_type", norm_type))
    if not p > 0:
        raise ValueError(f"{op}: norm_type is a positive number or inf, got {norm_type!r}")
    total = _norm([a for a in arrays if a.size], p)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"{op}: the norm of the gradients is {total}, so they cannot be scaled to a finite one: look for where "
            "they became so, or leave error_if_nonfinite out"
        )
    return total


@quiet
def _norm(arrays: list[np.ndarray], p: float) -> float:
    """(sum of |a| ** p) ** (1 / p) over all elements. Numbers whose powers would overflow or vanish are scaled."""
    if p == np.inf:
        return _largest(arrays)
    total = sum(_powers(piece, p) for piece in _pieces(arrays))
    if _TINY < total < np.inf:
        return total ** (1 / p)
    largest = _largest(arrays)
    if not 0 < largest < np.inf:
        return largest
    return largest * sum(_powers(piece.astype(np.float64) / largest, p) for piece in _pieces(arrays)) ** (1 / p)


def _largest(arrays: list[np.ndarray]) -> float:
    return float(np.max([np.maximum(a.max(), -a.min()) for a in arrays])) if arrays else 0.0


def _powers(piece: np.ndarray, p: float) -> float:
    if p == 2:
        return float(piece.dot(piece))
    return float((np.abs(piece) ** p).sum(dtype=np.float64))


def _pieces(arrays: list[np.ndarray]) -> Iterator[np.ndarray]:
    """The elements of all arrays, a few at a time: so few that a sum of them is exact enough in float32."""
    for a in arrays:
        flat = a.reshape(-1)
        for start in range(0, flat.size, _PIECE):
            piece = flat[start : start + _PIECE]
            yield piece.astype(np.float32) if a.dtype == np.float16 else piece


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
