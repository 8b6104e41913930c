"""GPT-2 small's forward and backward at 256 tokens: tensorgrad, torch and NumPy by hand. Needs 4 GB."""

from __future__ import annotations

from functools import partial

import gpt_sizes
import racing
import serving
from tensor_gpt import MAKERS, PHASES, make

SIZES = {
    "forward and backward of GPT-2 small": gpt_sizes.GPT2,
    "forward and backward of two of its blocks": gpt_sizes.GPT2_CUT,
}
CONTENDERS = {
    name: {who: partial(make, who, "whole_gpt", size, update=False) for who in MAKERS} for name, size in SIZES.items()
}


def report(quick: bool) -> list[str]:
    name = list(SIZES)[quick]
    size = SIZES[name]
    found = serving.race(__file__, name, MAKERS, 2 if quick else 5, seconds=0)
    return [
        "## GPT-2 small",
        "",
        f"{size.tokens} tokens, {size.blocks} blocks, {size.vocabulary:,} tokens to choose from, random weights, "
        "float32; forward and backward, with clearing of the gradients. By hand as above.",
        "",
        *racing.table([found], to="ours"),
        "",
        *racing.phases_table(found, PHASES),
    ]


if __name__ == "__main__":
    racing.alone(report)
