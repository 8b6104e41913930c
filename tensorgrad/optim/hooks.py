"""Functions that are called before and after every step of an optimizer, under torch's names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tensorgrad.hooks import RemovableHandle, keep

StepHook = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
"""hook(optimizer, args, kwargs), with the arguments of `step`."""


class StepHooks:
    """What an optimizer has of this. Copies of the optimizer, and its state, are without hooks."""

    _pre_hooks: dict[object, StepHook]
    _post_hooks: dict[object, StepHook]
    _is_stepping = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:  # an optimizer of one's own may define it anew
            cls.step = with_hooks(cls.step)

    def register_step_pre_hook(self, hook: StepHook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other (args, kwargs) for it.

        `remove()` the result to end it. Raises TypeError for what is no function.
        """
        return keep("register_step_pre_hook", self._hooks_of("_pre_hooks"), hook)

    def register_step_post_hook(self, hook: StepHook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step. `remove()` the result to end it."""
        return keep("register_step_post_hook", self._hooks_of("_post_hooks"), hook)

    def _hooks_of(self, which: str) -> dict[object, StepHook]:
        found: dict[object, StepHook] = self.__dict__.setdefault(which, {})
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name not in ("_pre_hooks", "_post_hooks")}


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step`, with the hooks run around it, once also where it calls the `step` that it overrides."""

    @wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        fields = self.__dict__
        if self._is_stepping or not ("_pre_hooks" in fields or "_post_hooks" in fields):
            return step(self, *args, **kwargs)
        fields["_is_stepping"] = True
        try:
            for hook in list(fields.get("_pre_hooks", {}).values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    args, kwargs = changed
            out = step(self, *args, **kwargs)
            for hook in list(fields.get("_post_hooks", {}).values()):
                hook(self, args, kwargs)
            return out
        finally:
            del fields["_is_stepping"]

    return hooked
