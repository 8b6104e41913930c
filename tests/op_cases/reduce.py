"""Operations that take several elements to one, and those that go along an axis."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from op_cases.case import NONZERO, array

_ANY = ((), (3,), (2, 3), (0,), (2, 1, 3))
_LAST = ((3,), (2, 3), (2, 3, 2), (0, 2), ())

CASES = (
    array("sum", lambda m, x: m.sum(x), (), (3,), (2, 3), (0,), (2, 1, 3)),
    array("sum one axis", lambda m, x: m.sum(x, 1), (2, 3), (2, 0), (0, 2), (2, 1, 3)),
    array("sum last axis", lambda m, x: m.sum(x, -1), (3,), (2, 3), (2, 3, 2)),
    array("sum two axes", lambda m, x: m.sum(x, (0, 2)), (2, 3, 4), (2, 0, 1)),
    array("sum keepdims", lambda m, x: m.sum(x, axis=0, keepdims=True), (3,), (2, 3), (0, 2)),
    array("mean", lambda m, x: m.mean(x), (), (3,), (2, 3)),
    array("mean one axis", lambda m, x: m.mean(x, 1), (2, 3), (0, 2), (2, 1, 3)),
    array("mean two axes, keepdims", lambda m, x: m.mean(x, axis=(-1, 0), keepdims=True), (2, 3, 4)),
    array("prod", lambda m, x: m.prod(x), *_ANY),
    array("prod one axis", lambda m, x: m.prod(x, 1), (2, 3), (2, 0), (0, 2), (2, 1, 3)),
    array("prod keepdim", lambda m, x: m.prod(x, -1, True), *_LAST),
    array("max", lambda m, x: m.max(x), (), (3,), (2, 3)),
    array("max one axis", lambda m, x: m.max(x, 1).values, (2, 3), (0, 2), (2, 4, 3)),
    array("max last axis", lambda m, x: m.max(x, -1).values, (3,), (2, 3)),
    array("max keepdim", lambda m, x: m.max(x, 0, True).values, (3,), (2, 3), (2, 0), ()),
    array("max of two", lambda m, x, y: m.max(x, y), ((2, 3), (3,)), ((2, 1), (1, 3))),
    array("min", lambda m, x: m.min(x), (), (3,), (2, 3)),
    array("min one axis", lambda m, x: m.min(x, 1).values, (2, 3), (0, 2), (2, 4, 3)),
    array("min of two", lambda m, x, y: m.min(x, y), ((2, 3), (3,)), ((2, 1), (1, 3))),
    array("amax", lambda m, x: m.amax(x), (), (3,), (2, 3)),
    array("amax last axis", lambda m, x: m.amax(x, -1), *_LAST[:-1]),
    array("amax two axes, keepdim", lambda m, x: m.amax(x, (0, -1), True), (2, 3, 4), (1, 2)),
    array("amin", lambda m, x: m.amin(x), (), (3,), (2, 3)),
    array("amin one axis", lambda m, x: m.amin(x, 0), (3,), (2, 3), (2, 0)),
    array("amin two axes", lambda m, x: m.amin(x, axis=(0, 1)), (2, 3, 4)),
    array("median", lambda m, x: m.median(x), (), (3,), (4,), (2, 3), (2, 3, 3)),
    array("median one axis", lambda m, x: m.median(x, -1).values, (), (3,), (4,), (2, 5), (0, 2)),
    array("median keepdim", lambda m, x: m.median(x, 0, True)[0], (5,), (4, 3), (2, 0)),
    array("diff", lambda m, x: m.diff(x), (3,), (1,), (2, 3), (2, 0), (0, 2)),
    array("diff twice, first axis", lambda m, x: m.diff(x, 2, 0), (4,), (3, 2), (1, 2)),
    array("diff ends", lambda m, x, y: m.diff(x, prepend=y, append=x), ((3,), (2,)), ((2, 3), (2, 1))),
    array("cumsum", lambda m, x: m.cumsum(x, -1), *_LAST),
    array("cumsum first axis", lambda m, x: m.cumsum(x, 0), (2, 3), (3, 1, 2)),
    array("cumprod", lambda m, x: m.cumprod(x, -1), *_LAST),
    array("cumprod first axis", lambda m, x: m.cumprod(x, 0), (2, 3), (4, 1, 2)),
    array("var", lambda m, x: m.var(x), (3,), (2, 3)),
    array("var one axis, keepdim", lambda m, x: m.var(x, 1, keepdim=True), (2, 3), (2, 4, 3)),
    array("var correction", lambda m, x: m.var(x, (0, -1), correction=0), (2, 3), (2, 1, 3)),
    array("std", lambda m, x: m.std(x), (3,), (2, 3)),
    array("std one axis", lambda m, x: m.std(x, -1, correction=0.5), (3,), (2, 3), (2, 4, 3)),
    array("std keepdim", lambda m, x: m.std(x, 0, keepdim=True), (2, 3), (3, 1, 2)),
    array("var_mean", lambda m, x: m.mul(*m.var_mean(x, -1)), (3,), (2, 3)),
    array("std_mean", lambda m, x: m.mul(*m.std_mean(x, 0)), (3,), (2, 3)),
    array("norm", lambda m, x: m.norm(x), (), (3,), (2, 3), domain=NONZERO),
    array("norm of order 1, one axis", lambda m, x: m.norm(x, 1, -1), (3,), (2, 3), (2, 0), domain=NONZERO),
    array("norm of order 3, keepdim", lambda m, x: m.norm(x, 3, 0, True), (3,), (2, 3), domain=NONZERO),
    array("vector_norm", lambda m, x: m.linalg.vector_norm(x), (), (3,), (2, 3), domain=NONZERO),
    array("vector_norm of order 0", lambda m, x: m.linalg.vector_norm(x, 0, -1), (3,), (2, 3), torch=False),
    array("vector_norm of order inf", lambda m, x: m.linalg.vector_norm(x, np.inf, 1), (2, 3), domain=NONZERO),
    array("vector_norm of order -inf", lambda m, x: m.linalg.vector_norm(x, -np.inf), (2, 3), domain=NONZERO),
    array("vector_norm of order 0.5", lambda m, x: m.linalg.vector_norm(x, 0.5, -1), (2, 3), domain=NONZERO),
    array("vector_norm two axes", lambda m, x: m.linalg.vector_norm(x, -1, (0, 1)), (2, 3), (2, 3, 2), domain=NONZERO),
    array("matrix_or_vector_norm", lambda m, x: m.linalg.norm(x, dim=(-1, 0)), (2, 3), (2, 2, 3), domain=NONZERO),
    array("softmax", lambda m, x: m.softmax(x, -1), *_LAST),
    array("softmax first axis", lambda m, x: m.softmax(x, 0), (2, 3), (2, 0), (3, 1, 2)),
    array("log_softmax", lambda m, x: m.log_softmax(x, -1), *_LAST),
    array("log_softmax first axis", lambda m, x: m.log_softmax(x, 0), (2, 3), (2, 0), (3, 1, 2)),
    array("logsumexp", lambda m, x: m.logsumexp(x, -1), *_LAST),
    array("logsumexp two axes, keepdim", lambda m, x: m.logsumexp(x, (0, 1), True), (2, 3), (2, 3, 2)),
)  # fmt: skip

PLAIN = (
    array("median indices", lambda m, x: m.median(x, -1).indices, (), (3,), (4,), (2, 5)),
    array("all", lambda m, x: m.all(x > -1), *_ANY),
    array("all one axis", lambda m, x: m.all(x > 0, 1), (2, 3), (2, 0), (0, 2)),
    array("any", lambda m, x: m.any(x > 1), *_ANY),
    array("any last axis", lambda m, x: m.any(x > 0, -1), (3,), (2, 3), (2, 0)),
    array("count_nonzero", lambda m, x: m.count_nonzero(x > 0), *_ANY),
    array("count_nonzero two axes", lambda m, x: m.count_nonzero(x > 0, (0, -1)), (2, 3), (2, 4, 3)),
    array("argmax", lambda m, x: m.argmax(x), (), (3,), (2, 3)),
    array("argmax last axis", lambda m, x: m.argmax(x, -1), (3,), (2, 3), (0, 2)),
    array("argmin", lambda m, x: m.argmin(x), (), (3,), (2, 3)),
    array("argmin keepdim", lambda m, x: m.argmin(x, 0, True), (3,), (2, 3), (2, 0)),
    array("max indices", lambda m, x: m.max(x, 0).indices, (3,), (2, 3), (2, 0), ()),
)  # fmt: skip
"""Those whose results are constants: no gradient, integers or booleans mostly."""


class _Found(NamedTuple):
    values: np.ndarray
    indices: np.ndarray


def _extreme(choose, find, of_two):
    """torch's three forms in one."""

    def extreme(x, dim=None, keep=False):
        if dim is None:
            return choose(x)
        if isinstance(dim, np.ndarray):
            return of_two(x, dim)
        return SimpleNamespace(
            values=choose(x, axis=dim if x.ndim else None, keepdims=keep and x.ndim > 0),
            indices=find(x, axis=dim if x.ndim else None),
        )

    return extreme


