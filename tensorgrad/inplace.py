"""Changes in place: `x[i] = value`, `copy_`, `fill_`, `zero_`, and the operators `+= -= *= /=`.

A constant, and any tensor under `no_grad`, is changed where it stands, and the version counter is told. Where the
change is part of the graph, `x[i] = value` gives x a new history: from then on it is the result of an operation on what
it was before and on the value. What was computed from the old x on the way to the value (`x[i] += 1`) then stands on a
node that takes the old one's place; where anything else has used x the change is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import is_differentiable, rank
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.grad_mode import is_grad_enabled
from tensorgrad.lean import in_graph
from tensorgrad.node import ArrayNode, describe, operand, quiet, record
from tensorgrad.ops.keys import Key, normalize_key, read
from tensorgrad.selection import Selected
from tensorgrad.shapes import unbroadcast
from tensorgrad.sharing import part_ways
from tensorgrad.versions import clock

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_EVERYWHERE = ...


def setitem(x: Tensor, where: Any, value: Any) -> None:
    """x[where] = value, broadcast to the place and converted to x's dtype, as in torch.

    Where that is part of the graph, x has an array of its own afterwards: an array of NumPy's that shared x's memory
    keeps the old elements. Hooks stay with what x was before, as in torch. The graph keeps x as it was before each
    assignment, so for long loops a list and `stack` take less memory.

    Raises IndexError naming the index; ShapeError for a value that does not fit; RuntimeError for a leaf that requires
    a gradient outside `no_grad`, and where x has been used for anything else than the value, shares its memory with
    another tensor (a view, `detach()`), or has a rule of the user's own.
    """
    assign("x[...] =", x, where, value)


def copy_(x: Tensor, source: Any) -> Tensor:
    """Take over the elements of `source`, broadcast."""
    return assign("copy_", x, _EVERYWHERE, source)


def fill_(x: Tensor, value: Any) -> Tensor:
    """Set every element to one number."""
    if np.size(value.data if isinstance(value, ArrayNode) else value) != 1:
        raise ShapeError("fill_: takes one number; use copy_ for several")
    return assign("fill_", x, _EVERYWHERE, value)


def zero_(x: Tensor) -> Tensor:
    """Set every element to 0."""
    return assign("zero_", x, _EVERYWHERE, 0)


def assign(op: str, x: Tensor, where: Any, value: Any) -> Tensor:
    """x[where] = value under the name `op`; returns x."""
    value = operand(value, op, x)
    try:
        key = normalize_key(where)
    except IndexError as error:
        raise IndexError(f"{op}: {error}; the tensor has shape {x._data.shape}") from None
    if rank(value._data.dtype) > max(rank(x._data.dtype), rank(np.dtype(float))) and value._data.dtype != object:
        raise DtypeError(f"{op}: values of {value._data.dtype} do not fit into {describe(x)}")
    if is_grad_enabled() and (x._requires_grad or value._requires_grad):
        _assign_recorded(op, x, key, value)
    else:
        _write(op, x, x._data, key, lift.numbers(value._data))
        x._bump()
    return x


def _write(op: str, x: Tensor, array: np.ndarray, key: Key, value: np.ndarray) -> None:
    if not array.flags.writeable:
        raise RuntimeError(f"{op}: the array of {describe(x)} is read-only: change a clone()")
    try:
        _put(array, key, value)
    except (IndexError, TypeError, ValueError) as error:
        raise _why_not(op, x, array, key, value, error) from None


def _why_not(op: str, x: Tensor, array: np.ndarray, key: Key, value: np.ndarray, error: Exception) -> Exception:
    """What to raise where NumPy could not write: the key is wrong, or the value does not fit into the place."""
    try:
        place = read(array, key).shape
    except (IndexError, TypeError, ValueError) as wrong_key:
        return type(wrong_key)(f"{op}: {wrong_key}; the tensor has shape {array.shape}")
    if isinstance(error, ValueError):
        return ShapeError(
            f"{op}: values of shape {value.shape} do not fit into the place of shape {place} in {describe(x)}"
        )
    return type(error)(f"{op}: {error}; the tensor has shape {array.shape}")


@quiet  # of nan made an integer
def _put(array: np.ndarray, key: Key, value: Any) -> None:
    view = array if key.view is None else array[key.view]
    view[... if key.arrays is None else key.arrays] = value


def _refuse_leaf(op: str, x: Tensor) -> None:
    if x._requires_grad and not x._prev:
        raise RuntimeError(
            f"{op} on {describe(x)}, a leaf that requires a gradient: put it inside `with no_grad():`, or change a "
            "clone()"
        )


def _assign_recorded(op: str, x: Tensor, key: Key, value: Tensor) -> None:
    _refuse_leaf(op, x)
    if not is_differentiable(x._data.dtype):
        raise DtypeError(
            f"{op}: a value that requires a gradient, into {describe(x)}: integers have no gradients; make it of floats"
        )
    node = in_graph(x)
    way = _way(node, value) if x._used or x._kin is not None else []
    if not _is_used_only_by(node, x._used, way):
        raise RuntimeError(
            f"{op} on {describe(x)}, which another operation has used already: that one was made of the old elements; "
            "change a clone(), or collect the parts in a list and put them together with stack or cat"
        )
    if x._closure is not None:
        raise RuntimeError(
            f"{op} on {describe(x)}, whose rule was assigned to its _backward and reads the gradient of this very "
            "tensor: change a clone()"
        )
    if _is_view_of_another(x._data):
        raise RuntimeError(
            f"{op} on {describe(x)}, which may share its memory with another tensor (it is a view): a change that is "
            "part of the graph would not be seen there; change a clone()"
        )
    data = x._data.copy()
    if value._data.dtype == object and data.dtype != object:
        data = data.astype(object)
    _write(op, x, data, key, value._data)
    if way and not part_ways(x, x._data if key.view is None else x._data[key.view], value, way):
        raise RuntimeError(
            f"{op} on {describe(x)}, whose elements another tensor shows (a view, or detach()): a change that is part "
            "of the graph would not be seen there; change a clone()"
        )
    if not value._requires_grad and data.dtype == object:
        data = lift.nodes(data)
    if node is x:
        old = x._moved()
        for user in way:
            if any(parent is x for parent in user._prev):
                user._prev = tuple([old if parent is x else parent for parent in user._prev])
    else:  # in a lean graph x is no node itself, and what stands for it goes on as what it was before
        old = node
    if value is x:
        value = old
    clock.now += 1  # so that the next search need not look at what is older than this
    out = record("setitem", data, (old, _rule_of_old(key)), (value, _rule_of_value(key, data.shape, value._data.shape)))
    x._become(out)
    x._used = 0


def _way(x: Any, value: Tensor) -> list[Any]:
    """The nodes that lead to `value` and are younger than x: those that may have been computed from it."""
    found, seen, stack = [], {x}, [value]
    while stack:
        node = stack.pop()
        if node in seen or node._time < x._time:
            continue
        seen.add(node)
        found.append(node)
        stack += node._prev
    return found


def _is_used_only_by(x: Any, times: int, way: list[Any]) -> bool:
    """Whether no operation but those on the way to the value has used x, which was used so many times.

    False too where one of them may know x by more than its `_prev`: with a rule of the user's own, or a joint one.
    """
    if not times:
        return True
    users = [node for node in way if any(parent is x for parent in node._prev)]
    uses = sum(parent is x for node in users for parent in node._prev)
    return uses == times and all(type(node._rules) is tuple and node._closure is None for node in users)


def _is_view_of_another(array: np.ndarray) -> bool:
    """Whether somebody else can still see the memory that `array` is a view of: what was only reshaped after it was
    made is the one that holds it."""
    return array.base is not None and sys.getrefcount(array.base) > 2  # the array's own reference, and the argument


def _rule_of_old(key: Key) -> Callable[[np.ndarray], Selected]:
    def rule(g: np.ndarray) -> Selected:
        live = np.ones(g.shape, dtype=bool)
        _put(live, key, False)
        return Selected(np.where(live, g, g.dtype.type(0)), live)

    return rule


def _rule_of_value(
    key: Key, shape: tuple[int, ...], value_shape: tuple[int, ...]
) -> Callable[[np.ndarray], np.ndarray]:
    """The gradient at the place; where positions repeat, only the value that was written last is there."""

    def rule(g: np.ndarray) -> np.ndarray:
        sent = read(g, key)
        if key.may_repeat:
            numbers = np.arange(sent.size).reshape(sent.shape)
            last = np.zeros(shape, dtype=numbers.dtype)
            _put(last, key, numbers)
            sent = np.where(read(last, key) == numbers, sent, 0)
        extra = (1,) * (len(value_shape) - sent.ndim)  # NumPy lets a value have more axes of length 1 than its place
        return unbroadcast(sent.reshape(extra + sent.shape), value_shape)

    return rule


# -- operators and their methods ---------------------------------------------------------------------------------------


def update(op: str, x: Tensor, function: Callable[..., Tensor], *others: Any, **options: Any) -> Tensor:
    """`x = function(x, *others)` in place, as part of the graph where that records.

    Raises as `setitem` does, and where the result has another shape or a dtype of a higher category.
    """
    if is_grad_enabled() and any(isinstance(y, ArrayNode) and y._requires_grad for y in (x, *others)):
        _refuse_leaf(op, x)
        value = function(x, *others, **options)
        _check_fit(op, x, value._data)
        return assign(op, x, _EVERYWHERE, value)
    value = function(x, *others, **options)._data
    _check_fit(op, x, value)
    _write(op, x, x._data, normalize_key(_EVERYWHERE), value)
    x._bump()
    return x


def _check_fit(op: str, x: Tensor, value: np.ndarray) -> None:
    if value.shape != x._data.shape:
        raise ShapeError(f"{op}: a result of shape {value.shape} does not fit into {describe(x)}")
    if value.dtype != object and not np.can_cast(value.dtype, x._data.dtype, casting="same_kind"):
        raise DtypeError(f"{op}: a result of {value.dtype} does not fit into {describe(x)}")


def augmented(op: str, x: Tensor, function: Callable[[Any, Any], Tensor], other: Any) -> Tensor:
    """`x op other`: in place as `update`; where the operation is recorded and x is a result, a new node."""
    tracked = x._requires_grad or (isinstance(other, ArrayNode) and other._requires_grad)
    if is_grad_enabled() and tracked and (x._prev or not x._requires_grad):
        return function(x, other)
    return update(op, x, function, other)


def method(op: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The method `op`, e.g. `add_`, which does `function` in place."""

    def in_place(x: Tensor, *others: Any, **options: Any) -> Tensor:
        return update(op, x, function, *others, **options)

    in_place.__name__ = in_place.__qualname__ = op
    in_place.__doc__ = f"`{function.__name__}` in place; returns the tensor. Raises as `setitem` does."
    return in_place
