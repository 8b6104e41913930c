"""Products of matrices."""

from __future__ import annotations

from op_cases.case import array

CASES = (
    array("matmul", lambda m, x, y: x @ y, ((2, 3), (3, 4)), ((1, 1), (1, 1))),
    array("matmul vector", lambda m, x, y: x @ y, ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2))),
    array("matmul batch", lambda m, x, y: x @ y, ((2, 4, 3), (2, 3, 2)), ((2, 1, 2, 3), (4, 3, 2))),
    array("matmul batch of one", lambda m, x, y: x @ y, ((5, 2, 3), (1, 3, 2))),
    array("matmul batch, matrix", lambda m, x, y: x @ y, ((2, 2, 4, 3), (3, 2)), ((4, 3), (2, 3, 2))),
    array("matmul batch, vector", lambda m, x, y: x @ y, ((2, 4, 3), (3,)), ((3,), (2, 3, 4)), ((2, 2, 4, 3), (3,))),
    array("matmul empty", lambda m, x, y: x @ y, ((0,), (0,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((0, 2, 3), (3, 2))),
    array("matmul itself", lambda m, x: x @ x, (3,), (2, 2), (2, 3, 3)),
)  # fmt: skip

PLAIN = ()
"""Those whose results are constants: no gradient, integers or booleans mostly."""

NUMPY = {}
"""For arrays: the forward value by NumPy's own functions."""
