"""A step of a pass, and numbers within a line, as words: one way to write them at the prompt and in the terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from viz.arrays import MOST_IN_LINE, Quantity, in_words, is_single, nested
from viz.text import clip, cut, short

if TYPE_CHECKING:
    from viz.trace import Step

_HOOKS = re.compile(r", (?:after|then) the hook on ")  # trace.HOOKED

_MOST_RULE_CHARACTERS = 200

NOT_YET = "not yet"
"""The gradient that nothing has reached, which is not 0."""


def in_line(q: Quantity) -> str:
    """A number; an array's elements where they are few, else its shape and norm."""
    array = np.asarray(q)
    if is_single(array):
        return short(array.item())
    return nested(array) if 0 < array.size <= MOST_IN_LINE else in_words(array)


def told(step: Step) -> str:
    """The step on one line: `7. d sends b * d.grad = −6 to a: 4 → −2`. What hooks did stands at its end."""
    words = " ".join(step.rule.split())
    remark = _HOOKS.search(words)
    rule, hooks = (words, "") if remark is None else (words[: remark.start()], words[remark.start() :])
    before = NOT_YET if step.before is None else in_line(step.before)
    becomes = f"{clip(step.receiver_name)}: {before} → {in_line(step.after)}{hooks}"
    if step.sender_name is None:
        return f"{step.number}. the seed goes to {becomes}"
    sent = f"{cut(rule, _MOST_RULE_CHARACTERS)} = {in_line(step.contribution)}"
    return f"{step.number}. {clip(step.sender_name)} sends {sent} to {becomes}"
