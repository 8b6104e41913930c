"""Names in pictures, on one line and not too long."""

from __future__ import annotations

from unicodedata import east_asian_width

_LONGEST = 34  # characters of a name


def shorter(name: str) -> str:
    """A name on one line; of a long one the end, which tells it from its neighbours."""
    name = " ".join(name.split())
    wide = sum(east_asian_width(letter) in "WF" for letter in name)
    longest = _LONGEST // 2 if wide > len(name) // 4 else _LONGEST
    return name if len(name) <= longest else f"…{name[1 - longest :]}"
