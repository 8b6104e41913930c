"""What an object keeps alive: every array and every node that a rule can reach, whatever it keeps them in."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from micrograd.backprop import Node

_LEAD_NOWHERE = (int, float, complex, str, bytes, type(None), type, ModuleType, CodeType, np.generic, np.dtype)
"""Numbers and text; and classes and modules, which a rule uses but which do not live because of it."""


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
        if isinstance(x, _LEAD_NOWHERE) or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, (np.ndarray, Node)):
            yield x
        else:
            stack += _inside(x)


def _inside(x: Any) -> list[Any]:
    if isinstance(x, FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or () if _is_filled(cell)]
        return [*cells, x.__defaults__, x.__kwdefaults__, x.__dict__]
    if isinstance(x, BuiltinFunctionType):  # a method of an array, such as `a.dot`, with the array
        return [x.__self__]
    if isinstance(x, partial):
        return [x.func, x.args, x.keywords, x.__dict__]
    if isinstance(x, FrameType):  # of a generator that runs: what it refers to beside its variables is its caller's
        return list(x.f_locals.values())
    if isinstance(x, dict):
        return [*x, *x.values()]
    if isinstance(x, (tuple, list, set, frozenset)):
        return [*x, getattr(x, "__dict__", None)]
    return gc.get_referents(x)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - empty until the name is assigned
    except ValueError:
        return False
    return True
