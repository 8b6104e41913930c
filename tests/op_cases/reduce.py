"""Operations that take several elements to one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from op_cases.case import array

CASES = (
    array("sum", lambda m, x: m.sum(x), (), (3,), (2, 3), (0,), (2, 1, 3)),
    array("sum one axis", lambda m, x: m.sum(x, 1), (2, 3), (2, 0), (0, 2), (2, 1, 3)),
    array("sum last axis", lambda m, x: m.sum(x, -1), (3,), (2, 3), (2, 3, 2)),
    array("sum two axes", lambda m, x: m.sum(x, (0, 2)), (2, 3, 4), (2, 0, 1)),
    array("sum keepdims", lambda m, x: m.sum(x, axis=0, keepdims=True), (3,), (2, 3), (0, 2)),
    array("mean", lambda m, x: m.mean(x), (), (3,), (2, 3)),
    array("mean one axis", lambda m, x: m.mean(x, 1), (2, 3), (0, 2), (2, 1, 3)),
    array("mean two axes, keepdims", lambda m, x: m.mean(x, axis=(-1, 0), keepdims=True), (2, 3, 4)),
    array("max", lambda m, x: m.max(x), (), (3,), (2, 3)),
    array("max one axis", lambda m, x: m.max(x, 1).values, (2, 3), (0, 2), (2, 4, 3)),
    array("max last axis", lambda m, x: m.max(x, -1).values, (3,), (2, 3)),
)  # fmt: skip

PLAIN = ()
"""Those whose results are constants: no gradient, integers or booleans mostly."""

NUMPY = {
    "sum": np.sum,
    "mean": np.mean,
    "max": lambda x, dim=None: np.max(x) if dim is None else SimpleNamespace(values=np.max(x, axis=dim)),
}
"""For arrays: the forward value by NumPy's own functions."""
