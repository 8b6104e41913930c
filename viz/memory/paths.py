"""In which module a node was made, as a path: blocks.3.attention.qkv."""

from __future__ import annotations

from typing import Any

from micrograd.scopes import Scope

OUTSIDE = "(outside of modules)"


class Paths:
    """Paths of scopes.

    model  its modules have the names that it has for them, "blocks.0.norm1", and it has its class's; without it paths
           begin with the class of the outermost module, "GPT.blocks.0.norm1"
    """

    def __init__(self, model: Any = None) -> None:
        self._names = {} if model is None else {id(m): name or type(m).__name__ for name, m in _named(model)}
        self._known: dict[Scope | None, str] = {None: ""}
        self._inside: dict[int, dict[int, str]] = {}

    def of(self, node: Any) -> str:
        """The path of the scope in which `node` was made."""
        return self._path(node._scope) or OUTSIDE

    def _path(self, scope: Scope | None) -> str:
        new: list[Scope] = []
        while scope is not None and scope not in self._known:
            new.append(scope)
            scope = scope.parent
        path = self._known[scope]
        for inner in reversed(new):
            path = self._known[inner] = self._entered(path, inner)
        return path

    def _entered(self, around: str, scope: Scope) -> str:
        module = scope.module
        if module is not None:
            if id(module) in self._names:
                return self._names[id(module)]
            owner = _owner(scope)
            if owner is not None:
                name = self._names_in(owner).get(id(module))
                if name is not None:
                    outer = scope.parent
                    while outer is not None and outer.module is not owner:
                        outer = outer.parent
                    return f"{self._known[outer]}.{name}"
        return f"{around}.{scope.name}" if around else scope.name

    def _names_in(self, owner: Any) -> dict[int, str]:
        if id(owner) not in self._inside:
            self._inside[id(owner)] = {id(m): name for name, m in _named(owner) if name}
        return self._inside[id(owner)]


def _owner(scope: Scope) -> Any:
    """The module of the nearest call around this one that is alive."""
    around = scope.parent
    while around is not None and around.module is None:
        around = around.parent
    return None if around is None else around.module


def _named(module: Any) -> list[tuple[str, Any]]:
    names = getattr(module, "named_modules", None)
    return list(names()) if callable(names) else [("", module)]
