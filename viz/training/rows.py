"""What the rows of a run are called, and what is said of one in which there is nothing."""

from __future__ import annotations

from unicodedata import east_asian_width

from viz.training.log import Run

NOT_OWN = "no weights of its own"
"""Of a block that shares those of another, as a tied head."""

_LONGEST = 34  # characters of a name


def shorter(name: str) -> str:
    """A name on one line; of a long one the end, which tells it from its neighbours."""
    name = " ".join(name.split())
    wide = sum(east_asian_width(letter) in "WF" for letter in name)
    longest = _LONGEST // 2 if wide > len(name) // 4 else _LONGEST
    return name if len(name) <= longest else f"…{name[1 - longest :]}"


def missing(quantity: str) -> str:
    """What a masked value of the quantity says."""
    return "no update" if quantity == "ratio" else "no gradient"


def why_empty(run: Run, quantity: str, level: str, name: str) -> str:
    """Why a row has no value at all, if it has none."""
    return missing(quantity) if level == "parameters" or run.owned(name) else NOT_OWN
