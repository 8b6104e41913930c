"""Operations that take several elements to one."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

WHOLE: dict[str, tuple[str, ...]] = {
    "sum": ("broadcast_to({g}, {a}.shape)",),
    "mean": ("broadcast_to({g}, {a}.shape) * {out}.size / {a}.size",),
    "sum axis": ("{g} copied back along the summed axes",),
    "mean axis": ("{g} copied back along the averaged axes, / their length",),
    "max": ("{g} where {a} is the largest",),
}

PROSE = frozenset({"sum axis", "mean axis", "max"})
