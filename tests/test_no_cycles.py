"""A training step leaves nothing for the garbage collector: graphs die when the last name of them does.

Which operation would make a cycle is tested beside the operations; here whole steps are run, and the collector, which
is off meanwhile, must find nothing at all after them.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator

import pytest

import tensorgrad as tg
from micrograd.nn import MLP
from tensorgrad import nn
from tensorgrad.models import GPT, GPTConfig
from tensorgrad.nn import functional as F
from tensorgrad.utils.checkpoint import checkpoint

Step = Callable[[], object]


@pytest.fixture
def nothing_else() -> Iterator[None]:
    """The collector is off, and looks only through what is made from here on."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


def values() -> Step:
    random.seed(0)
    net = MLP(3, [4, 4, 1])

    def step() -> None:
        loss = sum((net(x) - y) ** 2 for x, y in [([2, 3, -1], 1), ([3, -1, 0.5], -1)])
        net.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.data -= 0.01 * p.grad

    return step


def train(model: nn.Module, loss: Callable[[], tg.Tensor], optimizer: tg.optim.Optimizer) -> Step:
    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def tensors() -> Step:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 1))
    x, y = tg.randn(5, 3), tg.randn(5, 1)
    return train(model, lambda: F.mse_loss(model(x), y), tg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))


def gpt(dropout: float = 0.0) -> tuple[GPT, tg.Tensor]:
    tg.manual_seed(0)
    return GPT(GPTConfig(vocabulary=7, context=4, blocks=2, heads=2, width=8, dropout=dropout)), tg.arange(4)[None]


def next_symbol(model: Callable[[tg.Tensor], tg.Tensor], idx: tg.Tensor) -> tg.Tensor:
    return F.cross_entropy(model(idx)[0], (idx[0] + 1) % 7)


def gpt_with_adamw() -> Step:
    model, idx = gpt(dropout=0.1)
    return train(model, lambda: next_symbol(model, idx), tg.optim.AdamW(model.parameters()))


def lean_gpt() -> Step:
    model, idx = gpt()
    step = train(model, lambda: next_symbol(model, idx), tg.optim.AdamW(model.parameters()))

    def lean() -> None:
        with tg.lean_graph():
            step()

    return lean


def checkpointed() -> Step:
    first, second = nn.Linear(3, 4), nn.Linear(4, 1)
    model, x = nn.Sequential(first, second), tg.randn(5, 3)

    def loss() -> tg.Tensor:
        return (checkpoint(lambda h: second(first(h).tanh()), x, use_reentrant=False) ** 2).mean()

    return train(model, loss, tg.optim.AdamW(model.parameters()))


def scaled() -> Step:
    """Mixed precision: a scaler, an overflow, and a tied row of an embedding that is taken several times."""
    model, scaler = nn.Embedding(4, 3), tg.amp.GradScaler("cpu", init_scale=4.0)
    optimizer, idx = tg.optim.AdamW(model.parameters()), tg.tensor([0, 1, 1, 3])

    def step() -> None:
        for factor in (1.0, float("inf")):
            optimizer.zero_grad()
            scaler.scale((model(idx) @ model.weight.T).square().mean() * factor).backward()
            scaler.step(optimizer)
            scaler.update()

    return step


@pytest.mark.usefixtures("nothing_else")
@pytest.mark.parametrize(
    "make", [values, tensors, gpt_with_adamw, lean_gpt, checkpointed, scaled], ids=lambda f: f.__name__
)
def test_a_training_step_leaves_nothing_for_the_collector(make: Callable[[], Step]):
    step = make()
    step()  # what a first step sets up for good
    gc.collect()
    step()
    step()
    assert gc.collect() == 0


@pytest.mark.usefixtures("nothing_else")
def test_a_cycle_would_be_found():
    """That the test above can fail."""
    loss = tg.ones(2, requires_grad=True).sum()
    loss.itself = loss
    del loss
    assert gc.collect() > 0
