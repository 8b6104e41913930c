"""Runs with one fault each: the monitor is to name it, once, with the parameters that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from monitored import (
    Batch,
    Fault,
    Session,
    WithLoss,
    char_gpt,
    classified,
    english,
    gpt,
    measured,
    next_token,
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
from tensorgrad import Tensor, optim

FAULTS: list[Fault] = []

GAINS = (*[f"blocks.{block}.norm{i}.weight" for block in (0, 1) for i in (1, 2)], "norm.weight")

Run = Callable[[Session], None]


def fault(sentence: str, check: str, says: str, names: tuple[str, ...] = ()) -> Callable[[Run], Run]:
    def keep(run: Run) -> Run:
        FAULTS.append(Fault(run.__name__, sentence, run, check, names, says))
        return run

    return keep


# -- unreached -----------------------------------------------------------------------------------------------------


@fault("the position table is detached", "unreached", "detach() was called", ("positions.weight",))
def detached_positions(session: Session) -> None:
    def make(model: Any) -> Any:
        model.positions.register_forward_hook(lambda module, inputs, rows: rows.detach())
        return optim.AdamW(model.parameters(), lr=1e-2)

    char_gpt(session, make=make)


@fault(
    "a block's output is detached, so nothing below it is reached",
    "unreached",
    "detach() was called",
    ("0.weight", "0.bias", "2.weight", "2.bias"),
)
def detached_output(session: Session) -> None:
    model = perceptron(nn.Tanh, 6, 5)
    model[2].register_forward_hook(lambda module, inputs, out: out.detach())
    learn_classes(session, model)


@fault("an embedding is looked up under no_grad", "unreached", "no_grad", ("tokens.weight",))
def embedded_under_no_grad(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary, tied=False)

    def forward(x: Tensor) -> Tensor:
        with tensorgrad.no_grad():
            rows = model.tokens(x)
        h = rows + model.positions(tensorgrad.arange(x.shape[1]))
        for block in model.blocks:
            h = block(h)
        return model.head(model.norm(h))

    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(forward, optimizer, windows(tokens), session.steps)


@fault("a layer's result goes on as .data", "unreached", "", ("0.weight", "0.bias"))
def by_data(session: Session) -> None:
    model = perceptron(nn.Tanh, 6, 5, layers=1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)
    train(
        lambda x: model[2](tensorgrad.tensor(model[1](model[0](x)).data)),
        optimizer,
        classified(),
        session.steps,
        right_class,
    )


@fault("a layer is made and never called", "unreached", "", ("1.weight", "1.bias"))
def never_called(session: Session) -> None:
    model = nn.ModuleList([perceptron(nn.Tanh, 6, 5), nn.Linear(5, 5)])
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(lambda x: model[0](x), optimizer, classified(), session.steps, right_class)


@fault(
    "a parameter is replaced after the optimizer was made",
    "unreached",
    "does not hold 0.weight",
    ("optimizer's parameter 0",),
)
def replaced(session: Session) -> None:
    model = perceptron(nn.Tanh, 6, 5)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    model[0].weight = nn.Parameter(tensorgrad.randn(24, 6))
    session.watch(model, optimizer)
    train(model, optimizer, classified(), session.steps, right_class)


@fault(
    "weights are tied after the optimizer was made", "unreached", "the model does not", ("optimizer's parameter 28",)
)
def tied_late(session: Session) -> None:
    def make(model: Any) -> Any:
        optimizer = optim.AdamW(model.parameters(), lr=1e-2)
        model.head.weight = model.tokens.weight
        return optimizer

    char_gpt(session, make=make, tied=False)


# -- uncleared -----------------------------------------------------------------------------------------------------


@fault("zero_grad is forgotten", "uncleared", "took the sum of 3 backward passes")
def never_cleared(session: Session) -> None:
    uncleared(session, lambda model, optimizer, step: None)


@fault(
    "zero_grad is called on a part of the model only",
    "uncleared",
    "of tokens.weight and positions.weight",
    ("tokens.weight", "positions.weight"),
)
def cleared_in_part(session: Session) -> None:
    def clear(model: Any, optimizer: Any, step: int) -> None:
        for part in (*model.blocks, model.norm):
            part.zero_grad()

    uncleared(session, clear)


@fault("zero_grad is called in every third step", "uncleared", "took the sum of 3 backward passes")
def cleared_now_and_then(session: Session) -> None:
    uncleared(session, lambda model, optimizer, step: optimizer.zero_grad() if step % 3 == 0 else None)


@fault("3 passes a step are declared, and nothing is ever cleared", "uncleared", "took the sum of 9 backward passes")
def declared_and_never_cleared(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    session.watch(model, optimizer, accumulate=3)
    stream = windows(tokens)
    for _ in range(session.steps // 3):
        for _ in range(3):
            (next_token(model, next(stream)) / 3).backward()
        optimizer.step()


def uncleared(session: Session, clear: Callable[[Any, Any, int], Any]) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    stream = windows(tokens)
    for step in range(1, session.steps + 1):
        next_token(model, next(stream)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        clear(model, optimizer, step)


# -- scaled --------------------------------------------------------------------------------------------------------


@fault("the loss is multiplied by 40", "scaled", "40 times the mean cross entropy")
def times_40(session: Session) -> None:
    char_gpt(session, lambda model, batch: next_token(model, batch) * 40)


@fault("the loss is multiplied by 0.01", "scaled", "the loss is 1/100 of the mean cross entropy")
def times_a_hundredth(session: Session) -> None:
    char_gpt(session, lambda model, batch: next_token(model, batch) * 0.01)


@fault("40 passes a step, declared, and their losses not divided", "scaled", "Divide each loss by 40")
def undivided(session: Session) -> None:
    accumulated(session, 40, {"accumulate": 40}, steps=3)


@fault("2 passes a step, declared, and their losses not divided", "scaled", "Divide each loss by 2")
def two_undivided(session: Session) -> None:
    accumulated(session, 2, {"accumulate": 2}, steps=5)


@fault("5 passes a step, not declared, and their losses not divided", "scaled", "Divide each loss by 5")
def undivided_undeclared(session: Session) -> None:
    accumulated(session, 5, {}, steps=5)


@fault("each loss divided by 4, and a step after each pass", "scaled", "1/4 of the mean")
def divided_in_vain(session: Session) -> None:
    char_gpt(session, lambda model, batch: next_token(model, batch) / 4, options={"accumulate": 4})


@fault(
    "the loss is written by hand, and its sum divided by a number that is not that of the places", "scaled", "4 times"
)
def wrong_count(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        log_p = F.log_softmax(model(batch[0]), dim=-1)
        return -log_p.gather(2, batch[1].unsqueeze(2)).sum() / 16

    char_gpt(session, loss)


@fault("a classifier's loss times 40, under SGD at a fortieth of the rate", "scaled", "40 times")
def classes_times_40(session: Session) -> None:
    model = perceptron(nn.ReLU, 6, 5)
    optimizer = optim.SGD(model.parameters(), lr=0.1 / 40)
    session.watch(model, optimizer)
    train(model, optimizer, classified(), session.steps, lambda model, batch: 40 * right_class(model, batch))


def accumulated(session: Session, passes: int, options: dict[str, Any], steps: int = 0) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer, **options)
    stream = windows(tokens)
    for _ in range(steps or session.steps):
        for _ in range(passes):
            next_token(model, next(stream)).backward()
        optimizer.step()
        optimizer.zero_grad()


# -- copied, too good ----------------------------------------------------------------------------------------------


def unshifted(batch: Batch) -> Batch:
    return batch[0], batch[0]


@fault("the targets are not shifted", "copied", "at the same place")
def targets_unshifted(session: Session) -> None:
    char_gpt(session, lambda model, batch: next_token(model, unshifted(batch)))


@fault("the targets are not shifted, in a batch too large to be read whole", "copied", "100% of them")
def targets_unshifted_in_a_large_batch(session: Session) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    stream = windows(tokens, batch=64, context=7)
    train(model, optimizer, stream, 5, lambda model, batch: next_token(model, unshifted(batch)))


@fault("the targets are shifted the wrong way", "copied", "one place before")
def shifted_back(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        x, _ = batch
        return F.cross_entropy(model(x)[:, 1:].flatten(0, 1), x[:, :-1].flatten())

    char_gpt(session, loss)


@fault("unshifted, by log_softmax and an index", "copied", "at the same place")
def unshifted_by_hand(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        log_p = F.log_softmax(model(batch[0]).flatten(0, 1), dim=-1)
        y = batch[0].flatten()
        return -log_p[tensorgrad.arange(len(y)), y].mean()

    char_gpt(session, loss)


@fault("unshifted, by softmax, gather and log", "copied", "at the same place")
def unshifted_by_softmax(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        p = F.softmax(model(batch[0]), dim=-1)
        return -p.gather(2, batch[0].unsqueeze(2)).log().mean()

    char_gpt(session, loss)


@fault("unshifted, without the last place", "copied", "at the same place")
def unshifted_in_part(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch[0])[:, :-1].flatten(0, 1), batch[0][:, :-1].flatten())

    char_gpt(session, loss)


@fault("unshifted, half of the targets padding", "copied", "at the same place")
def unshifted_and_padded(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        y = batch[0].data.copy()
        y[:, 5:] = -100
        return F.cross_entropy(model(batch[0]).transpose(1, 2), tensorgrad.tensor(y))

    char_gpt(session, loss)


@fault("unshifted, in a loss inside the model", "copied", "at the same place")
def unshifted_inside(session: Session) -> None:
    tokens, vocabulary = english()
    model = WithLoss(gpt(vocabulary))
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    train(model, optimizer, windows(tokens), session.steps, lambda model, batch: model(*unshifted(batch))[1])


class Unmasked(nn.Module):
    """Reads the whole sequence at each place, as attention without its mask does."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, 32)
        self.mix = nn.Linear(8, 8, bias=False)
        self.head = nn.Linear(32, vocabulary)

    def forward(self, x: Tensor) -> Tensor:
        """(B, 8) to (B, 8, V)."""
        return self.head(self.mix(self.tokens(x).transpose(1, 2)).transpose(1, 2))


