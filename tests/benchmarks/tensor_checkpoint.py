"""What recomputing costs: the character model's training step with checkpoints, beside the plain one."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import racing
import tensor_gpt

import tensorgrad
from tensorgrad.models.gpt import GPT

WAYS = {"plain": False, "checkpoint=True": True, "checkpoint=2": 2, 'checkpoint="selective"': "selective"}
"""What is given to `GPT.checkpoint`."""

LIMIT = 1.35


def steppers(size: tensor_gpt.Size) -> dict[str, tensor_gpt.Stepper]:
    """A model for each way, with equal weights."""
    made = {}
    for name, checkpoint in WAYS.items():
        tensorgrad.manual_seed(0)
        made[name] = tensor_gpt.ours(GPT(size.config()), size, checkpoint)
    return made


def report(quick: bool) -> list[str]:
    size = tensor_gpt.CHARS
    found = racing.race("training step of the character model", steppers(size), 3 if quick else 25, seconds=0)
    return [
        "## Checkpoints",
        "",
        "A training step of the character model as above, ours alone: `model.checkpoint = ...`.",
        "",
        *racing.table([found], to="plain"),
        racing.target_line(
            racing.Target(
                "checkpointed step over the plain one (`checkpoint=True`)",
                found.ratio("checkpoint=True", "plain"),
                LIMIT,
                False,
            )
        ),
    ]


if __name__ == "__main__":
    racing.alone(report)
