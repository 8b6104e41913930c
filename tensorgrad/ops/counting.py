"""Counting and looking up: what has integers or booleans as its result, and so no gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import new, operand
from tensorgrad.ops.axes import normalize_one
from tensorgrad.ops.reducing import check_real
from tensorgrad.settings import real, whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The elements that differ, in rising order whatever `sorted` says; along `dim`, the slices that differ.

    With `return_inverse` also where each element is among them, with `return_counts` how often each is there: then a
    tuple. A nan differs from every other one. Constants, all of them.
    """
    a = lift.numbers(operand(input, "unique")._data)
    axis = None if dim is None else normalize_one("unique", dim, a.shape)
    found, inverse, counts = np.unique(a, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    inverse = inverse.reshape(a.shape if axis is None else a.shape[axis])
    parts = [found, *[inverse] * bool(return_inverse), *[counts] * bool(return_counts)]
    tensors = tuple(new(np.asarray(part)) for part in parts)
    return tensors if len(tensors) > 1 else tensors[0]


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each of the numbers 0, 1, ... stands in a vector of integers, or the sum of its `weights` there.

    As long as the largest number needs, and at least `minlength`. float32 weights give float32, others float64.
    Raises DtypeError for what is no integer, ValueError for a negative one, ShapeError for other shapes.
    """
    a = lift.numbers(operand(input, "bincount")._data)
    if a.dtype.kind not in "iu":
        raise DtypeError(f"bincount: counts integers, this tensor is {a.dtype}: use .long()")
    w = None if weights is None else lift.numbers(operand(weights, "bincount")._data)
    if a.ndim != 1 or (w is not None and w.shape != a.shape):
        also = "" if w is None else f", with weights of shape {w.shape}"
        raise ShapeError(f"bincount: takes a vector, and as many weights; got shape {a.shape}{also}")
    if a.size and a.min() < 0:
        raise ValueError(f"bincount: counts numbers from 0 up, and {a.min()} is among these")
    least = whole("bincount", "minlength", minlength)
    if least < 0:
        raise ValueError(f"bincount: minlength must be 0 or more, got {least}")
    out = np.bincount(a, w, least)
    return new(out.astype(np.float32) if w is not None and w.dtype == np.float32 else out)


def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
) -> Tensor:
    """Where each element of `input` would go in a rising sequence: before elements that equal it, or after them if
    `right`, or `side` is "right".

    The sequence is a vector, or has the shape of `input` but for the last axis: one sequence for each row.
    Raises ShapeError for other shapes.
    """
    edges = lift.numbers(operand(sorted_sequence, "searchsorted")._data)
    a = lift.numbers(operand(input, "searchsorted")._data)
    if side not in (None, "left", "right") or (side == "left" and right):
        raise ValueError(f"searchsorted: side is 'left' or 'right', and not against right; got {side!r}")
    where: Any = "right" if right or side == "right" else "left"
    if edges.ndim == 1:
        found = np.searchsorted(edges, a, where)
    elif not edges.ndim or edges.shape[:-1] != a.shape[:-1]:
        raise ShapeError(
            f"searchsorted: a sequence of shape {edges.shape} for input of shape {a.shape}: it is a vector, or as "
            "the input but for the last axis"
        )
    else:
        rows = zip(edges.reshape(-1, edges.shape[-1]), a.reshape(-1, a.shape[-1]), strict=True)
        found = np.array([np.searchsorted(edge, row, where) for edge, row in rows]).reshape(a.shape)
    return new(np.asarray(found, dtype=np.int32 if out_int32 else np.int64))


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the interval between the rising `boundaries`, a vector, in which each element lies: the first is
    0, below all of them. A boundary belongs to the interval below it, or above it if `right`."""
    if operand(boundaries, "bucketize")._data.ndim != 1:
        raise ShapeError("bucketize: the boundaries are a vector; searchsorted takes one for each row")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` intervals of equal length from min to max, in the dtype of `input`.

    With min = max the smallest and the largest element stand for them. What lies outside is not counted.
    Raises ValueError for limits that are not finite or in the wrong order, DtypeError for integers.
    """
    a = lift.numbers(operand(input, "histc")._data)
    check_real("histc", a)
    bins = whole("histc", "bins", bins)
    min, max = real("histc", "min", min), real("histc", "max", max)
    if bins < 1:
        raise ValueError(f"histc: bins must be 1 or more, got {bins}")
    low, high = (min, max) if min != max or not a.size else (a.min(), a.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"histc: from {low} to {high}: the limits must be finite and in rising order")
    counts, _ = np.histogram(a[~np.isnan(a)], bins, (low, high))
    return new(counts.astype(a.dtype))


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each of `elements` is among `test_elements`, tensors or numbers; the opposite if `invert`."""
    a, b = (lift.numbers(operand(x, "isin")._data) for x in (elements, test_elements))
    return new(np.asarray(np.isin(a, b, assume_unique=assume_unique, invert=invert)))
