"""A step of a pass, and numbers within a line, as words: one way to write them at the prompt and in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viz.arrays import MOST_IN_LINE, Quantity, in_words, is_single, nested
from viz.text import clip, short

if TYPE_CHECKING:
    from viz.trace import Step

NOT_YET = "not yet"
"""The gradient that nothing has reached, which is not 0."""


def in_line(q: Quantity) -> str:
    """A number; an array's elements where they are few, else its shape and norm."""
    array = np.asarray(q)
    if is_single(array):
        return short(array.item())
    return nested(array) if 0 < array.size <= MOST_IN_LINE else in_words(array)


def told(step: Step) -> str:
    """The step on one line: `7. d sends b * d.grad = −6 to a: 4 → −2`."""
    before = NOT_YET if step.before is None else in_line(step.before)
    who = (
        "the seed goes" if step.sender_name is None else f"{clip(step.sender_name)} sends {' '.join(step.rule.split())}"
    )
    sent = "" if step.sender_name is None else f" = {in_line(step.contribution)}"
    return f"{step.number}. {who}{sent} to {clip(step.receiver_name)}: {before} → {in_line(step.after)}"
