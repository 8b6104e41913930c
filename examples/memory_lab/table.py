"""The variants side by side, and the parts that the saved tensors of one are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from memory_lab import source, timing
from memory_lab.estimate import Estimate, Kept, estimate
from memory_lab.measured import Run
from memory_lab.variants import SIDE_BY_SIDE, Shape, Variant


def side_by_side(
    shape: Shape, runs: Mapping[Variant, Run | str] | None = None, asked: Variant | None = None
) -> list[dict[str, Any]]:
    """A row for each variant; those with accumulation where there is something to accumulate.

    runs   what was measured, or why it was not
    asked  has a row, too, if it is none of these
    """
    plain = timing.seconds(timing.work(shape, Variant()))
    measured = (runs or {}).get(Variant())
    rows = []
    for variant in dict.fromkeys([*variants(shape), *([] if asked is None else [asked])]):
        found = estimate(shape, variant)
        seconds = timing.seconds(timing.work(shape, variant))
        row = {
            "variant": variant.name,
            "options": variant.options,
            **_estimated(found),
            "seconds": seconds,
            "time": seconds / plain,
            "source": source.says(shape, variant),
        }
        if runs is not None:
            run = runs[variant]
            row["measured"] = asdict(run) if isinstance(run, Run) else run
            if isinstance(run, Run) and isinstance(measured, Run):
                row["measured"]["time"] = run.seconds / measured.seconds
        rows.append(row)
    return rows


def variants(shape: Shape) -> list[Variant]:
    """Those of the table for this batch."""
    return [variant for variant in SIDE_BY_SIDE if shape.batch > 1 or not variant.accumulate]


def described(shape: Shape, variant: Variant) -> dict[str, Any]:
    """One variant: its estimate, and what its saved tensors are."""
    found = estimate(shape, variant)
    return {
        "variant": variant.name,
        "options": variant.options,
        **_estimated(found),
        "seconds": timing.seconds(timing.work(shape, variant)),
        "parts": parts(found.kept),
    }


def _estimated(found: Estimate) -> dict[str, Any]:
    return {
        "saved": found.saved,
        "gradients": found.gradients,
        "peak": found.peak,
        "peak_at": found.peak_at,
        "needed": found.weights + found.peak,
    }


def parts(kept: Sequence[Kept]) -> list[dict[str, Any]]:
    """The arrays in the order in which they are made; those of blocks that are alike are one row with a count."""
    found: dict[tuple[str, str, tuple[int, ...]], dict[str, Any]] = {}
    for each in kept:
        where = re.sub(r"(blocks\.)\d+( to \d+)?", r"\1*", each.where)
        row = found.setdefault(
            (where, each.name, each.shape),
            {"where": where, "what": each.name, "shape": each.shape, "bytes": each.bytes, "times": 0},
        )
        row["times"] += 1
    return list(found.values())
