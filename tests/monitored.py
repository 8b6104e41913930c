"""Small models, batches and loops that the monitor is tried on; `monitored_controls.py` has the healthy runs and
`monitored_faults.py` those with a fault.

B rows or sequences in a batch, T tokens in a sequence, V in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pydoc_data.topics import topics
from typing import Any

import numpy as np

import tensorgrad
import tensorgrad.nn as nn
import tensorgrad.nn.functional as F
from tensorgrad import Tensor
from tensorgrad.models import GPT, GPTConfig
from tensorgrad.monitoring import Finding, Monitor

Batch = tuple[Tensor, Tensor]
Loss = Callable[[Any, Batch], Tensor]


@dataclass
class Session:
    """One run of a case: how long it takes, and what its monitors say.

    steps  of the optimizer, that the run is to take
    """

    steps: int
    monitors: list[Monitor] = field(default_factory=list)

    def watch(self, model: Any, optimizer: Any, **options: Any) -> Monitor:
        """A monitor that prints nothing, all of whose checks are on."""
        watch = tensorgrad.monitor(model, optimizer, say=lambda finding: None, **options)
        self.monitors.append(watch)
        return watch

    @property
    def findings(self) -> list[Finding]:
        """Of all monitors."""
        return [finding for watch in self.monitors for finding in watch.findings]


@dataclass(frozen=True)
class Control:
    """A healthy run: `name`, a `sentence` about it, and `run`, in which no monitor should find anything."""

    name: str
    sentence: str
    run: Callable[[Session], None]


@dataclass(frozen=True)
class Fault:
    """A run with one fault.

    check  the check that should name it
    names  of the parameters that it should name
    says   what its line should contain
    """

    name: str
    sentence: str
    run: Callable[[Session], None]
    check: str
    names: tuple[str, ...]
    says: str


def findings_of(case: Control | Fault, steps: int) -> list[Finding]:
    """Run it from a fixed seed: what was said."""
    tensorgrad.manual_seed(0)
    session = Session(steps)
    try:
        case.run(session)
    finally:
        for watch in session.monitors:
            watch.close()
    assert session.monitors, f"{case.name} has no monitor"
    assert all(watch.steps for watch in session.monitors), f"{case.name} took no step"
    return session.findings


# -- batches -------------------------------------------------------------------------------------------------------


@cache
def english() -> tuple[np.ndarray, int]:
    """Some pages of Python's documentation as numbers (N,), and V."""
    return numbers("".join(topics[name] for name in sorted(topics))[:60_000])


def numbers(text: str) -> tuple[np.ndarray, int]:
    """A text as numbers (N,), and V."""
    vocabulary, tokens = np.unique(np.array(list(text)), return_inverse=True)
    return tokens.astype(np.int64), len(vocabulary)


def windows(tokens: np.ndarray, batch: int = 8, context: int = 8, seed: int = 0) -> Iterator[Batch]:
    """Without end: tokens (B, T) and, one place further on, targets (B, T)."""
    rng = np.random.default_rng(seed)
    while True:
        starts = rng.integers(0, len(tokens) - context, batch)
        rows = tokens[starts[:, None] + np.arange(context + 1)]
        yield tensorgrad.tensor(rows[:, :-1]), tensorgrad.tensor(rows[:, 1:])


