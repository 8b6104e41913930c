"""What a run of the character model is made of; everything that its losses depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_type_hints

from common.errors import Refused

from tensorgrad.models import GPTConfig

BUGS = ("none", "no-zero-grad", "unshifted", "loss-times-40", "detached-positions")


@dataclass(frozen=True)
class Settings:
    """Two runs with equal settings have equal losses, bit for bit, on one machine.

    text           a path, or None for the default text
    steps          updates of the weights
    bug            one of BUGS: a mistake that raises nothing
    seed           of the weights and the batches
    batch          sequences in a micro-batch
    accumulate     micro-batches a step
    context        characters that the model sees at most
    blocks, heads, width, dropout, tied    as in GPTConfig
    learning_rate  the highest
    warmup         steps over which the rate rises to it, in a line; there it stays
    betas, weight_decay    of AdamW; weights decay, biases and the gains of norms do not
    clip           the longest gradient that is let through, all parameters taken as one vector. Longer ones are
                   shortened in place: where gradients are never cleared, the sum of the old ones is, too, and this
                   hides most of the bug. inf lets all through and shows it

    Raises Refused for settings that make no sense.
    """

    text: str | None = None
    steps: int = 1_000
    bug: str = "none"
    seed: int = 1
    batch: int = 12
    accumulate: int = 1
    context: int = 64
    blocks: int = 4
    heads: int = 4
    width: int = 128
    dropout: float = 0.0
    tied: bool = True
    learning_rate: float = 2e-3
    warmup: int = 100
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.1
    clip: float = 1.0

    def __post_init__(self) -> None:
        if self.bug not in BUGS:
            raise Refused(f"--bug {self.bug}: there is none of this name; there are {', '.join(BUGS)}")
        wanted = get_type_hints(Settings)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            fits = isinstance(value, int if wanted[name] is int else (int, float)) and not isinstance(value, bool)
            if not fits or not least <= value or (value == math.inf and name != "clip"):
                raise Refused(f"--{name.replace('_', '-')} is {value}; it must be a number, {least} or more")
        if self.seed >= 2**64:
            raise Refused(f"--seed is {self.seed:.3e}; it must be below 2**64")
        if not (self.text is None or isinstance(self.text, str)):
            raise Refused(f"--text is {self.text!r}; it must be the path of a file")
        try:
            self.model(2)
        except (TypeError, ValueError) as error:
            raise Refused(str(error).removeprefix("GPTConfig: ")) from None

    def model(self, vocabulary: int) -> GPTConfig:
        """The sizes of the model for a text of that many distinct characters."""
        return GPTConfig(vocabulary, self.context, self.blocks, self.heads, self.width, self.dropout, tied=self.tied)

    def rate(self, step: int) -> float:
        """The learning rate of the given step, which is counted from 1: a line up, then level.

        Half a cosine down to a tenth, as nanoGPT has it, scores 1.54 nats in place of 1.59 after 1,000 steps, and lets
        the run that never clears its gradients recover.
        """
        return self.learning_rate * min(1.0, step / self.warmup if self.warmup else 1.0)


_LEAST = {"steps": 1, "seed": 0, "batch": 1, "accumulate": 1, "context": 1, "blocks": 1, "heads": 1, "width": 1}
_LEAST |= {"dropout": 0, "learning_rate": 0, "warmup": 0, "weight_decay": 0, "clip": 0}
