"""Where a pass is to stop: conditions on a step, as text or as functions."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from viz.errors import UserError
from viz.graph import Graph
from viz.text import clip

if TYPE_CHECKING:
    from viz.trace import Step

FORMS = '"nan", "inf", "|grad| > 100" (or >=, <, <=), "|a.grad| > 100" for one node, or the name of a node'
"""What a condition may be, for messages and help."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "≥": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "≤": operator.le,
}
_SIZE = re.compile(r"(?:\|(?P<bars>.+)\||abs\((?P<call>.+)\))\s*(?P<sign>>=|<=|≥|≤|>|<)\s*(?P<limit>\S+)")


@dataclass(frozen=True)
class Breakpoint:
    """A condition that can be asked of each step; `text` is how it was written."""

    text: str
    holds: Callable[[Step], bool]


Condition = str | Callable[["Step"], Any] | Breakpoint


def breakpoints(conditions: Condition | Iterable[Condition] | None, graph: Graph) -> tuple[Breakpoint, ...]:
    """One breakpoint for each condition; a single condition need not be in a list."""
    if conditions is None:
        return ()
    if not isinstance(conditions, Iterable) or isinstance(conditions, str):
        conditions = (conditions,)
    return tuple(read(condition, graph) for condition in conditions)


def read(condition: Condition, graph: Graph) -> Breakpoint:
    """What `condition` asks of a step of a pass over `graph`.

    "nan", "inf"    the contribution, or the gradient after it, holds one
    "|grad| > 100"  the largest magnitude in the contribution and in the gradient after it; nan does not count
    "|a.grad| > 1"  the same, at the steps to a
    a node's name   something arrives in its gradient (its key, as "n3", for a name that reads as something else)
    a function      of the step, true where to stop

    Raises UserError for text that is none of these.
    """
    if isinstance(condition, Breakpoint):
        return condition
    if not isinstance(condition, str):
        if not callable(condition):
            raise TypeError(f"a breakpoint is text or a function of a step, got {type(condition).__name__}")
        return Breakpoint(getattr(condition, "__name__", "a function"), lambda step: bool(condition(step)))
    text = " ".join(condition.split())
    if text.lower() == "nan":
        return Breakpoint("nan", lambda step: _any(np.isnan, math.isnan, step))
    if text.lower() == "inf":
        return Breakpoint("inf", lambda step: _any(np.isinf, math.isinf, step))
    if size := _SIZE.fullmatch(text):
        return _by_size(text, size, graph)
    keys = _keys(text, graph)
    if not keys:
        raise UserError(_unreadable(text, graph))
    return Breakpoint(text, lambda step: step.receiver in keys)


def first_held(points: Iterable[Breakpoint], step: Step) -> Breakpoint | None:
    """The first of `points` that holds at this step."""
    return next((point for point in points if point.holds(step)), None)


def _by_size(text: str, found: re.Match[str], graph: Graph) -> Breakpoint:
    what, compare = (found["bars"] or found["call"]).strip(), _COMPARISONS[found["sign"]]
    try:
        limit = float(found["limit"].replace("−", "-"))
    except ValueError:
        limit = math.nan
    if math.isnan(limit):
        raise UserError(f"the breakpoint {clip(text)!r} compares with {clip(found['limit'])!r}, which is no number")
    if what == "grad":
        return Breakpoint(text, lambda step: compare(_size(step), limit))
    keys = _keys(what.removesuffix(".grad"), graph) if what.endswith(".grad") else set()
    if not keys:
        raise UserError(_unreadable(text, graph, what.removesuffix(".grad")))
    return Breakpoint(text, lambda step: step.receiver in keys and compare(_size(step), limit))


def _keys(name: str, graph: Graph) -> set[str]:
    """The keys of the nodes of this name; the name may be a key itself."""
    found = {node.key for node in graph.nodes if " ".join(node.name.split()) == name}
    return found or {node.key for node in graph.nodes if node.key == name}


def _unreadable(text: str, graph: Graph, name: str = "") -> str:
    close = get_close_matches(name or text, [node.name for node in graph.nodes], n=1)
    hint = f"did you mean the node {clip(close[0])}? " if close else ""
    return f"cannot read the breakpoint {clip(text)!r}: {hint}write {FORMS}"


def _any(of_array: Callable[[Any], Any], of_number: Callable[[float], bool], step: Step) -> bool:
    """Whether what arrives, or what the gradient then is, holds such a number. One number takes no array: a pass of
    Values has many steps."""
    if isinstance(step.after, float) and isinstance(step.contribution, float):
        return of_number(step.after) or of_number(step.contribution)
    return bool(np.any(of_array(step.after)) or np.any(of_array(step.contribution)))


def _size(step: Step) -> float:
    """The largest magnitude of what arrives and of what the gradient then is; nan where there is no number."""
    if isinstance(step.after, float) and isinstance(step.contribution, float):
        return max((abs(x) for x in (step.after, step.contribution) if not math.isnan(x)), default=math.nan)
    sizes = np.abs(np.concatenate([np.ravel(step.after), np.ravel(step.contribution)]).astype(np.float64))
    sizes = sizes[~np.isnan(sizes)]
    return float(sizes.max()) if sizes.size else math.nan