def classified(classes: int = 5, features: int = 6, batch: int = 16, seed: int = 0) -> Iterator[Batch]:
    """Without end: points (B, features) around one centre for each class, and their classes (B,)."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 1.5, (classes, features))
    while True:
        y = rng.integers(0, classes, batch)
        x = centres[y] + rng.normal(size=(batch, features))
        yield tensorgrad.tensor(x.astype(np.float32)), tensorgrad.tensor(y)


def measured(features: int = 4, batch: int = 16, seed: int = 0) -> Iterator[Batch]:
    """Without end: points (B, features) and a smooth function of them (B, 1)."""
    rng = np.random.default_rng(seed)
    while True:
        x = rng.normal(size=(batch, features)).astype(np.float32)
        y = np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]
        yield tensorgrad.tensor(x), tensorgrad.tensor(y.astype(np.float32))


# -- models --------------------------------------------------------------------------------------------------------


def gpt(vocabulary: int, **sizes: Any) -> GPT:
    """A tiny one: 2 blocks, 16 wide, 8 tokens."""
    return GPT(GPTConfig(**{"vocabulary": vocabulary, "context": 8, "blocks": 2, "heads": 2, "width": 16, **sizes}))


def perceptron(
    activation: type[nn.Module], inputs: int, outputs: int, width: int = 24, layers: int = 2
) -> nn.Sequential:
    """Linear layers with an activation after each but the last."""
    sizes = [inputs, *[width] * layers]
    hidden = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), activation())]
    return nn.Sequential(*hidden, nn.Linear(width, outputs))


class Layer(nn.Module):
    """act(linear(x)), weights from N(0, gain^2 / width); x + that with `residual`."""

    def __init__(self, activation: Callable[[Tensor], Tensor], width: int, gain: float, residual: bool = False) -> None:
        super().__init__()
        self.linear, self.activation, self.residual = nn.Linear(width, width), activation, residual
        nn.init.normal_(self.linear.weight, std=gain / width**0.5)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, width) to (B, width)."""
        out = self.activation(self.linear(x))
        return x + out if self.residual else out


def stack(activation: Callable[[Tensor], Tensor], layers: int, gain: float, residual: bool = False) -> nn.Sequential:
    """Layers of 32 units between two linear ones, from 6 numbers to 5 scores."""
    inner = [Layer(activation, 32, gain, residual) for _ in range(layers)]
    return nn.Sequential(nn.Linear(6, 32), *inner, nn.Linear(32, 5))


# -- losses and loops ----------------------------------------------------------------------------------------------


def next_token(model: Any, batch: Batch) -> Tensor:
    """The mean cross entropy over all places."""
    x, y = batch
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def right_class(model: Any, batch: Batch) -> Tensor:
    """The mean cross entropy over the rows."""
    return F.cross_entropy(model(batch[0]), batch[1])


def squared(model: Any, batch: Batch) -> Tensor:
    """The mean squared error."""
    return F.mse_loss(model(batch[0]), batch[1])


def train(
    model: Any,
    optimizer: Any,
    batches: Iterator[Batch],
    steps: int,
    loss: Loss = next_token,
    *,
    clip: float | None = None,
    scheduler: Any = None,
    after: Callable[[int], Any] | None = None,
) -> None:
    """The plain loop: forward, clear, backward, clip, step. `after` is called with the number of each step."""
    for step in range(1, steps + 1):
        found = loss(model, next(batches))
        optimizer.zero_grad()
        found.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        if after is not None:
            after(step)


def char_gpt(
    session: Session,
    loss: Loss = next_token,
    *,
    make: Callable[[Any], Any] | None = None,
    options: dict[str, Any] | None = None,
    clip: float | None = 1.0,
    **sizes: Any,
) -> tuple[GPT, Any]:
    """Train a tiny GPT on English. `make` makes the optimizer from the model (AdamW), `options` are the monitor's."""
    tokens, vocabulary = english()
    model = gpt(vocabulary, **sizes)
    optimizer = make(model) if make else tensorgrad.optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer, **(options or {}))
    train(model, optimizer, windows(tokens, context=model.config.context), session.steps, loss, clip=clip)
    return model, optimizer


# -- a watched model -----------------------------------------------------------------------------------------------


def unheard(finding: Finding) -> None:
    """In place of a line on stderr."""


def small_watched(**options: Any) -> tuple[nn.Sequential, Any, Monitor]:
    """A perceptron for `classified`, SGD at 0.1, and its monitor, which prints nothing."""
    tensorgrad.manual_seed(0)
    model = perceptron(nn.Tanh, 6, 5)
    optimizer = tensorgrad.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, tensorgrad.monitor(model, optimizer, **{"say": unheard, **options})


class WithLoss(nn.Module):
    """A model that returns its scores and its loss."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T) and (B, T) to (B, T, V) and ()."""
        scores = self.model(x)
        return scores, F.cross_entropy(scores.flatten(0, 1), y.flatten())
