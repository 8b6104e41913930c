"""Operations that show or copy elements several times; the gradients of all copies add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import shapes
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, operand, record
from tensorgrad.ops.axes import either, normalize_one, several
from tensorgrad.ops.keys import positions, scattered

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def expand(x: Any, *lengths: Any, size: Any = None) -> Tensor:
    """Axes of length 1, and new ones in front, at other lengths; -1 keeps one. Takes expand(2, 3) and expand((2, 3)).

    A view that shows one element in many places, which is why it cannot be written to.
    Raises ShapeError where an axis is neither 1 nor of the wanted length.
    """
    return _expanded("expand", operand(x, "expand"), several("expand", lengths, "size", size))


def expand_as(x: Any, other: Any) -> Tensor:
    """x.expand(other.shape)."""
    return _expanded("expand", operand(x, "expand_as"), operand(other, "expand_as")._data.shape)


def broadcast_to(x: Any, *shape: Any, size: Any = None) -> Tensor:
    """`expand` under its name in NumPy."""
    return _expanded("broadcast_to", operand(x, "broadcast_to"), several("broadcast_to", shape, "size", size))


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Each expanded to the shape in which all of them meet. Raises ShapeError where they do not broadcast."""
    xs = [operand(x, "broadcast_tensors") for x in _one_by_one(tensors)]
    shape = shapes.broadcast("broadcast_tensors", *[x._data.shape for x in xs])
    return tuple(_expanded("broadcast_to", x, shape) for x in xs)


def repeat(x: Any, *times: Any, repeats: Any = None) -> Tensor:
    """x laid out `times` along each axis, as NumPy's tile does: repeat(2, 3) of shape (a, b) gives (2a, 3b).

    More numbers than axes make new ones in front; raises ShapeError for fewer. (NumPy's repeat is
    `repeat_interleave`.)
    """
    x = operand(x, "repeat")
    wanted = several("repeat", times, "repeats", repeats)
    if len(wanted) < x._data.ndim:
        raise ShapeError(f"repeat: {wanted} for shape {x._data.shape}: give a number for each axis, or use tile")
    return _tiled("repeat", x, wanted)


def tile(x: Any, *times: Any, dims: Any = None) -> Tensor:
    """`repeat`, in which the numbers may be fewer than the axes: the first axes are then not repeated."""
    x = operand(x, "tile")
    return _tiled("tile", x, several("tile", times, "dims", dims))


