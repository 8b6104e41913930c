"""The parts of a model as the monitor sees them: parameters by name, and the blocks that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tensorgrad.monitoring.blocks import chain, named_blocks, owner
from tensorgrad.nn.module import Module
from tensorgrad.settings import kind
from tensorgrad.tensor import Tensor


class Parts:
    """The trained parameters of a model, and its blocks.

    names       of the parameters, in order: all that the optimizer changes, and no others
    parameters  the Tensors, in that order
    foreign     names of those that are not the model's
    untrained   the model's parameters that are not among them, by name
    blocks      names of the blocks in the order in which they first ran; before that, in that of their definition
    block_of    for each parameter, the place of its block in `blocks`
    modules     the Module of each block, None for one that has none
    chain       the blocks that make the depth: the longest row of blocks of one container, or all of them
    """

    def __init__(self, model: Module | Mapping[str, Tensor] | Iterable[Tensor], trained: Iterable[Tensor]) -> None:
        named = _named_parameters(model)
        trained = list(dict.fromkeys(trained))
        self._by_tensor = named
        self._paths = {module: path for path, module in model.named_modules()} if isinstance(model, Module) else {}
        self.names = [named.get(p) or p.label or f"optimizer's parameter {i}" for i, p in enumerate(trained)]
        self.parameters = trained
        self.foreign = {name for name, p in zip(self.names, trained, strict=True) if p not in named}
        self.untrained = {name: p for p, name in named.items() if p not in set(trained)}
        found = dict(named_blocks(model)) if isinstance(model, Module) else {}
        owners = [owner(name, found) for name in self.names]
        held = dict.fromkeys([*found, *owners])
        self.blocks = [name for name in held if name in owners or name in found]
        self.modules = {name: found.get(name) for name in self.blocks}
        self._owners = owners
        self.chain = chain(self.blocks, found)
        self._place()

    def in_order_of(self, calls: Iterable[str]) -> None:
        """Put the blocks into the order in which they ran; those that never did come first, as tables of weights."""
        ran = list(dict.fromkeys(calls))
        self.blocks = [name for name in self.blocks if name not in ran] + ran
        self.chain = [name for name in self.blocks if name in self.chain]
        self._place()

    def changed(self, parameter: Tensor) -> dict[str, Tensor] | None:
        """What the model holds by now that is not trained, by name, where it no longer holds this parameter; else None.

        A part that was replaced after the optimizer was made has the old one's name.
        """
        root = next((module for module, path in self._paths.items() if not path), None)
        held = dict(root.named_parameters()) if root is not None else dict.fromkeys(self.names, parameter)
        if any(p is parameter for p in held.values()):
            return None
        return {name: p for name, p in held.items() if not any(p is q for q in self.parameters)}

    def name_of(self, leaf: Any) -> str:
        """The name of a parameter, "" for any other tensor."""
        return self._by_tensor.get(leaf, "")

    def place_of(self, node: Any) -> str:
        """A node in words: its operation, and the part of the model in which it was made."""
        what = f"{node._op!r} of shape {node._data.shape}" if node._op else self.name_of(node) or "a leaf"
        scope = node._scope
        while scope is not None:
            path = self._paths.get(scope.module, "") if scope.module is not None else ""
            if path:
                return f"{what} in {path}"
            scope = scope.parent
        return what

    def _place(self) -> None:
        places = {name: i for i, name in enumerate(self.blocks)}
        self.block_of = [places[owner] for owner in self._owners]


def _named_parameters(model: Any) -> dict[Tensor, str]:
    if isinstance(model, Module):
        return {p: name for name, p in model.named_parameters()}
    if isinstance(model, Mapping):
        pairs = list(model.items())
    elif isinstance(model, Iterable) and not isinstance(model, Tensor):
        tensors = list(model)
        pairs = [(getattr(p, "label", "") or f"parameter {i}", p) for i, p in enumerate(tensors)]
    else:
        raise TypeError(f"monitor: takes a Module, or Tensors by name ({{'w': w}}), got {kind(model)}")
    for name, p in pairs:
        if not isinstance(p, Tensor) or not isinstance(name, str):
            raise TypeError(f"monitor: takes a Module, or Tensors by name, got {kind(p)} under {name!r}")
    return {p: name for name, p in pairs}
