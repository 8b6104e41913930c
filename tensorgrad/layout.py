"""Questions about shape and memory, under torch's names; the answers are plain numbers."""

from __future__ import annotations

from typing import Any, overload

from tensorgrad.node import operand
from tensorgrad.ops.axes import normalize_one


@overload
def size(x: Any, dim: None = None) -> tuple[int, ...]: ...
@overload
def size(x: Any, dim: int) -> int: ...
def size(x: Any, dim: int | None = None) -> tuple[int, ...] | int:
    """The shape, or the length of one axis."""
    shape = operand(x, "size")._data.shape
    return shape if dim is None else shape[_axis("size", dim, shape)]


def dim(x: Any) -> int:
    """The number of axes."""
    return operand(x, "dim")._data.ndim


def element_size(x: Any) -> int:
    """The number of bytes of one element."""
    return operand(x, "element_size")._data.itemsize


@overload
def stride(x: Any, dim: None = None) -> tuple[int, ...]: ...
@overload
def stride(x: Any, dim: int) -> int: ...
def stride(x: Any, dim: int | None = None) -> tuple[int, ...] | int:
    """How many elements further in memory the next one along each axis stands, or along one axis."""
    a = operand(x, "stride")._data
    if a.flags.c_contiguous:  # NumPy leaves open what stands for axes of length 1 and in empty arrays
        found, step = [], 1
        for n in reversed(a.shape):
            found.append(step)
            step *= max(n, 1)
        strides = tuple(reversed(found))
    else:
        strides = tuple(s // a.itemsize for s in a.strides)
    return strides if dim is None else strides[_axis("stride", dim, a.shape)]


def is_contiguous(x: Any) -> bool:
    """Whether the elements lie in row-major order in memory, without gaps."""
    return operand(x, "is_contiguous")._data.flags.c_contiguous


def _axis(op: str, dim: int, shape: tuple[int, ...]) -> int:
    if not shape:
        raise IndexError(f"{op}: dim {dim} is not an axis of shape ()")
    return normalize_one(op, dim, shape)
