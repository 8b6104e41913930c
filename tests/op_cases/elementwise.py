"""Operations that act on each element."""

from __future__ import annotations

import math

import numpy as np

from op_cases.case import NONZERO, POSITIVE, REAL, each

CASES = (
    each("add", lambda m, x, y: x + y, REAL, REAL),
    each("add number", lambda m, x: x + 3, REAL),
    each("add number first", lambda m, x: 3.5 + x, REAL),
    each("add itself", lambda m, x: x + x, REAL),
    each("sub", lambda m, x, y: x - y, REAL, REAL),
    each("sub number", lambda m, x: x - 3, REAL),
    each("sub number first", lambda m, x: 3.5 - x, REAL),
    each("mul", lambda m, x, y: x * y, REAL, REAL),
    each("mul number", lambda m, x: x * 3, REAL),
    each("mul number first", lambda m, x: 3.5 * x, REAL),
    each("mul itself", lambda m, x: x * x, REAL),
    each("div", lambda m, x, y: x / y, REAL, NONZERO),
    each("div number", lambda m, x: x / 3, REAL),
    each("div number first", lambda m, x: 2 / x, NONZERO),
    each("pow", lambda m, x, y: x**y, POSITIVE, REAL),
    each("pow number 0", lambda m, x: x**0, REAL),
    each("pow number 1", lambda m, x: x**1, REAL),
    each("pow number 2", lambda m, x: x**2, REAL),
    each("pow number 3", lambda m, x: x**3, REAL),
    each("pow number -1", lambda m, x: x**-1, NONZERO),
    each("pow number 0.5", lambda m, x: x**0.5, POSITIVE),
    each("pow number -2.5", lambda m, x: x**-2.5, POSITIVE),
    each("pow number first", lambda m, x: 2**x, REAL),
    each("neg", lambda m, x: -x, REAL),
    each("abs", lambda m, x: abs(x), NONZERO),
    each("exp", lambda m, x: m.exp(x), REAL),
    each("log", lambda m, x: m.log(x), POSITIVE),
    each("sqrt", lambda m, x: m.sqrt(x), POSITIVE),
    each("sin", lambda m, x: m.sin(x), REAL),
    each("cos", lambda m, x: m.cos(x), REAL),
    each("tanh", lambda m, x: m.tanh(x), REAL),
    each("sigmoid", lambda m, x: m.sigmoid(x), REAL),
    each("relu", lambda m, x: m.relu(x), NONZERO),
)

FLOATS = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "relu": lambda x: max(x, 0.0),
}
"""For numbers: what `Value` has as methods."""

PLAIN = ()
"""Those whose results are constants: no gradient, integers or booleans mostly."""

NUMPY = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
}
"""For arrays: the forward value by NumPy's own functions."""
