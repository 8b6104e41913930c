"""Comparisons of Values: `a < b` is a plain bool and leaves no node, so a graph does not show what hung on it.

The comparisons of a thread inside `with recorded() as seen` are noted in `seen`; others leave no more behind than the
fact that there was one. `micrograd.script` writes what it recorded as guards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

Comparison = tuple[Any, str, Any, bool]
"""(left, "<" or one of its kind, right, outcome)"""


class BranchChanged(RuntimeError):
    """A comparison came out otherwise than when the script was written: other branches of the program would run."""


_recording: dict[int, list[Comparison]] = {}  # by thread
_made: list[None] = []  # holds one item once a comparison was made, recorded or not: a graph can outlive its record


def compared(left: Any, sign: str, right: Any, outcome: bool) -> bool:
    """Note that `left sign right` was `outcome`, and return that."""
    seen = _recording.get(get_ident()) if _recording else None
    if seen is not None:
        seen.append((left, sign, right, outcome))
    if not _made:
        _made.append(None)
    return outcome


def any_made() -> bool:
    """Whether Values have been compared in this process."""
    return bool(_made)


@contextmanager
def recorded() -> Iterator[list[Comparison]]:
    """Note this thread's comparisons in the list that this gives. What one inside another has noted is added to the
    outer one's at its end."""
    thread = get_ident()
    seen: list[Comparison] = []
    outer = _recording.get(thread)
    _recording[thread] = seen
    try:
        yield seen
    finally:
        if outer is None:
            del _recording[thread]
        else:
            _recording[thread] = outer
            outer += seen
