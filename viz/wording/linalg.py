"""Products of matrices."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

WHOLE: dict[str, tuple[str, ...]] = {
    "@": ("{g} @ {b}.T", "{a}.T @ {g}"),
    "@ 1 1": ("{g} * {b}", "{g} * {a}"),
    "@ 1 2": ("{b} @ {g}", "outer({a}, {g})"),
    "@ 2 1": ("outer({g}, {b})", "{a}.T @ {g}"),
    "@ batch": ("unbroadcast({g} @ {b}.mT, {a}.shape)", "unbroadcast({a}.mT @ {g}, {b}.shape)"),
    "@ batch 1": ("{g}[..., None] * {b}", "unbroadcast({g}[..., None] * {a}, {b}.shape)"),
    "@ 1 batch": ("unbroadcast(({b} @ {g}[..., None])[..., 0], {a}.shape)", "{a}[:, None] * {g}[..., None, :]"),
}

PROSE: frozenset[str] = frozenset()
