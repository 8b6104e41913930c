"""Whether operations are recorded for a backward pass: one switch a thread, on at first."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    from tensorgrad.gate import Arrived

State = tuple[bool, str, bool, bool]
"""`enabled`, `why`, `inference` and `lean` of a `_Mode`."""

F = TypeVar("F", bound=Callable[..., Any])


class _Mode(threading.local):
    """This thread's switch.

    enabled    whether operations are recorded
    why        "no_grad" where constants should remember that they were cut off by it, "" otherwise
    inference  whether `inference_mode` is on
    lean       whether the graph keeps what its rules need and no more, see `lean_graph`
    quiet      whether a backward pass is on in which NumPy does not warn of inf and nan, see `gate.quiet_pass`
    arrived    of such a pass, see there
    outer      by the id of each switch in a `with`: what it was outside, once for each `with` that is open. Not one
               stack for all: a generator may stop inside its own `with`, so that others end before it
    """

    def __init__(self) -> None:
        self.enabled = True
        self.why = ""
        self.inference = False
        self.lean = False
        self.quiet = False
        self.arrived: Arrived | None = None
        self.outer: dict[int, list[State]] = {}

    def set(self, enabled: bool, inference: bool = False) -> None:
        self.enabled = enabled
        self.inference = inference
        self.why = "" if enabled or inference else "no_grad"

    @property
    def state(self) -> State:
        return self.enabled, self.why, self.inference, self.lean

    @state.setter
    def state(self, state: State) -> None:
        self.enabled, self.why, self.inference, self.lean = state


_mode = _Mode()


def is_grad_enabled() -> bool:
    """Whether this thread records operations now."""
    return _mode.enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return _mode.inference


class _Switch:
    """Holds the switch inside a `with`, a decorated function or each step of a decorated generator, and puts it back
    however that ends."""

    def __enter__(self) -> None:
        self._enter(_mode.state)

    def _enter(self, outside: State) -> None:
        _mode.outer.setdefault(id(self), []).append(outside)
        self._switch()

    def __exit__(self, *exc: object) -> None:
        open_now = _mode.outer.get(id(self))
        if open_now is None:  # entered in another thread, by a generator that is thrown away in this one
            return
        _mode.state = open_now.pop()
        if not open_now:
            del _mode.outer[id(self)]

    def __call__(self, function: F) -> F:
        name = type(self).__name__
        if not callable(function):
            raise TypeError(f"{name} decorates a function, got a {type(function).__name__}")
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{name} cannot decorate {function.__name__}, which runs in turns with others: put `with` inside it, "
                "around what stands between two awaits"
            )
        decorated: Any = (_each_step if inspect.isgeneratorfunction(function) else _each_call)(self, function)
        return decorated

    def _switch(self) -> None:
        raise NotImplementedError


def _each_call(switch: _Switch, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with switch:
            return function(*args, **kwargs)

    return decorated


def _each_step(switch: _Switch, function: Callable[..., Generator]) -> Callable[..., Generator]:
    """The generator function with the switch on while the generator runs, and as its caller has it in between."""

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Generator:
        with switch:
            generator = function(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with switch:
                    found = step()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield found
                step = functools.partial(generator.send, sent)
            except GeneratorExit:
                with switch:
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)

    return decorated


class _Plain(_Switch):
    """A switch without arguments: `@no_grad` works as well as `@no_grad()`."""

    @overload
    def __new__(cls, function: None = None) -> Self: ...
    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]  # a call that makes no switch
    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        switch = super().__new__(cls)
        return switch if function is None else switch(function)


class no_grad(_Plain):
    """Inside, results are constants: they have no parents, no rule, and require no gradient.

    Use as `with no_grad():`, `@no_grad()` or `@no_grad`, on generator functions too: then it holds while the generator
    runs and not for its caller. Other threads are not affected.
    """

    def _switch(self) -> None:
        _mode.set(False)


class enable_grad(_Plain):
    """Inside, operations are recorded, also within `no_grad`."""

    def _switch(self) -> None:
        _mode.set(True)


class lean_graph(_Plain):
    """Inside, the graph keeps the arrays that its rules need for the backward pass and no others.

    Otherwise it keeps the data of every result, since they are there to be looked at. Here a result's data lives as
    long as the program holds the tensor, or a rule the array; its place in the graph is taken by a stand-in that has
    its shape and dtype. So there is nothing to draw or to step through, and gradients of results are released as soon
    as they are sent on (`backward(keep_grads=True)` and `retain_grad` keep them). The leaves' gradients are the same,
    bit for bit.

    Use as `with lean_graph():`, `@lean_graph()` or `@lean_graph`, as `no_grad`.
    """

    def _switch(self) -> None:
        _mode.lean = True


class inference_mode(_Switch):
    """As `no_grad`, and results do not remember, for `explain`, what they were cut off from: for code that is only
    evaluated. `inference_mode(False)` is as `enable_grad`."""

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]  # a call that makes no switch
    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        switch = super().__new__(cls)
        switch._on = True if callable(mode) else bool(mode)
        return switch(mode) if callable(mode) else switch

    def _switch(self) -> None:
        _mode.set(not self._on, inference=self._on)


class set_grad_enabled(_Switch):
    """Turn recording on or off: for good when called as a function, until its end when used as a `with`."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, (bool, np.bool_)):
            raise TypeError(f"set_grad_enabled: takes True or False, got {mode!r}")
        self._on = bool(mode)
        self._before = _mode.state
        _mode.set(self._on)

    def __enter__(self) -> None:
        self._enter(self._before)

    def __call__(self, function: F) -> F:
        _mode.state = self._before  # a decorator is for later
        decorated = _Decorator(self._on)
        return decorated(function)

    def _switch(self) -> None:
        _mode.set(self._on)


class _Decorator(_Switch):
    """What `set_grad_enabled` decorates with: unlike it, it changes nothing when it is made."""

    def __init__(self, mode: bool) -> None:
        self._on = mode

    def _switch(self) -> None:
        _mode.set(self._on)
