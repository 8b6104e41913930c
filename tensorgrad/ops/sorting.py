"""Sorting along an axis. nan counts as larger than all numbers, as in torch; equal elements keep their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, new, operand, record
from tensorgrad.ops.axes import either, normalize_one
from tensorgrad.ops.extremes import ValuesAndIndices
from tensorgrad.settings import whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def sort(
    x: Any, dim: int | None = None, descending: bool = False, stable: bool = True, *, axis: int | None = None
) -> ValuesAndIndices:
    """The elements in rising or falling order along `dim`, by default the last axis: a named tuple (values, indices).

    Always stable, whatever `stable` says: equal elements keep their order, also in falling order.
    """
    x = operand(x, "sort")
    along = normalize_one("sort", either("sort", "dim", dim, "axis", axis, -1), x._data.shape)
    return _chosen("sort", x, _order("sort", x, along, descending), along)


def argsort(
    x: Any, dim: int | None = None, descending: bool = False, stable: bool = True, *, axis: int | None = None
) -> Tensor:
    """The positions along `dim`, by default the last axis, in the order in which `sort` puts the elements."""
    x = operand(x, "argsort")
    along = normalize_one("argsort", either("argsort", "dim", dim, "axis", axis, -1), x._data.shape)
    return new(_order("argsort", x, along, descending))


def topk(
    x: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True, *, axis: int | None = None
) -> ValuesAndIndices:
    """The k largest or smallest elements along `dim`, by default the last axis: a named tuple (values, indices).

    In order, whatever `sorted` says, and of equal elements the first ones (torch chooses any).
    Raises ValueError for a k that is negative or larger than the axis.
    """
    x = operand(x, "topk")
    shape = x._data.shape
    k = whole("topk", "k", k)
    along = normalize_one("topk", either("topk", "dim", dim, "axis", axis, -1), shape)
    n = shape[along] if shape else 1
    if not 0 <= k <= n:
        raise ValueError(f"topk: k is {k}, and dim {along} of shape {shape} has {n} elements")
    order = _order("topk", x, along, largest)
    return _chosen("topk", x, order[(slice(None),) * along + (slice(k),)] if shape else order, along)


def _order(op: str, x: ArrayNode, along: int, falling: bool) -> np.ndarray:
    a = lift.numbers(x._data)
    if a.dtype.kind == "c":
        raise DtypeError(f"{op}: complex numbers have no order; sort their abs or one of their parts")
    if not a.ndim:
        return np.zeros((), dtype=np.int64)
    if not falling:
        return np.argsort(a, along, kind="stable").astype(np.int64, copy=False)
    turned = np.argsort(np.flip(a, along), along, kind="stable")  # turned twice, equal elements are in their order
    return (a.shape[along] - 1 - np.flip(turned, along)).astype(np.int64, copy=False)


def _chosen(op: str, x: ArrayNode, order: np.ndarray, along: int) -> ValuesAndIndices:
    """The elements at these positions along the axis; each position is named once at most."""
    a = x._data
    if not a.ndim:
        return ValuesAndIndices(record(op, a.copy(), (x, lambda g: g)), new(order))
    shape = a.shape
    # the rule's own, since the indices are the caller's, who may change them; and half as large where that is enough
    where = order.astype(np.int32 if shape[along] < 2**31 else np.int64)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, dtype=g.dtype)
        np.put_along_axis(sent, where, g, along)
        return sent

    return ValuesAndIndices(record(op, np.take_along_axis(a, where, along), (x, rule)), new(order))
