"""What was measured, as printed text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from common.words import wrapped

from depth_lab.initialisation import WEIGHTS
from depth_lab.seeds import PLACES
from depth_lab.words import size
from viz.text import aligned, count, short

_WIDE = 100  # characters of a line
_ROWS = 10  # of a stack's layers, about
_TO_ROUNDING = 1e-9


def described(stack: dict[str, Any]) -> str:
    """A stack in a few words: "tanh, residual, 60 layers, scale 0.5"."""
    kind = "residual" if stack["residual"] else "plain"
    norm = ", pre-norm" if stack["norm"] else ""
    drawn = "" if stack["initialisation"] == "normal" else f", {stack['initialisation']} weights"
    return (
        f"{stack['activation']}, {kind}{norm}, {count(stack['layers'], 'layer')}, scale {short(stack['scale'])}{drawn}"
    )


def settings(summary: dict[str, Any]) -> str:
    """The report on the source's settings."""
    rows = [("gradient of the first layer over the last's, at", "median", "least", "most", "source")]
    for setting in summary["settings"]:
        for place, found in setting["first_over_last"].items():
            source = setting["source_says"] if place == "inputs" else ""
            name = f"{described(setting['stack'])}:"
            rows.append((f"{name if place == 'inputs' else '':41}{place}", *_spread(found), source))
    first = summary["settings"][0]["stack"]
    notes = [
        f"Of {_seeds(summary['seeds'])}; layers {first['width']} wide, a batch of {first['batch']}, float64, "
        "the mean of the squares of the last output as the loss.",
        f"Weights: {WEIGHTS[first['initialisation']]}. The scale multiplies them.",
        *_notes(summary["settings"], len(summary["seeds"])),
    ]
    return "\n\n".join(
        ["\n".join(aligned(rows)), *(wrapped(note, _WIDE) for note in notes), *map(_clipping, summary["clipping"])]
    )


def _notes(found: list[dict[str, Any]], seeds: int) -> list[str]:
    """What the table shows; every number is taken from it."""
    figures = [s for s in found if s["source"] is not None]
    inside = {place: sum(_within(s["source"], s["first_over_last"][place]) for s in figures) for place in PLACES}
    least = min(s["first_over_last"]["inputs"]["least"] for s in found if s["stack"]["residual"])
    vanishing = [s for s in figures if s["source"] < 1]
    weights = " and ".join(size(s["first_over_last"]["weights"]["median"]) for s in vanishing)
    longest = max(s["longest_weights"] for s in vanishing)
    compared = (
        f"Of the source's {len(figures)} figures, {inside['inputs']} lie between our least and most at the layers' "
        f"inputs, {inside['outputs']} at their outputs, {inside['weights']} at the weights."
        if seeds > 1
        else "One seed has no range in which the source's figures could lie: take more with --seeds."
    )
    return [
        f"{compared} With residual connections the first layer's input never received less than {size(least)} times "
        "what the last one's did.",
        f"Where the gradient vanishes along the layers, those of the weights differ little (the first is {weights} "
        "times the last): each is a layer's input times what comes back, and the input has shrunk on the way forward, "
        f"too. They are tiny in all layers, {size(longest)} or shorter.",
    ]


def _within(x: float, found: dict[str, Any]) -> bool:
    return found["least"] <= x <= found["most"]


def stack(summary: dict[str, Any]) -> str:
    """The report on one stack."""
    found = summary["first_seed"]
    n = summary["stack"]["layers"]
    rows = [("layer", "signal in", "gradient at its input", "at its output", "of its weights")]
    for layer in sorted({round(place) for place in np.linspace(1, n, _ROWS)}):
        numbers = found["signal"][layer - 1], *found["states"][layer - 1 : layer + 1], found["weights"][layer - 1]
        rows.append((f"{layer:,}", *map(size, numbers)))
    spreads = [("first over last", "median", "least", "most")]
    spreads += [(place, *_spread(each)) for place, each in summary["first_over_last"].items()]
    made = summary["stack"]
    title = f"{described(made)}; {made['width']} wide, a batch of {made['batch']}, float64"
    parts = [
        "\n".join([title, f"weights: {WEIGHTS[made['initialisation']]}"]),
        f"seed {summary['seeds'][0]}, loss {size(found['loss'])}",
        "\n".join(aligned(rows, words=())),
        "\n".join(wrapped(said, _WIDE) for said in found["words"]),
        "\n".join([*aligned(spreads), f"({_seeds(summary['seeds'])})"]),
        *map(_clipping, summary["clipping"]),
    ]
    return "\n\n".join(parts)


def _clipping(found: dict[str, Any]) -> str:
    """What clipping did to one stack's gradient."""
    ends = [(found[when][0], found[when][-1]) for when in ("before", "after")]
    rows = [
        (f"clip_grad_norm_(weights, {short(found['limit'])})", "before", "after"),
        ("length of all gradients together", size(found["norm_before"]), size(found["norm_after"])),
        ("first layer's", *(size(first) for first, _ in ends)),
        ("last layer's", *(size(last) for _, last in ends)),
        ("first over last", *(size(first / last if last else math.nan) for first, last in ends)),
    ]
    return "\n".join([f"{described(found['stack'])}, seed {found['stack']['seed']}", *aligned(rows), _said(found)])


def _said(found: dict[str, Any]) -> str:
    before, after, cosine = found["norm_before"], found["norm_after"], found["cosine"]
    if not math.isfinite(before):
        return "A gradient that is not finite has no length to bring below a limit: take the step out instead."
    if before == 0:
        return "A gradient of length 0 stays what it is."
    if not found["changed"]:
        return "It is below the limit, so nothing changes: clipping cures no gradient that vanished."
    if math.isnan(cosine):
        return "The limit is so far below the length that what is left of the gradient is 0 in float64."
    if abs(cosine - 1) > _TO_ROUNDING:
        return "The limit is so far below the length that what is left of the gradient has lost digits in float64."
    return (
        f"All gradients are {size(after / before)} times what they were, and the cosine between before and after is "
        "1:\nclipping shortens and never turns, and first over last stays."
    )


def _spread(found: dict[str, Any]) -> tuple[str, str, str]:
    return size(found["median"]), size(found["least"]), size(found["most"])


def _seeds(seeds: list[int]) -> str:
    return f"seed {seeds[0]:,}" if len(seeds) == 1 else f"{len(seeds):,} seeds, {seeds[0]:,} to {seeds[-1]:,}"
