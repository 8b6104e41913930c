"""Operations that take each element from one operand or another.

Of two branches, the one that was not chosen gets the gradient 0 and a mask that says so (see `selection`), so that inf
or nan in it poisons nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import default_float
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.node import ArrayNode, new, operand, quiet, record
from tensorgrad.ops.operands import Operand, apply, masked, pair
from tensorgrad.selection import Selected
from tensorgrad.settings import real
from tensorgrad.shapes import broadcast

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

# -- by a condition ----------------------------------------------------------------------------------------------------


@overload
def where(condition: Operand) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Operand, x: Operand, y: Operand) -> Tensor: ...
def where(condition: Operand, x: Operand = None, y: Operand = None) -> Tensor | tuple[Tensor, ...]:
    """x where the booleans in `condition` hold, y elsewhere; all three broadcast.

    where(condition) alone gives the positions where it is not 0, as a tuple with a tensor of integers for each axis.
    Raises DtypeError for a condition of numbers, ShapeError where the three do not broadcast.
    """
    if x is None and y is None:
        found = np.nonzero(np.atleast_1d(lift.numbers(operand(condition, "where")._data)))
        return tuple(new(positions) for positions in found)
    if x is None or y is None:
        raise TypeError("where: give both x and y, or the condition alone for the positions where it is not 0")
    c = _booleans("where", "condition", condition)
    if isinstance(x, (bool, int, float)) and isinstance(y, (bool, int, float)):
        x, y = (new(np.asarray(n, dtype=default_float() if isinstance(n, float) else type(n))) for n in (x, y))
    x, y, a, b = pair("where", x, y)
    broadcast("where", c.shape, a.shape, b.shape)
    return record(
        "where",
        np.where(c, a, b),
        (x, lambda g: Selected(masked(g, c), c)),
        (y, lambda g: Selected(masked(g, ~c), ~c)),
    )


def masked_fill(x: Operand, mask: Operand, value: Operand) -> Tensor:
    """`value`, a number or a 0-d tensor, where the booleans in `mask` hold, x elsewhere; the two broadcast.

    The result has the dtype of x. Raises DtypeError for a mask of numbers, ShapeError for a value with axes.
    """
    x = operand(x, "masked_fill")
    a = x._data
    m = _booleans("masked_fill", "mask", mask)
    v, filling = _filling(value, x)
    broadcast("masked_fill", m.shape, a.shape)
    return record(
        "masked_fill",
        np.where(m, filling, a),
        (x, lambda g: Selected(masked(g, ~m), ~m)),
        (v, lambda g: Selected(masked(g, m), m)),
    )


@quiet
def _filling(value: Operand, beside: ArrayNode) -> tuple[ArrayNode, np.ndarray]:
    """The value of masked_fill as an operand, and as a 0-d array of the dtype of what it fills."""
    v = operand(value, "masked_fill", beside)
    n, dtype = v._data, beside._data.dtype
    if n.ndim:
        raise ShapeError(f"masked_fill: the value is one number, got shape {n.shape}: use where(mask, value, x)")
    if n.dtype.kind == "c" and dtype.kind != "c":
        raise DtypeError(f"masked_fill: the complex value {n} does not fit into {dtype}")
    if dtype.kind in "iu" and n.dtype.kind == "f" and not np.isfinite(n):
        raise DtypeError(f"masked_fill: {n} does not fit into {dtype}: convert the tensor, e.g. x.float()")
    return v, n.astype(object if n.dtype == object else dtype)


def _booleans(op: str, what: str, condition: Operand) -> np.ndarray:
    """The array of a condition. torch's old form, uint8 with 0 and 1, is taken too."""
    try:
        c = condition._data if isinstance(condition, ArrayNode) else np.asarray(lift.plain_list(condition))
    except ValueError:
        raise ValueError(f"{op}: the lists of the {what} are ragged: every row needs the same length") from None
    if c.dtype == np.uint8:
        c = c.astype(bool)
    if c.dtype != bool:
        raise DtypeError(f"{op}: the {what} holds {c.dtype}, not booleans: compare, e.g. c != 0")
    return c


# -- by size -----------------------------------------------------------------------------------------------------------


def maximum(x: Operand, y: Operand) -> Tensor:
    """The larger of x and y, broadcast; where they are equal, each gets half the gradient. nan stays nan."""
    return _extreme("maximum", np.maximum, np.less, x, y)


def minimum(x: Operand, y: Operand) -> Tensor:
    """The smaller of x and y, broadcast; where they are equal, each gets half the gradient. nan stays nan."""
    return _extreme("minimum", np.minimum, np.greater, x, y)


def _extreme(op: str, ufunc: Callable[..., Any], loses: Callable[..., Any], x: Operand, y: Operand) -> Tensor:
    x, y, a, b = pair(op, x, y)
    if a.dtype == object:
        m, n = lift.numbers(a), lift.numbers(b)
        apply(op, np.equal, m, n)
        undecided = np.where(m == n, 0.5, 1.0)  # nan: neither is larger, and the sum is nan
        out = np.where(loses(m, n), b, np.where(loses(n, m), a, a * undecided + b * undecided))
    else:
        out = apply(op, ufunc, a, b)
    return record(
        op,
        out,
        (x, lambda g: _won(g, a == b, loses(a, b))),
        (y, lambda g: _won(g, a == b, loses(b, a))),
    )


