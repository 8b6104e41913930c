"""Blocks of a model, told from the names of its parameters alone."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PART = re.compile(r"[^./]*[./]?")


def block_of(name: str) -> str:
    """The block that a parameter belongs to: its name up to its first number, as "blocks.0" of "blocks.0.mlp.up.bias";
    where there is none, all but its last part, as "tokens" of "tokens.weight"; where there is one part, that. Parts
    stand between points or slashes."""
    parts = _PART.findall(name)[:-1]  # the last one found is empty
    numbered = next((place for place, part in enumerate(parts) if part.rstrip("./").isdecimal()), None)
    kept = parts[:-1] or parts if numbered is None else parts[: numbered + 1]
    return "".join(kept).rstrip("./") or name


def blocks(names: Iterable[str]) -> dict[str, list[str]]:
    """The parameters of each block, in the order in which they come."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(block_of(name), []).append(name)
    return found
