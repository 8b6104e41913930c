"""The blocks of a model: what a person would name who lists its parts from the input to the output."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from tensorgrad.nn.containers import ModuleDict, ModuleList, Sequential
from tensorgrad.nn.module import Module

_CONTAINERS = (ModuleList, ModuleDict, Sequential)


def named_blocks(module: Module, prefix: str = "") -> list[tuple[str, Module]]:
    """The parts of a model that a person would call its blocks: its children, with containers opened, and a child that
    is all there is opened too. None are without parameters."""
    children = [(name, child) for name, child in module.named_children() if any(True for _ in child.parameters())]
    if len(children) == 1 and not isinstance(children[0][1], _CONTAINERS) and not module._parameters:
        name, child = children[0]
        inside = named_blocks(child, f"{prefix}{name}.")
        return inside or [(f"{prefix}{name}", child)]
    found = []
    for name, child in children:
        if isinstance(child, _CONTAINERS):
            found += named_blocks(child, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", child))
    return found


def owner(parameter: str, blocks: Mapping[str, Module]) -> str:
    """The block that a parameter belongs to; one that lies in none of them is a block of its own."""
    owners = [name for name in blocks if parameter == name or parameter.startswith(f"{name}.")]
    return max(owners, key=len) if owners else parameter


def rows(blocks: Iterable[str], found: Container[str]) -> list[list[str]]:
    """The blocks that are numbered within one container, a row for each container; `found` are those that are
    Modules."""
    by_container: dict[str, list[str]] = {}
    for name in blocks:
        container, _, last = name.rpartition(".")
        if name in found and last.isdigit():
            by_container.setdefault(container, []).append(name)
    return list(by_container.values())


def chain(blocks: list[str], found: Container[str]) -> list[str]:
    """The blocks that make the depth: the longest row, or all of them where none has two."""
    longest = max(rows(blocks, found), key=len, default=[])
    return longest if len(longest) > 1 else [name for name in blocks if name in found]
