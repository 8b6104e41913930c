"""What to call groups: as the module around them, or the caller, calls the module that they are a call of."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from micrograd.backprop import Node
from micrograd.scopes import Scope
from viz import text
from viz.grouping.level import Group
from viz.names import variables

_DEEPEST = 6
_MOST_LOOKED_AT = 20_000
_MOST_IN_ONE = 1_000  # of a list: a long one holds data
_MOST_CHARACTERS = 60


def label_all(scopes: Mapping[Scope, Group], namespace: Mapping[str, Any]) -> None:
    """Name the group of each scope. Of several with one label in one group, different modules and scopes are numbered,
    "Linear (2)", and calls of the same module, "net, call 2", in the order of time."""
    called = {id(scope.module) for scope in scopes if scope.module is not None}
    known = {None: _find(variables(namespace), called)}
    places: dict[tuple[Group | None, str], dict[int, int]] = {}
    calls: Counter[tuple[Group | None, str, int]] = Counter()
    for scope, group in sorted(scopes.items(), key=lambda pair: pair[0].number):
        label = text.clip(_label(scope, known, called), _MOST_CHARACTERS)
        module = scope.module
        one = id(scope if module is None else module)  # of a module that is gone nobody knows which it was
        alike = places.setdefault((group.parent, label), {})
        place = alike.setdefault(one, len(alike) + 1)
        calls[group.parent, label, one] += 1
        call = calls[group.parent, label, one]
        group.label = label + (f" ({place})" if place > 1 else "") + (f", call {call}" if call > 1 else "")


def _label(scope: Scope, known: dict[int | None, dict[int, str]], called: set[int]) -> str:
    module = scope.module
    if module is None:
        return scope.name
    around = scope.parent
    while around is not None and around.module is None:
        around = around.parent
    if around is not None:
        owner = around.module
        if id(owner) not in known:
            known[id(owner)] = _find(_parts("", owner), called)
        if id(module) in known[id(owner)]:
            return known[id(owner)][id(module)]
    return known[None].get(id(module), scope.name)


def _find(start: Iterable[tuple[str, Any]], called: set[int]) -> dict[int, str]:
    """Names of the modules that are called, by id; what lies inside one of them has its name from there."""
    names: dict[int, str] = {}
    seen: set[int] = set()
    queue = deque((name, thing, 0) for name, thing in start)
    while queue and len(seen) < _MOST_LOOKED_AT:
        name, thing, depth = queue.popleft()
        if id(thing) in called:
            names.setdefault(id(thing), name)
        elif depth < _DEEPEST and id(thing) not in seen:
            seen.add(id(thing))
            queue.extend((inner, part, depth + 1) for inner, part in _parts(name, thing))
    return names


def _parts(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """What may be or hold modules in a list, a dictionary or a module."""
    if isinstance(thing, (list, tuple)):
        yield from ((f"{name}[{i}]", part) for i, part in enumerate(islice(thing, _MOST_IN_ONE)))
    elif isinstance(thing, dict):
        yield from ((f"{name}[{key!r}]", part) for key, part in islice(list(thing.items()), _MOST_IN_ONE))
    elif not isinstance(thing, (type, Node)) and callable(getattr(type(thing), "parameters", None)):
        for key, part in list(getattr(thing, "__dict__", {}).items()):
            registered = key == "_modules" and isinstance(part, dict)
            for inner, found in list(part.items()) if registered else [(key, part)]:
                dotted = f"{name}.{inner}" if name else str(inner)
                yield f"{name}[{inner}]" if registered and str(inner).isdigit() else dotted, found
