"""Reading and writing elements by position."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

WHOLE: dict[str, tuple[str, ...]] = {
    "index": ("{g} added up at the positions that were read",),
}

PROSE = frozenset({"index"})
