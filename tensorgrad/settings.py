"""Reading the arguments that are one number, not a tensor: a slope, an eps, how many."""

from __future__ import annotations

from numbers import Real
from operator import index
from typing import Any

import numpy as np

from tensorgrad import lift
from tensorgrad.node import ArrayNode, describe

_LARGEST = 2**63 - 1
_SHOWN = 60  # of values that are longer messages name the kind


def real(op: str, name: str, value: Any) -> float:
    """`value` as one of Python's numbers, also from an array or a tensor of one element.

    So that a number of NumPy's does not decide the dtype of a result. Raises TypeError for what is no real number, and
    for a tensor that requires a gradient, which it would never get.
    """
    found = value
    if isinstance(value, ArrayNode):
        if value.requires_grad:
            raise TypeError(
                f"{op}: {name} is a plain number, which gets no gradient, and {describe(value)} requires one: write "
                f"{name}.item(), or the operation with + - * /"
            )
        found = lift.numbers(value._data)
    if isinstance(found, (np.ndarray, np.generic)) and found.size == 1:
        found = found.item()
    if isinstance(found, Real):
        return found if isinstance(found, (int, float)) else float(found)
    raise TypeError(f"{op}: {name} is a number, got {kind(value)}")


def whole(op: str, name: str, value: Any) -> int:
    """`value` as a Python int, also from a tensor of one integer. Raises TypeError for what is no whole number, and
    ValueError for one of more than 64 bits."""
    try:
        found = index(value)
    except (TypeError, ValueError):
        raise TypeError(f"{op}: {name} is a whole number, got {kind(value)}") from None
    if abs(found) > _LARGEST:
        raise ValueError(f"{op}: {name} is {large(found)}: no array is so long")
    return found


def large(n: int) -> str:
    """A whole number of any size, shortly."""
    return f"{n:.0e}" if n.bit_length() < 1_000 else f"a number of {n.bit_length():,} bits"


def kind(x: Any) -> str:
    """What x is, in a few words, for messages."""
    if isinstance(x, (ArrayNode, np.ndarray)):
        what = "a tensor" if isinstance(x, ArrayNode) else "an array"
        return f"{what} of shape {x.shape}, {x.dtype}"
    if x is None or isinstance(x, (str, bytes, int, float, complex, tuple, list)):
        shown = repr(x)
        if len(shown) <= _SHOWN:
            return shown
    name = type(x).__name__ if type(x).__module__ == "builtins" else f"{type(x).__module__}.{type(x).__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