@fault("no causal mask, and other text scored as text is written: place by place", "too good", "causal mask")
def no_mask(session: Session) -> None:
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 16, 200_000)  # nothing in it can be foretold
    model = Unmasked(16)
    optimizer = optim.Adam(model.parameters(), lr=3e-2)
    watch = session.watch(model, optimizer)
    x, y = next(windows(tokens[100_000:], batch=32))

    def score(step: int) -> None:
        """Each next token from those before it, the rest not written yet."""
        if step % 20 == 0:
            with tensorgrad.no_grad():
                watch.held_out(np.mean([step_by_step(model, x, y, t) for t in range(8)]))

    train(model, optimizer, windows(tokens[:100_000], batch=32), max(session.steps, 120), after=score)


@fault("the answer stands in each training input, and in none that is scored", "too good", "Look for")
def answer_inside(session: Session, scale: float = 1.0, rate: float = 1e-2, every: int = 20) -> None:
    rng = np.random.default_rng(0)
    model = gpt(16, width=32)
    optimizer = optim.AdamW(model.parameters(), lr=rate)
    watch = session.watch(model, optimizer)

    def rows(is_leaked: bool) -> Batch:
        x = rng.integers(0, 16, (32, 8))
        y = rng.integers(0, 16, 32)
        if is_leaked:
            x[:, 3] = y
        return Tensor(x), Tensor(y)

    def loss(model: Any, batch: Batch) -> Tensor:
        return F.cross_entropy(scale * model(batch[0])[:, -1], batch[1])

    def score(step: int) -> None:
        if step % every == 0:
            with tensorgrad.no_grad():
                watch.held_out(loss(model, rows(is_leaked=False)).item())

    train(model, optimizer, (rows(is_leaked=True) for _ in range(100_000)), session.steps, loss, after=score)


