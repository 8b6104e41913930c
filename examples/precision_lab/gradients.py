"""The gradients that the precision lab looks at: of a character model, or from a file of arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from chars.checkpoint import fitting, load, trained_on
from chars.corpus import Corpus
from chars.settings import Settings
from chars.training import Batches, Result, backward, build_model

import tensorgrad
from precision_lab.arrays import is_checkpoint, read_arrays
from tensorgrad.models import GPT
from viz.text import count


@dataclass
class Gradients:
    """Gradients by the names of what they belong to.

    arrays   float32, of any shape
    about    where they are from, in words
    remarks  what is to be known of how they came about, a sentence each
    of_gpt   whether they are of a `tensorgrad.models.GPT`, by its parameters' names
    """

    arrays: dict[str, np.ndarray]
    about: str
    remarks: list[str] = field(default_factory=list)
    of_gpt: bool = False

    def divided(self, by: float) -> Gradients:
        """Those of the loss divided by that number: they are as many times smaller."""
        if by == 1:
            return self
        with np.errstate(over="ignore", under="ignore"):
            smaller = {name: (array / np.float64(by)).astype(np.float32) for name, array in self.arrays.items()}
        return replace(self, arrays=smaller, about=f"{self.about}, divided by {by:g}")


def gradients_of(path: str | Path) -> Gradients:
    """The gradients in a file: of the model, on one batch of its text, if char_gpt.py wrote it, else all its arrays.

    Raises Refused for a file that is missing, damaged or of another kind, and where the model's text has changed.
    """
    if not is_checkpoint(path):
        arrays, remarks = read_arrays(path)
        return Gradients(arrays, f"{path}: {count(len(arrays), 'array')}", remarks)
    saved = load(path)
    corpus = trained_on(saved)
    with fitting(path):
        model = build_model(saved.settings, len(saved.vocabulary))
        model.load_state_dict(saved.model)
    return gradients_of_model(model, saved.settings, corpus, f"{path} after step {saved.step:,}")


def gradients_of_result(result: Result) -> Gradients:
    """Of a model that was trained now."""
    about = f"character model after step {result.settings.steps:,}"
    return gradients_of_model(result.model, result.settings, result.corpus, about)


def gradients_of_model(model: GPT, settings: Settings, corpus: Corpus, about: str) -> Gradients:
    """The gradients of the mean loss on the first micro-batch of a run with these settings, as training computes them,
    its bug, if it has one, included; the parameters' own are dropped."""
    one = replace(settings, accumulate=1)
    model.zero_grad()
    tensorgrad.manual_seed(settings.seed)  # for dropout
    backward(model, Batches(corpus.encode(corpus.train), one).draw(), settings.bug)
    arrays = {name: p._grad for name, p in model.named_parameters() if p._grad is not None}
    remarks = [f"No gradient reaches {name}." for name, p in model.named_parameters() if name not in arrays]
    if settings.bug != "none":
        remarks.append(f"It was trained, and the loss is taken, with the bug {settings.bug}.")
    if settings.accumulate > 1:
        remarks.append(
            f"In training, the loss of each of {settings.accumulate} micro-batches was divided by their number, which "
            f"--divide {settings.accumulate} does."
        )
    model.zero_grad()
    about = f"{about}, on {count(settings.batch, 'sequence')} of {settings.context} characters of {corpus.name}"
    return Gradients(arrays, about, remarks, of_gpt=True)
