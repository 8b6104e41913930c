"""Operations that arrange elements in another shape."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

WHOLE: dict[str, tuple[str, ...]] = {
    "reshape": ("{g}.reshape({a}.shape)",),
    "transpose": ("{g} with the axes exchanged back",),
    "permute": ("{g} with the axes in their old order",),
    "T": ("{g}.T",),
}

PROSE = frozenset({"transpose", "permute"})