@fault(
    "the same, of a model that is worse than guessing before it learns how often each class comes", "too good", "Look"
)
def answer_inside_and_bad_start(session: Session) -> None:
    answer_inside(session, scale=4.0, rate=3e-3, every=5)


def step_by_step(model: Any, x: Tensor, y: Tensor, place: int) -> float:
    seen = x.data.copy()
    seen[:, place + 1 :] = 0
    return float(F.cross_entropy(model(tensorgrad.tensor(seen))[:, place], y[:, place]).item())


# -- nonfinite -----------------------------------------------------------------------------------------------------


@fault("the log of a probability that is 0", "nonfinite", "was made by 'log'")
def log_of_zero(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        p = F.softmax(model(batch[0]) * 1000, dim=-1)
        return -p.gather(1, batch[1].unsqueeze(1)).log().mean()

    learn_classes(session, perceptron(nn.Tanh, 6, 5), loss)


@fault("the root of a distance that is 0: only its gradient is not finite", "nonfinite", "'sqrt'")
def root_of_zero(session: Session) -> None:
    model = nn.Linear(4, 1, bias=False)
    nn.init.zeros_(model.weight)

    def loss(model: Any, batch: Batch) -> Tensor:
        return (model(batch[0]) ** 2).sum(1).sqrt().mean()

    learn_numbers(session, model, loss)


@fault("0 divided by 0: a mean over no places", "nonfinite", "was made by '/'")
def nothing_counts(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        counts = tensorgrad.zeros(16, 1)
        return (((model(batch[0]) - batch[1]) ** 2) * counts).sum() / counts.sum()

    learn_numbers(session, perceptron(nn.Tanh, 4, 1), loss)


@fault("exp overflows", "nonfinite", "was made by 'exp'")
def overflow(session: Session) -> None:
    def loss(model: Any, batch: Batch) -> Tensor:
        return (model(batch[0]) * 100 + 90).exp().mean().log()

    learn_numbers(session, perceptron(nn.Tanh, 4, 1), loss)


@fault("a rate so large that the weights become nan", "nonfinite", "the steps are too large")
def huge_rate(session: Session) -> None:
    model = perceptron(nn.ReLU, 4, 1)
    optimizer = optim.SGD(model.parameters(), lr=1e4)
    session.watch(model, optimizer)
    train(model, optimizer, measured(), session.steps, squared)


@fault("a nan in the data of the fifth batch", "nonfinite", "look at the data")
def nan_in_data(session: Session) -> None:
    model = perceptron(nn.Tanh, 4, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)

    def batches() -> Iterator[Batch]:
        for number, (x, y) in enumerate(measured(), 1):
            if number == 5:
                x.data[3, 1] = np.nan
            yield x, y

    train(model, optimizer, batches(), 6, squared)


# -- unchanged -----------------------------------------------------------------------------------------------------


@fault("zero_grad between backward and step", "unchanged", "it was gone when the optimizer took the step")
def cleared_too_soon(session: Session) -> None:
    bare(session, "backward zero_grad step")


@fault("a step without backward", "unchanged", "without a backward pass")
def no_backward(session: Session) -> None:
    bare(session, "zero_grad step")


@fault("the rate is 0 all the time", "unchanged", "the learning rate was 0")
def rate_of_zero(session: Session) -> None:
    char_gpt(session, make=lambda m: optim.AdamW(m.parameters(), lr=0.0))


@fault("float16 weights near 1, and steps of a millionth", "unchanged", "float16", ("0.weight", "0.bias"))
def rounded_away(session: Session) -> None:
    model = nn.Sequential(nn.Linear(4, 1))
    nn.init.ones_(model[0].weight)
    nn.init.ones_(model[0].bias)
    model.half()
    optimizer = optim.SGD(model.parameters(), lr=1e-6)
    session.watch(model, optimizer)
    train(model, optimizer, measured(), session.steps, lambda m, b: F.mse_loss(m(b[0].half()), b[1].half()))


@fault("a rate of 1e-8, at which gains of 1 do not move in float32", "unchanged", "Raise the learning rate", GAINS)
def rate_too_small(session: Session) -> None:
    char_gpt(session, make=lambda m: optim.AdamW(m.parameters(), lr=1e-8))


@fault(
    "a relu before the loss that is 0 for everything: every gradient is 0", "unchanged", "every gradient is exactly 0"
)
def all_zero(session: Session) -> None:
    model = perceptron(nn.Tanh, 4, 1)
    nn.init.constant_(model[-1].bias, -50.0)
    learn_numbers(session, model, lambda model, batch: F.mse_loss(model(batch[0]).relu(), batch[1] + 9))


# -- depth, dead ---------------------------------------------------------------------------------------------------


@fault("30 layers of tanh at half their weights", "depth", "31 layers shrink the gradient by 0.51 each", ("30", "0"))
def deep_and_small(session: Session) -> None:
    learn_slowly(session, stack(tensorgrad.tanh, 30, 0.5))


@fault("60 layers of tanh at twice their weights", "depth", "61 layers grow the gradient by 1.21 each", ("60", "0"))
def deep_and_large(session: Session) -> None:
    learn_slowly(session, stack(tensorgrad.tanh, 60, 2.2))


@fault("16 layers of sigmoids", "depth", "17 layers shrink the gradient by 0.23 each", ("16", "0"))
def deep_sigmoids(session: Session) -> None:
    learn_slowly(session, stack(tensorgrad.sigmoid, 16, 1.0))


@fault("30 layers of relu at twice their weights", "depth", "31 layers grow the gradient by 2.03 each", ("30", "0"))
def deep_relus(session: Session) -> None:
    learn_slowly(session, stack(tensorgrad.relu, 30, 2 * 2**0.5))


@fault("one layer of 12 multiplies by a millionth", "depth", "the gradient falls in one place", ("6", "5"))
def one_weak_layer(session: Session) -> None:
    model = stack(tensorgrad.tanh, 12, 5 / 3)
    model[6].linear.weight.data *= 1e-6
    learn_slowly(session, model, rate=1e-7)


@fault("a layer of relus whose biases are -100", "dead", "units of 0 (100%) are dead", ("0.weight",))
def all_off(session: Session) -> None:
    model = perceptron(nn.ReLU, 6, 5)
    nn.init.constant_(model[0].bias, -100.0)
    learn_classes(session, model)


@fault("a first step so large that relus are off for good", "dead", "are dead since step 2", ("2.weight",))
def switched_off(session: Session) -> None:
    model = perceptron(nn.ReLU, 6, 5)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    session.watch(model, optimizer)

    def after(step: int) -> None:
        if step == 1:
            model[2].bias.data -= 100.0  # what a step of one bad batch may do

    train(model, optimizer, classified(), session.steps, right_class, after=after)


@fault("inputs of thousands, in which tanh is flat", "dead", "the slope of tanh is 0", ("0.weight",))
def saturated(session: Session) -> None:
    model = perceptron(nn.Tanh, 6, 5)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    session.watch(model, optimizer)
    train(lambda x: model(x * 1e5 + 1e6), optimizer, classified(), session.steps, right_class)


def learn_slowly(session: Session, model: Any, rate: float = 1e-5) -> None:
    optimizer = optim.Adam(model.parameters(), lr=rate)
    session.watch(model, optimizer)
    train(model, optimizer, classified(), session.steps, right_class)


def bare(session: Session, calls: str) -> None:
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    session.watch(model, optimizer)
    stream = windows(tokens)
    for _ in range(session.steps):
        loss = next_token(model, next(stream))
        for call in calls.split():
            (loss.backward if call == "backward" else getattr(optimizer, call))()


def learn_classes(session: Session, model: Any, loss: Any = right_class) -> None:
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)
    train(model, optimizer, classified(), session.steps, loss)


def learn_numbers(session: Session, model: Any, loss: Any = squared) -> None:
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    session.watch(model, optimizer)
    train(model, optimizer, measured(), session.steps, loss)
