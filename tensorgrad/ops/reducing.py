"""What all reductions share: reading their arguments, sums in a dtype that holds them, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import as_dtype, sum_dtype
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, operand
from tensorgrad.ops.axes import Dims, either, normalize, normalize_one
from tensorgrad.sums import sum_over

_SMALL = 1024  # elements of an array that is written in less time than a view of one number is made


def reduction(
    op: str, x: Any, dim: Dims, keepdim: bool | None, axis: Dims, keepdims: bool | None
) -> tuple[ArrayNode, tuple[int, ...], bool]:
    """(the operand, the axes to reduce, whether they stay with length 1); of a 0-d operand no axes."""
    x = operand(x, op)
    dims = either(op, "dim", dim, "axis", axis, None)
    keep = bool(either(op, "keepdim", keepdim, "keepdims", keepdims, False))
    axes = normalize(op, dims, x._data.shape)
    return x, axes if x._data.ndim else (), keep


def one_or_all(
    op: str, x: Any, dim: int | None, keepdim: bool | None, axis: int | None, keepdims: bool | None
) -> tuple[ArrayNode, int | None, bool]:
    """(the operand, the one axis to reduce or None for all of them, whether it stays with length 1)."""
    x = operand(x, op)
    dim = either(op, "dim", dim, "axis", axis, None)
    keep = bool(either(op, "keepdim", keepdim, "keepdims", keepdims, False))
    return x, None if dim is None else normalize_one(op, dim, x._data.shape), keep


def along(op: str, x: Any, dim: int | None, axis: int | None) -> tuple[ArrayNode, int]:
    """(the operand, the one axis to work along), where torch wants it said.

    Raises TypeError without it. A 0-d operand has the axis 0 here: see `one_axis_at_least`.
    """
    x = operand(x, op)
    dim = either(op, "dim", dim, "axis", axis, None)
    if dim is None:
        raise TypeError(f"{op}: give dim, the axis to work along; this tensor has the shape {x._data.shape}")
    return x, normalize_one(op, dim, x._data.shape)


def one_axis_at_least(a: np.ndarray) -> np.ndarray:
    """`a`, of a 0-d array a view with one axis of length 1."""
    return a if a.ndim else a.reshape(1)


def cast(op: str, a: np.ndarray, dtype: Any) -> np.ndarray:
    """`a` in the dtype that a caller asked for, if any. Scalar nodes have but one kind of float."""
    if dtype is None:
        return a
    try:
        wanted = as_dtype(dtype)
    except TypeError as error:
        raise TypeError(f"{op}: {error}") from None
    if a.dtype != object:
        return a.astype(wanted, copy=False)
    return a if wanted.kind in "fO" else lift.numbers(a).astype(wanted)


def check_float(op: str, a: np.ndarray, remedy: str = "convert it first, e.g. .float()") -> None:
    """Raise DtypeError for integers and booleans, where torch does: their result would be rounded or a surprise."""
    if a.dtype.kind in "biu":
        raise DtypeError(f"{op}: of floats only, this tensor is {a.dtype}: {remedy}")


def check_real(op: str, a: np.ndarray) -> None:
    """Raise DtypeError for integers and booleans, and for complex numbers."""
    check_float(op, a)
    if a.dtype.kind == "c":
        raise DtypeError(f"{op}: of real numbers only, this tensor is {a.dtype}: take abs, or use NumPy on .data")


def total(a: np.ndarray, axes: tuple[int, ...], keep: bool) -> np.ndarray:
    """The sum, in the dtype in which it runs."""
    a = np.asarray(a)  # of one scalar node NumPy's functions make a bare one
    out = sum_over(a, axes, keep, sum_dtype(a.dtype))
    return lift.nodes(out) if a.dtype == object else out


def count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """How many elements go into one."""
    return prod(shape[axis] for axis in axes)


def kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a reduction that keeps the reduced axes: what broadcasts against the operand."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a reduction that leaves the reduced axes out."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def spread(shape: tuple[int, ...], axes: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    """The rule of a sum over `axes`: each element receives the gradient of the sum that it went into."""
    wide = kept(shape, axes)
    if prod(shape) > _SMALL:
        return lambda g: np.broadcast_to(g.reshape(wide), shape)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.empty(shape, g.dtype)
        sent[...] = g.reshape(wide)
        return sent

    return rule


def root_of_nodes(a: np.ndarray) -> np.ndarray:
    """The square roots of scalar nodes, with 0 as a constant: there std and norm have the gradient 0, sqrt has inf."""
    return np.where(lift.numbers(a) == 0, 0.0, np.sqrt(a))
