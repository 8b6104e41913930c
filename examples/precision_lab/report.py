"""What formats of few bits do to gradients, as numbers: one dict, for the table, the picture and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from precision_lab.blocks import blocks
from precision_lab.counts import LEAST, Counts, counted, histogram, scaled
from precision_lab.formats import Format
from precision_lab.gradients import Gradients
from precision_lab.scales import extremes, scales

SOURCE = {
    "model": "GPT-2 small",
    "values": 124_000_000,
    "lost_fp16": 11_600_000,
    "share_lost_fp16": 0.093,
    "lost_bf16": 0,
    "scale": 65_536,
    "lost_fp16_scaled": 1_743,
    "overflowed_fp16_scaled": 11,
}
"""Figures of "Loss and gradients as a graph walk", on one sequence; its 11.6 million are 9.3 % of the values."""


def reported(gradients: Gradients, kinds: Sequence[Format], scale: float) -> dict[str, Any]:
    """Counts for each format, at the scale 1 and at `scale`, and for each block in the first of the formats.

    Shares are of the values that are neither 0 nor odd (inf or nan), as numbers from 0 to 1.
    """
    arrays = list(gradients.arrays.values())
    ends = extremes(arrays)
    found = {kind.name: _format(kind, arrays, scale, ends) for kind in kinds}
    first = next(iter(found.values()))["plain"]
    sizes, moved = histogram(arrays), histogram(scaled(arrays, scale))
    return {
        "gradients": gradients.about,
        "remarks": gradients.remarks,
        "values": first["values"],
        "zero": first["zero"],
        "odd": first["odd"],
        "smallest": None if ends is None else ends[0],
        "largest": None if ends is None else ends[1],
        "scale": scale,
        "formats": found,
        "blocks_format": kinds[0].name,
        "blocks": _blocks(gradients.arrays, kinds[0], scale),
        "key_biases": _key_biases(gradients, kinds[0], scale),
        "histogram": {"first_exponent": LEAST, "plain": sizes.tolist(), "scaled": moved.tolist()},
        "source": SOURCE,
    }


def _format(
    kind: Format, arrays: Sequence[np.ndarray], scale: float, ends: tuple[float, float] | None
) -> dict[str, Any]:
    best = None if ends is None else scales(*ends, kind)
    return {
        "about": kind.about,
        "smallest": kind.smallest,
        "smallest_normal": kind.normal,
        "largest": kind.largest,
        "rounded_to_zero_up_to": kind.zero_to,
        "overflows_from": kind.overflows_from,
        "plain": _counts(counted(arrays, kind)),
        "scaled": _counts(counted(arrays, kind, scale)),
        "largest_scale": best and best.largest,
        "lossless_scales": best and best.lossless and list(best.lossless),
    }


def _counts(found: Counts) -> dict[str, Any]:
    return {
        "values": found.values,
        "zero": found.zero,
        "odd": found.odd,
        "lost": found.lost,
        "share_lost": found.share_lost,
        "fewer_digits": found.short,
        "share_fewer_digits": found.share_short,
        "overflowed": found.overflowed,
        "share_overflowed": found.share_overflowed,
        "cosine": None if math.isnan(found.cosine) else found.cosine,
    }


def _blocks(arrays: Mapping[str, np.ndarray], kind: Format, scale: float) -> list[dict[str, Any]]:
    """In the order in which their names come first."""
    return [
        {"name": block, **_in_block([arrays[name] for name in names], kind, scale)}
        for block, names in blocks(arrays).items()
    ]


def _in_block(arrays: Sequence[np.ndarray], kind: Format, scale: float) -> dict[str, Any]:
    plain, larger = counted(arrays, kind), counted(arrays, kind, scale)
    return {
        "values": plain.values,
        "lost": plain.lost,
        "share_lost": plain.share_lost,
        "lost_scaled": larger.lost,
        "share_lost_scaled": larger.share_lost,
        "overflowed_scaled": larger.overflowed,
    }


def _key_biases(gradients: Gradients, kind: Format, scale: float) -> dict[str, Any] | None:
    """Of a GPT: what adds the same to all scores of a row changes nothing after the softmax. A key's bias does, so its
    gradient is 0 but for the rounding of float32, and what is lost of it is no loss."""
    if not gradients.of_gpt:
        return None
    biases = [array for name, array in gradients.arrays.items() if name.endswith(".attention.qkv.bias")]
    keys = [np.split(array, 3)[1] for array in biases]
    return _in_block(keys, kind, scale) if keys else None
