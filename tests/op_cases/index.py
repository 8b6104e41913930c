"""Reading elements by position."""

from __future__ import annotations

import numpy as np

from op_cases.case import array

_REPEATS = np.array([0, 1, 1, 0, 1])
_TABLE = np.array([[0, 2], [2, 2]])
_MASK = np.array([[True, False, True], [False, True, False]])

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
    array("index twice", lambda m, x: x[:3] * x[1:] + x[-1], (4,)),
)  # fmt: skip

PLAIN = ()
"""Those whose results are constants: no gradient, integers or booleans mostly."""

NUMPY = {}
"""For arrays: the forward value by NumPy's own functions."""
