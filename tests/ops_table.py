"""The operator table: every operation of the engines, one line a case.

A case is a function of (m, operands), where m is whatever holds the functions: `FLOATS`, `VALUES`, `ARRAYS`,
`tensorgrad` or torch. So one line is run on floats, on Values, on NumPy arrays, on Tensors and on torch's tensors, and
test_ops.py compares what comes out. A new operation is a new line here; a public operation without one fails a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
from op_cases import casting, elementwise, functional, index, linalg, reduce, shape
from op_cases.case import Case, Shapes

from micrograd.engine import Value

_FAMILIES = (elementwise, linalg, reduce, shape, index, functional, casting)

CASES: tuple[Case, ...] = tuple(case for family in _FAMILIES for case in family.CASES)
PLAIN: tuple[Case, ...] = tuple(case for family in _FAMILIES for case in family.PLAIN)
"""Operations whose results are constants."""
EACH = tuple(case for case in CASES if case.scalar)

COMPARISONS = {
    # operation: the comparison, and whether it works on floats and on Values (whose == is identity)
    "lt": (lambda x, y: x < y, True),
    "le": (lambda x, y: x <= y, True),
    "gt": (lambda x, y: x > y, True),
    "ge": (lambda x, y: x >= y, True),
    "eq": (lambda x, y: x == y, False),
    "ne": (lambda x, y: x != y, False),
}

FLOATS = SimpleNamespace(**elementwise.FLOATS)

VALUES = Value  # its methods, as functions

ARRAYS = SimpleNamespace(**{name: function for family in _FAMILIES for name, function in family.NUMPY.items()})
ARRAYS.nn = SimpleNamespace(functional=ARRAYS)  # what torch keeps there is called as m.nn.functional.linear
ARRAYS.tensor = np.array


def calls(cases: tuple[Case, ...] = CASES) -> Iterator[tuple[str, Case, Shapes]]:
    """(a name for the test, the case, the operands' shapes) for every call in the table."""
    for case in cases:
        for shapes in case.shapes:
            yield f"{case.name} {' '.join(map(str, shapes))}", case, shapes
