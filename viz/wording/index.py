"""Reading, writing and sorting elements by position."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

_READ = ("{g} added up at the positions that were read",)
_BACK = ("{g} put back to where the values stood, 0 elsewhere",)

WHOLE: dict[str, tuple[str, ...]] = {
    "index": _READ,
    "setitem": ("{g} where nothing was written, 0 elsewhere", "{g} at the positions that were written"),
    "gather": _READ,
    "take_along_dim": _READ,
    "take": _READ,
    "index_select": _READ,
    "masked_select": ("{g} where the mask is True, 0 elsewhere",),
    "scatter": ("{g} with 0 at the positions that were written", "{g} at the position of each element that was kept"),
    "scatter_add": ("{g}", "{g} at the position that each element was added to"),
    "index_add": ("{g}", "alpha * {g} at the slice that each one was added to"),
    "sort": _BACK,
    "topk": _BACK,
}

PROSE = frozenset(
    "index setitem gather take_along_dim take index_select masked_select scatter scatter_add index_add sort "
    "topk".split()
)
