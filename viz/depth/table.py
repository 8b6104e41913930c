"""Gradients along depth as text in aligned columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz.text import aligned, clip, short

if TYPE_CHECKING:
    from viz.depth.result import Depth

MOST_ROWS = 40
"""Blocks in the table: of more, the first and the last."""

_DIGITS = 4
_NONE = "–"


def table(depth: Depth) -> str:
    """A row for each block, and the first over the last."""
    rows = [
        [clip(name), *map(_size, norms)]
        for name, *norms in zip(depth.names, depth.inputs, depth.outputs, depth.weights, strict=True)
    ]
    left_out = len(rows) - MOST_ROWS
    if left_out > 0:
        rows[MOST_ROWS // 2 : -MOST_ROWS // 2] = [[f"... {left_out:,} more", "", "", ""]]
    ratios = [short(ratio, _DIGITS) for ratio in (depth.at_inputs, depth.at_outputs, depth.at_weights)]
    head = ["norm of the gradient at", "input", "output", "weights"]
    return "\n".join(aligned([head, *rows, ["first over last", *ratios]]))


def _size(norm: float | None) -> str:
    return _NONE if norm is None else short(norm, _DIGITS)
