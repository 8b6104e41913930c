"""Copies. (The rule of a cast, whose name holds a dtype, is written in `viz.words`.)"""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {"clone": ("1",)}

WHOLE: dict[str, tuple[str, ...]] = {}

PROSE: frozenset[str] = frozenset()
