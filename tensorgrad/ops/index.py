"""Reading elements by position: x[...], with slices, integers, None, Ellipsis, and boolean or integer arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorgrad.node import operand, record
from tensorgrad.ops.keys import normalize_key, read, write_in, written
from tensorgrad.placing import Placing

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def getitem(x: Any, where: Any) -> Tensor:
    """x[where]. An element that is read several times receives the sum of what comes back.

    A view for integers, slices, None and Ellipsis; with arrays, Tensors or lists of positions or booleans a copy.
    Differs from torch in that slices may step backwards, and that a list of lists is a table of positions.
    Raises IndexError naming the index and the shape.
    """
    x = operand(x, "index")
    shape = x._data.shape
    try:
        key = normalize_key(where)
        out = read(x._data, key)
    except (IndexError, ValueError) as error:
        raise IndexError(f"index: {error}; the tensor has shape {shape}") from None
    except TypeError as error:  # slice(1, 2.5)
        raise TypeError(f"index: {error}; the tensor has shape {shape}") from None
    rule = Placing(lambda g: written(shape, key, g), lambda total, g: write_in(total, key, g))
    return record("index", out, (x, rule))
