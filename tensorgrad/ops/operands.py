"""What operations ask of their operands: arrays in a common dtype, floats, messages that name the operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import default_float, rank, result_dtype
from tensorgrad.errors import DtypeError
from tensorgrad.node import ArrayNode, operand, quiet, record
from tensorgrad.shapes import broadcast

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

Operand = Any
"""A Tensor, an array, or a number."""

_FLOAT_RANK = rank(np.dtype(float))


def pair(op: str, x: Operand, y: Operand) -> tuple[ArrayNode, ArrayNode, np.ndarray, np.ndarray]:
    """The two operands, and their arrays in the dtype in which they meet."""
    if not isinstance(y, ArrayNode) or y._memory is not None:
        y = operand(y, op, x if isinstance(x, ArrayNode) else None)
    if not isinstance(x, ArrayNode) or x._memory is not None:
        x = operand(x, op, y)
    a, b = x._data, y._data
    if a.dtype is not b.dtype:
        dtype = result_dtype(a, b)
        a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    return x, y, a, b


def float_operand(op: str, x: Operand) -> tuple[ArrayNode, np.ndarray]:
    """The operand, and its array of floats: what functions of floats take."""
    x = operand(x, op)
    return x, floats(x._data)


def floats(a: np.ndarray) -> np.ndarray:
    """`a`, with integers and booleans as floats."""
    return a.astype(default_float()) if rank(a.dtype) < _FLOAT_RANK else a


@quiet
def apply(op: str, ufunc: Callable[..., Any], a: np.ndarray, b: Any) -> Any:
    """ufunc(a, b), with a message that names the operation, and both shapes where these do not broadcast."""
    try:
        return ufunc(a, b)
    except ValueError as error:
        broadcast(op, a.shape, np.shape(b))
        raise ValueError(f"{op}: {error}") from None
    except TypeError as error:  # the difference of booleans
        raise DtypeError(f"{op}: {error}") from None


def is_lifted(*operands: ArrayNode) -> bool:
    """Whether any operand holds scalar nodes, on which only plain arithmetic and the functions of `Value` work."""
    for x in operands:  # noqa: SIM110 - any() of a generator takes three times as long, in every layer
        if x._data.dtype.kind == "O":
            return True
    return False


def composed(op: str, program: Callable[..., Tensor], *operands: ArrayNode) -> Tensor:
    """`program(*operands)` recorded as the one operation `op`: the composed twin of a fast path, run on scalar nodes.

    The scalar graph has all that the program does; the graph of tensors the same one node as without a lift.
    """
    out = program(*operands)
    return record(op, out._data, *[(x, forward_only) for x in operands])


@quiet
def function(op: str, x: Operand, value: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Tensor:
    """A function of one number on each element, from the function and its derivative on arrays; integers become floats.

    Both are computed in float32 for float16, and in a lift they are called with one number after the other.
    """
    x, a = float_operand(op, x)
    if a.dtype == object:
        out = lift.mapped(op, a, lambda v: float(value(v)), lambda v: float(slope(v)))
        return record(op, out, (x, forward_only))
    if a.dtype == np.float16:
        return record(op, as_float16(value(a.astype(np.float32))), (x, lambda g: g * slope(a.astype(np.float32))))
    return record(op, value(a), (x, lambda g: g * slope(a)))


def masked(g: np.ndarray, live: np.ndarray) -> np.ndarray:
    """The gradient g where the booleans in `live` hold, 0 elsewhere: for rules.

    A product with booleans is several times faster than np.where on a mixed mask. Only where it is not finite, np.where
    has to decide: 0 times inf or nan is nan.
    """
    out = g * live
    return out if np.isfinite(out.sum()) else np.where(live, g, g.dtype.type(0))


def widened(a: np.ndarray) -> np.ndarray:
    """`a` in the dtype in which sums and long formulas run: float16, whose range and digits do not last, as float32."""
    return a.astype(np.float32) if a.dtype == np.float16 else a


@quiet
def as_float16(a: Any) -> np.ndarray:
    """float32 rounded to float16; what leaves its range is inf."""
    return np.asarray(a, dtype=np.float16)


def each(a: np.ndarray, method: str) -> np.ndarray:
    """An array of scalar nodes with `method` called on each: what NumPy has no function for."""
    out = np.empty(a.shape, dtype=object)
    for i, node in np.ndenumerate(a):
        out[i] = getattr(node, method)()
    return out


def forward_only(g: np.ndarray) -> np.ndarray:
    """In the place of a rule where there is none to write: in a lift, the scalar nodes have the rules."""
    raise AssertionError("a lifted tensor's gradient is computed by its scalar nodes")
