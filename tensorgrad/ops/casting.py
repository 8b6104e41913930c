"""Copies and other dtypes. A cast between floats is part of the graph, and its gradient is cast back by the gate in
`node`; a cast to integers or booleans is a constant, as in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tensorgrad import lift
from tensorgrad.devices import check_device, device
from tensorgrad.dtypes import as_dtype, is_differentiable
from tensorgrad.node import ArrayNode, new, operand, quiet, record

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_TYPES = {
    "torch.HalfTensor": np.float16,
    "torch.FloatTensor": np.float32,
    "torch.DoubleTensor": np.float64,
    "torch.ByteTensor": np.uint8,
    "torch.CharTensor": np.int8,
    "torch.ShortTensor": np.int16,
    "torch.IntTensor": np.int32,
    "torch.LongTensor": np.int64,
    "torch.BoolTensor": np.bool_,
}
"""torch's older names for tensors of a dtype, which `type` takes and gives."""


def clone(input: Any, *, memory_format: Any = None) -> Tensor:
    """A copy that is part of the graph: its gradient passes on to `input`. `memory_format` is of no account here."""
    x = operand(input, "clone")
    return record("clone", x._data.copy(order="K"), (x, lambda g: g))


def to(
    input: Any,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: Any = False,
    copy: Any = False,
    memory_format: Any = None,
) -> Tensor:
    """`input` in another dtype: to(dtype), to(device), to(device, dtype), to(tensor), and by name.

    Where the dtype is the same already, `input` itself, unless `copy` is true. The one device is the CPU.
    """
    x = operand(input, "to")
    where, kind = device, dtype
    if args and isinstance(args[0], ArrayNode):
        kind, args = args[0]._data.dtype, args[1:]
    elif args and _is_device(args[0]):
        where, args = args[0], args[1:]
        if args and not isinstance(args[0], _FLAGS):
            kind, args = args[0], args[1:]
    elif args:
        kind, args = args[0], args[1:]
    if len(args) > 2 or not all(isinstance(flag, _FLAGS) for flag in args):
        raise TypeError("to: takes a dtype, a device, both, or a tensor to be like")
    check_device("to", where)
    return _cast("to", x, kind, copy=bool(copy or (len(args) == 2 and args[1])))


_FLAGS = (bool, np.bool_)


def _is_device(x: Any) -> bool:
    """A string is a device unless it is the name of a dtype, which torch does not take but NumPy does."""
    if isinstance(x, device) or x is None:
        return True
    if not isinstance(x, str):
        return False
    try:
        as_dtype(x)
    except TypeError:
        return True
    return False


@quiet
def _cast(op: str, x: ArrayNode, dtype: Any, copy: bool = False) -> Tensor:
    a = x._data
    try:
        wanted = a.dtype if dtype is None else as_dtype(dtype)
    except TypeError as error:
        raise TypeError(f"{op}: {error}") from None
    if not copy and (dtype is None or (a.dtype == wanted and a.dtype != object)):
        return x
    if a.dtype == object and is_differentiable(wanted):
        # scalar nodes have no dtype, so each cast is a node here, also those that compare will find changed nothing
        return record(f"to {wanted}", a, (x, lambda g: g))
    if wanted.kind == "O":  # the dtype of a lifted tensor, for a constant
        wanted = np.dtype(np.float64)
    out = lift.numbers(a).astype(wanted)
    return record(f"to {wanted}", out, (x, lambda g: g)) if is_differentiable(wanted) else new(out)


@overload
def type_(input: Any, dtype: None = None) -> str: ...
@overload
def type_(input: Any, dtype: Any, non_blocking: Any = False) -> Tensor: ...
def type_(input: Any, dtype: Any = None, non_blocking: Any = False) -> Any:
    """With a dtype, or torch's older name for one ("torch.DoubleTensor", or the function DoubleTensor), the cast;
    without one that name of `input`'s dtype."""
    x = operand(input, "type")
    if dtype is None:
        found = [name for name, kind in _TYPES.items() if x._data.dtype == kind]
        return found[0] if found else f"a Tensor of {x._data.dtype}"
    name = dtype if isinstance(dtype, str) else f"torch.{getattr(dtype, '__name__', '')}"
    return _cast("type", x, _TYPES.get(name, dtype))


def type_as(input: Any, other: Any) -> Tensor:
    """`input` in the dtype of `other`."""
    return _cast("type_as", operand(input, "type_as"), operand(other, "type_as")._data.dtype)


def astype(input: Any, dtype: Any, copy: Any = True) -> Tensor:
    """NumPy's name for `to(dtype)`; as there, a copy unless `copy` is false."""
    return _cast("astype", operand(input, "astype"), dtype, copy=bool(copy))


def cpu(input: Any, *, memory_format: Any = None) -> Tensor:
    """`input` itself: it is on the CPU already."""
    return operand(input, "cpu")


def double(input: Any) -> Tensor:
    """`input` as float64."""
    return _cast("double", operand(input, "double"), np.float64)


def float_(input: Any) -> Tensor:
    """`input` as float32."""
    return _cast("float", operand(input, "float"), np.float32)


def half(input: Any) -> Tensor:
    """`input` as float16; what is too large for it becomes inf."""
    return _cast("half", operand(input, "half"), np.float16)


def long(input: Any) -> Tensor:
    """`input` as int64, cut off towards 0: a constant."""
    return _cast("long", operand(input, "long"), np.int64)


def int_(input: Any) -> Tensor:
    """`input` as int32, cut off towards 0: a constant."""
    return _cast("int", operand(input, "int"), np.int32)


def short(input: Any) -> Tensor:
    """`input` as int16, cut off towards 0: a constant."""
    return _cast("short", operand(input, "short"), np.int16)


def char(input: Any) -> Tensor:
    """`input` as int8, cut off towards 0: a constant."""
    return _cast("char", operand(input, "char"), np.int8)


def byte(input: Any) -> Tensor:
    """`input` as uint8, cut off towards 0: a constant."""
    return _cast("byte", operand(input, "byte"), np.uint8)


def bool_(input: Any) -> Tensor:
    """Where `input` is not 0: a constant."""
    return _cast("bool", operand(input, "bool"), np.bool_)