def _median(x, dim=None, keep=False):
    if dim is None:
        return np.percentile(x, 50, method="lower")
    line = x if x.ndim else x.reshape(1)
    place = np.argsort(line, dim).take([(line.shape[dim] - 1) // 2], dim)
    values, indices = np.take_along_axis(line, place, dim), place
    after = values.shape if keep else np.delete(values.shape, dim)
    return _Found(values.reshape(after), indices.reshape(after))


def _softmax(x, axis):
    e = np.exp(x)
    return e / np.sum(e, axis if x.ndim else None, keepdims=True)


def _logsumexp(x, axis, keep=False):
    return np.log(np.sum(np.exp(x), axis if x.ndim else None, keepdims=keep))


def _var(x, axis=None, keepdim=False, correction=1):
    return np.var(x, axis=axis, keepdims=keepdim, ddof=correction)


def _std(x, axis=None, keepdim=False, correction=1):
    return np.std(x, axis=axis, keepdims=keepdim, ddof=correction)


def _norm(x, p=2, dim=None, keep=False):
    if dim is None:
        return np.linalg.norm(np.ravel(x), p)
    if isinstance(dim, tuple):  # of several axes NumPy takes the norm of a matrix
        return np.sum(np.abs(x) ** p, axis=dim) ** (1 / p)
    return np.linalg.norm(x, p, axis=dim, keepdims=keep)


NUMPY = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": lambda x, dim=None, keep=False: np.prod(x, axis=dim if x.ndim else None, keepdims=keep),
    "max": _extreme(np.max, np.argmax, np.maximum),
    "min": _extreme(np.min, np.argmin, np.minimum),
    "amax": lambda x, dim=None, keep=False: np.max(x, axis=dim, keepdims=keep),
    "amin": lambda x, dim=None, axis=None: np.min(x, axis=dim if axis is None else axis),
    "median": _median,
    "diff": np.diff,
    "cumsum": lambda x, dim: np.cumsum(x, dim).reshape(x.shape),
    "cumprod": lambda x, dim: np.cumprod(x, dim).reshape(x.shape),
    "var": _var,
    "std": _std,
    "var_mean": lambda x, dim: (np.var(x, axis=dim, ddof=1), np.mean(x, axis=dim)),
    "std_mean": lambda x, dim: (np.std(x, axis=dim, ddof=1), np.mean(x, axis=dim)),
    "mul": np.multiply,
    "norm": _norm,
    "linalg": SimpleNamespace(
        vector_norm=_norm, norm=lambda x, dim: np.sqrt(np.sum(x * x, axis=tuple(d % x.ndim for d in dim)))
    ),
    "softmax": _softmax,
    "log_softmax": lambda x, axis: np.log(_softmax(x, axis)),
    "logsumexp": _logsumexp,
    "all": np.all,
    "any": np.any,
    "count_nonzero": lambda x, dim=None: np.asarray(np.count_nonzero(x, axis=dim), dtype=np.int64),
    "argmax": lambda x, dim=None: np.asarray(np.argmax(x, axis=dim)),
    "argmin": lambda x, dim=None, keep=False: np.asarray(np.argmin(x, axis=dim, keepdims=keep)),
}
"""For arrays: the forward value by NumPy's own functions."""
