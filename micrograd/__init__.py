"""A scalar engine for reverse-mode differentiation, a drop-in for Andrej Karpathy's micrograd."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from micrograd.engine import Value

if TYPE_CHECKING:
    from micrograd.scripting import script as script

__all__ = ["Value", "script"]


def __getattr__(name: str) -> Any:
    """`script`, imported when it is asked for: most programs do without."""
    if name == "script":
        return importlib.import_module("micrograd.scripting").script
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
