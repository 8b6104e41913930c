"""Making tensors from numbers, from arrays, and by rule. (What is drawn at random is in `sampling`, beside.)"""

from __future__ import annotations

from math import ceil, isfinite
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.creation.arguments import length, lengths, like, made
from tensorgrad.dtypes import as_dtype, default_float
from tensorgrad.errors import DtypeError
from tensorgrad.grad_mode import is_grad_enabled
from tensorgrad.lift import numbers, plain_list
from tensorgrad.node import ArrayNode, new, quiet
from tensorgrad.noise import warn_of_lost_parts
from tensorgrad.ops.casting import to
from tensorgrad.reading import array_of, as_array
from tensorgrad.settings import real, whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


# -- from data ---------------------------------------------------------------------------------------------------------


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data`, its dtype inferred: Python's floats give float32, integers int64, booleans bool;
    arrays, tensors and NumPy's numbers keep theirs.

    Warns where no gradient will pass to a tensor in `data` that requires one. Raises TypeError for what is no number,
    ValueError for ragged lists.
    """
    out = made("tensor", _read(data, dtype), dtype, device, requires_grad)
    if requires_grad is False and is_grad_enabled():
        warn_of_lost_parts("tensor", data)
    return out


@quiet
def _read(data: Any, dtype: Any) -> np.ndarray:
    dtype = _inferred(data) if dtype is None else as_dtype(dtype)
    if dtype is not None and dtype.kind == "O":
        dtype = None
    return as_array(data, dtype, copy=True)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, copied only where it must be: a tensor of the right dtype is returned itself, and with
    another one its cast, which is part of the graph; an array of the right dtype shares its memory."""
    if isinstance(data, ArrayNode):
        return to(data, dtype=dtype, device=device)
    if isinstance(data, np.ndarray) and data.dtype.kind != "O":
        return made("as_tensor", as_array(data, None if dtype is None else as_dtype(dtype)), None, device, False)
    return made("as_tensor", _read(data, dtype), dtype, device, False)


asarray = as_tensor


def from_numpy(array: np.ndarray) -> Tensor:
    """A constant that shares the memory of `array`: a change to one is a change to the other."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy: takes a NumPy array, got a {type(array).__name__}; tensor() reads lists")
    if not array.dtype.isnative:
        raise ValueError("from_numpy: the bytes of the array are in an order that cannot be shared: use tensor()")
    return new(array_of("from_numpy", array))


def _inferred(data: Any) -> np.dtype | None:
    """The dtype for `data` where none is given; None for what keeps its own and for what is no list of numbers."""
    if isinstance(data, (np.ndarray, np.generic, ArrayNode)):
        return None
    try:
        found = np.asarray(plain_list(data)).dtype
    except (ValueError, RecursionError):  # ragged, or endless: as_array says so
        return None
    if found.kind == "f":
        kinds = _own_dtypes(data)
        return np.result_type(default_float(), *kinds) if _has_plain(data) or not kinds else np.result_type(*kinds)
    if (found == np.uint64 and not _own_dtypes(data)) or (found.kind == "O" and type(data) is int):
        raise OverflowError("tensor: a whole number in the data does not fit into int64")
    return found if found.kind in "biu" else None


def _own_dtypes(data: Any) -> set[np.dtype]:
    """The dtypes of the arrays, tensors and NumPy numbers in nested lists."""
    if isinstance(data, (list, tuple)):
        return {dtype for element in data for dtype in _own_dtypes(element)}
    return {data.dtype} if isinstance(data, (np.ndarray, np.generic, ArrayNode)) else set()


def _has_plain(data: Any) -> bool:
    """Whether nested lists hold a Python float."""
    if isinstance(data, (list, tuple)):
        return any(_has_plain(element) for element in data)
    return type(data) is float


# -- filled ------------------------------------------------------------------------------------------------------------


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any) -> Tensor:
    """Zeros; takes zeros(2, 3), zeros((2, 3)) and zeros(size=(2, 3))."""
    return _filled("zeros", lengths("zeros", size, named), 0, dtype or default_float(), device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any) -> Tensor:
    """Ones; takes ones(2, 3), ones((2, 3)) and ones(size=(2, 3))."""
    return _filled("ones", lengths("ones", size, named), 1, dtype or default_float(), device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any) -> Tensor:
    """A tensor to be written to: its elements are whatever the memory holds."""
    array = np.empty(lengths("empty", size, named), as_dtype(dtype or default_float()))
    return made("empty", array, None, device, requires_grad)


def full(size: Any, fill_value: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`fill_value` in every place; its dtype is inferred as by `tensor`."""
    return _filled("full", lengths("full", (size,)), fill_value, dtype, device, requires_grad)


def zeros_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape and, unless another is given, the dtype of `input`."""
    x, dtype = like("zeros_like", input, dtype)
    return _filled("zeros_like", x.shape, 0, dtype, device, requires_grad)


def ones_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape and, unless another is given, the dtype of `input`."""
    x, dtype = like("ones_like", input, dtype)
    return _filled("ones_like", x.shape, 1, dtype, device, requires_grad)


def empty_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor to be written to, of the shape and dtype of `input`."""
    x, dtype = like("empty_like", input, dtype)
    return made("empty_like", np.empty(x.shape, dtype), None, device, requires_grad)


def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`fill_value` in the shape and, unless another is given, the dtype of `input`."""
    x, dtype = like("full_like", input, dtype)
    return _filled("full_like", x.shape, fill_value, dtype, device, requires_grad)


def new_tensor(x: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data`, of the dtype of `x` unless another is given."""
    return tensor(data, like("new_tensor", x, dtype)[1], device, requires_grad)


def new_zeros(
    x: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any
) -> Tensor:
    """Zeros of the dtype of `x` unless another is given."""
    dtype = like("new_zeros", x, dtype)[1]
    return _filled("new_zeros", lengths("new_zeros", size, named), 0, dtype, device, requires_grad)


def new_ones(
    x: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any
) -> Tensor:
    """Ones of the dtype of `x` unless another is given."""
    dtype = like("new_ones", x, dtype)[1]
    return _filled("new_ones", lengths("new_ones", size, named), 1, dtype, device, requires_grad)


def new_empty(
    x: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any
) -> Tensor:
    """A tensor to be written to, of the dtype of `x` unless another is given."""
    array = np.empty(lengths("new_empty", size, named), like("new_empty", x, dtype)[1])
    return made("new_empty", array, None, device, requires_grad)


def new_full(
    x: Any, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`fill_value` in every place, of the dtype of `x` unless another is given."""
    dtype = like("new_full", x, dtype)[1]
    return _filled("new_full", lengths("new_full", (size,)), fill_value, dtype, device, requires_grad)


