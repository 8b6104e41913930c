"""What an object keeps alive: every array and every node that a rule can reach, whatever it keeps them in."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from micrograd.backprop import Node

_NUMBERS: frozenset[type] = frozenset((int, float, bool, complex, str, bytes, type(None)))
"""What most things in closures are; and text."""

_LEAD_NOWHERE: tuple[type, ...] = (*_NUMBERS, type, ModuleType, CodeType, np.generic, np.dtype)
"""These, and classes and modules, which a rule uses but which do not live because of it."""


def held(thing: Any) -> Iterator[np.ndarray | Node]:
    """Every array and every node that `thing` keeps alive, each once.

    Closures and default values of functions are looked into, bound methods, partials, containers, the state of
    generators, and objects with their attributes and slots: all that Python's collector would follow, but for the
    variables of modules, which functions refer to. A node is yielded and not looked into: what it was computed from is
    the graph's, not the rule's. The elements of an array of objects are not looked at.
    """
    seen: set[int] = set()
    stack = [thing]
    while stack:
        x = stack.pop()
        if type(x) in _NUMBERS or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, (np.ndarray, Node)):
            yield x
        elif not isinstance(x, _LEAD_NOWHERE):
            stack += _inside(x)


def _inside(x: Any) -> list[Any]:
    if isinstance(x, FunctionType):
        found = gc.get_referents(*(x.__closure__ or ()))  # of cells: what is in those that are filled
        found += [y for y in (x.__defaults__, x.__kwdefaults__, x.__dict__) if y]
        return found
    return gc.get_referents(x)
