"""Which dtype a result has: torch's promotion by categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import DtypeError

_default = np.dtype(np.float32)


def default_float() -> np.dtype:
    """What Python floats, lists, and integers given to functions of floats become."""
    return _default


def get_default_dtype() -> np.dtype:
    """The dtype that floats have where none is given: float32, unless `set_default_dtype` has changed it."""
    return _default


def set_default_dtype(d: Any) -> None:
    """Let floats have the dtype `d` where none is given, in the whole program. Raises TypeError unless d is a float."""
    global _default
    found = as_dtype(d)
    if found.kind != "f":
        raise TypeError(f"set_default_dtype: the default is of floating point, not {found}")
    _default = found


_CATEGORIES = "biufcO"  # NumPy's kinds in rising order; signed and unsigned integers count as one category
_RANK = {kind: rank for rank, kind in enumerate(_CATEGORIES)} | {"u": _CATEGORIES.index("i")}


def result_dtype(a: np.ndarray, b: np.ndarray) -> np.dtype:
    """The dtype in which `a` and `b` meet.

    bool < integer < float < complex: the higher category decides, so float32 with int64 stays float32. Within a
    category NumPy's promotion holds, except that an array with axes outranks a 0-d one.
    """
    if a.dtype is b.dtype or a.dtype == b.dtype:
        return a.dtype
    if (a.ndim == 0) == (b.ndim == 0):
        return promote(a.dtype, b.dtype)
    outer, single = (b.dtype, a.dtype) if a.ndim == 0 else (a.dtype, b.dtype)
    if rank(single) <= rank(outer):
        return outer
    return _complex(outer) if single.kind == "c" and outer.kind == "f" else single


def common_dtype(arrays: Sequence[np.ndarray]) -> np.dtype:
    """The dtype in which all of them meet."""
    found = arrays[0]
    for a in arrays[1:]:
        if a.dtype == found.dtype and found.ndim:
            continue
        found = np.empty((0,) * max(found.ndim, a.ndim), result_dtype(found, a))
    return found.dtype


def promote(a: np.dtype, b: np.dtype) -> np.dtype:
    """NumPy's promotion, except that a float is not widened for the sake of an integer."""
    low, high = sorted((a, b), key=rank)
    if low.kind in "biu" and high.kind in "fc":
        return high
    found = np.promote_types(a, b)
    if found.kind == "f" and high.kind != "f":
        raise DtypeError(f"{a} and {b} have no common integer dtype: convert one, e.g. x.long()")
    return found


def _complex(dtype: np.dtype) -> np.dtype:
    """The complex dtype with parts of this one (of float16, which NumPy has none for, of float32)."""
    return np.promote_types(dtype, np.complex64)


def scalar_dtype(x: bool | int | float | complex, partner: np.dtype) -> np.dtype:
    """The dtype that the Python scalar `x` takes beside an array of dtype `partner`: the array's where it can."""
    kind = np.dtype(type(x))
    if rank(kind) <= rank(partner):
        return partner
    if kind.kind == "c":
        return _complex(partner if partner.kind == "f" else _default)
    return _default if kind.kind == "f" else kind


def rank(dtype: np.dtype) -> int:
    """The place of `dtype` in bool < integer < float < complex < object."""
    try:
        return _RANK[dtype.kind]
    except KeyError:
        raise TypeError(f"a Tensor holds numbers, not {dtype}") from None


def sum_dtype(dtype: np.dtype) -> np.dtype:
    """In which dtype a sum runs: int64 for integers and booleans; float32 for float16, whose range it soon leaves."""
    if dtype.kind in "biu":
        return np.dtype(np.int64)
    return np.dtype(np.float32) if dtype.char == "e" else dtype


def is_differentiable(dtype: np.dtype) -> bool:
    """Whether arrays of this dtype can have gradients: floats, and the objects of a lift."""
    return dtype.kind in "fO"


def as_dtype(dtype: Any) -> np.dtype:
    """`dtype` as NumPy names it, e.g. np.float32 or "float64". Raises TypeError unless it is one of numbers."""
    if dtype is None or (hasattr(dtype, "__array__") and not isinstance(dtype, type)):  # which NumPy would take
        what = "None" if dtype is None else "a tensor or an array; write x.dtype for the one that x has"
        raise TypeError(f"not a dtype: {what}")
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"not a dtype: {dtype!r}; give a NumPy dtype such as np.float32 or 'float64'") from None
    if found.kind == "O" and not lift.active():
        raise TypeError("a Tensor holds numbers, not Python objects; give a dtype such as np.float32")
    rank(found)
    return found if found.isnative else found.newbyteorder("=")
