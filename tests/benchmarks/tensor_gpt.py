"""A GPT block, and whole training steps of GPTs: tensorgrad, torch and NumPy by hand."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

import agreement
import numpy as np
import racing
from by_hand import adamw
from by_hand import gpt as hand

import tensorgrad
from tensorgrad.models.gpt import GPT, Block, GPTConfig
from tensorgrad.nn.utils import clip_grad_norm_

LENGTH = 1.0
"""To which gradients are shortened."""

PHASES = ("forward", "backward", "clip", "AdamW")


@dataclass(frozen=True)
class Size:
    """Sizes of a model and of its batches."""

    vocabulary: int
    context: int
    blocks: int
    heads: int
    width: int
    batch: int
    tokens: int

    def config(self) -> GPTConfig:
        return GPTConfig(self.vocabulary, self.context, self.blocks, self.heads, self.width)


CHARS = Size(vocabulary=103, context=64, blocks=4, heads=4, width=128, batch=12, tokens=64)
GPT2 = Size(vocabulary=50_257, context=1_024, blocks=12, heads=12, width=768, batch=1, tokens=256)
BLOCK = Size(vocabulary=1, context=64, blocks=1, heads=4, width=128, batch=12, tokens=64)
TINY = Size(vocabulary=11, context=8, blocks=2, heads=2, width=8, batch=3, tokens=8)


@dataclass(frozen=True)
class Stepper:
    """One contender's training step, and what it left.

    phases     functions that make up a step, in the order of PHASES or a start of it
    gradients  the gradients after a step, as arrays by name
    loss       the loss of the last step
    """

    phases: list[Callable[[], None]]
    gradients: Callable[[], dict[str, np.ndarray]]
    loss: Callable[[], float]

    def __call__(self) -> None:
        for phase in self.phases:
            phase()


def batch(size: Size, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random tokens and targets (B, T)."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(0, size.vocabulary, (2, size.batch, size.tokens)))


def state_of(module: tensorgrad.nn.Module) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in module.state_dict().items()}


# -- contenders --------------------------------------------------------------------------------------------------------


def ours(model: GPT, size: Size, checkpoint: bool | int | str = False, update: bool = True) -> Stepper:
    """`model` in tensorgrad, which a step with `update` changes."""
    model.checkpoint = checkpoint
    tokens, targets = (tensorgrad.tensor(a) for a in batch(size))
    parameters = list(model.parameters())
    optimizer = tensorgrad.optim.AdamW(parameters, lr=1e-3)
    last = []

    def forward() -> None:
        last[:] = [model.loss(tokens, targets)]

    def backward() -> None:
        optimizer.zero_grad()
        last[0].backward()
        last[:] = [last[0].detach()]

    phases = [forward, backward]
    if update:
        phases += [lambda: clip_grad_norm_(parameters, LENGTH), optimizer.step]
    return Stepper(
        phases,
        lambda: {name: p.grad for name, p in model.named_parameters() if name != "head.weight"},
        lambda: last[0].item(),
    )


def torchs(state: dict[str, np.ndarray], size: Size, update: bool = True) -> Stepper:
    """The model in torch, eager, with its default AdamW."""
    peers_torch = importlib.import_module("peers_torch")
    torch = importlib.import_module("torch")

    torch.set_num_threads(racing.THREADS)
    model = peers_torch.loaded(
        peers_torch.GPT(size.vocabulary, size.context, size.blocks, size.heads, size.width), state
    )
    tokens, targets = (torch.tensor(a) for a in batch(size))
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    last = []

    def forward() -> None:
        last[:] = [model.loss(tokens, targets)]

    def backward() -> None:
        optimizer.zero_grad()
        last[0].backward()
        last[:] = [last[0].detach()]

    phases = [forward, backward]
    if update:
        phases += [lambda: torch.nn.utils.clip_grad_norm_(parameters, LENGTH), optimizer.step]
    return Stepper(
        phases,
        lambda: {name: p.grad.numpy() for name, p in model.named_parameters()},
        lambda: last[0].item(),
    )


def by_hand(state: dict[str, np.ndarray], size: Size, update: bool = True) -> Stepper:
    """The model in NumPy alone."""
    model = hand.GPT(state, size.heads, size.batch, size.tokens)
    tokens, targets = batch(size)
    optimizer = adamw.AdamW(model.flat, model.flat_gradient) if update else None
    last = [0.0]

    def forward() -> None:
        last[0] = model.forward(tokens, targets)

    phases = [forward, lambda: model.backward(tokens)]
    if optimizer is not None:
        phases += [lambda: adamw.clip(model.flat_gradient, LENGTH), optimizer.step]
    return Stepper(phases, lambda: model.gradients, lambda: last[0])


def steppers(size: Size, update: bool = True) -> dict[str, Stepper]:
    """All three, with equal weights and batches."""
    tensorgrad.manual_seed(0)
    model = GPT(size.config())
    state = state_of(model)
    return {
        "torch": torchs(state, size, update),
        "NumPy by hand": by_hand(state, size, update),
        "ours": ours(model, size, update=update),
    }


def block_steppers(size: Size) -> dict[str, Callable[[], dict[str, np.ndarray]]]:
    """Forward and backward of one block, with the gradient of its input (B, T, C); each returns all gradients."""
    peers_torch = importlib.import_module("peers_torch")
    torch = importlib.import_module("torch")

    torch.set_num_threads(racing.THREADS)
    tensorgrad.manual_seed(0)
    rng = np.random.default_rng(0)
    x, sent = rng.normal(size=(2, size.batch, size.tokens, size.width)).astype(np.float32)
    block = Block(size.config())
    state = state_of(block)
    theirs = peers_torch.loaded(peers_torch.Block(size.width, size.heads), state)
    our_x, our_sent = tensorgrad.tensor(x, requires_grad=True), tensorgrad.tensor(sent)
    their_x, their_sent = torch.tensor(x, requires_grad=True), torch.tensor(sent)
    mine = hand.Block(size.batch, size.tokens, size.heads, size.width)
    to = {name: np.empty_like(a) for name, a in state.items()}
    rows = size.batch * size.tokens
    work, stream = hand.Work(rows, size.width), np.empty((rows, size.width), np.float32)

    def run_ours() -> dict[str, np.ndarray]:
        block.zero_grad()
        our_x.grad = None
        block(our_x).backward(our_sent)
        return {"input": our_x.grad, **{name: p.grad for name, p in block.named_parameters()}}

    def run_torch() -> dict[str, np.ndarray]:
        theirs.zero_grad()
        their_x.grad = None
        theirs(their_x).backward(their_sent)
        return {"input": their_x.grad, **{name: p.grad for name, p in theirs.named_parameters()}}

    def run_by_hand() -> dict[str, np.ndarray]:
        np.copyto(stream, x.reshape(rows, -1))
        mine.forward(stream, state, work)
        np.copyto(stream, sent.reshape(rows, -1))
        mine.backward(stream, state, to, work)
        return {"input": stream.reshape(x.shape), **to}

    return {"torch": run_torch, "NumPy by hand": run_by_hand, "ours": run_ours}


def checked(contenders: dict[str, Stepper]) -> dict[str, Stepper]:
    """The contenders, after forward and backward once, if these gave equal losses and gradients."""
    for one in contenders.values():
        for phase in one.phases[:2]:
            phase()
    agreement.check({who: {"loss": one.loss(), **one.gradients()} for who, one in contenders.items()})
    return contenders


# -- report ------------------------------------------------------------------------------------------------------------


def phases_table(contenders: dict[str, Stepper], repeats: int) -> list[str]:
    """Medians of the phases of a step, the contenders in turn."""
    seconds: dict[str, list[list[float]]] = {who: [[] for _ in one.phases] for who, one in contenders.items()}
    with racing.settled():
        for order in racing.orders(contenders, repeats):
            for who in order:
                for phase, found in zip(contenders[who].phases, seconds[who]):
                    start = time.perf_counter()
                    phase()
                    found.append(time.perf_counter() - start)
    rows = [[who, *(racing.duration(median(one)) for one in found)] for who, found in seconds.items()]
    return racing.grid(["medians", *PHASES[: len(rows[0]) - 1]], rows)


def report(quick: bool) -> list[str]:
    repeats = 3 if quick else 25
    blocks, contenders = block_steppers(BLOCK), checked(steppers(CHARS))
    agreement.check({who: step() for who, step in blocks.items()})
    block = racing.race("a block of a GPT, forward and backward", blocks, repeats)
    step = racing.race("training step of the character model", contenders, repeats, seconds=0)
    lines = [
        "## A GPT",
        "",
        f"Width {CHARS.width}, {CHARS.heads} heads, {CHARS.batch} sequences of {CHARS.tokens} tokens, float32; the "
        f"character model has {CHARS.blocks} blocks and {CHARS.vocabulary} characters; its step is forward, backward, "
        "`clip_grad_norm_` and AdamW. By hand: `by_hand/gpt.py`, arrays made once, in tiles, on "
        f"{racing.THREADS} threads.",
        "",
        *racing.table([block, step], to="ours"),
        "",
        *phases_table(contenders, 2 if quick else 25),
    ]
    lines.append(
        racing.target_line(
            racing.Target(
                "character model's training step: our time over torch's", step.ratio("ours", "torch"), 1, False
            )
        )
    )
    return lines


if __name__ == "__main__":
    racing.alone(report)
