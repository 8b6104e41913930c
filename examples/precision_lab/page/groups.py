"""Which arrays are shown together: all, each block of the model, each by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BLOCK = re.compile(r"((?:[^./]+[./])*?\d+)[./]")


def block_of(name: str) -> str | None:
    """The block that an array belongs to, by its name up to the first number in it: "blocks.0" of
    "blocks.0.norm1.weight". None where there is none."""
    found = _BLOCK.match(name)
    return found[1] if found else None


def blocks(names: Iterable[str]) -> dict[str, list[str]]:
    """The arrays of each block, in the order in which they come."""
    found: dict[str, list[str]] = {}
    for name in names:
        block = block_of(name)
        if block is not None:
            found.setdefault(block, []).append(name)
    return found
