"""Gradients along depth as text in aligned columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz.text import aligned, clip, count, short

if TYPE_CHECKING:
    from viz.depth.result import Depth

MOST_ROWS = 40
"""Blocks in the table: of more, the first and the last."""

_DIGITS = 4
_MOST_NAMED = 4
_NONE = "–"


def table(depth: Depth) -> str:
    """A row for each block, the first over the last, and which blocks' parameters get no gradient."""
    rows = [
        [clip(name), *map(_size, norms)]
        for name, *norms in zip(depth.names, depth.inputs, depth.outputs, depth.weights, strict=True)
    ]
    left_out = len(rows) - MOST_ROWS
    if left_out > 0:
        rows[MOST_ROWS // 2 : -MOST_ROWS // 2] = [[f"... {left_out:,} more", "", "", ""]]
    ratios = [short(ratio, _DIGITS) for ratio in (depth.at_inputs, depth.at_outputs, depth.at_weights)]
    head = ["norm of the gradient at", "input", "output", "weights"]
    return "\n".join([*aligned([head, *rows, ["first over last", *ratios]]), *_without(depth)])


def _size(norm: float | None) -> str:
    return _NONE if norm is None else short(norm, _DIGITS)


def _without(depth: Depth) -> list[str]:
    """A line on the blocks that the backward pass never came to, and one on those whose gradient is 0."""
    calls = any(norm is not None for norm in depth.outputs)  # else the blocks are mere parameters
    zero = [(name, out) for name, out, own in zip(depth.names, depth.outputs, depth.weights, strict=True) if own == 0]
    cut = [name for name, out in zero if out is None and calls]
    others = [name for name, out in zero if out is not None or not calls]
    told = []
    if cut:
        told.append(f"no gradient came to {_named(cut)}: not called, or cut out of the graph (detach, no_grad)")
    if others:
        told.append(f"the parameters of {_named(others)} have a gradient of 0: nothing moves them")
    return told


def _named(names: list[str]) -> str:
    shown = ", ".join(map(clip, names[:_MOST_NAMED]))
    more = len(names) - _MOST_NAMED
    return shown if more <= 0 else f"{shown} and {count(more, 'more block')}"