def _won(g: np.ndarray, tied: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """The gradient of one of the two that maximum compares: all where it won, half where the two are equal."""
    if tied.any():
        g = np.where(tied, g * 0.5, g)
    return masked(g, ~lost)


def clamp(x: Operand, min: Operand = None, max: Operand = None) -> Tensor:
    """x limited to [min, max]; either limit may be a number, a tensor that broadcasts, or None.

    The gradient passes where x is within the limits and on them, and goes to the limit elsewhere if that is a tensor.
    Where min is above max the result is max. nan stays nan. Raises ValueError if both limits are None.
    """
    if min is None and max is None:
        raise ValueError("clamp: give min, max, or both")
    x = operand(x, "clamp")
    if all(limit is None or isinstance(limit, Real) for limit in (min, max)):
        return _clamp_numbers(x, min, max)
    if max is None:
        return _clamp_one("clamp_min", np.maximum, np.less, x, min)
    if min is None:
        return _clamp_one("clamp_max", np.minimum, np.greater, x, max)
    return _clamp_between(x, min, max)


def _clamp_numbers(x: ArrayNode, low: float | None, high: float | None) -> Tensor:
    a = x._data
    limits = []
    for limit in (low, high):
        if limit is not None:
            _, limit, a, _ = pair("clamp", new(a), limit)
            limit = limit._data
        limits.append(limit)
    low, high = limits
    n = lift.numbers(a)
    out = np.clip(n, low, high)
    if a.dtype == object:
        out = np.where(_within(n, low, high), a, out)
    return record("clamp", out, (x, lambda g: masked(g, _within(a, low, high))))


def _within(a: np.ndarray, low: np.ndarray | None, high: np.ndarray | None) -> np.ndarray:
    if low is None:
        return a <= high
    return a >= low if high is None else (a >= low) & (a <= high)


def _clamp_one(op: str, ufunc: Callable[..., Any], beyond: Callable[..., Any], x: ArrayNode, limit: Operand) -> Tensor:
    x, y, a, b = pair(op, x, limit)
    if a.dtype == object:
        m, n = lift.numbers(a), lift.numbers(b)
        out = np.where(apply(op, beyond, m, n), b, a)
        out = np.where(np.isnan(n), n, out)
    else:
        out = apply(op, ufunc, a, b)
    return record(
        op,
        out,
        (x, lambda g: masked(g, beyond(b, a) | (a == b))),
        (y, lambda g: masked(g, beyond(a, b))),
    )


def _clamp_between(x: ArrayNode, low: Operand, high: Operand) -> Tensor:
    x, y, a, b = pair("clamp", x, low)
    _, z, a, c = pair("clamp", new(a), high)
    b = b.astype(a.dtype, copy=False)
    broadcast("clamp", a.shape, b.shape, c.shape)
    m, lo, hi = lift.numbers(a), lift.numbers(b), lift.numbers(c)
    if a.dtype == object:
        out = np.where(_above(m, lo, hi), c, np.where(_below(m, lo, hi), b, a))
        out = np.where(np.isnan(lo) | np.isnan(hi), np.nan, out)
    else:
        out = np.clip(a, b, c)
    return record(
        "clamp_between",
        out,
        (x, lambda g: masked(g, _within(a, b, c))),
        (y, lambda g: masked(g, _below(a, b, c))),
        (z, lambda g: masked(g, _above(a, b, c))),
    )


def _below(a: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return (a < low) & (low < high)


def _above(a: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return (a > high) | (low > high)


def clamp_min(x: Operand, min: Operand) -> Tensor:
    """`clamp` with the lower limit alone."""
    return clamp(x, min=min)


def clamp_max(x: Operand, max: Operand) -> Tensor:
    """`clamp` with the upper limit alone."""
    return clamp(x, max=max)


clip = clamp

# -- by kind -----------------------------------------------------------------------------------------------------------


@quiet
def nan_to_num(x: Operand, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """x with numbers in place of nan, inf and -inf: by default 0 and the largest and the smallest of its dtype.

    The gradient is 0 where a number was put in.
    """
    x = operand(x, "nan_to_num")
    a = x._data
    n = lift.numbers(a)
    if n.dtype.kind in "biu":
        return new(a.copy())
    given = {"nan": 0.0 if nan is None else nan, "posinf": posinf, "neginf": neginf}
    instead = {name: value if value is None else real("nan_to_num", name, value) for name, value in given.items()}
    out = np.nan_to_num(n, **instead)
    if a.dtype == object:
        out = np.where(np.isfinite(n), a, out)
    return record("nan_to_num", out, (x, lambda g: masked(g, np.isfinite(a))))
