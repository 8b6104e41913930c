"""The contenders in NumPy alone. It is imported in their processes only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpt_sizes
import numpy as np
import peers
from by_hand import adamw, gpt, mlp
from by_hand.rows import Rows
from contender import Stepper

np.empty(2**25 - 8192, np.uint8)
"""Raises glibc's thresholds, as `import tensorgrad` does (allocator.py): the limit shall not be slower for page faults.
It is for the whole process; others in which this is not imported are left as their users have them."""


def kept_arrays(weights: peers.Arrays, biases: peers.Arrays, x: np.ndarray) -> peers.Step:
    """An MLP of one size: a step writes over the gradients of the last one."""
    net = mlp.MLP(weights, biases, len(x))

    def step() -> list[Any]:
        net.step(x)
        return net.weight_gradients + net.bias_gradients

    return step


def new_arrays(weights: peers.Arrays, biases: peers.Arrays, x: np.ndarray) -> peers.Step:
    """An MLP, with gradients in new arrays, as an engine must give them."""

    def step() -> list[Any]:
        _, of_weights, of_biases = mlp.step(weights, biases, x)
        return of_weights + of_biases

    return step


def rows(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
    made = Rows(table, len(numbers))

    def step() -> list[np.ndarray]:
        made.forward(numbers)
        return [made.backward(numbers, sent)]

    return step


def whole_gpt(size: gpt_sizes.Size, update: bool = True) -> Stepper:
    """Forward and backward; with `update` clipping and AdamW as well."""
    model = gpt.GPT(gpt_sizes.state(size), size.heads, size.batch, size.tokens)
    tokens, targets = gpt_sizes.batch(size)
    optimizer = adamw.AdamW(model.flat, model.flat_gradient, lr=gpt_sizes.LEARNING_RATE) if update else None
    last = [0.0]

    def forward() -> None:
        last[0] = model.forward(tokens, targets)

    phases: list[Callable[[], object]] = [forward, lambda: model.backward(tokens)]
    if optimizer is not None:
        phases += [lambda: adamw.clip(model.flat_gradient, gpt_sizes.LENGTH), optimizer.step]
    return Stepper(phases, lambda: model.gradients, lambda: last[0])


def block(size: gpt_sizes.Size) -> Callable[[], dict[str, np.ndarray]]:
    """Forward and backward of one block, with the gradient of its input (B, T, C)."""
    x, sent = gpt_sizes.stream(size)
    state = gpt_sizes.block_state(size, np.random.default_rng(0))
    made = gpt.Block(size.batch, size.tokens, size.heads, size.width)
    to = {name: np.empty_like(a) for name, a in state.items()}
    rows = size.batch * size.tokens
    work, stream = gpt.Work(rows, size.width), np.empty((rows, size.width), np.float32)

    def step() -> dict[str, np.ndarray]:
        np.copyto(stream, x.reshape(rows, -1))
        made.forward(stream, state, work)
        np.copyto(stream, sent.reshape(rows, -1))
        made.backward(stream, state, to, work)
        return {"input": stream.reshape(x.shape), **to}

    return step
