"""Questions about tensors and dtypes under torch's names, and how tensors are printed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorgrad.dtypes import as_dtype, default_float, promote, rank, result_dtype
from tensorgrad.node import ArrayNode, operand
from tensorgrad.ops.axes import integers
from tensorgrad.settings import real, whole
from tensorgrad.shapes import broadcast


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, ArrayNode)


def is_floating_point(input: Any) -> bool:
    """Whether the tensor holds floats."""
    return operand(input, "is_floating_point")._data.dtype.kind in "fO"


def is_complex(input: Any) -> bool:
    """Whether the tensor holds complex numbers."""
    return operand(input, "is_complex")._data.dtype.kind == "c"


def numel(input: Any) -> int:
    """The number of elements."""
    return operand(input, "numel")._data.size


def is_nonzero(input: Any) -> bool:
    """Whether the one element is not 0. Raises ValueError where there is not exactly one."""
    return bool(operand(input, "is_nonzero") != 0)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape in which these broadcast. Raises ShapeError where they do not."""
    return broadcast("broadcast_shapes", *[integers("broadcast_shapes", (shape,)) for shape in shapes])


def result_type(tensor1: Any, tensor2: Any) -> np.dtype:
    """The dtype that an operation on the two, tensors or Python numbers, has."""
    x = operand(tensor1, "result_type", tensor2 if isinstance(tensor2, ArrayNode) else None)
    return result_dtype(x._data, operand(tensor2, "result_type", x)._data)


def promote_types(type1: Any, type2: Any) -> np.dtype:
    """The dtype in which tensors of these two meet."""
    return promote(as_dtype(type1), as_dtype(type2))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a value may be assigned across these dtypes: not to a lower category of bool < integer < float."""
    return rank(as_dtype(from_)) <= rank(as_dtype(to))


def finfo(type: Any = None) -> np.finfo:
    """The limits of a float dtype, by default of the default one: eps, max, min, tiny, ..."""
    found = default_float() if type is None else as_dtype(type)
    if found.kind not in "fO":
        raise TypeError(f"finfo: {found} is no dtype of floats; iinfo has the limits of integers")
    return np.finfo(default_float() if found.kind == "O" else found)


def iinfo(type: Any) -> np.iinfo:
    """The limits of an integer dtype: max, min, bits."""
    found = as_dtype(type)
    if found.kind not in "iu":
        raise TypeError(f"iinfo: {found} is no dtype of integers; finfo has the limits of floats")
    return np.iinfo(found)


_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": 2**62, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors are printed. They are printed as arrays, so this sets NumPy's options; what is None stays.

    profile   "default", "short" or "full": values for the others
    sci_mode  False writes no exponents
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions: profile must be one of {', '.join(_PROFILES)}, got {profile!r}")
    options: dict[str, Any] = dict(_PROFILES[profile]) if profile else {}
    for name, value in {"precision": precision, "edgeitems": edgeitems, "linewidth": linewidth}.items():
        if value is not None:
            options[name] = whole("set_printoptions", name, value)
            if options[name] < 0:  # which NumPy takes, and then prints nothing any more
                raise ValueError(f"set_printoptions: {name} is {value}, it must be 0 or more")
    if threshold is not None:
        options["threshold"] = real("set_printoptions", "threshold", threshold)
    if options.get("threshold") == float("inf"):
        options["threshold"] = _PROFILES["full"]["threshold"]
    if sci_mode is not None:
        options["suppress"] = not sci_mode
    np.set_printoptions(**options)
