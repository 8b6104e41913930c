"""What is seen of a model's forward passes: the integers that it was called with, and what its blocks returned."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any
from weakref import ref

import numpy as np

from tensorgrad.hooks import RemovableHandle
from tensorgrad.monitoring.seen import MODEL
from tensorgrad.nn.module import Module
from tensorgrad.node import ArrayNode

_CALLS = 64  # of a block's outputs in one pass, the last ones are looked at


class Forward:
    """Sees the forward passes of `model`, and of the modules of its blocks, until `close()`.

    inputs  the first array of integers that the model was last called with, None if there was none
    calls   names of the blocks in the order in which they ran, until the first backward pass

    The hooks hold it weakly, and it what it has seen of a graph, so that no graph lives longer for it.
    """

    def __init__(self, model: Any, blocks: Mapping[str, Module | None]) -> None:
        self.inputs: np.ndarray | None = None
        self.calls: list[str] | None = []
        self._outputs: dict[str, deque[ref[Any]]] = {}
        modules = {name: module for name, module in blocks.items() if module is not None}
        self._handles: list[RemovableHandle] = []
        if isinstance(model, Module):
            modules[MODEL] = model
            self._handles.append(model.register_forward_pre_hook(_SeesInputs(self, model), with_kwargs=True))
        for name, module in modules.items():
            self._handles.append(module.register_forward_hook(_SeesOutputs(self, module, name)))

    def close(self) -> None:
        """See nothing more."""
        for handle in self._handles:
            handle.remove()
        self.forget()

    def forget(self) -> None:
        """Begin anew: what was returned so far belongs to no later pass."""
        self._outputs.clear()

    def outputs_in(self, graph: Collection[Any]) -> dict[str, list[Any]]:
        """For each block that ran, the tensors of `graph` that it returned. What it returned for another loss, whose
        pass is still to come, is kept; so are these, for a second loss of the same batch."""
        return {name: [x for r in calls if (x := r()) in graph] for name, calls in self._outputs.items()}

    def add(self, name: str, out: Any) -> None:
        """Note what a module returned."""
        x = _first_tracked(out)
        if x is not None:
            self._outputs.setdefault(name, deque(maxlen=_CALLS)).append(ref(x))
            if self.calls is not None and name != MODEL:
                self.calls.append(name)


class _Hook:
    """What a module holds while it is seen. A copy of the module is another one, which nothing sees."""

    def __init__(self, forward: Forward, of: Any, name: str = "") -> None:
        self._forward, self._of, self._name = ref(forward), ref(of), name

    def __reduce__(self) -> tuple[Any, ...]:
        return _hook_of_a_copy, ()


class _SeesInputs(_Hook):
    def __call__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen = self._forward()
        if seen is not None and module.training and module is self._of():
            arrays = (getattr(x, "_data", x) for x in (*args, *kwargs.values()))
            seen.inputs = next((a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind in "iu"), None)


class _SeesOutputs(_Hook):
    def __call__(self, module: Any, args: Any, out: Any) -> None:
        seen = self._forward()
        if seen is not None and module is self._of():
            seen.add(self._name, out)


def _hook_of_a_copy() -> Callable[..., None]:
    return _does_nothing


def _does_nothing(*seen: Any) -> None:
    return None


def _first_tracked(out: Any) -> Any:
    """The first tensor in what a module returned that is part of a graph."""
    if isinstance(out, ArrayNode):
        return out if out._requires_grad else None
    if isinstance(out, Mapping):
        out = list(out.values())
    if isinstance(out, (tuple, list)):
        return next((x for part in out if (x := _first_tracked(part)) is not None), None)
    return None