def repeat_interleave(
    x: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None, axis: int | None = None
) -> Tensor:
    """Each element, or each slice along `dim`, so many times in a row: [1, 2] twice is [1, 1, 2, 2].

    repeats  a number, or one for each slice; without it, x holds these numbers and the result is the positions
    dim      without it, x is flattened

    Raises ShapeError where the number of repeats does not fit, ValueError for negative ones.
    """
    x = operand(x, "repeat_interleave")
    axis = either("repeat_interleave", "dim", dim, "axis", axis, None)
    if repeats is None:
        return operand(_sources(x._data, len(x._data) if x._data.ndim == 1 else None), "repeat_interleave")
    a = x._data.reshape(-1) if axis is None else x._data
    if not a.ndim:
        raise IndexError(f"repeat_interleave: dim {axis} is not an axis of shape ()")
    along = normalize_one("repeat_interleave", 0 if axis is None else axis, a.shape)
    times = positions("repeat_interleave", repeats)
    where = _sources(times, a.shape[along])
    if output_size is not None and output_size != len(where):
        raise ValueError(f"repeat_interleave: output_size is {output_size}, and the repeats add up to {len(where)}")
    before, flat = x._data.shape, a.shape

    def rule(g: np.ndarray) -> np.ndarray:
        key = (*[slice(None)] * along, _sources(times, flat[along]))
        return scattered(flat, key, g).reshape(before)

    return record("repeat_interleave", np.take(a, where, along), (x, rule))


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinates of a grid: from vectors of lengths a, b, ... one tensor each, all of shape (a, b, ...).

    With indexing "xy" the first two axes are exchanged, as in NumPy. 0-d tensors count as vectors of one element.
    Raises ShapeError for more axes, DtypeError where the dtypes differ.
    """
    if indexing not in ("ij", "xy"):
        raise ValueError(f"meshgrid: indexing is 'ij' or 'xy', got {indexing!r}")
    xs = [operand(x, "meshgrid") for x in _one_by_one(tensors)]
    if not xs:
        raise ValueError("meshgrid: give at least one tensor")
    for x in xs:
        if x._data.ndim > 1:
            raise ShapeError(f"meshgrid: of vectors, this tensor has shape {x._data.shape}")
        if x._data.dtype != xs[0]._data.dtype and object not in (x._data.dtype, xs[0]._data.dtype):
            raise DtypeError(f"meshgrid: dtypes {xs[0]._data.dtype} and {x._data.dtype}: they must be equal")
    places = list(range(len(xs)))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    shape = [0] * len(xs)
    for place, x in zip(places, xs, strict=True):
        shape[place] = x._data.size
    return tuple(_along_one("meshgrid", x, place, tuple(shape)) for place, x in zip(places, xs, strict=True))


def _along_one(op: str, x: ArrayNode, place: int, shape: tuple[int, ...]) -> Tensor:
    """The vector x along axis `place` of `shape`, the same along the others."""
    before = x._data.shape
    column = tuple(n if i == place else 1 for i, n in enumerate(shape))
    out = np.broadcast_to(x._data.reshape(column), shape)
    return record(op, out, (x, lambda g: shapes.unbroadcast(g, column).reshape(before)))


def _one_by_one(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tensors given as separate arguments or as one list."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors


def _expanded(op: str, x: ArrayNode, wanted: tuple[int, ...]) -> Tensor:
    before = x._data.shape
    new = len(wanted) - len(before)
    shape = tuple(before[i - new] if n == -1 and i >= new else n for i, n in enumerate(wanted))
    if new < 0 or any(n < 0 for n in shape) or any(b not in (1, n) for b, n in zip(before, shape[new:], strict=True)):
        raise ShapeError(
            f"{op}: shape {before} to {wanted}: aligned at the right, each axis must be 1 or have the wanted length; "
            "-1 keeps the length of an axis that is there"
        )
    out = np.broadcast_to(x._data, shape) if shape != before else x._data[...]
    return record(op, out, (x, lambda g: shapes.unbroadcast(g, before)))


def _tiled(op: str, x: ArrayNode, times: tuple[int, ...]) -> Tensor:
    a = x._data
    if any(n < 0 for n in times):
        raise ValueError(f"{op}: {times} has a negative number of copies")
    times = (*[1] * (a.ndim - len(times)), *times)
    before = (*[1] * (len(times) - a.ndim), *a.shape)
    # each axis as (copies, elements): the copies are an axis of their own, to broadcast along and to sum over
    apart = tuple(n for pair in zip(times, before, strict=True) for n in pair)
    once = tuple(n for m in before for n in (1, m))
    after = tuple(t * n for t, n in zip(times, before, strict=True))
    out = np.empty(after, dtype=a.dtype)
    out.reshape(apart)[...] = a.reshape(once)
    shape = a.shape
    return record(op, out, (x, lambda g: shapes.unbroadcast(g.reshape(apart), once).reshape(shape)))


def _sources(repeats: np.ndarray, n: int | None) -> np.ndarray:
    """Where each element of the result comes from: i as often as repeats[i] says."""
    if repeats.dtype.kind not in "iu" or n is None:
        raise DtypeError(f"repeat_interleave: repeats are whole numbers, 1-d, got {repeats.dtype} {repeats.shape}")
    if repeats.size and repeats.min() < 0:
        raise ValueError(f"repeat_interleave: {repeats.min()} repeats: they must not be negative")
    if repeats.ndim > 1 or repeats.size not in (1, n):
        raise ShapeError(f"repeat_interleave: repeats of shape {repeats.shape} for {n} slices: give one number, or {n}")
    return np.repeat(np.arange(n), repeats)
