"""What x[...] reads: keys in torch's meaning, made of parts that NumPy reads in the same way; and the way back."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any, NamedTuple

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import sum_dtype
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode
from tensorgrad.settings import kind

_ALL = slice(None)

_MANY, _LONG, _OFTEN = 2**17, 64, 8
"""Elements in all, elements in a row, and how often each row comes, from which on rows are added up one at a time."""


class Key(NamedTuple):
    """A key in two steps: a[view][arrays].

    view    integers, slices, None and Ellipsis: what gives a view; None where there is nothing of that to do first
    arrays  slices, None, Ellipsis, and arrays of positions or booleans; None where there are no arrays

    Two steps, since torch applies integers before arrays: x[0, :, [1, 2]] is x[0][:, [1, 2]], while NumPy counts the
    integer as one more array, and puts the axes elsewhere.
    """

    view: tuple[Any, ...] | None
    arrays: tuple[Any, ...] | None

    @property
    def may_repeat(self) -> bool:
        """Whether an element may be read twice: only integer arrays can name one twice."""
        return self.arrays is not None and any(_is_positions(part) for part in self.arrays)


def normalize_key(where: Any) -> Key:
    """A key as it was written between the brackets. A tuple has a part for each axis; Tensors, lists, ranges and
    arrays hold positions or booleans.

    Raises IndexError for what names no positions.
    """
    parts = [_part(part) for part in where] if isinstance(where, tuple) else [_part(where)]
    if not any(isinstance(part, (np.ndarray, bool)) for part in parts):
        return Key((*parts, Ellipsis) if Ellipsis not in parts else tuple(parts), None)  # with ... 0-d stays an array
    if not any(isinstance(part, (int, bool)) for part in parts):
        return Key(None, tuple(parts))
    view: list[Any] = []
    arrays: list[Any] = []
    for part in parts:
        if isinstance(part, np.ndarray):  # waits; a mask of two axes is in the place of two
            view += [_ALL] * (part.ndim if part.dtype.kind == "b" else 1)
            arrays.append(part)
        elif isinstance(part, bool):  # a new axis, of length 1 or 0
            view.append(None)
            arrays.append(np.zeros(int(part), dtype=np.intp))
        elif isinstance(part, int):
            view.append(part)
        else:
            view.append(part)
            arrays.append(part if part is Ellipsis else _ALL)
    return Key(tuple(view), tuple(arrays))


def read(a: np.ndarray, key: Key) -> np.ndarray:
    """a[key]: a view if there are no arrays in the key, else a new array in row-major order. Raises as NumPy does."""
    view = a if key.view is None else a[key.view]
    if key.arrays is None:
        return view
    axis = _single_axis(key.arrays)
    if axis is not None and axis < view.ndim:
        return np.take(view, key.arrays[axis], axis)
    out = np.asarray(view[key.arrays])
    return out if out.flags.c_contiguous else out.copy(order="C")


def written(shape: tuple[int, ...], key: Key, g: np.ndarray) -> np.ndarray:
    """Zeros of `shape` to which g is added at the key, as often as an element is named there."""
    if key.arrays is None or not key.may_repeat:
        sent = np.zeros(shape, dtype=g.dtype)
        view = sent if key.view is None else sent[key.view]
        view[... if key.arrays is None else key.arrays] = g
        return sent
    if key.view is None:
        return scattered(shape, key.arrays, g)
    number = read(np.arange(prod(shape)).reshape(shape), key)
    return scattered((prod(shape),), (number.reshape(-1),), g.reshape(-1)).reshape(shape)


def write_in(total: np.ndarray, key: Key, g: np.ndarray) -> None:
    """Add to `total`, in place, what `written` would make for its shape: the same bits."""
    if key.arrays is None or not key.may_repeat:
        view = total if key.view is None else total[key.view]
        view[... if key.arrays is None else key.arrays] += g
    elif key.view is None and _single_axis(key.arrays) == 0:
        add_rows(total, key.arrays[0], g)
    else:
        total += written(total.shape, key, g).astype(total.dtype, copy=False)  # rounded as a contribution is


def add_rows(total: np.ndarray, where: np.ndarray, g: np.ndarray) -> None:
    """Add to `total`, in place, what `scattered` would make for the rows `where`. What comes for one row is added up
    before it gets there, as it would be in an array of zeros."""
    rows, place = np.unique(np.where(where < 0, where + len(total), where), return_inverse=True)
    sent = scattered((len(rows), *total.shape[1:]), (place,), g)
    total[rows] += sent.astype(total.dtype, copy=False)  # rounded as a contribution is


def scattered(shape: tuple[int, ...], arrays: tuple[Any, ...], g: np.ndarray) -> np.ndarray:
    """Zeros of `shape` to which g is added at `arrays`."""
    sent = np.zeros(shape, dtype=sum_dtype(g.dtype) if g.dtype.kind == "f" else g.dtype)
    if g.size >= _MANY and len(shape) > 1 and _single_axis(arrays) == 0 and _add_long_rows(sent, arrays[0], g):
        return sent
    add_at(sent, arrays, g)
    return sent


def _add_long_rows(zeros: np.ndarray, where: np.ndarray, g: np.ndarray) -> bool:
    """Add g to the rows `where` of zeros, if they are long and come often: then a row at a time is faster, up to 3
    times, and the same in each bit, since both add one after the other. Returns whether it has been done."""
    numbers, n = where.reshape(-1) % len(zeros), zeros[0].size
    if n < _LONG or len(numbers) < _OFTEN * np.count_nonzero(np.bincount(numbers)):
        return False
    order = np.argsort(numbers, kind="stable")
    numbers, rows, columns = numbers[order], g.reshape(-1, n), zeros.reshape(-1, n)
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    for number, some in zip(numbers[starts].tolist(), np.split(order, starts[1:]), strict=True):
        columns[number] += np.add.reduce(rows.take(some, 0), 0, dtype=zeros.dtype)
    return True


def add_at(target: np.ndarray, arrays: tuple[Any, ...], g: np.ndarray) -> None:
    """target[arrays] += g, in which an element that is named several times receives all that is for it.

    `target` must be in row-major order. The elements are numbered in it first: np.add.at has a fast loop for one
    array of positions in one axis, which is some 4 times faster than rows, and adds in the same order.
    """
    number = numbers(target.shape, arrays)
    if number is None:
        number = np.arange(target.size).reshape(target.shape)[arrays]
    np.add.at(target.reshape(-1), number.reshape(-1), g.astype(target.dtype, copy=False).reshape(-1))


def grid(where: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The key with which gather reads: `where` along `axis`, and along the others each its own position."""
    n = where.ndim
    own = [np.arange(m).reshape([-1 if j == i else 1 for j in range(n)]) for i, m in enumerate(where.shape)]
    own[axis] = where
    return tuple(own)


