"""Operations that join tensors along an axis, and that take one apart along it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.dtypes import common_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, operand, record
from tensorgrad.ops.axes import either, integers, new_axis, normalize_one
from tensorgrad.placing import Placing
from tensorgrad.settings import whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def cat(tensors: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """The tensors one after the other along an axis that they have. The others must be equally long.

    Tensors of shape (0,) are left out beside others, as in torch; their gradient is empty.
    Raises ShapeError for other lengths and for 0-d tensors, ValueError for an empty list.
    """
    return _joined("cat", _list("cat", tensors), either("cat", "dim", dim, "axis", axis, 0))


def concat(tensors: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """`cat` under another of torch's names."""
    return cat(tensors, dim, axis=axis)


def concatenate(tensors: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """`cat` under its name in NumPy."""
    return cat(tensors, dim, axis=axis)


def stack(tensors: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """Tensors of equal shapes one after the other along a new axis. Raises ShapeError where the shapes differ."""
    xs = _list("stack", tensors)
    shape = xs[0]._data.shape
    for i, x in enumerate(xs):
        if x._data.shape != shape:
            raise ShapeError(f"stack: shapes {shape} at 0 and {x._data.shape} at {i}: they must be equal; or use cat")
    place = new_axis("stack", either("stack", "dim", dim, "axis", axis, 0), shape)
    before = (slice(None),) * place
    out = np.stack(_in_one_dtype(xs), place)
    return record("stack", out, *[(x, _taking((*before, i))) for i, x in enumerate(xs)])


def hstack(tensors: Any) -> Tensor:
    """Side by side: along the second axis, of vectors along the first. 0-d tensors count as vectors."""
    xs = [_with_axes(x, (-1,), 1) for x in _list("hstack", tensors)]
    return _joined("hstack", xs, 0 if xs[0]._data.ndim == 1 else 1)


def vstack(tensors: Any) -> Tensor:
    """One below the other: along the first axis. Vectors count as rows."""
    return _joined("vstack", [_with_axes(x, (1, -1), 2) for x in _list("vstack", tensors)], 0)


def dstack(tensors: Any) -> Tensor:
    """One behind the other: along the third axis. Vectors count as (1, n, 1), matrices as (n, m, 1)."""
    xs = [_with_axes(x, (1, -1), 2) for x in _list("dstack", tensors)]
    return _joined("dstack", [_with_axes(x, (*x._data.shape, 1), 3) for x in xs], 2)


def split(
    x: Any, split_size_or_sections: Any, dim: int | None = None, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """x in parts along `dim`: all of one length, the last perhaps shorter; or of the lengths in a list. Views.

    Raises ValueError where the lengths do not add up to that of the axis.
    """
    x, along, n = _taken_apart("split", x, either("split", "dim", dim, "axis", axis, 0))
    size = split_size_or_sections
    if isinstance(size, (tuple, list)):
        lengths = integers("split", (size,))
        if any(m < 0 for m in lengths) or sum(lengths) != n:
            raise ValueError(f"split: lengths {lengths} must add up to {n}, which dim {along} of {x._data.shape} has")
    else:
        size = whole("split", "the length of a part", size)
        if size < 0 or (size == 0 and n):
            raise ValueError(f"split: parts of length {size} of dim {along} of shape {x._data.shape}: from 1 on")
        lengths = _equal_parts(n, size)
    return _parts("split", x, along, lengths)


def chunk(x: Any, chunks: int, dim: int | None = None, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """x in at most `chunks` parts along `dim`, all of one length but the last. There may be fewer, as in torch.

    Raises ValueError unless `chunks` is positive.
    """
    x, along, n = _taken_apart("chunk", x, either("chunk", "dim", dim, "axis", axis, 0))
    chunks = whole("chunk", "chunks", chunks)
    if chunks < 1:
        raise ValueError(f"chunk: {chunks} parts: at least 1")
    return _parts("chunk", x, along, _equal_parts(n, -(-n // chunks)) if n else (0,) * chunks)


def unbind(x: Any, dim: int | None = None, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """The slices along `dim`, one a position, without that axis. Views."""
    x, along, n = _taken_apart("unbind", x, either("unbind", "dim", dim, "axis", axis, 0))
    before = (slice(None),) * along
    return tuple(_part("unbind", x, (*before, i, ...)) for i in range(n))


# -- joining -----------------------------------------------------------------------------------------------------------


def _joined(op: str, xs: list[ArrayNode], dim: int) -> Tensor:
    for i, x in enumerate(xs):
        if not x._data.ndim:
            raise ShapeError(
                f"{op}: tensor {i} is 0-d, so it has no axis to be joined along: use stack, or unsqueeze it"
            )
    joined = [x for x in xs if x._data.shape != (0,)] or xs
    first = joined[0]._data.shape
    along = normalize_one(op, dim, first)
    for i, x in enumerate(xs):
        shape = x._data.shape
        if shape != (0,) and _without(shape, along) != _without(first, along):
            at = next(j for j, y in enumerate(xs) if y is joined[0])
            raise ShapeError(
                f"{op}: shapes {first} at {at} and {shape} at {i}: all axes but dim {along} must be equally long"
            )
    arrays = [a for a, x in zip(_in_one_dtype(xs), xs, strict=True) if x._data.shape != (0,) or len(first) == 1]
    out = np.concatenate(arrays, along)
    edges: list[tuple[ArrayNode, Callable[[np.ndarray], np.ndarray]]] = []
    start = 0
    before = (slice(None),) * along
    for x in xs:
        stop = start + (x._data.shape[along] if x._data.ndim > along else 0)
        if x._data.ndim != len(first):
            edges.append((x, _nothing))
        else:
            edges.append((x, _taking((*before, slice(start, stop)))))
        start = stop
    return record(op, out, *edges)


def _list(op: str, tensors: Any) -> list[ArrayNode]:
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(f"{op}: takes a list of tensors, got a {type(tensors).__name__}")
    if not tensors:
        raise ValueError(f"{op}: the list of tensors is empty")
    return [operand(x, op) for x in tensors]


def _in_one_dtype(xs: list[ArrayNode]) -> list[np.ndarray]:
    """The operands' arrays, all in the dtype in which they meet; the axes do not matter here."""
    if all(x._data.dtype == xs[0]._data.dtype for x in xs):
        return [x._data for x in xs]
    common = common_dtype([np.empty(0, x._data.dtype) for x in xs])
    return [x._data.astype(common, copy=False) for x in xs]


def _with_axes(x: ArrayNode, shape: tuple[int, ...], n: int) -> ArrayNode:
    """x if it has n axes, else in `shape`."""
    before = x._data.shape
    return x if len(before) >= n else record("reshape", x._data.reshape(shape), (x, lambda g: g.reshape(before)))


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], -1, *shape[axis + 1 :])


def _taking(where: tuple[Any, ...]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda g: g[where]


def _nothing(g: np.ndarray) -> np.ndarray:
    return np.zeros(0, dtype=g.dtype)


# -- taking apart ------------------------------------------------------------------------------------------------------


def _taken_apart(op: str, x: Any, dim: int) -> tuple[ArrayNode, int, int]:
    x = operand(x, op)
    if not x._data.ndim:
        raise ShapeError(f"{op}: a 0-d tensor has no axis to be taken apart along")
    along = normalize_one(op, dim, x._data.shape)
    return x, along, x._data.shape[along]


def _equal_parts(n: int, size: int) -> tuple[int, ...]:
    return (0,) if n == 0 else tuple(min(size, n - start) for start in range(0, n, size))


def _parts(op: str, x: ArrayNode, along: int, lengths: tuple[int, ...]) -> tuple[Tensor, ...]:
    before = (slice(None),) * along
    ends = accumulate(lengths, initial=0)
    return tuple(_part(op, x, (*before, slice(start, stop))) for start, stop in pairwise(ends))


def _part(op: str, x: ArrayNode, where: tuple[Any, ...]) -> Tensor:
    """x[where], a view."""
    shape = x._data.shape

    def make(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, dtype=g.dtype)
        sent[where] = g
        return sent

    def add(total: np.ndarray, g: np.ndarray) -> None:
        total[where] += g

    return record(op, x._data[where], (x, Placing(make, add)))
