"""Scopes: in which part of a program a node was made, so that pictures and pages can show the parts.

`with scope("attention"):` gives all nodes that are made inside a scope of that name, and so does every call of a module
of `micrograd.nn` and `tensorgrad.nn`. Each entry is a `Scope` of its own: two calls of one module are two scopes. A
node holds its scope in `_scope`; a scope holds the one around it, and its module weakly.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from itertools import count
from typing import Any, TypeVar
from weakref import ref

from micrograd.observing import entered, left

F = TypeVar("F", bound=Callable[..., Any])

_numbers = count()

open_scopes: list[None] = []
"""As long as the number of open scopes in all threads: empty, it tells a new node at no cost that it has none."""

_current: ContextVar[Scope | None] = ContextVar("scope", default=None)

current_scope = _current.get
"""The innermost open scope of this thread or task, or None."""


class Scope:
    """One entry into a scope.

    parent  the scope around it, or None
    number  counts scopes in the order in which they were made
    """

    __slots__ = ("__weakref__", "_module", "_of", "number", "parent")

    def __init__(self, of: Any, module: Any = None) -> None:
        self._of = of  # the name, or the module's class
        self._module = module
        self.number = next(_numbers)
        self.parent: Scope | None = None

    @property
    def name(self) -> str:
        """The name that was given, or that of the module's class."""
        return self._of.__name__ if isinstance(self._of, type) else self._of.name

    @property
    def kind(self) -> str:
        """ "scope", or the module's class in small letters."""
        return self._of.__name__.lower() if isinstance(self._of, type) else "scope"

    @property
    def module(self) -> Any:
        """The module whose call this is; None if it is none, or is gone."""
        return None if self._module is None else self._module()

    def __enter__(self) -> Scope:
        self.parent = _current.get()
        _current.set(self)
        open_scopes.append(None)
        entered(self)
        return self

    def __exit__(self, *exc: object) -> None:
        open_scopes.pop()
        left(self)
        if _current.get() is self:
            _current.set(self.parent)
        else:
            _close(lambda found: found is self)

    def __repr__(self) -> str:
        names = []
        found: Scope | None = self
        while found is not None:
            names.append(found.name)
            found = found.parent
        return f"<Scope {' > '.join(reversed(names))}>"


def _close(is_it: Callable[[Scope], bool]) -> None:
    """Leave the innermost scope that `is_it`, and those inside it: a generator that was thrown away left them open. In
    a thread that is in no such scope (the generator was begun in another one) nothing changes."""
    found = _current.get()
    while found is not None and not is_it(found):
        found = found.parent
    if found is not None:
        _current.set(found.parent)


def module_scope(module: Any) -> Scope:
    """The scope of one call of `module`, to be entered with `with`."""
    try:
        return Scope(type(module), ref(module))
    except TypeError:  # a class with slots and without one for weak references
        return Scope(type(module))


class scope:
    """`with scope("name"):` groups the nodes that are made inside, for pictures and pages; it changes no number.

    Decorates a function too, then every call is a scope, of a generator all its steps together. Scopes may stand in
    scopes, and each thread and each task has its own.

    Raises TypeError if the name is no string.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f'a scope has a name, scope("name"): got {name!r}')
        self.name = name

    def __enter__(self) -> None:
        Scope(self).__enter__()

    def __exit__(self, *exc: object) -> None:
        open_scopes.pop()
        left(_current.get())
        _close(lambda found: found._of is self)

    def __call__(self, function: F) -> F:
        if not callable(function):
            raise TypeError(f"scope decorates a function, got {function!r}")
        inspect = importlib.import_module("inspect")  # a third of what `import micrograd` would take; few decorate
        if inspect.isasyncgenfunction(function):
            raise TypeError(
                f"scope cannot decorate {function.__name__}, an asynchronous generator: put `with` inside it"
            )
        if inspect.iscoroutinefunction(function):
            decorate = _each_await
        else:
            decorate = _each_step if inspect.isgeneratorfunction(function) else _each_call
        decorated: Any = decorate(self, function)
        return decorated


def _each_call(opener: scope, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with Scope(opener):
            return function(*args, **kwargs)

    return decorated


def _each_await(opener: scope, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def decorated(*args: Any, **kwargs: Any) -> Any:
        with Scope(opener):
            return await function(*args, **kwargs)

    return decorated


def _each_step(opener: scope, function: Callable[..., Generator]) -> Callable[..., Generator]:
    """The generator function with one scope, open while the generator runs and closed in between."""

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Generator:
        generator = function(*args, **kwargs)
        whole = Scope(opener)
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with whole:
                    found = step()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield found
                step = functools.partial(generator.send, sent)
            except GeneratorExit:
                with whole:
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)

    return decorated


def each_call(function: F) -> F:
    """The method `__call__` of a class of modules, with a scope for each call. A call of the same method of the base
    class, by super(), stays in it."""

    @functools.wraps(function)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        here = _current.get()
        if here is not None and here._module is not None and here._module() is self:
            return function(self, *args, **kwargs)
        with module_scope(self):
            return function(self, *args, **kwargs)

    decorated: Any = called
    return decorated
