"""Reading, writing and sorting elements by position."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from op_cases.case import array

_REPEATS = np.array([0, 1, 1, 0, 1])
_TABLE = np.array([[0, 2], [2, 2]])
_MASK = np.array([[True, False, True], [False, True, False]])
_COLUMNS = np.array([True, False, True])
_PAIR = np.array([1, 0])
_GRID = np.array([[0, 1, 1], [1, 1, 0]])
_APART = np.array([[0, 1, 1], [1, 0, 0]])
_NONE = np.zeros((0, 2), dtype=np.int64)


def _integer_first(x: Any) -> Any:
    """x[0, :, [1, 1]], in which NumPy counts the integer as one more array."""
    return x[0][:, [1, 1]] if isinstance(x, np.ndarray) else x[0, :, [1, 1]]


def _set(m: Any, x: Any, key: Any, value: Any) -> Any:
    """A copy of x after copy[key] = value."""
    out = m.clone(x)
    out[key] = value
    return out


CASES = (
    array("index integer", lambda m, x: x[1], (3,), (2, 3), (2, 0)),
    array("index integers", lambda m, x: x[-1, 0], (2, 3), (2, 3, 4)),
    array("index slice", lambda m, x: x[1:], (3,), (2, 3), (1, 2)),
    array("index step", lambda m, x: x[:, ::2], (2, 3)),
    array("index backwards", lambda m, x: x[::-1], (3,), (2, 3), torch=False),
    array("index new axes", lambda m, x: x[None, ..., None], (), (3,), (2, 3)),
    array("index all kinds", lambda m, x: x[1, None, ..., 0:1], (2, 3), (2, 3, 2)),
    array("index repeats", lambda m, x: x[_REPEATS], (2,), (2, 3)),
    array("index list", lambda m, x: x[[0, 0, 1]], (2,), (2, 3)),
    array("index repeats, second axis", lambda m, x: x[:, _REPEATS], (3, 2), (3, 2, 2)),
    array("index table", lambda m, x: x[_TABLE], (3,), (3, 2)),
    array("index pairs", lambda m, x: x[[0, 1, 1], [2, 0, 0]], (2, 3)),
    array("index mask", lambda m, x: x[_MASK], (2, 3), (2, 3, 2)),
    array("index mask and slice", lambda m, x: x[1:, _COLUMNS], (2, 3), (3, 3)),
    array("index integer beside an array", lambda m, x: _integer_first(x), (2, 3, 2)),
    array("index arrays apart", lambda m, x: x[_PAIR, 1:, _PAIR], (2, 3, 2)),
    array("index array and new axis", lambda m, x: x[..., _REPEATS, None], (2,), (3, 2)),
    array("index nothing", lambda m, x: x[[]], (3,), (2, 3)),
    array("index boolean", lambda m, x: x[True], (), (3,), (2, 3)),
    array("index boolean beside a slice", lambda m, x: x[1:, False], (3,), (2, 3)),
    array("index twice", lambda m, x: x[:3] * x[1:] + x[-1], (4,)),
    array("setitem integer", lambda m, x, y: _set(m, x, 1, y), ((3,), ()), ((2, 3), (3,)), ((2, 3), (1,))),
    array("setitem slice", lambda m, x, y: _set(m, x, slice(1, None), y), ((3,), (2,)), ((2, 3), ()), ((3, 2), (2, 1))),
    array("setitem all", lambda m, x, y: _set(m, x, ..., y), ((), ()), ((2, 3), (3,)), ((2, 3), (1, 2, 3)), ((0,), ())),
    array("setitem new axis", lambda m, x, y: _set(m, x, (None, ..., slice(0, 2)), y), ((3,), (2,)), ((2, 3), (2, 1))),
    array("setitem mask", lambda m, x, y: _set(m, x, _MASK, y), ((2, 3), ()), ((2, 3), (3,)), ((2, 3, 2), (3, 2))),
    array("setitem positions", lambda m, x, y: _set(m, x, (_PAIR, slice(1, 3)), y), ((2, 3), (2,)), ((2, 3), (2, 1))),
    array("setitem repeats", lambda m, x, y: _set(m, x, _REPEATS, y), ((2,), (5,)), ((2, 3), (5, 1)), torch=False),
    array("setitem of itself", lambda m, x: _set(m, x, 0, x[1] * x[0]), (2,), (3, 2)),
    array("select", lambda m, x: m.select(x, 1, -1), (2, 3), (2, 3, 2)),
    array("narrow", lambda m, x: m.narrow(x, -1, 1, 2), (3,), (2, 3), (2, 2, 4)),
    array("gather", lambda m, x: m.gather(x, 0, m.tensor(_GRID)), (2, 3), (4, 3)),
    array("gather last axis", lambda m, x: m.gather(x, -1, m.tensor(_GRID)), (2, 2), (3, 2)),
    array("gather vector", lambda m, x: m.gather(x, 0, m.tensor([1, 0, 1, 1])), (2,), (3,)),
    array("gather from a number", lambda m, x: m.gather(x, 0, m.tensor([0, 0])), (), (1,)),
    array("gather nothing", lambda m, x: m.gather(x, 0, m.tensor(_NONE)), (3, 2)),
    array("take_along_dim", lambda m, x: m.take_along_dim(x, m.tensor([[1, 0, 1]]), 1), (2, 2), (3, 2), (1, 2)),
    array("take_along_dim broadcast", lambda m, x: m.take_along_dim(x, m.tensor(_GRID), 0), (2, 3), (2, 1)),
    array("take_along_dim flat", lambda m, x: m.take_along_dim(x, m.tensor([1, 0, 1])), (2, 2), (3,)),
    array("take", lambda m, x: m.take(x, m.tensor([[1, -1], [0, 1]])), (2, 2), (3,)),
    array("index_select", lambda m, x: m.index_select(x, 0, m.tensor(_REPEATS)), (2,), (2, 3), (3, 2, 2)),
    array("index_select last axis", lambda m, x: m.index_select(x, -1, m.tensor(_REPEATS)), (2, 2), (2, 3, 2)),
    array("index_select from a number", lambda m, x: m.index_select(x, 0, m.tensor([0])), ()),
    array("masked_select", lambda m, x: m.masked_select(x, m.tensor(_MASK)), (2, 3), (3,), (2, 1), (), (4, 2, 3)),
    array("masked_select row", lambda m, x: m.masked_select(x, m.tensor(_COLUMNS)), (2, 3), (3,)),
    array("scatter number", lambda m, x: m.scatter(x, 1, m.tensor(_GRID), 2.5), (2, 3), (3, 4)),
    array("scatter", lambda m, x, y: m.scatter(x, 0, m.tensor(_APART), y), ((2, 3), (2, 3)), ((3, 4), (2, 3))),
    # torch has no gradient for a source that is larger than the index, and another one where positions repeat
    array("scatter part", lambda m, x, y: m.scatter(x, 1, m.tensor([[2, 0]]), y), ((2, 3), (3, 4)), torch=False),
    array("scatter repeats", lambda m, x, y: m.scatter(x, 0, m.tensor([1, 0, 1]), y), ((3,), (3,)), torch=False),
    array("scatter nothing", lambda m, x, y: m.scatter(x, 0, m.tensor(_NONE), y), ((2, 3), (0, 2))),
    array("scatter_add", lambda m, x, y: m.scatter_add(x, 0, m.tensor(_GRID), y), ((2, 3), (2, 3)), ((4, 3), (2, 3))),
    array("scatter_add last axis", lambda m, x, y: m.scatter_add(x, -1, m.tensor(_GRID), y), ((3, 2), (2, 3))),
    array("scatter_add to a number", lambda m, x, y: m.scatter_add(x, 0, m.tensor([0, 0]), y), ((), (2,))),
    array("scatter_add part", lambda m, x, y: m.scatter_add(x, 0, m.tensor([[1]]), y), ((2, 3), (2, 2)), torch=False),
    array("index_add", lambda m, x, y: m.index_add(x, 0, m.tensor(_REPEATS), y), ((2,), (5,)), ((2, 3), (5, 3))),
    array("index_add last axis", lambda m, x, y: m.index_add(x, -1, m.tensor([2, 2]), y, alpha=-2), ((2, 3), (2, 2))),
    array("index_add to a number", lambda m, x, y: m.index_add(x, 0, m.tensor([0]), y), ((), ())),
    array("index_fill", lambda m, x: m.index_fill(x, 0, m.tensor([0, 2, 0]), 0.5), (3,), (4, 2), (3, 0)),
    array("index_fill last axis", lambda m, x: m.index_fill(x, -1, m.tensor([1]), -2.0), (2,), (2, 3), (0, 2)),
    array("sort", lambda m, x: m.sort(x).values, (), (3,), (2, 3), (0,), (2, 0)),
    array("sort first axis", lambda m, x: m.sort(x, 0).values, (3,), (3, 2), (3, 2, 2)),
    array("sort descending", lambda m, x: m.sort(x, -1, True).values, (), (4,), (2, 3), (2, 0)),
    array("topk", lambda m, x: m.topk(x, 2).values, (2,), (4,), (2, 3)),
    array("topk smallest", lambda m, x: m.topk(x, 1, 0, largest=False).values, (), (3,), (3, 2)),
    array("topk none", lambda m, x: m.topk(x, 0).values, (3,), (2, 0)),
)  # fmt: skip

PLAIN = (
    array("unique", lambda m, x: m.unique(m.round(x)), (), (6,), (2, 4), (0,)),
    array("unique inverse", lambda m, x: m.unique(m.round(x), return_inverse=True)[1], (6,), (2, 4)),
    array("unique counts", lambda m, x: m.unique(m.round(x), return_inverse=True, return_counts=True)[2], (6,), (2, 4)),
    array("unique rows", lambda m, x: m.unique(m.sign(x), dim=0), (6, 1), (6, 2)),
    array("bincount", lambda m, x: m.bincount(m.argsort(x)), (4,), (0,)),
    array("bincount weights", lambda m, x: m.bincount(m.argsort(x), x, minlength=6), (4,)),
    array(
        "searchsorted", lambda m, x, y: m.searchsorted(m.sort(x).values, y), ((4,), (2, 3)), ((4,), ()), ((0,), (2,))
    ),
    array(
        "searchsorted rows",
        lambda m, x, y: m.searchsorted(m.sort(x).values, y),
        ((2, 4), (2, 3)),
        ((2, 1, 3), (2, 1, 1)),
    ),
    array("searchsorted right", lambda m, x: m.searchsorted(m.sort(x).values, x, right=True), (4,), (2, 3)),
    array("bucketize", lambda m, x, y: m.bucketize(x, m.sort(y).values), ((2, 3), (4,)), ((), (2,))),
    array(
        "bucketize right",
        lambda m, x: m.bucketize(m.round(x), m.tensor([-1.0, 0.0, 1.0], dtype=x.dtype), right=True),
        (5,),
    ),
    array("histc", lambda m, x: m.histc(x, 4, -1, 1), (6,), (2, 5), (0,)),
    array("histc all", lambda m, x: m.histc(x, bins=3), (6,), (2, 5)),
    array("isin", lambda m, x, y: m.isin(m.round(x), m.round(y)), ((4,), (2, 2)), ((2, 3), ()), ((0,), (1,))),
    array("isin invert", lambda m, x: m.isin(m.round(x), m.tensor([0.0, 1.0], dtype=x.dtype), invert=True), (2, 3)),
    array("sort indices", lambda m, x: m.sort(x, -1).indices, (), (4,), (2, 3), (0,)),
    array("argsort", lambda m, x: m.argsort(x), (), (4,), (2, 3), (0, 2)),
    array("argsort first axis, descending", lambda m, x: m.argsort(x, 0, True), (4,), (3, 2)),
    array("topk indices", lambda m, x: m.topk(x, 2).indices, (3,), (2, 4)),
    array("nonzero", lambda m, x: m.nonzero(x > 0), (), (4,), (2, 3), (0,)),
    array("nonzero tuple", lambda m, x: m.nonzero(x > 0, as_tuple=True)[-1], (4,), (2, 3)),
    array("argwhere", lambda m, x: m.argwhere(x > 0), (), (2, 3)),
)
"""Those whose results are constants: no gradient, integers or booleans mostly."""


def _gather(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    x = np.atleast_1d(x)
    axis = dim % x.ndim
    part = x[tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(index.shape))]
    return np.take_along_axis(part, index, axis)


def _each(dim: int, index: np.ndarray) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(a position in the source, where in the result its element goes), one by one."""
    for source in np.ndindex(index.shape):
        goal = list(source)
        goal[dim] = int(index[source])
        yield source, tuple(goal)


