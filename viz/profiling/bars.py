"""A profile as nested bars: passes, in them modules, in these operations, each as wide as its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from viz.profiling.attribute import ADDING
from viz.profiling.record import ORDER
from viz.profiling.result import Profile, Row

Kind = Literal["pass", "module", "op", "again", "other"]

_PLACES = {ORDER: -1, ADDING: 1}  # in the backward pass: before all else, and after


@dataclass(frozen=True)
class Bar:
    """A bar.

    start, seconds  where it lies, from the begin of the forward pass
    level           how deep, 0 for the passes
    kind            of an operation: "op", or "again" if it is done again; "other" is what is no operation
    """

    name: str
    start: float
    seconds: float
    level: int
    kind: Kind


@dataclass
class _Part:
    name: str
    kind: Kind
    seconds: float = 0.0
    parts: dict[tuple[str, Kind], _Part] = field(default_factory=dict)


def bars(profile: Profile) -> list[Bar]:
    """The bars of both passes, those of the forward pass first. In it modules and operations lie in the order in which
    they came first, in the backward pass from the last to the first."""
    forward, backward = _Part("forward", "pass"), _Part("backward", "pass")
    for row in profile.rows:
        kind: Kind = "op" if row.is_operation else "other"
        _add(forward, row, kind, row.forward)
        _add(backward, row, kind, row.backward)
        _add(backward, row, "again", row.again)
    return [*_placed(forward, 0.0, 0, False), *_placed(backward, forward.seconds, 0, True)]


def _add(whole: _Part, row: Row, kind: Kind, seconds: float) -> None:
    if not seconds:
        return
    whole.seconds += seconds
    for name in row.stack:
        whole = whole.parts.setdefault((name, "module"), _Part(name, "module"))
        whole.seconds += seconds
    whole.parts.setdefault((row.op, kind), _Part(row.op, kind)).seconds += seconds


def _placed(part: _Part, start: float, level: int, reverse: bool) -> Iterator[Bar]:
    if not part.seconds:
        return
    yield Bar(part.name, start, part.seconds, level, part.kind)
    inner = list(part.parts.values())
    if reverse:
        inner.reverse()
        inner.sort(key=lambda each: _PLACES.get(each.name, 0) if each.kind == "other" else 0)
    for each in inner:
        yield from _placed(each, start, level + 1, reverse)
        start += each.seconds
