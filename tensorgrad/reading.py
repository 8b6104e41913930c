"""Reading what a Tensor can be made from: numbers, arrays, nested lists of these. The rest is refused by what it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from micrograd.backprop import Node
from tensorgrad import lift
from tensorgrad.dtypes import default_float, rank
from tensorgrad.errors import DtypeError

SCALARS = (bool, int, float, complex)


def array_of(op: str, x: Any, dtype: np.dtype | None = None) -> np.ndarray:
    """`as_array`, whose errors name `op`."""
    try:
        return as_array(x, dtype)
    except DtypeError as error:
        raise DtypeError(f"{op}: {error}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{op}: {error}") from None


@np.errstate(over="ignore", invalid="ignore")  # of the casts
def as_array(x: Any, dtype: np.dtype | None = None, copy: bool = False) -> np.ndarray:
    """`x` (array, Tensor, number, or nested list of these) as an array; lists and Python numbers become float32.

    Raises TypeError for what is no number, ValueError for ragged lists, DtypeError for complex numbers in a dtype that
    has none.
    """
    if isinstance(x, Node) and isinstance(x.data, np.ndarray):
        x = x.data
    if isinstance(x, Node) or (isinstance(x, np.ndarray) and x.dtype == object):
        return _from_objects(x)
    if isinstance(x, (np.ndarray, np.generic)):
        rank(x.dtype)  # refuses strings, dates and records
        _check_complex(x.dtype.kind == "c", dtype)
        if np.ma.is_masked(x):
            raise TypeError(
                "this array has masked elements, which a Tensor has not: write .filled(...) or .compressed()"
            )
        if dtype is None and not x.dtype.isnative:
            dtype = x.dtype.newbyteorder("=")
        return np.array(x, dtype=dtype, copy=True if copy else None)
    if isinstance(x, SCALARS):
        _check_complex(isinstance(x, complex), dtype)
        try:
            return np.array(x, dtype=dtype or (np.complex64 if isinstance(x, complex) else default_float()))
        except OverflowError as error:
            raise OverflowError(f"{error}: the number does not fit into {dtype or default_float()}") from None
    if isinstance(x, (list, tuple, range)):
        return _from_list(x, dtype)
    raise TypeError(f"a Tensor is made from numbers, arrays or nested lists of them, got {_kind(x)}{_hint(x)}")


def _check_complex(is_complex: bool, dtype: np.dtype | None) -> None:
    if is_complex and dtype is not None and dtype.kind != "c":
        raise DtypeError(f"complex numbers do not fit into {dtype}: take their .real, or abs()")


def _hint(x: Any) -> str:
    if isinstance(x, str):
        return f": write float({x!r}) if it holds a number"
    if hasattr(x, "detach"):
        return ": write .detach().numpy()"
    return ": write np.asarray(...)" if hasattr(x, "__array__") else ""


def _from_list(x: list | tuple, dtype: np.dtype | None) -> np.ndarray:
    try:
        found = np.array(lift.plain_list(x))
    except RecursionError:
        raise ValueError("the nested lists are too deep, or hold themselves") from None
    except ValueError as error:
        if "inhomogeneous" not in str(error):  # more axes than NumPy has
            raise
        raise ValueError("the nested lists are ragged: every row needs the same length") from None
    if found.dtype == object:
        return _from_objects(found)
    if found.dtype.kind not in "biufc":
        raise TypeError(f"a Tensor is made from numbers; the list holds {found.dtype} data, e.g. {found.flat[0]!r}")
    _check_complex(found.dtype.kind == "c", dtype)
    return found.astype(dtype or (found.dtype if found.dtype.kind == "c" else default_float()))


def _from_objects(x: Any) -> np.ndarray:
    """Scalar nodes, in a lift; anywhere else an error that says what the objects are."""
    found = np.asarray(x, dtype=object)
    odd = [element for element in found.flat if not isinstance(element, SCALARS)]
    if lift.active() or (odd and isinstance(odd[0], Node)):
        return lift.constant(found)
    what = _kind(odd[0]) if odd else "Python's own numbers, perhaps too large for NumPy's integers"
    raise TypeError(f"a Tensor is made from numbers; this holds {what}: convert it, e.g. .astype(np.float32)")


def _kind(x: Any) -> str:
    if x is None:
        return "None"
    module = type(x).__module__
    return f"a {'' if module == 'builtins' else module + '.'}{type(x).__name__}"
