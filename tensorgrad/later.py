"""Parts of the package that are imported when they are first asked for.

What every program needs is imported with the package. The monitor, whole models and files are not among that, and
would make `import tensorgrad` a third slower.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_from(module: str, places: Mapping[str, str], otherwise: Callable[[str], Any]) -> Callable[[str], Any]:
    """A module's `__getattr__`, which Python asks for names that it has not found; once found, a name is kept.

    places     in which module each name is defined; a module of that name stands for itself
    otherwise  what is asked for all other names
    """

    def __getattr__(name: str) -> Any:
        place = places.get(name)
        if place is None:
            return otherwise(name)
        found = import_module(place)
        if place != f"{module}.{name}":
            found = getattr(found, name)
        setattr(sys.modules[module], name, found)
        return found

    return __getattr__
