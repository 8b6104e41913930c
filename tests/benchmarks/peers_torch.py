"""torch's contenders beside the MLPs of peers.py: rows of a table, and GPT-2's architecture in torch's modules with its
fused attention, as a user of torch would write it for speed. The parameters have the names of `tensorgrad.models.GPT`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gpt_sizes
import numpy as np
import peers
import racing
import torch
import torch.nn.functional as F
from contender import Stepper
from torch import nn

torch.set_num_threads(racing.THREADS)


class Attention(nn.Module):
    """Causal self-attention: (B, T, C) to (B, T, C)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class MLP(nn.Module):
    """(B, T, C) to (B, T, C)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    """(B, T, C) to (B, T, C)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.mlp = nn.LayerNorm(width), MLP(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Token numbers (B, T) to scores (B, T, V), with one table for tokens and output."""

    def __init__(self, vocabulary: int, context: int, blocks: int, heads: int, width: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)

    def loss(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self(tokens).flatten(0, 1), targets.flatten())


def loaded(module: nn.Module, state: Mapping[str, np.ndarray]) -> nn.Module:
    """The module with copies of those arrays; a name or a shape that differs raises."""
    module.load_state_dict({name: torch.tensor(a) for name, a in state.items()})
    return module


# -- contenders --------------------------------------------------------------------------------------------------------


def embedding(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
    """`F.embedding(numbers, table)`."""
    numbers = torch.tensor(numbers)
    return pulled(table, lambda table: F.embedding(numbers, table), sent)


def index(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
    """`table[numbers]`."""
    numbers = torch.tensor(numbers)
    return pulled(table, lambda table: table[numbers], sent)


def pulled(table: np.ndarray, read: Callable[[torch.Tensor], torch.Tensor], sent: np.ndarray) -> peers.Step:
    return peers.rows_step(torch.tensor(table, requires_grad=True), read, torch.tensor(sent))


def whole_gpt(size: gpt_sizes.Size, update: bool = True) -> Stepper:
    """Eager forward and backward; with `update` clipping and its default AdamW as well."""
    model = loaded(GPT(size.vocabulary, size.context, size.blocks, size.heads, size.width), gpt_sizes.state(size))
    tokens, targets = (torch.tensor(a) for a in gpt_sizes.batch(size))
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=gpt_sizes.LEARNING_RATE)
    last = []

    def forward() -> None:
        last[:] = [model.loss(tokens, targets)]

    def backward() -> None:
        optimizer.zero_grad()
        last[0].backward()
        last[:] = [last[0].detach()]

    phases = [forward, backward]
    if update:
        phases += [lambda: nn.utils.clip_grad_norm_(parameters, gpt_sizes.LENGTH), optimizer.step]
    return Stepper(phases, lambda: {name: p.grad for name, p in model.named_parameters()}, lambda: last[0].item())


def block(size: gpt_sizes.Size) -> Callable[[], dict[str, Any]]:
    """Forward and backward of one block, with the gradient of its input (B, T, C)."""
    x, sent = (torch.tensor(a) for a in gpt_sizes.stream(size))
    x.requires_grad = True
    made = loaded(Block(size.width, size.heads), gpt_sizes.block_state(size, np.random.default_rng(0)))

    def step() -> dict[str, Any]:
        made.zero_grad()
        x.grad = None
        made(x).backward(sent)
        return {"input": x.grad, **{name: p.grad for name, p in made.named_parameters()}}

    return step
