"""Making tensors."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tensorgrad.dtypes import as_dtype, default_dtype
from tensorgrad.ops.axes import integers
from tensorgrad.tensor import Tensor


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of `data`, its dtype inferred: floats give float32, integers int64, booleans bool."""
    if dtype is None and not isinstance(data, (np.ndarray, np.generic, Tensor)):
        dtype = _inferred(data)
    return Tensor(data, requires_grad=requires_grad, dtype=dtype)


def zeros(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros; takes zeros(2, 3) and zeros((2, 3))."""
    return _filled("zeros", 0, shape, dtype, requires_grad)


def ones(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones; takes ones(2, 3) and ones((2, 3))."""
    return _filled("ones", 1, shape, dtype, requires_grad)


def arange(start: float, end: float | None = None, step: float = 1, *, dtype: Any = None) -> Tensor:
    """start, start + step, ... below end; arange(n) counts from 0. Of integers int64, else float32."""
    start, end = (0, start) if end is None else (start, end)
    if dtype is None:
        dtype = np.int64 if all(isinstance(x, (int, np.integer)) for x in (start, end, step)) else default_dtype
    if not all(isinstance(x, Real) for x in (start, end, step)):
        raise TypeError(f"arange: takes numbers, got {start!r}, {end!r}, {step!r}")
    if step == 0:
        raise ValueError("arange: the step is 0")
    return Tensor(np.arange(start, end, step), dtype=dtype)


def _filled(op: str, number: int, shape: tuple[Any, ...], dtype: Any, requires_grad: bool) -> Tensor:
    lengths = integers(op, shape)
    if any(n < 0 for n in lengths):
        raise ValueError(f"{op}: the shape {lengths} has a negative length")
    return Tensor(np.full(lengths, number, dtype=as_dtype(dtype or default_dtype)), requires_grad=requires_grad)


def _inferred(data: Any) -> np.dtype | None:
    """int64 for integers, bool for booleans, None (the default) for floats and for what is no list of numbers."""
    try:
        kind = np.asarray(data).dtype.kind
    except ValueError:  # ragged: Tensor says so
        return None
    return {"b": np.dtype(bool), "i": np.dtype(np.int64), "u": np.dtype(np.int64)}.get(kind)
