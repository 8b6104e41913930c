"""In which module time was spent: its path, and the modules around it."""

from __future__ import annotations

from typing import Any

from micrograd.scopes import Scope
from viz.memory.paths import OUTSIDE, Paths

Stack = tuple[str, ...]


class Places(Paths):
    """Where scopes are, seen from the one that is around all of a run.

    model   as `Paths` takes it
    around  the scope of the run
    again   whether modules that are called outside of all others are called again, by a checkpoint in the backward
            pass: they are where they were when they were called first
    """

    def __init__(self, model: Any, around: Scope) -> None:
        super().__init__(model)
        self.again = False
        self.around = around
        self._known[around] = ""
        self._stacks: dict[Scope | None, Stack] = {None: (), around: ()}
        self._ours: dict[Scope | None, bool] = {None: False, around: True}
        self._first: dict[int, tuple[str, Stack]] = {}

    def is_ours(self, scope: Scope | None) -> bool:
        """Whether it lies in the run's: it does not in another thread."""
        known = self._ours.get(scope)
        if known is None:
            assert scope is not None
            known = self._ours[scope] = self._is_inside(scope)
        return known

    def _is_inside(self, scope: Scope) -> bool:
        found: Scope | None = scope
        while found is not None and found is not self.around:
            found = found.parent
        return found is not None

    def at(self, scope: Scope | None) -> tuple[str, Stack]:
        """The path of a scope, and the names of those around it from the outermost one to its own."""
        new: list[Scope] = []
        found = scope
        while found not in self._stacks:
            assert found is not None
            new.append(found)
            found = found.parent
        for inner in reversed(new):
            self._known[inner], self._stacks[inner] = self._place(inner)
        return self._known[scope] or OUTSIDE, self._stacks[scope]

    def _place(self, scope: Scope) -> tuple[str, Stack]:
        module = scope.module
        if self.again and scope.parent in (None, self.around) and id(module) in self._first:
            return self._first[id(module)]
        around = self._known[scope.parent]
        path = self._entered(around, scope)
        place = path, (*self._stacks[scope.parent], path.removeprefix(f"{around}."))
        if module is not None:
            self._first.setdefault(id(module), place)
        return place
