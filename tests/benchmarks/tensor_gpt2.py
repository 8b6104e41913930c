"""GPT-2 small's forward and backward at 256 tokens: tensorgrad, torch and NumPy by hand. Needs 4 GB."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import racing
import tensor_gpt


def report(quick: bool) -> list[str]:
    size = replace(tensor_gpt.GPT2, vocabulary=5_000, blocks=2) if quick else tensor_gpt.GPT2
    contenders = tensor_gpt.checked(tensor_gpt.steppers(size, update=False))
    found = racing.race("forward and backward of GPT-2 small", contenders, 2 if quick else 7, seconds=0)
    return [
        "## GPT-2 small",
        "",
        f"{size.tokens} tokens, {size.blocks} blocks, {size.vocabulary:,} tokens to choose from, random weights, "
        "float32; forward and backward, with clearing of the gradients. By hand as above.",
        "",
        *racing.table([found], to="ours"),
        "",
        *tensor_gpt.phases_table(contenders, 1 if quick else 5),
    ]


if __name__ == "__main__":
    racing.alone(report)
