"""The character model is trained in several precisions, from one seed, and the runs are compared.

What a step of many targets does to small numbers is shown without computing all of them. The loss is a mean, so each of
N targets adds 1/N of its own gradient, and it is these small parts that go back through the model, micro-batch by
micro-batch; only in the weights' gradients, which are float32, do they add up again. Here one micro-batch stands for
all K of a step: its loss is divided by K, and the gradient that comes of it counts K times. In float32 that is a step
of this one alone, but for the last digits; its gradient is noisier than that of K different ones, alike in all runs. In
a format of few bits the numbers are rounded as those of K different ones would be. What becomes 0 does not come back in
their sum, either: in fp16 the gradient of 48 different ones lies at a cosine of 0.79 to that in float32 before the
first step, 0.88 after 20 and 0.83 after 100, and that of one at 0.80, 0.88 and 0.87.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from chars.corpus import DEFAULT, Corpus, read_text
from chars.progress import Progress
from chars.scoring import held_out_score
from chars.settings import Settings
from chars.training import Batches, build_model, build_optimizer

import tensorgrad
from precision_lab.formats import Format, format_of
from precision_lab.simulated import Simulated, simulate
from tensorgrad import Tensor
from tensorgrad.amp import GradScaler
from tensorgrad.models import GPT
from tensorgrad.nn import functional as F
from tensorgrad.nn.utils import clip_grad_norm_

SETTINGS = Settings(steps=300, blocks=2, width=64, warmup=30)
"""A smaller and shorter run than that of char_gpt.py, so that six of them take minutes."""

MICRO_BATCHES = 640
"""With micro-batches of 12 times 64 targets 491,520 of them a step, as many as nanoGPT's GPT-2 has: 40 times 12 times
1,024."""

GROWTH_INTERVAL = 20
"""Good steps after which the scale doubles. It is 2,000 by default, which suits runs of half a million steps."""


@dataclass(frozen=True)
class Plan:
    """A run to be made.

    kind           a format's name, or None for float32
    scaled         whether a GradScaler scales the loss
    micro_batches  that a step consists of
    """

    kind: str | None
    scaled: bool
    micro_batches: int

    def named(self) -> str:
        """The precision in words."""
        return f"{self.kind or 'float32'}{', GradScaler' if self.scaled else ''}"


@dataclass
class Ran:
    """A run that was made; of its lists each has one number a step, but `skipped`.

    name          its precision, and the targets of a step
    losses        mean nats a character, before the division by the micro-batches
    scales        what the loss was multiplied by, besides
    lost_between  share of the numbers of the gradients between the layers that became 0 by rounding
    lost_weights  the same of the weights' gradients
    skipped       the steps, counted from 1, in which the scaler left the weights as they were
    held_out      mean nats a character of the held-out text, scored in float32; nan where a weight is not finite
    """

    name: str
    plan: Plan
    losses: list[float] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    lost_between: list[float] = field(default_factory=list)
    lost_weights: list[float] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    held_out: float = math.nan
    seconds: float = 0.0

    @property
    def end(self) -> float:
        """The mean of the last ten losses."""
        return math.fsum(self.losses[-10:]) / max(len(self.losses[-10:]), 1)


@dataclass(frozen=True)
class Comparison:
    """Runs that differ in precision alone; the first is the one in float32.

    settings  of all of them; `accumulate` is 1, see Plan
    text      the name of the text
    guess     nats a character of a guess by letter frequencies, on the held-out text
    growth    good steps after which a scaler's scale doubles
    """

    settings: Settings
    text: str
    guess: float
    growth: int
    runs: tuple[Ran, ...]

    @property
    def targets(self) -> int:
        """Characters that are predicted in a micro-batch."""
        return self.settings.batch * self.settings.context


def plans(micro_batches: int = MICRO_BATCHES, *, fp8: bool = False) -> list[Plan]:
    """float32; fp16 with a step of one micro-batch, and of many; the latter with a GradScaler; bf16."""
    found = [
        Plan(None, False, micro_batches),
        Plan("fp16", False, 1),
        Plan("fp16", False, micro_batches),
        Plan("fp16", True, micro_batches),
        Plan("bf16", False, micro_batches),
    ]
    return [*found, Plan("fp8-e5m2", True, micro_batches)] if fp8 else found


def compare(
    settings: Settings = SETTINGS,
    chosen: Sequence[Plan] | None = None,
    *,
    growth_interval: int = GROWTH_INTERVAL,
    progress: bool = False,
) -> Comparison:
    """Make the runs, by default those of `plans()`, one after the other.

    progress  whether a bar is shown on stderr

    Raises Refused for a text that cannot be used; ImportError where a format needs ml_dtypes and it is missing, before
    the first run.
    """
    chosen = plans() if chosen is None else chosen
    kinds = [None if plan.kind is None else format_of(plan.kind) for plan in chosen]
    corpus = Corpus(read_text(settings.text), str(settings.text or DEFAULT))
    corpus.require(settings.context)
    shown = Progress(settings.steps * len(chosen), visible=progress)
    try:
        runs = []
        for plan, kind in zip(chosen, kinds, strict=True):
            ran = _ran(settings, corpus, plan, kind, growth_interval, shown, settings.steps * len(runs))
            shown.say(f"{ran.name}: held-out text {ran.held_out:.3f} nats a character")
            runs.append(ran)
    finally:
        shown.close()
    return Comparison(settings, corpus.name, corpus.letter_frequencies, growth_interval, tuple(runs))


def _ran(
    settings: Settings,
    corpus: Corpus,
    plan: Plan,
    kind: Format | None,
    growth_interval: int,
    shown: Progress,
    before: int,
) -> Ran:
    """One run. It ends early where, without a scaler, a loss is not finite: the weights are lost then."""
    tensorgrad.manual_seed(settings.seed)
    model = build_model(settings, len(corpus.vocabulary))
    optimizer = build_optimizer(model, settings)
    batches = Batches(corpus.encode(corpus.train), settings)
    scaler = GradScaler("cpu", growth_interval=growth_interval, enabled=plan.scaled)
    targets = settings.batch * settings.context
    ran = Ran(f"{plan.named()}, {targets * plan.micro_batches:,} targets", plan)
    start = time.perf_counter()
    with nullcontext() if kind is None else simulate(model, kind) as simulated:
        for step in range(1, settings.steps + 1):
            for group in optimizer.param_groups:
                group["lr"] = settings.rate(step)
            ran.scales.append(scaler.get_scale())
            ran.losses.append(backward(model, batches.draw()[0], scaler, plan.micro_batches))
            scaler.unscale_(optimizer)
            norm = clip_grad_norm_(model.parameters(), settings.clip).item()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if scaler.get_scale() < ran.scales[-1]:
                ran.skipped.append(step)
            _count(ran, simulated)
            speed = targets * step / (time.perf_counter() - start)
            shown.step(before + step, ran.losses[-1], norm, speed)
            if not plan.scaled and not math.isfinite(ran.losses[-1]):
                break
    ran.held_out = held_out_score(model, corpus.vocabulary, corpus.held_out)
    ran.seconds = time.perf_counter() - start
    return ran


def backward(model: GPT, batch: tuple[Tensor, Tensor], scaler: GradScaler, micro_batches: int) -> float:
    """Give the parameters the gradient, times the scale, of a step in which each micro-batch is this one: tokens and
    targets (B, T). Returns its loss, in nats a character."""
    tokens, targets = batch
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    scaler.scale(loss / micro_batches).backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad * micro_batches
    return loss.item()


def _count(ran: Ran, simulated: Simulated | None) -> None:
    """Note down what was lost in the step, and count anew from here."""
    ran.lost_between.append(0.0 if simulated is None else simulated.between.share_lost)
    ran.lost_weights.append(0.0 if simulated is None else simulated.weights.share_lost)
    if simulated is not None:
        simulated.count_anew()


def as_dict(comparison: Comparison) -> dict[str, object]:
    """All of it, for other programs: losses and scores in nats a character, shares from 0 to 1."""
    return {
        "text": comparison.text,
        "steps": comparison.settings.steps,
        "seed": comparison.settings.seed,
        "targets_in_a_micro_batch": comparison.targets,
        "letter_frequencies": comparison.guess,
        "growth_interval": comparison.growth,
        "runs": list(_dicts(comparison.runs)),
    }


def _dicts(runs: Sequence[Ran]) -> Iterator[dict[str, object]]:
    for ran in runs:
        yield {
            "name": ran.name,
            "format": ran.plan.kind or "float32",
            "scaler": ran.plan.scaled,
            "micro_batches": ran.plan.micro_batches,
            "held_out": ran.held_out,
            "end": ran.end,
            "losses": ran.losses,
            "scales": ran.scales,
            "skipped": ran.skipped,
            "lost_between": ran.lost_between,
            "lost_weights": ran.lost_weights,
            "seconds": round(ran.seconds, 1),
        }
