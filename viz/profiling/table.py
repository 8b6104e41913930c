"""A profile as text in aligned columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from viz.profiling.units import decimals, scale_for
from viz.text import aligned, clip, count

if TYPE_CHECKING:
    from viz.profiling.result import By, Group, Profile

MOST_ROWS = 16
"""Of one table; what is shorter is added up in one more."""

_LONGEST = 48  # letters of a name
_HEADS = {"op": "by operation", "module": "by module", "shape": "by result"}


def table(profile: Profile, by: Sequence[By]) -> str:
    """The totals, then where the time went, in one table for each of `by`."""
    scale, unit = scale_for(profile.total)
    parts = [_totals(profile, scale, unit)]
    parts += [_groups(each, profile.groups(each, alike=True), profile, scale) for each in by]
    return "\n\n".join("\n".join(part) for part in parts)


def _totals(profile: Profile, scale: float, unit: str) -> list[str]:
    def row(name: str, seconds: float) -> list[str]:
        return [name, decimals(seconds / scale), _share(seconds, profile.total)]

    cells = [["", unit, ""], row("forward", profile.forward), row("backward", profile.backward)]
    if profile.again:
        cells.append(row("  of it computed again", profile.again))
    cells.append(row("in all", profile.total))
    cells.append(["measured by the wall clock", decimals(profile.wall / scale), _share(profile.wall, profile.total)])
    cells.append(["without the profile", decimals(profile.plain / scale), _share(profile.plain, profile.total)])
    told = f"mean of {count(profile.averaged, 'run')}" + (
        f", the faster half of {profile.runs}" if profile.averaged < profile.runs else ""
    )
    return [told, *aligned(cells)]


def _groups(by: By, groups: Sequence[Group], profile: Profile, scale: float) -> list[str]:
    again, inside = any(group.again for group in groups), by == "module"

    def cells(name: str, calls: int, forward: float, backward: float, repeated: float, within: float) -> list[str]:
        total = forward + backward + repeated
        times = [forward, backward, *([repeated] if again else []), total]
        found = [name, f"{calls:,}" if calls else "", *(decimals(time / scale) for time in times)]
        found.append(_share(total, profile.total))
        return [*found, _share(within, profile.total) if within else ""] if inside else found

    head = [
        _HEADS[by],
        "operations" if inside else "calls",
        "forward",
        "backward",
        *(["again"] if again else []),
        "in all",
        "share",
    ]
    rows = [[*head, "with parts"] if inside else head]
    for group in groups[:MOST_ROWS]:
        name = clip(group.name, _LONGEST)
        rows.append(cells(name, group.calls, group.forward, group.backward, group.again, group.inside))
    left = groups[MOST_ROWS:]
    if left:
        ahead, back, repeated = (sum(getattr(g, what) for g in left) for what in ("forward", "backward", "again"))
        rows.append(cells(f"{len(left):,} more", sum(g.calls for g in left), ahead, back, repeated, 0.0))
    return aligned(rows)


def _share(seconds: float, whole: float) -> str:
    return f"{seconds / whole:.1%}" if whole else ""
