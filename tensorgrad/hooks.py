"""Hooks of modules and optimizers: functions that are kept until their handle takes them away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorgrad.settings import kind


class RemovableHandle:
    """What the methods that register a hook return."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self.remove = remove

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def keep(op: str, hooks: dict[object, Any], hook: Any, entry: Any = None) -> RemovableHandle:
    """Put `hook` into `hooks`, or what stands there for it. Raises TypeError for what is no function."""
    if not callable(hook):
        raise TypeError(f"{op}: takes a function, got {kind(hook)}")
    key = object()
    hooks[key] = hook if entry is None else entry
    return RemovableHandle(lambda: hooks.pop(key, None))
