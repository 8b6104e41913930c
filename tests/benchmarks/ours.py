"""tensorgrad's contenders. It is imported in their processes only, since it changes how the C library keeps freed
memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import gpt_sizes
import numpy as np
import peers
from contender import Stepper

import tensorgrad as tg
from tensorgrad import nn
from tensorgrad.models.gpt import GPT, Block, GPTConfig
from tensorgrad.nn import functional as F
from tensorgrad.nn.utils import clip_grad_norm_

# -- MLPs --------------------------------------------------------------------------------------------------------------


def operators(weights: peers.Arrays, biases: peers.Arrays, x: np.ndarray) -> peers.Step:
    """Layers written out."""
    ws, bs = ([tg.tensor(a, requires_grad=True) for a in some] for some in (weights, biases))
    return peers.operators_step(ws, bs, tg.tensor(x))


def modules(weights: peers.Arrays, biases: peers.Arrays, x: np.ndarray) -> peers.Step:
    """nn.Sequential of Linear and Tanh."""
    layers = []
    for w, b in zip(weights, biases):
        layer = nn.Linear(w.shape[0], w.shape[1])
        layer.weight, layer.bias = nn.Parameter(tg.tensor(w.T.copy())), nn.Parameter(tg.tensor(b))
        layers += [layer, nn.Tanh()]
    return peers.sequential_step(nn.Sequential(*layers), tg.tensor(x))


# -- rows of a table ---------------------------------------------------------------------------------------------------


def embedding(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
    """`F.embedding(numbers, table)`."""
    numbers = tg.tensor(numbers)
    return pulled(table, lambda table: F.embedding(numbers, table), sent)


def index(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
    """`table[numbers]`."""
    numbers = tg.tensor(numbers)
    return pulled(table, lambda table: table[numbers], sent)


def pulled(table: np.ndarray, read: Callable[[tg.Tensor], tg.Tensor], sent: np.ndarray) -> peers.Step:
    return peers.rows_step(tg.tensor(table, requires_grad=True), read, tg.tensor(sent))


# -- GPTs --------------------------------------------------------------------------------------------------------------


def config(size: gpt_sizes.Size) -> GPTConfig:
    return GPTConfig(size.vocabulary, size.context, size.blocks, size.heads, size.width)


def whole_gpt(size: gpt_sizes.Size, update: bool = True, checkpoint: bool | int | str = False) -> Stepper:
    """Forward and backward; with `update` clipping and AdamW as well.

    checkpoint  what `GPT.checkpoint` is set to
    """
    model, state = GPT(config(size)), gpt_sizes.state(size)
    model.load_state_dict({**state, "head.weight": state["tokens.weight"]})
    model.checkpoint = checkpoint
    tokens, targets = (tg.tensor(a) for a in gpt_sizes.batch(size))
    parameters = list(model.parameters())
    optimizer = tg.optim.AdamW(parameters, lr=gpt_sizes.LEARNING_RATE)
    last = []

    def forward() -> None:
        last[:] = [model.loss(tokens, targets)]

    def backward() -> None:
        optimizer.zero_grad()
        last[0].backward()
        last[:] = [last[0].detach()]

    phases = [forward, backward]
    if update:
        phases += [lambda: clip_grad_norm_(parameters, gpt_sizes.LENGTH), optimizer.step]
    return Stepper(
        phases,
        lambda: {name: p.grad for name, p in model.named_parameters() if name != "head.weight"},
        lambda: last[0].item(),
    )


def block(size: gpt_sizes.Size) -> Callable[[], dict[str, Any]]:
    """Forward and backward of one block, with the gradient of its input (B, T, C)."""
    x, sent = (tg.tensor(a) for a in gpt_sizes.stream(size))
    x.requires_grad = True
    made = Block(config(size))
    made.load_state_dict(gpt_sizes.block_state(size, np.random.default_rng(0)))

    def step() -> dict[str, Any]:
        made.zero_grad()
        x.grad = None
        made(x).backward(sent)
        return {"input": x.grad, **{name: p.grad for name, p in made.named_parameters()}}

    return step
