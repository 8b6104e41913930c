"""Whether operations are recorded for a backward pass: one switch a thread, on at first."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any


class _Mode(threading.local):
    """This thread's switch, and what it was outside each `with` that is open now."""

    def __init__(self) -> None:
        self.enabled = True
        self.outer: list[bool] = []


_mode = _Mode()


def is_grad_enabled() -> bool:
    """Whether this thread records operations now."""
    return _mode.enabled


_RUNS_LATER = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


class _Switch(ContextDecorator):
    """Holds the switch at `mode` inside a `with` or a decorated function, and puts it back however that ends."""

    mode: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """`@no_grad` works as well as `@no_grad()`."""
        switch = super().__new__(cls)
        return switch if function is None else switch(function)

    def __call__(self, function: Callable[..., Any]) -> Any:
        if not callable(function):
            raise TypeError(f"{type(self).__name__} decorates a function, got a {type(function).__name__}")
        if any(runs_later(function) for runs_later in _RUNS_LATER):
            raise TypeError(
                f"{type(self).__name__} cannot decorate {function.__name__}, which runs after its call has returned: "
                "put `with` inside it, around what stands between two yields"
            )
        return super().__call__(function)

    def __enter__(self) -> None:
        _mode.outer.append(_mode.enabled)
        _mode.enabled = self.mode

    def __exit__(self, *exc: object) -> None:
        _mode.enabled = _mode.outer.pop()


class no_grad(_Switch):
    """Inside, results are constants: they have no parents, no rule, and require no gradient.

    Use as `with no_grad():`, `@no_grad()` or `@no_grad`. Other threads are not affected. A generator that yields inside
    the `with` leaves it open for its caller, as every `with` around a yield does; decorating one is refused.
    """

    mode = False


class enable_grad(_Switch):
    """Inside, operations are recorded, also within `no_grad`."""

    mode = True
