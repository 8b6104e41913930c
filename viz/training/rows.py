"""What the rows of a run are called, and what is said of one in which there is nothing."""

from __future__ import annotations

from viz.training.log import Run

NOT_OWN = "no weights of its own"
"""Of a block that shares those of another, as a tied head."""


def missing(quantity: str) -> str:
    """What a masked value of the quantity says."""
    return "no update" if quantity == "ratio" else "no gradient"


def why_empty(run: Run, quantity: str, level: str, name: str) -> str:
    """Why a row has no value at all, if it has none."""
    return missing(quantity) if level == "parameters" or run.owned(name) else NOT_OWN
