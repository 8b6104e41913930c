"""A GPT block, and whole training steps of GPTs: tensorgrad, torch and NumPy by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import contender
import gpt_sizes
import racing
import serving

PHASES = ("forward", "backward", "clip", "AdamW")

MAKERS = {"torch": "peers_torch", "NumPy by hand": "by_hand.contenders", "ours": "ours"}
"""Modules of the contenders, which have functions of the same names."""


def make(who: str, what: str, size: gpt_sizes.Size, **options: Any) -> Any:
    """That contender's `block` or `whole_gpt`."""
    return contender.named(f"{MAKERS[who]}:{what}")(size, **options)


BLOCK, STEP = "a block of a GPT, forward and backward", "training step of the character model"

CONTENDERS = {
    BLOCK: {who: partial(make, who, "block", gpt_sizes.BLOCK) for who in MAKERS},
    STEP: {who: partial(make, who, "whole_gpt", gpt_sizes.CHARS) for who in MAKERS},
}


def report(quick: bool) -> list[str]:
    chars = gpt_sizes.CHARS
    block = serving.race(__file__, BLOCK, MAKERS, 3 if quick else 15)
    step = serving.race(__file__, STEP, MAKERS, 3 if quick else 15, seconds=0 if quick else 0.25)
    lines = [
        "## A GPT",
        "",
        f"Width {chars.width}, {chars.heads} heads, {chars.batch} sequences of {chars.tokens} tokens, float32; the "
        f"character model has {chars.blocks} blocks and {chars.vocabulary} characters; its step is forward, backward, "
        "`clip_grad_norm_` and AdamW. By hand: `by_hand/gpt.py`, arrays made once, in tiles, on "
        f"{racing.THREADS} threads.",
        "",
        *racing.table([block, step], to="ours"),
        "",
        *racing.phases_table(step, PHASES),
    ]
    if "torch" in step.times:
        text, found = "character model's training step: our time over torch's", step.ratio("ours", "torch")
        lines.append(racing.target_line(racing.Target(text, found, 1, False)))
    return lines


if __name__ == "__main__":
    racing.alone(report)
