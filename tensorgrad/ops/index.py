"""Reading elements by position: x[...], with slices, integers, None, Ellipsis, and boolean or integer arrays."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.node import ArrayNode, operand, record

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def getitem(x: Any, where: Any) -> Tensor:
    """x[where]. An element that is read several times receives the sum of what comes back.

    Raises IndexError naming the index and the shape.
    """
    x = operand(x, "index")
    a = x._data
    try:
        key = _key(where)
        out = a[key]
    except (IndexError, ValueError) as error:
        raise IndexError(f"index: {error}; the tensor has shape {a.shape}") from None
    except TypeError as error:  # slice(1, 2.5)
        raise TypeError(f"index: {error}; the tensor has shape {a.shape}") from None
    repeats = _may_repeat(key)

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(a.shape, dtype=g.dtype)
        if repeats:
            np.add.at(sent, key, g)
        else:
            sent[key] = g
        return sent

    return record("index", out, (x, rule))


_BASIC = (int, np.integer, np.bool_, slice, type(None), type(Ellipsis))
"""What reads no element twice, and has one meaning in NumPy; everything else becomes an array of positions."""


def _key(where: Any) -> Any:
    """`where` as NumPy takes it: a tuple has a part for each axis; Tensors, lists and whatever else names positions
    are arrays."""
    return tuple(_part(part) for part in where) if isinstance(where, tuple) else _part(where)


def _part(part: Any) -> Any:
    """One part of a key. Arrays are copied, so that a caller who changes one later does not change where the gradient
    goes."""
    if isinstance(part, _BASIC):
        return part
    if not isinstance(part, (ArrayNode, np.ndarray)) and hasattr(type(part), "__index__"):
        return index(part)
    array = np.array(part.data if isinstance(part, ArrayNode) else lift.plain_list(part))
    if array.size == 0 and isinstance(part, (list, tuple)):
        array = array.astype(np.intp)  # NumPy makes an empty list float
    if array.dtype.kind not in "biu":
        raise IndexError(f"positions are whole numbers or booleans, got {array.dtype}")
    return array


def _may_repeat(key: Any) -> bool:
    """Whether an element may be read twice: only integer arrays can name one twice."""
    return any(
        isinstance(part, np.ndarray) and part.dtype.kind in "iu" for part in (key if isinstance(key, tuple) else (key,))
    )
