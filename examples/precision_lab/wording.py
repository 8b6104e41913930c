"""What a report of the precision lab says in sentences, and how it writes numbers."""

from __future__ import annotations

import math
from typing import Any

from common.words import percent

from viz.text import count, short


def size(x: float) -> str:
    """A number in three digits, a whole one up to seven digits in full: 5.96e-08, 65,504."""
    return f"{x:,.0f}" if x == int(x) and abs(x) < 1e7 else short(x, 3)


def power(x: float | None) -> str:
    """A scale that is a power of two, in full while that is short."""
    if x is None:
        return "none"
    exponent = math.frexp(x)[1] - 1
    return size(x) if -3 <= exponent <= 20 else f"2^{exponent}"


def sentences(report: dict[str, Any]) -> list[str]:
    """What happens to the values, a few sentences."""
    nonzero = report["values"] - report["zero"] - report["odd"]
    odd = report["odd"]
    already = []
    if odd:
        what = "value is" if odd == 1 else "values are"
        already = [f"{odd:,} {what} inf or nan already: GradScaler would skip this step at any scale."]
    if not nonzero:
        return ["No value is finite and not 0, so rounding changes nothing.", *already]
    formats = report["formats"]
    chosen = [name for name in ("fp16", "bf16") if name in formats] or list(formats)[:1]  # the table has all
    told = [_outcomes(name, formats[name], report["scale"]) for name in chosen]
    return [*told, *_keys(report), *_overflow(report, chosen[0]), *already]


def source(report: dict[str, Any]) -> str:
    """The source's figures, and why these are others."""
    theirs = report["source"]
    values, lost = (f"{theirs[which] / 1e6:.3g} million" for which in ("values", "lost_fp16"))
    still, over = (f"{theirs[which]:,}" for which in ("lost_fp16_scaled", "overflowed_fp16_scaled"))
    return (
        f"Source, {theirs['model']}: {percent(theirs['share_lost_fp16'])} of {values} values rounded to 0 in fp16, "
        f"none in bf16; at the scale {theirs['scale']:,}, all but {still} of these {lost} were kept, "
        f"and {over} overflowed. "
        "Other models have other numbers: what counts is how small their gradients are."
    )


def _outcomes(name: str, kind: dict[str, Any], scale: float) -> str:
    plain, scaled = kind["plain"], kind["scaled"]
    of = f" of {count(plain['values'] - plain['zero'] - plain['odd'], 'nonzero value')}"
    if scale == 1:
        return f"{name} rounds {_outcome(plain, of)}."
    if all(plain[which] == scaled[which] for which in ("lost", "overflowed")):
        return f"{name} rounds {_outcome(plain, of)}, at the scale {size(scale)} as without."
    return f"{name} rounds {_outcome(plain, of)}; at the scale {size(scale)} it rounds {_outcome(scaled)}."


def _outcome(counts: dict[str, Any], of: str = "") -> str:
    lost, over = counts["lost"], counts["overflowed"]
    rounded = f"{lost:,}{of} ({percent(counts['share_lost'])})" if lost else f"none{of}"
    overflow = "none overflows"
    if over:
        overflow = f"{over:,} ({percent(counts['share_overflowed'])}) {'overflows' if over == 1 else 'overflow'}"
    return f"{rounded} to 0, and {overflow}"


def _keys(report: dict[str, Any]) -> list[str]:
    keys = report["key_biases"]
    if not keys or not keys["lost"]:
        return []
    lost, name = report["formats"][report["blocks_format"]]["plain"]["lost"], report["blocks_format"]
    return [
        f"Of the {lost:,} that {name} rounds to 0, {keys['lost']:,} belong to the biases of attention's keys: in exact "
        "arithmetic their gradient is 0, since softmax ignores what is added to all scores alike, so nothing is lost "
        "with them."
    ]


def _overflow(report: dict[str, Any], name: str) -> list[str]:
    kind, scale = report["formats"][name], report["scale"]
    if report["odd"] or not kind["scaled"]["overflowed"] or kind["largest_scale"] is None:
        return []
    best, skips = power(kind["largest_scale"]), f"In {name} GradScaler would skip this step"
    if math.frexp(scale)[0] == 0.5:
        return [f"{skips} and halve its scale, down to {best} with such gradients."]
    return [f"{skips}; the largest power of two at which nothing overflows is {best}."]
