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


STEPS = {
    "training step of the character model": gpt_sizes.CHARS,
    "of two blocks of GPT-2 small, 5,000 tokens to choose from": gpt_sizes.GPT2_CUT,
}


def stepper(way: str, size: gpt_sizes.Size) -> contender.Stepper:
    return contender.named("ours:whole_gpt")(size, checkpoint=WAYS[way])


CONTENDERS = {step: {way: partial(stepper, way, size) for way in WAYS} for step, size in STEPS.items()}


def report(quick: bool) -> list[str]:
    repeats, seconds = (3, 0.0) if quick else (15, 0.25)
    races = [
        serving.race(__file__, step, WAYS, repeats, seconds=seconds) for step in list(STEPS)[: 1 if quick else None]
    ]
    return [
        "## Checkpoints",
        "",
        "A training step as above, ours alone: `model.checkpoint = ...`. Where forward is a share f of the plain step,",
        "doing it twice makes 1 + f times of it.",
        "",
        *racing.table(races, to="plain"),
        *[
            racing.target_line(
                racing.Target(
                    f"checkpointed step over the plain one (`checkpoint=True`), {found.name.removeprefix('of ')}",
                    found.ratio("checkpoint=True", "plain"),
                    LIMIT,
                    False,
                )
            )
            for found in races
        ],
    ]


if __name__ == "__main__":
    racing.alone(report)
