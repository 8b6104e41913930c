"""The sizes of a run, and the ways in which its memory can be made small."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The sizes, by default those of GPT-2 small and one sequence as long as it reads."""

    tokens: int = 1_024
    batch: int = 1
    blocks: int = 12
    heads: int = 12
    width: int = 768
    vocabulary: int = 50_257
    context: int = 1_024

    @property
    def parameters(self) -> int:
        """Numbers in the weights: token and position table, the blocks, the last norm; the head is the token table."""
        C = self.width
        return (self.vocabulary + self.context) * C + self.blocks * (12 * C * C + 13 * C) + 2 * C


@dataclass(frozen=True)
class Variant:
    """checkpoint  as `GPT(checkpoint=...)` takes it
    chunked     the loss never holds all scores
    accumulate  the batch's sequences come one at a time
    """

    checkpoint: bool | int | str = False
    chunked: bool = False
    accumulate: bool = False

    @property
    def blocks_at_a_time(self) -> int:
        """That are computed again; 0 for none."""
        return 1 if self.checkpoint == "selective" else int(self.checkpoint)

    @property
    def name(self) -> str:
        """In words."""
        parts = []
        if self.accumulate:
            parts.append("accumulation")
        if self.checkpoint == "selective":
            parts.append("selective checkpoint")
        elif self.checkpoint:
            parts.append("checkpoint" if self.blocks_at_a_time == 1 else f"checkpoint of {self.checkpoint} blocks")
        if self.chunked:
            parts.append("chunked loss")
        return " + ".join(parts) or "plain"

    @property
    def options(self) -> list[str]:
        """As the command takes them."""
        found = []
        if self.checkpoint:
            found += ["--checkpoint", "1" if self.checkpoint is True else str(self.checkpoint)]
        return found + ["--chunked-loss"] * self.chunked + ["--accumulate"] * self.accumulate


SIDE_BY_SIDE = (
    Variant(),
    Variant("selective"),
    Variant(True),
    Variant(chunked=True),
    Variant(True, chunked=True),
    Variant(accumulate=True),
    Variant(True, chunked=True, accumulate=True),
)
"""Of the table."""

CURVE = tuple(
    Variant(checkpoint, chunked) for chunked in (False, True) for checkpoint in (False, "selective", 1, 2, 3, 4, 6, 12)
)
"""Of the picture."""
