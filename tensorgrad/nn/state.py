"""Loading values into the parameters of a module, all or none of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tensorgrad.node import ArrayNode
from tensorgrad.tensor import Tensor

_WRAPPERS = ("module.", "_orig_mod.")
"""What torch's DistributedDataParallel and compile put in front of every name."""


class LoadedKeys(NamedTuple):
    """The names that a state_dict lacked, and those in it that the module does not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def load(owner: str, own: Mapping[str, Tensor], given: Mapping[str, Any], strict: bool) -> LoadedKeys:
    """Copy the values in `given` into the tensors in `own`; see `Module.load_state_dict`."""
    if not isinstance(given, Mapping):
        raise TypeError(f"load_state_dict: takes a dict from names to tensors, got a {type(given).__name__}")
    missing = [name for name in own if name not in given]
    unexpected = [name for name in given if name not in own]
    values, misfits = {}, []
    for name, x in own.items():
        if name in given:
            misfit = _misfit(name, x._data, given[name])
            if misfit:
                misfits.append(misfit)
            else:
                values[x] = _array(given[name])
    complaints = misfits
    if strict:
        complaints = [*_listed("missing", missing), *_listed("not in the module", unexpected), *misfits]
    if complaints:
        raise RuntimeError(
            f"load_state_dict: the state does not fit the {owner}, which is unchanged:\n  "
            + "\n  ".join(complaints)
            + _hint(missing, unexpected)
        )
    for x, value in values.items():
        if value is not x._data:
            with np.errstate(over="ignore"):  # beyond a narrower dtype's range is inf, as in every cast
                x._data[...] = value
            x._bump()
    return LoadedKeys(missing, unexpected)


def _array(value: Any) -> np.ndarray:
    return value._data if isinstance(value, ArrayNode) else value


def _misfit(name: str, data: np.ndarray, value: Any) -> str:
    """What is wrong with `value` for a tensor that holds `data`, or ""."""
    array = _array(value)
    if not isinstance(array, np.ndarray):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        return f"{name}: a Tensor or a NumPy array is needed, got {kind}" + (
            "; write .numpy()" if hasattr(value, "numpy") else ""
        )
    if np.ma.is_masked(array):
        return f"{name}: the array has masked elements; write .filled(...)"
    if array.shape != data.shape:
        return f"{name}: shape {array.shape} in the state, {data.shape} in the module"
    if not data.flags.writeable:
        return f"{name}: the module's own array is read-only"
    if not np.can_cast(array.dtype, data.dtype, "same_kind") and not (array.dtype.kind in "biuf" and data.dtype != "?"):
        return f"{name}: {array.dtype} in the state, {data.dtype} in the module"
    return ""


def _listed(what: str, names: Iterable[str]) -> list[str]:
    names = list(names)
    return [f"{what}: {', '.join(names)}"] if names else []


def _hint(missing: list[str], unexpected: list[str]) -> str:
    for wrapper in _WRAPPERS:
        if missing and unexpected and all(name.startswith(wrapper) for name in unexpected):
            return f"\nThe names in the state begin with {wrapper!r}: take it away, k.removeprefix({wrapper!r})"
    return ""
