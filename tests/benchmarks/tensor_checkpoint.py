"""What recomputing costs: the character model's training step with checkpoints, beside the plain one."""

from __future__ import annotations

from functools import partial

import contender
import gpt_sizes
import racing
import serving

WAYS = {"plain": False, "checkpoint=True": True, "checkpoint=2": 2, 'checkpoint="selective"': "selective"}
"""What is given to `GPT.checkpoint`."""

LIMIT = 1.35


def stepper(way: str, size: gpt_sizes.Size) -> contender.Stepper:
    return contender.named("ours:whole_gpt")(size, checkpoint=WAYS[way])


STEP = "training step of the character model"
CONTENDERS = {STEP: {way: partial(stepper, way, gpt_sizes.CHARS) for way in WAYS}}


def report(quick: bool) -> list[str]:
    found = serving.race(__file__, STEP, WAYS, 3 if quick else 15, seconds=0 if quick else 0.25)
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
