"""Python's `math`, with IEEE 754's answers (inf, nan) in place of exceptions."""

import math


def divide(a: float, b: float) -> float:
    """a / b; by 0, inf with the sign of both, or nan for 0 / 0."""
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0.0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def power(a: float, b: float) -> float:
    """a ** b, never complex: a root of a negative number is nan."""
    try:
        return math.pow(a, b)
    except OverflowError:  # finite operands, infinite result
        return -math.inf if a < 0.0 and b % 2.0 == 1.0 else math.inf
    except ValueError:  # 0 to a negative power, or a root of a negative number
        if a == 0.0:
            return math.copysign(math.inf, a) if b % 2.0 == 1.0 else math.inf
        return math.nan


def exp(x: float) -> float:
    """e**x, inf where that overflows."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    """The natural logarithm: -inf at 0, nan below."""
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def sqrt(x: float) -> float:
    """The square root, nan below 0."""
    return math.nan if x < 0.0 else math.sqrt(x)


def sin(x: float) -> float:
    """The sine of x radians, nan at infinity."""
    return math.nan if math.isinf(x) else math.sin(x)


def cos(x: float) -> float:
    """The cosine of x radians, nan at infinity."""
    return math.nan if math.isinf(x) else math.cos(x)


def sigmoid(x: float) -> float:
    """1 / (1 + e**-x), without overflow on either side."""
    e = math.exp(-abs(x))  # at most 1
    return (1.0 if x >= 0.0 else e) / (1.0 + e)


def sign(x: float) -> float:
    """-1, 0 at 0, or 1; nan for nan."""
    return x if x != x else float(x > 0.0) - float(x < 0.0)