_POSITIONS = (ArrayNode, np.ndarray, np.generic, int, list, tuple, range)


def positions(op: str, x: Any, what: str = "positions") -> np.ndarray:
    """Whole numbers as an array, copied, so that a caller who changes theirs later does not change where a gradient
    goes. Raises DtypeError, which calls them `what`, for others."""
    if not isinstance(x, _POSITIONS):
        raise DtypeError(f"{op}: {what} are whole numbers, in a tensor, an array or a list; got {kind(x)}")
    try:
        found = np.array(x._data if isinstance(x, ArrayNode) else lift.plain_list(x))
    except ValueError:
        raise ValueError(f"{op}: the lists of {what} are ragged: every row needs the same length") from None
    if found.size == 0 and isinstance(x, (list, tuple)):
        found = found.astype(np.intp)  # NumPy makes an empty list float
    if found.dtype.kind not in "iu":
        raise DtypeError(f"{op}: {what} are whole numbers, got {found.dtype}: convert them, e.g. .long()")
    return found.astype(np.intp, copy=False)


def check_positions(op: str, where: np.ndarray, shape: tuple[int, ...], axis: int, lowest: int = 0) -> None:
    """Raises IndexError, naming the first position in `where` that is not on the axis of `shape`."""
    n = shape[axis]
    if where.size and (where.min() < lowest or where.max() >= n):
        wrong = where[(where < lowest) | (where >= n)][0]
        raise IndexError(
            f"{op}: position {wrong} is out of range for dim {axis} of shape {shape}: from {lowest} to {n - 1}"
        )


def numbers(shape: tuple[int, ...], arrays: tuple[Any, ...]) -> np.ndarray | None:
    """The places in row-major order of what `arrays` names in an array of `shape`: for whole axes, then positions for
    some, then whole axes; None for other keys."""
    parts = arrays[:-1] if arrays and arrays[-1] is Ellipsis else arrays
    first = 0
    while first < len(parts) and _is_all(parts[first]):
        first += 1
    last = first
    while last < len(parts) and _is_positions(parts[last]):
        last += 1
    if last == first or not all(_is_all(part) for part in parts[last:]):
        return None
    row: Any = 0
    for part, n in zip(parts[first:last], shape[first:last], strict=True):
        row = row * n + np.where(part < 0, part + n, part)
    outer, n, inner = prod(shape[:first]), prod(shape[first:last]), prod(shape[last:])
    number = row.reshape(-1, 1) * inner + np.arange(inner) if inner != 1 else row.reshape(-1)
    return number.reshape(-1) + np.arange(outer)[:, None] * (n * inner) if outer != 1 else number


def _single_axis(arrays: tuple[Any, ...]) -> int | None:
    """The axis of the only array of positions, where nothing else than whole axes stands beside it."""
    found = [i for i, part in enumerate(arrays) if not _is_all(part)]
    if found and arrays[-1] is Ellipsis:
        found.pop()
    return found[0] if len(found) == 1 and _is_positions(arrays[found[0]]) else None


def _is_all(part: Any) -> bool:
    return isinstance(part, slice) and part == _ALL


def _is_positions(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype.kind == "i"


def _part(part: Any) -> Any:
    """One part of a key: int, bool, slice, None, Ellipsis, or an array of int positions or of booleans, copied."""
    if part is None or part is Ellipsis or isinstance(part, (slice, bool)):
        return part
    if isinstance(part, np.bool_):
        return bool(part)
    if hasattr(type(part), "__index__") and not hasattr(part, "shape"):
        return index(part)
    if not isinstance(part, _POSITIONS) and hasattr(part, "shape") and hasattr(part, "__array__"):
        raise IndexError(f"positions are whole numbers or booleans, got {kind(part)}")  # another library's tensor
    try:
        array = np.array(part._data if isinstance(part, ArrayNode) else lift.plain_list(part))
    except ValueError:
        raise IndexError("positions must not be ragged lists") from None
    if array.size == 0 and isinstance(part, (list, tuple, range)):
        array = array.astype(np.intp)  # NumPy makes an empty list float
    if array.dtype == np.uint8:
        raise IndexError("uint8 is a mask in torch and positions in NumPy: convert it, to bool or to int64")
    if array.dtype.kind not in "biu":
        raise IndexError(
            f"positions are whole numbers or booleans, got {kind(part) if array.dtype == object else array.dtype}"
        )
    if array.ndim == 0:
        return array.item()
    return array if array.dtype.kind == "b" else array.astype(np.intp, copy=False)
