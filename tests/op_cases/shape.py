"""Operations that arrange the same elements in another shape."""

from __future__ import annotations

import numpy as np

from op_cases.case import array

CASES = (
    array("reshape", lambda m, x: m.reshape(x, (3, 2)), (6,), (2, 3), (1, 6, 1)),
    array("reshape -1", lambda m, x: m.reshape(x, (-1, 2)), (4,), (2, 3, 2), (0, 2)),
    array("reshape to no axes", lambda m, x: m.reshape(x, ()), (), (1,), (1, 1)),
    array("transpose", lambda m, x: m.transpose(x, 0, 1), (2, 3), (2, 3, 4), (0, 2)),
    array("transpose negative", lambda m, x: m.transpose(x, -1, -2), (2, 3), (2, 3, 4)),
    array("permute", lambda m, x: m.permute(x, (2, 0, 1)), (2, 3, 4), (1, 0, 2)),
    array("permute negative", lambda m, x: m.permute(x, (1, -2)), (2, 3)),
    array("T", lambda m, x: x.T, (2, 3), (0, 2)),
)  # fmt: skip

PLAIN = ()
"""Those whose results are constants: no gradient, integers or booleans mostly."""

NUMPY = {
    "reshape": np.reshape,
    "transpose": np.swapaxes,
    "permute": np.transpose,
}
"""For arrays: the forward value by NumPy's own functions."""