@quiet
def _filled(op: str, shape: tuple[int, ...], number: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    value = tensor(number, dtype)._data
    if value.size != 1:
        raise ValueError(f"{op}: fills with one number, got {value.size} of them")
    return made(op, np.full(shape, numbers(value).item(), value.dtype), None, device, requires_grad)


# -- by rule -----------------------------------------------------------------------------------------------------------


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The n × m matrix (n × n without m) with ones on the diagonal and zeros elsewhere."""
    rows, columns = lengths("eye", (n, n if m is None else m))
    return made("eye", np.eye(rows, columns, dtype=as_dtype(dtype or default_float())), None, device, requires_grad)


def arange(*bounds: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any) -> Tensor:
    """start, start + step, ... before end: arange(end), arange(start, end), arange(start, end, step=1), also by name.

    Of integers int64, else the default float dtype. Each element is start + i * step, so that errors do not add up.
    Raises ValueError for a step of 0, and for one that leads away from the end.
    """
    start, end, step = _bounds(bounds, named)
    if dtype is None:
        whole = all(isinstance(x, Integral) for x in (start, end, step))
        dtype = np.dtype(np.int64) if whole else default_float()
    dtype = as_dtype(dtype)
    if dtype.kind == "b":
        raise DtypeError("arange: counts in numbers, not in booleans")
    if not all(isfinite(x) for x in (start, end, step)):
        raise ValueError(f"arange: from {start} to {end} by {step} does not end: all three must be finite")
    if step == 0:
        raise ValueError("arange: the step is 0")
    if dtype.kind in "iu":
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError(f"arange: the step is 0 as {dtype}")
    if (end - start) * step < 0:
        raise ValueError(f"arange: a step of {step} does not lead from {start} to {end}: give it the other sign")
    n = -((start - end) // step) if dtype.kind in "iu" else ceil((end - start) / step)
    return made("arange", start + np.arange(n) * step, dtype, device, requires_grad)


def _bounds(bounds: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    names = ("end",) if len(bounds) == 1 and "end" not in named else ("start", "end", "step")
    given = dict(zip(names, bounds, strict=False))
    if len(bounds) > 3 or given.keys() & named.keys() or named.keys() - {"start", "end", "step"}:
        raise TypeError("arange: takes end, or start and end, or start, end and step, each once")
    given |= named
    if "end" not in given:
        raise TypeError("arange: needs an end")
    start, end, step = (real("arange", name, given.get(name, default)) for name, default in _BOUNDS.items())
    return start, end, step


_BOUNDS = {"start": 0, "end": None, "step": 1}


@quiet
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`steps` numbers at equal distances, the first of them start, the last end."""
    array = _spaced("linspace", start, end, steps)
    return made("linspace", array, dtype or default_float(), device, requires_grad)


@quiet
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """base**x for each x of linspace(start, end, steps)."""
    array = np.power(float(real("logspace", "base", base)), _spaced("logspace", start, end, steps))
    return made("logspace", array, dtype or default_float(), device, requires_grad)


def _spaced(op: str, start: Any, end: Any, steps: int) -> np.ndarray:
    n = length(op, "steps", steps)
    return np.linspace(float(real(op, "start", start)), float(real(op, "end", end)), n)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Rows and columns, (2, N), of the lower triangle of a row × col matrix: where column - row <= offset."""
    rows, columns = lengths("tril_indices", (row, col))
    found = np.stack(np.tril_indices(rows, whole("tril_indices", "offset", offset), columns))
    return made("tril_indices", found, dtype or np.int64, device, False)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Rows and columns, (2, N), of the upper triangle of a row × col matrix: where column - row >= offset."""
    rows, columns = lengths("triu_indices", (row, col))
    found = np.stack(np.triu_indices(rows, whole("triu_indices", "offset", offset), columns))
    return made("triu_indices", found, dtype or np.int64, device, False)
