"""Healthy runs, as different as can be: the monitor is to stay silent in each, for its whole length."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from itertools import cycle, repeat
from typing import Any

import numpy as np
from monitored import (
    Batch,
    Control,
    Session,
    WithLoss,
    char_gpt,
    classified,
    english,
    gpt,
    measured,
    next_token,
    numbers,
    perceptron,
    right_class,
    squared,
    stack,
    train,
    windows,
)

import tensorgrad
import tensorgrad.nn as nn
import tensorgrad.nn.functional as F
import viz
from tensorgrad import Tensor, optim
from tensorgrad.utils.checkpoint import checkpoint

CONTROLS: list[Control] = []


def control(sentence: str) -> Callable[[Callable[[Session], None]], Callable[[Session], None]]:
    def keep(run: Callable[[Session], None]) -> Callable[[Session], None]:
        CONTROLS.append(Control(run.__name__, sentence, run))
        return run

    return keep


# -- sizes, activations, optimizers, rates -------------------------------------------------------------------------


@control("a GPT of 2 blocks, tied, AdamW, warmup from a rate above 0, clipping at 1.0")
def usual(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 20))
    session.watch(model, optimizer)
    train(model, optimizer, windows(tokens), session.steps, clip=1.0, scheduler=scheduler)


@control("a GPT of 1 block, untied, SGD")
def one_block(session: Session) -> None:
    char_gpt(session, blocks=1, tied=False, clip=None, make=lambda m: optim.SGD(m.parameters(), lr=0.1))


@control("a GPT of 12 blocks, 8 wide, no biases, Adam")
def twelve_blocks(session: Session) -> None:
    char_gpt(session, blocks=12, width=8, bias=False, make=lambda m: optim.Adam(m.parameters(), lr=3e-3))


@control("a GPT 32 wide with dropout 0.3")
def dropout(session: Session) -> None:
    char_gpt(session, width=32, dropout=0.3)


@control("classes, relu, SGD with momentum")
def relu(session: Session) -> None:
    classes(session, nn.ReLU, lambda p: optim.SGD(p, lr=0.05, momentum=0.9))


@control("classes, tanh, Adam")
def tanh(session: Session) -> None:
    classes(session, nn.Tanh, lambda p: optim.Adam(p, lr=1e-2))


@control("classes, gelu, 6 layers, AdamW, label smoothing")
def gelu(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch[0]), batch[1], label_smoothing=0.1)

    classes(session, nn.GELU, lambda p: optim.AdamW(p, lr=3e-3), loss, layers=6)


@control("classes, sigmoid, SGD with Nesterov momentum, class weights")
def sigmoid(session: Session) -> None:
    weights = tensorgrad.tensor([10.0, 1.0, 1.0, 0.2, 5.0])

    def loss(model: Any, batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch[0]), batch[1], weight=weights)

    classes(session, nn.Sigmoid, lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), loss)


@control("a regression with the mean squared error")
def regression(session: Session) -> None:
    model = perceptron(nn.Tanh, 4, 1)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(model, optimizer, measured(), session.steps, squared)


@control("one linear layer, two classes, binary cross entropy of one score")
def binary(session: Session) -> None:
    model = nn.Linear(6, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)

    def loss(model: Any, batch: Batch) -> Tensor:
        return F.binary_cross_entropy_with_logits(model(batch[0]).flatten(), batch[1].float())

    train(model, optimizer, classified(classes=2), session.steps, loss)


@control("a GPT at a rate of 1e-6")
def tiny_rate(session: Session) -> None:
    char_gpt(session, make=lambda m: optim.AdamW(m.parameters(), lr=1e-6))


@control("a perceptron at a rate at which the loss jumps: SGD, 1.0")
def large_rate(session: Session) -> None:
    classes(session, nn.Tanh, lambda p: optim.SGD(p, lr=1.0))


@control("a GPT whose warmup begins at a rate of 0 and whose cosine ends there")
def from_zero_to_zero(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)

    def rate(step: int) -> float:
        return min(step / 8, 0.5 + 0.5 * math.cos(math.pi * min(step / (session.steps - 1), 1)))

    session.watch(model, optimizer)
    scheduler = optim.lr_scheduler.LambdaLR(optimizer, rate)
    train(model, optimizer, windows(tokens), session.steps, scheduler=scheduler)


@control("gradients clipped to a thousandth")
def hard_clipping(session: Session) -> None:
    char_gpt(session, clip=1e-3, make=lambda m: optim.SGD(m.parameters(), lr=10.0))


@control("60 layers of tanh at their gain of 5/3, in which the gradient grows 300-fold")
def deep_tanh(session: Session) -> None:
    deep(session, stack(tensorgrad.tanh, 60, 5 / 3))


@control("30 layers of relu at their gain of the root of 2")
def deep_relu(session: Session) -> None:
    deep(session, stack(tensorgrad.relu, 30, 2**0.5))


@control("60 residual layers of tanh at a gain of 1")
def deep_residual(session: Session) -> None:
    deep(session, stack(tensorgrad.tanh, 60, 1.0, residual=True))


@control("24 residual layers whose branches start as zeros")
def deep_zeros(session: Session) -> None:
    deep(session, stack(tensorgrad.tanh, 24, 0.0, residual=True))


def deep(session: Session, model: Any) -> None:
    optimizer = optim.Adam(model.parameters(), lr=1e-4)
    session.watch(model, optimizer)
    train(model, optimizer, classified(), session.steps, right_class, clip=1.0)


# -- what is trained -----------------------------------------------------------------------------------------------


@control("the lower half frozen by requires_grad_(False), all of it given to the optimizer")
def frozen(session: Session) -> None:
    def make(model: Any) -> Any:
        model.tokens.requires_grad_(False)
        model.positions.requires_grad_(False)
        model.blocks[0].requires_grad_(False)
        return optim.AdamW(model.parameters(), lr=1e-2)

    char_gpt(session, make=make, tied=False)


@control("only the head and the norms given to the optimizer, in two groups, one of which has a rate of 0")
def left_out(session: Session) -> None:
    def make(model: Any) -> Any:
        norms = [p for name, p in model.named_parameters() if "norm" in name]
        return optim.AdamW([{"params": [model.head.weight]}, {"params": norms, "lr": 0.0}], lr=1e-2)

    char_gpt(session, make=make, tied=False)


@control("lower blocks that are frozen at first, and thawed after 15 steps")
def thawed(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    model.blocks[0].requires_grad_(False)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(
        model,
        optimizer,
        windows(tokens),
        session.steps,
        after=lambda step: model.blocks[0].requires_grad_(step >= 15),
    )


@control("a model as a dict of Tensors, and lines of plain algebra")
def by_name(session: Session) -> None:
    rng = np.random.default_rng(0)
    w = {
        name: tensorgrad.tensor(rng.normal(0, 0.4, shape).astype(np.float32), requires_grad=True)
        for name, shape in {"w1": (6, 24), "b1": (24,), "w2": (24, 5), "b2": (5,)}.items()
    }
    optimizer = optim.SGD(w.values(), lr=0.1)
    session.watch(w, optimizer)
    train(
        lambda x: (x @ w["w1"] + w["b1"]).tanh() @ w["w2"] + w["b2"],
        optimizer,
        classified(),
        session.steps,
        right_class,
    )


class Cell(nn.Module):
    """A recurrent one that is called at each of 50 places: the sign of the sum of what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.read, self.carry, self.head = nn.Linear(1, 16), nn.Linear(16, 16), nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, 50) to (B, 2)."""
        h = tensorgrad.zeros(x.shape[0], 16)
        for t in range(x.shape[1]):
            h = (self.read(x[:, t : t + 1]) + self.carry(h)).tanh()
        return self.head(h)


@control("a recurrent cell that is called 50 times")
def recurrent(session: Session) -> None:
    model = Cell()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    session.watch(model, optimizer)
    rng = np.random.default_rng(0)

    def batches() -> Any:
        while True:
            x = rng.normal(size=(4, 50)).astype(np.float32)
            yield tensorgrad.tensor(x), tensorgrad.tensor((x.sum(1) > 0).astype(np.int64))

    train(model, optimizer, batches(), session.steps, right_class, clip=1.0)


class Experts(nn.Module):
    """Two, of which the second runs in every twentieth call."""

    def __init__(self) -> None:
        super().__init__()
        self.usual, self.rare, self.head = nn.Linear(6, 12), nn.Linear(6, 12), nn.Linear(12, 5)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        """(B, 6) to (B, 5)."""
        self.calls += 1
        expert = self.rare if self.calls % 20 == 0 else self.usual
        return self.head(expert(x).relu())


@control("an expert that runs in every twentieth step only")
def rare_expert(session: Session) -> None:
    model = Experts()
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(model, optimizer, classified(), session.steps, right_class)


# -- passes and steps ----------------------------------------------------------------------------------------------


@control("4 passes a step, declared, each loss divided by 4")
def declared(session: Session) -> None:
    accumulated(session, accumulate=4)


@control("4 passes a step of unequal sizes, declared, each weighted by its share of the tokens")
def declared_by_tokens(session: Session) -> None:
    accumulated(session, sizes=(2, 4, 6, 12), accumulate=4)


@control("4 passes a step, divided by 4, and not declared")
def undeclared(session: Session) -> None:
    accumulated(session)


@control("4 passes are declared, a step after each, and gradients cleared after the fourth")
def steps_in_between(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer, accumulate=4)
    stream = windows(tokens)
    for number in range(1, session.steps + 1):
        next_token(model, next(stream)).backward()
        optimizer.step()
        if number % 4 == 0:
            optimizer.zero_grad()


def accumulated(session: Session, sizes: tuple[int, ...] = (4, 4, 4, 4), **options: Any) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer, **options)
    streams = [windows(tokens, batch=size, seed=seed) for seed, size in enumerate(sizes)]
    for _ in range(session.steps // 2):
        for stream, size in zip(streams, sizes, strict=True):
            (next_token(model, next(stream)) * (size / sum(sizes))).backward()
        optimizer.step()
        optimizer.zero_grad()


@control("gradients cleared to zeros, not to None")
def set_to_zeros(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    stream = windows(tokens)
    for _ in range(session.steps):
        optimizer.zero_grad(set_to_none=False)
        next_token(model, next(stream)).backward()
        optimizer.step()


@control("a GradScaler, its first scale so large that some steps are left out")
def scaler(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    scaler, stream = tensorgrad.amp.GradScaler(init_scale=2.0**127), windows(tokens)
    for _ in range(session.steps):
        optimizer.zero_grad()
        scaler.scale(next_token(model, next(stream))).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


@control("two of three passes thrown away, gradients and all")
def thrown_away(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    stream = windows(tokens)
    for number in range(session.steps):
        optimizer.zero_grad()
        next_token(model, next(stream)).backward()
        if number % 3 == 0:
            optimizer.step()


@control("an evaluation between steps, its graph recorded and not used")
def evaluation(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary, dropout=0.1)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    held_out = windows(tokens[:500], batch=2, seed=1)

    def score(step: int) -> None:
        model.eval()
        next_token(model, next(held_out)).item()
        model.train()

    train(model, optimizer, windows(tokens), session.steps, after=score)


@control("viz.trace of the loss in every tenth step")
def traced(session: Session) -> None:
    model = perceptron(nn.Tanh, 4, 1, width=3, layers=1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)
    stream = measured(batch=4)
    for step in range(session.steps):
        optimizer.zero_grad()
        loss = squared(model, next(stream))
        if step % 10:
            loss.backward()
        else:
            viz.trace(loss)
        optimizer.step()


@control("blocks under utils.checkpoint, which run again in the backward pass")
def checkpointed(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)

    def run(x: Tensor) -> Tensor:
        h = model.tokens(x) + model.positions(tensorgrad.arange(x.shape[1]))
        for block in model.blocks:
            h = checkpoint(block, h, use_reentrant=False)
        return model.head(model.norm(h))

    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(run, optimizer, windows(tokens), session.steps)


@control("a generator and its critic in turns, each with a monitor of its own")
def adversaries(session: Session) -> None:
    generator, critic = perceptron(nn.ReLU, 2, 2), perceptron(nn.ReLU, 2, 1)
    first = optim.Adam(generator.parameters(), lr=1e-3)
    second = optim.Adam(critic.parameters(), lr=1e-3)
    session.watch(generator, first)
    session.watch(critic, second)
    score = F.binary_cross_entropy_with_logits
    for _ in range(session.steps):
        noise, real = tensorgrad.randn(16, 2), tensorgrad.randn(16, 2) * 0.3 + 1
        second.zero_grad()
        made = generator(noise)
        loss = score(critic(real), tensorgrad.ones(16, 1)) + score(critic(made.detach()), tensorgrad.zeros(16, 1))
        loss.backward()
        second.step()
        first.zero_grad()
        score(critic(made), tensorgrad.ones(16, 1)).backward()
        first.step()


@control("an average of the weights, kept in a deep copy of the model that is scored, too")
def average(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    kept = deepcopy(model)
    stream = windows(tokens, seed=1)

    def after(step: int) -> None:
        with tensorgrad.no_grad():
            for p, q in zip(kept.parameters(), model.parameters(), strict=True):
                p.mul_(0.9).add_(0.1 * q)
        next_token(kept, next(stream)).backward()

    train(model, optimizer, windows(tokens), session.steps, after=after)


@control("hooks that scale a gradient and replace an output")
def hooked(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    model.tokens.weight.register_hook(lambda g: g * 0.5)
    model.blocks[0].register_forward_hook(lambda module, inputs, out: out * 1.0)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(model, optimizer, windows(tokens), session.steps)


@control("optimizer.step(closure)")
def closure(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)
    stream = windows(tokens)

    def again() -> Tensor:
        optimizer.zero_grad()
        loss = next_token(model, next(stream))
        loss.backward()
        return loss

    for _ in range(session.steps):
        optimizer.step(again)


@control("a loss for each row, whose backward pass is given a gradient")
def given_gradient(session: Session) -> None:
    model = perceptron(nn.Tanh, 6, 5)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    stream = classified()
    for _ in range(session.steps):
        x, y = next(stream)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y, reduction="none").backward(tensorgrad.full((16,), 1 / 16))
        optimizer.step()


@control("two optimizers, one for the matrices and one for the rest, each with a monitor")
def two_optimizers(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if p.ndim != 2]
    one, two = optim.SGD(matrices, lr=0.1, momentum=0.9), optim.AdamW(rest, lr=1e-2)
    session.watch(model, one)
    session.watch(model, two)
    stream = windows(tokens)
    for _ in range(session.steps):
        model.zero_grad()
        next_token(model, next(stream)).backward()
        one.step()
        two.step()


@control("two optimizers that take their steps in turns, on one loss")
def in_turns_of_optimizers(session: Session) -> None:
    model = perceptron(nn.Tanh, 6, 5)
    one, two = optim.Adam(model[:2].parameters(), lr=1e-2), optim.Adam(model[2:].parameters(), lr=1e-2)
    session.watch(model, one)
    session.watch(model, two)
    stream = classified()
    for step in range(session.steps):
        model.zero_grad()
        right_class(model, next(stream)).backward()
        (one if step % 2 else two).step()


@control("a group that is added to the optimizer after 10 steps, and a cast to float64 after 20")
def changed_on_the_way(session: Session) -> None:
    model = perceptron(nn.Tanh, 6, 5).float()
    optimizer = optim.SGD(model[2:].parameters(), lr=0.1)
    session.watch(model, optimizer)

    def after(step: int) -> None:
        if step == 10:
            optimizer.add_param_group({"params": list(model[:2].parameters())})
        if step == 20:
            model.double()

    train(
        model,
        optimizer,
        classified(),
        session.steps,
        lambda m, b: right_class(m, (b[0].to(m[0].weight.dtype), b[1])),
        after=after,
    )


@control("sequences and batches of other lengths at each step")
def of_other_lengths(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    streams = [windows(tokens, batch=b, context=t) for b, t in ((1, 8), (8, 2), (3, 5), (16, 1))]
    train(model, optimizer, (next(stream) for stream in cycle(streams)), session.steps)


# -- losses --------------------------------------------------------------------------------------------------------


@control("the sum over all places")
def summed(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten(), reduction="sum")

    char_gpt(session, loss)


@control("the sum over the sequence, the mean over the batch")
def summed_over_time(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        each = F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten(), reduction="none")
        return each.reshape(8, -1).sum(1).mean()

    char_gpt(session, loss)


@control("half of the targets are padding, that does not count")
def padded(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        x, y = batch
        y = y.data.copy()
        y[:, y.shape[1] // 2 :] = -100
        return F.cross_entropy(model(x).flatten(0, 1), tensorgrad.tensor(y).flatten(), ignore_index=-100)

    char_gpt(session, loss)


@control("tokens that are hidden by a mask, and only they are asked for")
def masked(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary + 1)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    rng, stream = np.random.default_rng(1), windows(tokens)

    def loss(model: Any, batch: Batch) -> Tensor:
        x = batch[0].data
        hidden = rng.random(x.shape) < 0.3
        y = np.where(hidden, x, -100)
        out = model(tensorgrad.tensor(np.where(hidden, vocabulary, x)))
        return F.cross_entropy(out.flatten(0, 1), tensorgrad.tensor(y).flatten())

    train(model, optimizer, stream, session.steps, loss)


@control("a z-loss and an L2 term beside the cross entropy")
def more_terms(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        scores = model(batch[0]).flatten(0, 1)
        z = tensorgrad.logsumexp(scores, dim=1)
        weights = sum((p * p).sum() for p in model.parameters())
        return F.cross_entropy(scores, batch[1].flatten()) + 1e-4 * (z * z).mean() + 1e-4 * weights

    char_gpt(session, loss)


@control("the loss written by hand: log_softmax and an index")
def by_hand(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        log_p = F.log_softmax(model(batch[0]).flatten(0, 1), dim=-1)
        y = batch[1].flatten()
        return -log_p[tensorgrad.arange(len(y)), y].mean()

    char_gpt(session, loss)


@control("the loss written by hand: softmax, gather, log")
def by_softmax(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        p = F.softmax(model(batch[0]), dim=-1)
        return -p.gather(2, batch[1].unsqueeze(2)).log().mean()

    char_gpt(session, loss)


@control("a model that returns its scores and its loss")
def loss_inside(session: Session) -> None:
    tokens, vocabulary = english()
    model = WithLoss(gpt(vocabulary))
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(model, optimizer, windows(tokens), session.steps, lambda model, batch: model(*batch)[1])


@control("weights for the classes, written by hand, on one batch of all data")
def weighted_by_hand(session: Session) -> None:
    weights, batch = tensorgrad.tensor([10.0, 1.0, 1.0, 0.2, 5.0]), next(classified(batch=64))

    def loss(model: Any, batch: Batch) -> Tensor:
        return (weights[batch[1]] * F.cross_entropy(model(batch[0]), batch[1], reduction="none")).mean()

    classes(session, nn.Tanh, lambda p: optim.Adam(p, lr=1e-2), loss, batches=repeat(batch))


@control("three heads of one body, one backward pass for the loss of each")
def three_passes(session: Session) -> None:
    body, heads = perceptron(nn.Tanh, 6, 12), nn.ModuleList(nn.Linear(12, 5) for _ in range(3))
    model = nn.ModuleList([body, heads])
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    stream = classified()
    for _ in range(session.steps):
        x, y = next(stream)
        h = body(x).tanh()
        optimizer.zero_grad()
        for i, head in enumerate(heads):
            F.cross_entropy(head(h), (y + i) % 5).backward(retain_graph=True)
        optimizer.step()


@control("a discriminator of real and made points, one backward pass for each kind")
def two_passes(session: Session) -> None:
    model = perceptron(nn.ReLU, 2, 2)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    session.watch(model, optimizer)
    for _ in range(session.steps):
        optimizer.zero_grad()
        for kind in (0, 1):
            F.cross_entropy(model(tensorgrad.randn(16, 2) + kind), tensorgrad.full((16,), kind)).backward()
        optimizer.step()


@control("the targets shifted in the loss: scores without the last place, inputs without the first")
def shifted_in_the_loss(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        x = batch[0]
        return F.cross_entropy(model(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten())

    char_gpt(session, loss)


@control("a class for a whole sequence, from the scores of its last place: its first token")
def of_sequences(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch[0])[:, -1], batch[0][:, 0])

    char_gpt(session, loss)


@control("a learned temperature that is in no module, in the same optimizer")
def outside(session: Session) -> None:
    model, warmth = perceptron(nn.GELU, 6, 5), tensorgrad.tensor(1.0, requires_grad=True)
    optimizer = optim.Adam([*model.parameters(), warmth], lr=1e-2)
    session.watch(model, optimizer)
    train(model, optimizer, classified(), session.steps, lambda m, b: F.cross_entropy(m(b[0]) * warmth, b[1]))


@control("adapters of low rank on frozen layers, one factor of which starts as zeros, in float64")
def adapters(session: Session) -> None:
    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.down, self.up = nn.Linear(6, 6), nn.Linear(6, 2, bias=False), nn.Linear(2, 6, bias=False)
            self.layer.requires_grad_(False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x) + self.up(self.down(x))

    model = nn.Sequential(Adapted(), nn.Tanh(), Adapted(), nn.Tanh(), nn.Linear(6, 5)).double()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)
    train(model, optimizer, classified(), session.steps, lambda m, b: F.cross_entropy(m(b[0].double()), b[1]))


@control("soft targets from another model")
def distilled(session: Session) -> None:
    teacher = gpt(english()[1])

    def loss(model: Any, batch: Batch) -> Tensor:
        with tensorgrad.no_grad():
            wanted = F.softmax(teacher(batch[0]) * 20, dim=-1)
        return -(wanted * F.log_softmax(model(batch[0]), dim=-1)).sum(-1).mean()

    char_gpt(session, loss)


@control("a policy gradient: each row's cross entropy times what it earned")
def rewarded(session: Session) -> None:
    rng = np.random.default_rng(2)

    def loss(model: Any, batch: Batch) -> Tensor:
        earned = tensorgrad.tensor(rng.uniform(2, 8, len(batch[1])).astype(np.float32))
        return (F.cross_entropy(model(batch[0]), batch[1], reduction="none") * earned).mean()

    classes(session, nn.Tanh, lambda p: optim.Adam(p, lr=1e-3), loss)


@control("pairs told from all others in the batch, both ways, with a learned temperature")
def contrastive(session: Session) -> None:
    model = nn.ModuleDict({"one": perceptron(nn.ReLU, 4, 8), "two": perceptron(nn.ReLU, 4, 8)})
    warmth = nn.Parameter(tensorgrad.tensor(0.0))
    model.register_parameter("warmth", warmth)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    session.watch(model, optimizer)

    def loss(model: Any, batch: Batch) -> Tensor:
        x = batch[0]
        a = F.normalize(model["one"](x), dim=1)
        b = F.normalize(model["two"](x + 0.1), dim=1)
        scores = a @ b.T * warmth.exp()
        same = tensorgrad.arange(len(x))
        return (F.cross_entropy(scores, same) + F.cross_entropy(scores.T, same)) / 2

    train(model, optimizer, measured(), session.steps, loss)


@control("two heads, whose losses are added with the weights 1 and 0.3")
def two_heads(session: Session) -> None:
    body, one, two = perceptron(nn.Tanh, 6, 12), nn.Linear(12, 5), nn.Linear(12, 5)
    model = nn.ModuleList([body, one, two])
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)

    def loss(model: Any, batch: Batch) -> Tensor:
        h = body(batch[0]).tanh()
        return F.cross_entropy(one(h), batch[1]) + 0.3 * F.cross_entropy(two(h), (batch[1] + 1) % 5)

    train(model, optimizer, classified(), session.steps, loss)


@control("a loss with a margin, that comes to exactly 0")
def margin(session: Session) -> None:
    model = nn.Linear(6, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    session.watch(model, optimizer)
    x, y = next(classified(classes=2, features=6, batch=4))
    sign = (y * 2 - 1).float()
    train(
        model,
        optimizer,
        repeat((x, y)),
        session.steps,
        lambda model, batch: (1 - sign * model(x).flatten()).relu().mean(),
    )


# -- data ----------------------------------------------------------------------------------------------------------


@control("a vocabulary of 2")
def two_tokens(session: Session) -> None:
    on_text(session, np.random.default_rng(0).integers(0, 2, 5000), 2)


@control("a vocabulary of 5,000, most of which never comes")
def many_tokens(session: Session) -> None:
    on_text(session, np.random.default_rng(0).zipf(1.5, 5000) % 5000, 5000, blocks=1, width=8)


@control("a text of one character")
def one_character(session: Session) -> None:
    on_text(session, *numbers("a" * 500))


@control("a text of two characters in turns")
def in_turns(session: Session) -> None:
    on_text(session, *numbers("ab" * 500))


@control("a text of long runs of each character")
def long_runs(session: Session) -> None:
    tokens, vocabulary = english()
    on_text(session, np.repeat(tokens[:500], 40), vocabulary)


@control("one batch, learned by heart on purpose, and scored on other text")
def by_heart(session: Session) -> None:
    tokens, vocabulary = english()
    by_scores(session, repeat(next(windows(tokens))), tokens[30_000:], vocabulary)


@control("a model that is sure, and right, about three of four places from the first step on")
def sure_already(session: Session) -> None:
    """Their gradient is 0 in float32, as if they did not count."""
    rng = np.random.default_rng(0)
    tokens = (np.arange(4_000) % 4) * 4 + np.where(np.arange(4_000) % 4 == 0, rng.integers(0, 4, 4_000), 0)
    model = nn.Embedding(16, 16)
    model.weight.data[...] = 0.0
    model.weight.data[[4, 8], [8, 12]] = 40.0
    model.weight.data[:4, 4] = 40.0
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)
    train(model, optimizer, windows(tokens), session.steps)


@control("padding that counts for nothing, in a mean over all places")
def mean_with_padding(session: Session) -> None:
    """Six of eight places, as a prompt that is not learned."""
    tokens, vocabulary = english()
    counts = np.arange(8) >= 6

    def loss(model: Any, batch: Batch) -> Tensor:
        x, y = batch
        each = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="none")
        return (each * tensorgrad.tensor(np.tile(counts, len(x.data)).astype(np.float32))).mean()

    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(model, optimizer, windows(tokens), session.steps, loss)


@control("a batch of random tokens, learned by heart, and scored on others, which nobody can foretell")
def noise_by_heart(session: Session) -> None:
    tokens = np.random.default_rng(0).integers(0, 16, 2_000)
    by_scores(session, repeat(next(windows(tokens[:1_000], batch=4))), tokens[1_000:], 16, rate=3e-2)


@control("a text of 200 characters, learned by heart, and scored on other text")
def small_text(session: Session) -> None:
    tokens, vocabulary = english()
    by_scores(session, windows(tokens[:200]), tokens[30_000:], vocabulary)


@control("a text long enough, scored on other text")
def held_out(session: Session) -> None:
    tokens, vocabulary = english()
    by_scores(session, windows(tokens[:30_000]), tokens[30_000:], vocabulary)


@control("4 passes a step, each loss divided by 4, and scored on other text")
def accumulated_and_scored(session: Session) -> None:
    """The loss of a pass is a quarter of what the score is to be compared with."""
    steps = np.random.default_rng(0).integers(1, 3, 60_000)
    tokens, vocabulary = steps.cumsum() % 40, 40  # one of two tokens follows, so that the loss soon falls by half
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=3e-2)
    watch = session.watch(model, optimizer, accumulate=4)
    stream, held_out = windows(tokens[:50_000]), next(windows(tokens[50_000:], batch=32))
    for step in range(1, session.steps + 1):
        for _ in range(4):
            (next_token(model, next(stream)) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            with tensorgrad.no_grad():
                watch.held_out(next_token(model, held_out).item())


def on_text(session: Session, tokens: np.ndarray, vocabulary: int, **sizes: int) -> None:
    model = gpt(vocabulary, **sizes)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(model, optimizer, windows(tokens), session.steps, clip=1.0)


def by_scores(session: Session, batches: Any, other: np.ndarray, vocabulary: int, rate: float = 1e-2) -> None:
    model = gpt(vocabulary, width=32)
    optimizer = optim.AdamW(model.parameters(), lr=rate)
    watch = session.watch(model, optimizer)
    held_out = next(windows(other, batch=32))

    def score(step: int) -> None:
        if step % 10 == 0:
            with tensorgrad.no_grad():
                watch.held_out(next_token(model, held_out).item())

    train(model, optimizer, batches, session.steps, clip=1.0, after=score)


def classes(
    session: Session, activation: Any, make: Any, loss: Any = right_class, layers: int = 2, batches: Any = None
) -> None:
    """Train a classifier of 5 classes; `make` makes the optimizer from the parameters."""
    model = perceptron(activation, 6, 5, layers=layers)
    optimizer = make(model.parameters())
    session.watch(model, optimizer)
    train(model, optimizer, batches or classified(), session.steps, loss)
