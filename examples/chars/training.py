"""The training loop of the character model, and the four mistakes that can be made in it without an error.

Each stands where it is made, behind `if bug == ...`: gradients that are never cleared ("no-zero-grad"), targets that
are the inputs ("unshifted"), a loss 40 times too large ("loss-times-40"), a position table that is cut off from the
graph ("detached-positions").

B sequences in a micro-batch, T characters in each, V in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tensorgrad
from chars.corpus import DEFAULT, Corpus, read_text
from chars.run import Result, Run
from chars.settings import BUGS, Settings
from tensorgrad import Tensor
from tensorgrad.models import GPT
from tensorgrad.nn import functional as F
from tensorgrad.nn.utils import clip_grad_norm_

__all__ = ["BUGS", "Batches", "Result", "Settings", "backward", "build_model", "build_optimizer", "train"]


def train(
    settings: Settings,
    *,
    folder: str | Path | None = None,
    checkpoint: str | Path | None = None,
    resume: str | Path | None = None,
    every: int = 250,
    monitor: bool = True,
    progress: bool = False,
    overwrite: bool = False,
    on_step: Callable[[int, float, float], Any] | None = None,
) -> Result:
    """Train a model from the start, or on from a checkpoint.

    folder      for the checkpoint, the log and the monitor's log; None keeps no logs
    checkpoint  the file of the checkpoint, by default `checkpoint.npz` in the folder; without both there is none
    resume      the checkpoint to go on from, with the settings that it was made with; `steps` may differ. Where neither
                `folder` nor `checkpoint` is given it is written on, too; else it stays as it is
    every       steps after which the held-out text is scored and a checkpoint written; both come at the end, too
    monitor     whether tensorgrad.monitor watches
    progress    whether a bar is shown on stderr
    overwrite   whether a new run may take the place of one that is on the disk
    on_step     is called after each step with its number, its loss (mean nats a character), and the length of its
                gradient before clipping

    Raises Refused for what cannot be used, and where the loss is not finite: the last checkpoint stays, from before
    that. Raises Interrupted, after the running step and a checkpoint, for Ctrl-C and SIGTERM.
    """
    corpus = Corpus(read_text(settings.text), str(settings.text or DEFAULT))
    corpus.require(settings.context)
    tensorgrad.manual_seed(settings.seed)
    model = build_model(settings, len(corpus.vocabulary))
    optimizer = build_optimizer(model, settings)
    batches = Batches(corpus.encode(corpus.train), settings)
    run = Run(settings, corpus, model, optimizer, batches.generator, every=every, on_step=on_step)
    if resume is not None:
        run.restore(resume)

    with run.recorded(folder, checkpoint, progress=progress, overwrite=overwrite):
        if monitor:
            run.watch = tensorgrad.monitor(
                model,
                optimizer,
                log=run.file("monitor.jsonl"),
                accumulate=settings.accumulate,
                say=run.found,
                after=run.step,
            )
        for step in range(run.step + 1, settings.steps + 1):
            for group in optimizer.param_groups:
                group["lr"] = settings.rate(step)
            loss = backward(model, batches.draw(), settings.bug)
            norm = clip_grad_norm_(model.parameters(), settings.clip).item()
            run.require_finite(step, loss, norm)
            optimizer.step()
            if settings.bug != "no-zero-grad":  # the bug: what came in earlier steps stays and is added to
                optimizer.zero_grad()
            run.done(step, loss, norm)
    return run.result()


def backward(model: GPT, batches: Sequence[tuple[Tensor, Tensor]], bug: str = "none") -> float:
    """Add the gradient of the mean loss over all targets to the parameters, one micro-batch at a time.

    batches  the tokens (B, T) and the targets (B, T) of each micro-batch; B and T may differ between them

    Returns that mean: nats a character.

    Each micro-batch's mean is weighted by its share of all targets. The mean of the means would give a target in a
    small micro-batch more say than one in a large one, so it is the loss of the whole batch only where all sizes are
    equal; there the weight is 1 / K for K of them, which is the division by 40 in nanoGPT's loop.
    """
    count = sum(targets.numel() for _, targets in batches)
    mean = 0.0
    for tokens, targets in batches:
        if bug == "unshifted":
            targets = tokens  # the bug: each place is asked for the character that it was just given
        scores = model(tokens)  # (B, T, V)
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten())
        if len(batches) > 1:
            loss = loss * (targets.numel() / count)
        mean += loss.item()
        if bug == "loss-times-40":
            loss = loss * 40  # the bug: the division by the number of micro-batches was forgotten
        loss.backward()
    return mean


def build_model(settings: Settings, vocabulary: int) -> GPT:
    """A new model for that many distinct characters; its weights are drawn from the package's generator."""
    model = GPT(settings.model(vocabulary))
    if settings.bug == "detached-positions":
        # The bug: the table is read, and no gradient finds the way back to it.
        model.positions.register_forward_hook(lambda module, inputs, rows: rows.detach())
    return model


def build_optimizer(model: GPT, settings: Settings) -> tensorgrad.optim.AdamW:
    """AdamW. Matrices are drawn towards zero; biases and the gains of norms, which are vectors, are not."""
    named = list(model.named_parameters())
    matrices = [(name, p) for name, p in named if p.ndim >= 2]
    vectors = [(name, p) for name, p in named if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return tensorgrad.optim.AdamW(groups, lr=settings.learning_rate, betas=settings.betas)


class Batches:
    """Windows of a text, at random places, from a generator that nothing else draws from.

    tokens     the text as numbers (N,)
    generator  the state of which is the place in the sequence of batches
    """

    def __init__(self, tokens: np.ndarray, settings: Settings) -> None:
        self._windows = np.lib.stride_tricks.sliding_window_view(tokens, settings.context + 1)
        self._batch, self._accumulate = settings.batch, settings.accumulate
        self.generator = tensorgrad.Generator().manual_seed(settings.seed)

    def draw(self) -> list[tuple[Tensor, Tensor]]:
        """The micro-batches of a step: tokens (B, T) and, one place further on in the text, targets (B, T)."""
        count = self._batch * self._accumulate
        starts = tensorgrad.randint(0, len(self._windows), (count,), generator=self.generator).data
        windows = self._windows[starts]  # (count, T + 1)
        return [
            (tensorgrad.tensor(part[:, :-1]), tensorgrad.tensor(part[:, 1:]))
            for part in np.split(windows, self._accumulate)
        ]
