"""Reading the arguments that name axes: torch's `dim`/`keepdim`, and NumPy's `axis`/`keepdims` beside them."""

from __future__ import annotations

from operator import index
from typing import Any

from tensorgrad.settings import large, whole

Dims = int | tuple[int, ...] | list[int] | None

_LARGEST = 2**63 - 1


def either(op: str, torch_name: str, value: Any, numpy_name: str, alias: Any, default: Any) -> Any:
    """The argument under whichever of its two names it was given."""
    if alias is None:
        return default if value is None else value
    if value is not None:
        raise TypeError(f"{op}: give {torch_name} or {numpy_name}, not both")
    return alias


def normalize(op: str, dims: Dims, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`dims` as a tuple of axes counted from the front; None, and as in torch an empty tuple, stand for all of them.

    Raises IndexError for an axis that `shape` does not have, ValueError for one named twice.
    """
    given = dims if isinstance(dims, (tuple, list)) else () if dims is None else (dims,)
    if not given:
        return tuple(range(len(shape)))
    axes = tuple(normalize_one(op, d, shape) for d in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"{op}: dim {dims} names an axis twice")
    return axes


def normalize_one(op: str, dim: int, shape: tuple[int, ...]) -> int:
    """One axis, counted from the front. A 0-d shape takes 0 and -1, as in torch."""
    d = whole(op, "an axis", dim)
    n = max(len(shape), 1)
    if not -n <= d < n:
        raise IndexError(f"{op}: dim {d} is not an axis of shape {shape}; it must be from {-n} to {n - 1}")
    return d % n


def integers(op: str, given: tuple[Any, ...]) -> tuple[int, ...]:
    """Lengths or axes given as separate arguments or as one sequence."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    try:
        found = tuple(index(n) for n in given)
    except (TypeError, ValueError):
        raise TypeError(f"{op}: takes whole numbers, got {given}") from None
    for n in found:
        if abs(n) > _LARGEST:
            raise ValueError(f"{op}: a length is {large(n)}: no array is so long")
    return found


def several(op: str, given: tuple[Any, ...], name: str, keyword: Any) -> tuple[int, ...]:
    """Lengths or axes given as separate arguments, as one sequence, or under their name."""
    if keyword is not None:
        if given:
            raise TypeError(f"{op}: {name} is given twice, by position and by name")
        given = (keyword,)
    if not given:
        raise TypeError(f"{op}: {name} is missing")
    return integers(op, given)


def new_axis(op: str, dim: int, shape: tuple[int, ...]) -> int:
    """Where an axis is to be put into `shape`: from 0 to the number of its axes, from the end if negative."""
    d = whole(op, "an axis", dim)
    n = len(shape) + 1
    if not -n <= d < n:
        raise IndexError(f"{op}: dim {d} is no place for an axis in shape {shape}; it must be from {-n} to {n - 1}")
    return d % n
