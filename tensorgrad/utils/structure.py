"""What a block may return: Tensors, in tuples, lists and dicts, beside other things."""

from __future__ import annotations

from typing import Any

from tensorgrad.tensor import Tensor


def tensors(found: Any) -> list[Tensor]:
    """The Tensors in it, each once, in order."""
    if isinstance(found, Tensor):
        return [found]
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, (tuple, list)) else ()
    return list(dict.fromkeys(x for part in parts for x in tensors(part)))


def rebuilt(found: Any, instead: dict[Tensor, Tensor]) -> Any:
    """The same, with other Tensors in the place of some."""
    if isinstance(found, Tensor):
        return instead.get(found, found)
    if isinstance(found, dict):
        return type(found)((key, rebuilt(part, instead)) for key, part in found.items())
    if isinstance(found, (tuple, list)):
        parts = [rebuilt(part, instead) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found
