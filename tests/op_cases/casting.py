"""Copies. (Casts are in test_casting.py: their results are of another dtype than their operands.)"""

from __future__ import annotations

import numpy as np

from op_cases.case import array

CASES = (
    array("clone", lambda m, x: m.clone(x), (), (3,), (2, 3), (0, 2)),
)  # fmt: skip

PLAIN = ()
"""Those whose results are constants: no gradient, integers or booleans mostly."""

NUMPY = {"clone": np.copy}
"""For arrays: the forward value by NumPy's own functions."""
