"""What the monitor says: one line for one cause."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One cause, said once.

    check  which check found it; `ignore=` of `monitor` takes this name
    step   the step in which it was found, from 1
    text   one plain line: what, where, the evidence, the remedy
    names  of the parameters or blocks that it is about
    """

    check: str
    step: int
    text: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"step {self.step}: {self.text}"
