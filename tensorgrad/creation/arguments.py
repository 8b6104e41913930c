"""The arguments of all functions that make tensors: the shape, and how the leaf is made.

`dtype`, `device` and `requires_grad` mean the same everywhere and are read in `made`: a dtype under torch's, NumPy's
or Python's name, None for the default; the one device there is; and whether gradients are to flow to the new leaf,
which must then hold floats (DtypeError).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.devices import check_device
from tensorgrad.dtypes import as_dtype
from tensorgrad.lift import numbers
from tensorgrad.node import ArrayNode, new, quiet
from tensorgrad.ops.axes import integers
from tensorgrad.settings import whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_MOST = 2**60  # elements


@quiet
def made(op: str, array: np.ndarray, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A leaf that holds `array`, in `dtype` unless that is None."""
    check_device(op, device)
    wanted = array.dtype if dtype is None else as_dtype(dtype)
    out = new(numbers(array) if wanted.kind == "O" else array.astype(wanted, copy=False))
    if requires_grad is not False:
        out.requires_grad = requires_grad
    return out


def length(op: str, name: str, n: Any) -> int:
    """One length. Raises TypeError for what is no whole number, ValueError for a negative one."""
    return lengths(op, (whole(op, name, n),))[0]


def lengths(op: str, size: tuple[Any, ...], named: dict[str, Any] | None = None) -> tuple[int, ...]:
    """A shape given as separate numbers, as one sequence, or by the name `size`."""
    if named:
        if named.keys() != {"size"} or size:
            raise TypeError(f"{op}: got an unexpected argument {next(iter(named))!r}; the shape is given once")
        size = (named["size"],)
    elif not size:
        raise TypeError(f"{op}: needs a shape; () is that of a single number")
    found = integers(op, size)
    if any(n < 0 for n in found):
        raise ValueError(f"{op}: lengths are at least 0, got {', '.join(map(str, found))}")
    if prod(found) > _MOST:
        raise ValueError(f"{op}: a tensor of shape {found} has more elements than any memory")
    return found


def like(op: str, x: Any, dtype: Any) -> tuple[ArrayNode, np.dtype]:
    """`x`, which must be a tensor, and `dtype` or else that of x (of scalar nodes, float64)."""
    if not isinstance(x, ArrayNode):
        raise TypeError(f"{op}: takes a Tensor, got a {type(x).__name__}")
    found = x._data.dtype if dtype is None else as_dtype(dtype)
    return x, np.dtype(np.float64) if found.kind == "O" else found
