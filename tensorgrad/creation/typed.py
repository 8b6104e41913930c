"""torch's old names for tensors of one dtype: `FloatTensor([1, 2])`, or of a shape, `FloatTensor(2, 3)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.creation.filled import tensor, zeros

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def _of(dtype: Any, data: tuple[Any, ...]) -> Tensor:
    if len(data) == 1 and not isinstance(data[0], int):
        return tensor(data[0], dtype=dtype)
    return zeros(*data, dtype=dtype) if data else zeros(0, dtype=dtype)


def FloatTensor(*data: Any) -> Tensor:
    """A float32 tensor of a list or an array, or zeros of a shape given as whole numbers."""
    return _of(np.float32, data)


def DoubleTensor(*data: Any) -> Tensor:
    """A float64 tensor of a list or an array, or zeros of a shape given as whole numbers."""
    return _of(np.float64, data)


def HalfTensor(*data: Any) -> Tensor:
    """A float16 tensor of a list or an array, or zeros of a shape given as whole numbers."""
    return _of(np.float16, data)


def LongTensor(*data: Any) -> Tensor:
    """An int64 tensor of a list or an array, or zeros of a shape given as whole numbers."""
    return _of(np.int64, data)


def IntTensor(*data: Any) -> Tensor:
    """An int32 tensor of a list or an array, or zeros of a shape given as whole numbers."""
    return _of(np.int32, data)


def ByteTensor(*data: Any) -> Tensor:
    """A uint8 tensor of a list or an array, or zeros of a shape given as whole numbers."""
    return _of(np.uint8, data)


def BoolTensor(*data: Any) -> Tensor:
    """A bool tensor of a list or an array, or False in a shape given as whole numbers."""
    return _of(np.bool_, data)
