"""Functions that networks are made of: `nn.functional`, as `m.nn.functional` or `m.F`."""

from __future__ import annotations

CASES = ()

PLAIN = ()
"""Those whose results are constants: no gradient, integers or booleans mostly."""

NUMPY = {}
"""For arrays: the forward value by NumPy's own functions."""
