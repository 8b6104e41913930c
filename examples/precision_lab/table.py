"""The report of the precision lab as printed text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common.words import percent, wrapped

from precision_lab.wording import power, sentences, size, source
from viz.text import aligned, clip, visible

_WIDTH = 100
_MOST_BLOCKS = 24


def printed(report: dict[str, Any]) -> str:
    """All of it: what was rounded, the counts, the formats' limits, the blocks, in words."""
    parts = [_head(report), _counts(report), _limits(report), _blocks(report)]
    return "\n\n".join([*(part for part in parts if part), _wrapped([*sentences(report), source(report)])])


def _head(report: dict[str, Any]) -> str:
    lines = [f"gradients  {visible(report['gradients'])}"]
    numbers = f"{report['values']:,}, {report['zero']:,} of them 0"
    if report["odd"]:
        numbers += f", {report['odd']:,} inf or nan"
    if report["smallest"] is not None:
        numbers += f"; sizes of the others from {size(report['smallest'])} to {size(report['largest'])}"
    lines.append(f"values     {numbers}")
    return "\n".join([*lines, *(f"           {visible(remark)}" for remark in report["remarks"])])


def _counts(report: dict[str, Any]) -> str:
    rows = [["", "scale", "rounded to 0", "", "fewer digits", "", "overflow", "cosine"]]
    for name, kind in report["formats"].items():
        for which, scale in (("plain", 1.0), ("scaled", report["scale"])):
            found = kind[which]
            rows.append(
                [
                    name if which == "plain" else "",
                    size(scale),
                    f"{found['lost']:,}",
                    percent(found["share_lost"]),
                    f"{found['fewer_digits']:,}",
                    percent(found["share_fewer_digits"]),
                    f"{found['overflowed']:,}",
                    _cosine(found),
                ]
            )
            if report["scale"] == 1:
                break
    return _aligned(rows)


def _cosine(found: dict[str, Any]) -> str:
    """Between the gradient and what the format makes of it, which has no direction once a number overflows: the report
    has that of the others then."""
    return "none" if found["cosine"] is None or found["overflowed"] else f"{found['cosine']:.6f}"


def _limits(report: dict[str, Any]) -> str:
    rows = [["", "smallest", "0 up to", "largest", "overflow from", "largest scale", "none lost at scales"]]
    anything = report["smallest"] is None  # there is nothing to lose
    for name, kind in report["formats"].items():
        lossless = kind["lossless_scales"]
        rows.append(
            [
                name,
                size(kind["smallest"]),
                size(kind["rounded_to_zero_up_to"]),
                size(kind["largest"]),
                size(kind["overflows_from"]),
                "any" if anything else power(kind["largest_scale"]),
                "any" if anything else _range(lossless),
            ]
        )
    return _aligned(rows)


def _range(scales: Sequence[float] | None) -> str:
    """ "none", "256", "16 to 256"."""
    if scales is None:
        return "none"
    return " to ".join(dict.fromkeys(power(scale) for scale in scales))


def _blocks(report: dict[str, Any]) -> str:
    blocks = report["blocks"]
    if len(blocks) < 2:
        return ""
    shown = blocks
    if len(blocks) > _MOST_BLOCKS:
        worst = sorted(blocks, key=lambda block: -block["share_lost"])[:_MOST_BLOCKS]
        shown = [block for block in blocks if any(block is other for other in worst)]
    scaled = report["scale"] != 1
    rows = [[f"{report['blocks_format']}, by block", "values", "rounded to 0", ""]]
    rows[0] += [f"at {size(report['scale'])}", "overflow"] if scaled else []
    for block in shown:
        row = [clip(visible(block["name"])), f"{block['values']:,}", f"{block['lost']:,}", percent(block["share_lost"])]
        row += [f"{block['lost_scaled']:,}", f"{block['overflowed_scaled']:,}"] if scaled else []
        rows.append(row)
    left_out = len(blocks) - len(shown)
    return "\n".join([_aligned(rows), *([f"{left_out:,} more that lose no larger share"] if left_out else [])])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(aligned(rows))


def _wrapped(paragraphs: Sequence[str]) -> str:
    return "\n".join(wrapped(text, _WIDTH) for text in paragraphs)
