"""The blocks of a model along its depth, for both engines, or as the caller names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import micrograd.nn
import tensorgrad.nn
from micrograd.backprop import Node
from tensorgrad.monitoring.blocks import named_blocks, rows
from viz.errors import UserError
from viz.text import clip

_TAKES = "depth takes a model, or its blocks by name: modules, or lists of parameters"
_MODULES = (tensorgrad.nn.Module, micrograd.nn.Module)


@dataclass(frozen=True, eq=False)
class Block:
    """One block: its name, the module whose calls it is (None for mere parameters), and its parameters."""

    name: str
    module: Any
    parameters: tuple[Node, ...]


def blocks_of(model: Any) -> list[Block]:
    """The blocks of a model in the order of their definition.

    Of a `tensorgrad.nn.Module` they are those of its containers that are numbered, two or more in one; else its
    children, with containers opened. Of a `micrograd.nn.Module` its longest list of modules. A mapping, or pairs, of
    names to modules, parameters or lists of parameters, and a list of modules are taken as they are.

    Raises UserError for anything else.
    """
    if isinstance(model, tensorgrad.nn.Module):
        return _of_tensors(model)
    if isinstance(model, micrograd.nn.Module):
        return _of_scalars(model)
    if isinstance(model, (str, Node)) or not isinstance(model, Iterable):
        raise UserError(f"{_TAKES}; this is a {type(model).__name__}")
    found = [_given(name, thing) for name, thing in _pairs(model)]
    if not found:
        raise UserError(f"{_TAKES}; this {type(model).__name__} is empty")
    if len({block.name for block in found}) < len(found):
        raise UserError(f"{_TAKES}; some of these names are the same")
    return found


def hidden_modules(model: Any) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """Where a `tensorgrad.nn.Module` holds modules in a list, tuple or dict of Python, which it does not see, and the
    parameters of these modules that are no others of the model."""
    if not isinstance(model, tensorgrad.nn.Module):
        return
    seen = set(model.parameters())
    for name, module in model.named_modules():
        for attribute, held in vars(module).items():
            parts = held.values() if isinstance(held, dict) else held if isinstance(held, (list, tuple)) else ()
            own = [p for part in parts if isinstance(part, tensorgrad.nn.Module) for p in part.parameters()]
            if missed := tuple(p for p in own if p not in seen):
                yield f"{name}.{attribute}" if name else attribute, missed


def _of_tensors(model: tensorgrad.nn.Module) -> list[Block]:
    found = dict(named_blocks(model)) or {type(model).__name__: model}
    names = [name for row in rows(found, found) if len(row) > 1 for name in row] or list(found)
    if len(names) == 1 and isinstance(found[names[0]], tensorgrad.nn.ParameterList):
        return [Block(f"{names[0]}.{i}", None, (p,)) for i, p in enumerate(found[names[0]].parameters())]
    return [_block(name, found[name]) for name in names]


def _of_scalars(model: micrograd.nn.Module) -> list[Block]:
    parts = vars(model)
    lists = [(name, part) for name, part in parts.items() if isinstance(part, (list, tuple)) and _all_modules(part)]
    name, longest = max(lists, key=lambda pair: len(pair[1]), default=("", ()))
    if len(longest) > 1:
        return [_block(f"{name}[{i}]", part) for i, part in enumerate(longest)]
    alone = {name: part for name, part in parts.items() if isinstance(part, micrograd.nn.Module)}
    alone |= {f"{name}[0]": part[0] for name, part in lists if part}
    return [_block(name, part) for name, part in (alone or {type(model).__name__: model}).items()]


def _all_modules(parts: Iterable[Any]) -> bool:
    return all(isinstance(part, _MODULES) for part in parts)


def _block(name: str, module: Any) -> Block:
    return Block(name, module, tuple(dict.fromkeys(module.parameters())))


def _pairs(given: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(given, Mapping):
        given = given.items()
    for place, pair in enumerate(given):
        if isinstance(pair, _MODULES):
            yield str(place), pair
        elif isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str):
            yield pair
        else:
            raise UserError(f"{_TAKES}; among these is {clip(repr(pair))}")


def _given(name: str, thing: Any) -> Block:
    if isinstance(thing, _MODULES):
        return _block(name, thing)
    parameters = (thing,) if isinstance(thing, Node) else tuple(thing) if isinstance(thing, Iterable) else ()
    if not parameters or not all(isinstance(p, Node) for p in parameters):
        raise UserError(f"{_TAKES}; {clip(name)} is {clip(repr(thing))}")
    return Block(name, None, parameters)
