"""GPT-2's architecture once more, in torch's modules and without its fused attention: what `test_gpt_torch.py` compares
tensorgrad's with. The parameters have the same names, so that states can be carried from one to the other."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np


def build(torch: ModuleType, config: Any) -> Any:
    """A model in torch of the sizes of a tensorgrad.models.GPTConfig, with torch's own initial weights."""
    nn, C, H = torch.nn, config.width, config.heads

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(C, 3 * C, bias=config.bias)
            self.proj = nn.Linear(C, C, bias=config.bias)

        def forward(self, x: Any) -> Any:
            B, T, _ = x.shape
            q, k, v = (part.view(B, T, H, C // H).transpose(1, 2) for part in self.qkv(x).split(C, dim=2))
            scores = q @ k.transpose(-2, -1) / math.sqrt(C // H)  # (B, H, T, T)
            later = torch.ones(T, T, dtype=torch.bool).triu(1)
            weights = scores.masked_fill(later, -math.inf).softmax(-1)
            return self.proj((weights @ v).transpose(1, 2).reshape(B, T, C))

    class MLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = nn.Linear(C, 4 * C, bias=config.bias)
            self.down = nn.Linear(4 * C, C, bias=config.bias)

        def forward(self, x: Any) -> Any:
            return self.down(nn.functional.gelu(self.up(x), approximate="tanh"))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.attention = nn.LayerNorm(C, bias=config.bias), Attention()
            self.norm2, self.mlp = nn.LayerNorm(C, bias=config.bias), MLP()

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(config.vocabulary, C)
            self.positions = nn.Embedding(config.context, C)
            self.blocks = nn.ModuleList(Block() for _ in range(config.blocks))
            self.norm = nn.LayerNorm(C, bias=config.bias)
            self.head = nn.Linear(C, config.vocabulary, bias=False)
            if config.tied:
                self.head.weight = self.tokens.weight

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return GPT()


def build_equal(torch: ModuleType, ours: Any) -> Any:
    """The model in torch with the weights of `ours`, in its dtype. A name or a shape that differs raises."""
    theirs = build(torch, ours.config)
    state = {name: torch.from_numpy(np.array(value.data)) for name, value in ours.state_dict().items()}
    theirs.to(state["tokens.weight"].dtype).load_state_dict(state, strict=True)
    return theirs
