"""What to call the nodes of a graph: the caller's names for them, found by identity in a namespace."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from string import ascii_lowercase
from typing import Any

import numpy as np

from micrograd.backprop import Node

_HISTORIES = {"In", "Out"}  # IPython's, which hold every result once more
_MOST_LETTERS = 20
_DEEPEST = 12
_MOST_LOOKED_AT = 200_000
_PLAIN = {int, float, bool, str, type(None)}  # what data is made of leads to no node, and does not count
_REGISTERED = {"_parameters", "_buffers", "_modules"}
_MOST_IN_ONE = 10_000  # of a list: a long one holds data, not parameters


def caller_namespace() -> dict[str, Any]:
    """The variables of the nearest calling function outside this package, over those of its module."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame = frame.f_back
    return {**frame.f_globals, **frame.f_locals}


def find_names(namespace: Mapping[str, Any]) -> dict[Node, str]:
    """A name for each node that the namespace leads to: by the variable that was made first, so that parameters do
    not take the name of a loop that went over them later.

    Looks into lists, tuples and dictionaries, and into objects that have `parameters()` (networks) or whose class the
    namespace's own module defines, so that parameters have names such as `net.layers[0].neurons[1].w[2]`. Names that
    start with _, and IPython's histories, do not count; what a Module keeps under such names does.
    """
    names: dict[Node, str] = {}
    seen: set[int] = set()
    module = namespace.get("__name__")
    for variable, value in variables(namespace):
        if variable in _HISTORIES:
            continue
        queue = deque([(variable, value, 0)])
        while queue and len(seen) < _MOST_LOOKED_AT:
            name, thing, depth = queue.popleft()
            if isinstance(thing, Node):
                names.setdefault(thing, name)
            elif depth < _DEEPEST and id(thing) not in seen:
                seen.add(id(thing))
                queue.extend((inner_name, inner, depth + 1) for inner_name, inner in _inside(name, thing, module))
    return names


def variables(namespace: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What a namespace has under names that a variable can have and that do not start with _."""
    return [
        (name, value)
        for name, value in list(namespace.items())
        if isinstance(name, str) and not name.startswith("_") and name.isidentifier()
    ]


def _inside(name: str, thing: Any, module: str | None) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return ((f"{name}.{key}", x) for key, x in zip(thing._fields, thing, strict=True))
    if isinstance(thing, (list, tuple)):
        return ((f"{name}[{i}]", x) for i, x in enumerate(islice(thing, _MOST_IN_ONE)) if type(x) not in _PLAIN)
    if isinstance(thing, dict):
        return ((f"{name}[{key!r}]", x) for key, x in islice(list(thing.items()), _MOST_IN_ONE))
    if type(thing).__module__ == module or (
        callable(getattr(thing, "parameters", None)) and not isinstance(thing, type)
    ):
        return _fields(name, getattr(thing, "__dict__", {}))
    return iter(())


def _fields(name: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The attributes in an object's `fields`, and what a Module keeps for names that it registers: net[0].weight."""
    for key, x in list(fields.items()):
        if not key.startswith("_"):
            yield f"{name}.{key}", x
        elif key in _REGISTERED and isinstance(x, dict):
            for inner, part in list(x.items()):
                yield (f"{name}[{inner}]" if str(inner).isdigit() else f"{name}.{inner}"), part


def names_for(order: Sequence[Node], namespace: Mapping[str, Any]) -> dict[Node, str]:
    """The names that a namespace has for nodes; an array that was an operand as it is has its variable's name."""
    names = find_names(namespace)
    arrays = {id(value): name for name, value in variables(namespace) if isinstance(value, np.ndarray)}
    for node in order:
        if not node._prev and id(node.data) in arrays:
            names.setdefault(node, arrays[id(node.data)])
    return names


def name_all(order: Sequence[Node], given: Mapping[Node, str], taken: Iterable[str] = ()) -> list[str]:
    """A name for every node: its label, else the given one, else of a constant its number, else a free letter, one
    that no variable in `taken` has.

    In a graph with more than a few nameless nodes these are called by their place in the order: n12.
    """
    uses = Counter(parent for node in order for parent in node._prev)
    names = [str(node.label or "") or given.get(node, "") or _as_number(node, uses[node]) for node in order]
    nameless = [i for i, name in enumerate(names) if not name]
    if len(nameless) <= _MOST_LETTERS:
        used = {*names, *taken}
        free = (letter for letter in _letters() if letter not in used)
        for i in nameless:
            names[i] = "L" if order[i] is order[-1] and "L" not in used else next(free)
    else:
        for i in nameless:
            names[i] = f"n{i}"
    return names


def _letters() -> Iterator[str]:
    yield from ascii_lowercase
    yield from (f"{letter}{i}" for i in count(1) for letter in ascii_lowercase)


def _as_number(node: Node, uses: int) -> str:
    """The number of a nameless scalar leaf, which stands in the user's code as that number: a literal is a new node
    at each use, so one that is used twice was kept in a variable, which has another value by now."""
    if uses > 1 or node._prev or getattr(node.data, "shape", ()) != ():
        return ""
    return f"{float(node.data):g}"