def _scatter(x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray | float) -> np.ndarray:
    out = x.copy()
    for source, goal in _each(dim, index):
        out[goal] = src if isinstance(src, float) else src[source]
    return out


def _scatter_add(x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
    out = np.atleast_1d(x).copy()
    for source, goal in _each(dim, index):
        out[goal] += src[source]
    return out.reshape(x.shape)


def _index_add(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: float = 1) -> np.ndarray:
    if x.ndim == 0:
        return x + alpha * source
    out = np.moveaxis(x, dim, 0).copy()
    for i, row in zip(index, np.moveaxis(source, dim, 0), strict=True):
        out[i] += alpha * row
    return np.moveaxis(out, 0, dim)


def _sort(x: np.ndarray, dim: int = -1, descending: bool = False) -> SimpleNamespace:
    """The random numbers of the table have no ties."""
    if x.ndim == 0:
        return SimpleNamespace(values=x, indices=np.array(0))
    order = np.argsort(-x if descending else x, dim)
    return SimpleNamespace(values=np.sort(x, dim) if not descending else -np.sort(-x, dim), indices=order)


def _topk(x: np.ndarray, k: int, dim: int = -1, largest: bool = True) -> SimpleNamespace:
    found = _sort(x, dim, largest)
    if x.ndim == 0:
        return found
    return SimpleNamespace(**{name: np.take(a, range(k), dim) for name, a in vars(found).items()})


def _index_fill(x: np.ndarray, dim: int, index: np.ndarray, value: float) -> np.ndarray:
    out = np.moveaxis(x.copy(), dim, 0)
    out[index] = value
    return np.moveaxis(out, 0, dim)


def _unique(x: np.ndarray, dim: int | None, asked: dict[str, bool]) -> Any:
    """By comparing everything with everything."""
    rows = [tuple(row) for row in (x.reshape(-1, 1) if dim is None else x)]
    found = sorted(set(rows))
    inverse = np.array([found.index(row) for row in rows], dtype=np.int64).reshape(x.shape if dim is None else -1)
    counts = np.array([rows.count(row) for row in found], dtype=np.int64)
    values = np.array(found, dtype=x.dtype).reshape(-1 if dim is None else (len(found), *x.shape[1:]))
    return (values, inverse, counts) if asked else values


def _bincount(x: np.ndarray, weights: np.ndarray | None = None, minlength: int = 0) -> np.ndarray:
    out = np.zeros(max(minlength, x.max(initial=-1) + 1), dtype=np.int64 if weights is None else np.float64)
    np.add.at(out, x, 1 if weights is None else weights)
    return out


def _searchsorted(edges: np.ndarray, x: np.ndarray, right: bool = False) -> np.ndarray:
    """How many of the edges are below each element."""
    edges = edges[..., None, :] if edges.ndim > 1 else edges
    below = edges <= x[..., None] if right else edges < x[..., None]
    return np.asarray(below.sum(axis=-1, dtype=np.int64))


def _histc(x: np.ndarray, bins: int, low: float = 0, high: float = 0) -> np.ndarray:
    if low == high and x.size:
        low, high = x.min(), x.max()
    step = (high - low) / bins
    places = [min(int((n - low) // step), bins - 1) for n in x.flat if low <= n <= high]
    return np.array([places.count(i) for i in range(bins)], dtype=x.dtype)


NUMPY = {
    "select": lambda x, dim, i: np.take(x, i, dim),
    "narrow": lambda x, dim, start, length: np.take(x, range(start, start + length), dim),
    "gather": _gather,
    "take_along_dim": lambda x, index, dim=None: np.take_along_axis(x.ravel() if dim is None else x, index, dim or 0),
    "take": np.take,
    "index_select": lambda x, dim, index: np.take(x, index, dim) if x.ndim else x,
    "masked_select": lambda x, mask: np.concatenate([np.broadcast_arrays(x, mask)[0][np.broadcast_arrays(x, mask)[1]]]),
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "index_add": _index_add,
    "index_fill": _index_fill,
    "unique": lambda x, dim=None, **asked: _unique(x, dim, asked),
    "bincount": _bincount,
    "searchsorted": _searchsorted,
    "bucketize": lambda x, edges, right=False: _searchsorted(edges, x, right),
    "histc": _histc,
    "isin": lambda x, among, invert=False: np.any(x[..., None] == np.ravel(among), axis=-1) != invert,
    "sort": _sort,
    "argsort": lambda x, dim=-1, descending=False: _sort(x, dim, descending).indices,
    "topk": _topk,
    "nonzero": lambda x, as_tuple=False: np.nonzero(x) if as_tuple else np.argwhere(x),
    "argwhere": np.argwhere,
}
"""For arrays: the forward value by NumPy's own functions."""
