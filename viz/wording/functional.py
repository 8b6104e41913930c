"""Functions that networks are made of."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

WHOLE: dict[str, tuple[str, ...]] = {}

PROSE: frozenset[str] = frozenset()
