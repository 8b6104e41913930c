"""GPT-2's architecture: a decoder-only transformer with pre-norm blocks (Radford et al. 2019), as nanoGPT has it.

Shapes: B sequences in a batch, T tokens in a sequence, C the width, H heads, V the tokens of the vocabulary.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tensorgrad import random
from tensorgrad.creation.filled import arange
from tensorgrad.creation.sampling import multinomial
from tensorgrad.errors import ShapeError
from tensorgrad.grad_mode import no_grad
from tensorgrad.models import pretrained
from tensorgrad.nn import functional as F
from tensorgrad.nn import init
from tensorgrad.nn.containers import ModuleList
from tensorgrad.nn.layers import Dropout, Embedding, LayerNorm, Linear
from tensorgrad.nn.module import Module
from tensorgrad.node import new
from tensorgrad.ops.joining import cat
from tensorgrad.settings import kind, real, whole
from tensorgrad.tensor import Tensor
from tensorgrad.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts


@dataclass(frozen=True)
class GPTConfig:
    """The sizes of a GPT, by default those of GPT-2 small.

    vocabulary  tokens that there are (V)
    context     tokens that it sees at most (T)
    blocks      transformer blocks
    heads       attention heads in each (H); they divide the width
    width       numbers that a token is in the residual stream (C)
    dropout     probability with which numbers are dropped in training
    bias        whether linear layers and layer norms have biases
    tied        whether the output layer is the token table once more

    Raises TypeError for what is no number of that kind, ValueError for one that makes no sense.
    """

    vocabulary: int = 50_257
    context: int = 1_024
    blocks: int = 12
    heads: int = 12
    width: int = 768
    dropout: float = 0.0
    bias: bool = True
    tied: bool = True

    def __post_init__(self) -> None:
        for name in ("vocabulary", "context", "blocks", "heads", "width"):
            found = whole("GPTConfig", name, getattr(self, name))
            if found < 1:
                raise ValueError(f"GPTConfig: {name} is {found}; it must be 1 or more")
            object.__setattr__(self, name, found)  # an int also where it was one of NumPy's, or a tensor
        if self.width % self.heads:
            raise ValueError(
                f"GPTConfig: {self.heads} heads cannot share a width of {self.width}: it must be a multiple"
            )
        object.__setattr__(self, "dropout", real("GPTConfig", "dropout", self.dropout))
        if not 0 <= self.dropout < 1:
            raise ValueError(f"GPTConfig: dropout is {self.dropout}; it must be from 0 to below 1")
        for name in ("bias", "tied"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"GPTConfig: {name} is True or False, got {getattr(self, name)!r}")


class Attention(Module):
    """Causal self-attention of several heads: each token reads from those before it, and from itself."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.qkv = Linear(config.width, 3 * config.width, bias=config.bias)
        self.proj = Linear(config.width, config.width, bias=config.bias)
        self.drop = Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        B, T, C = x.shape
        qkv = self.qkv(x).view(B, T, 3, self.heads, C // self.heads)  # (B, T, 3, H, C / H)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (B, H, T, C / H)
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)  # (B, H, T, C / H)
        y = y.transpose(1, 2).reshape(B, T, C)
        return self.drop(self.proj(y))


class MultilayerPerceptron(Module):
    """Two linear layers with a GELU between them, four times as wide inside, at each token by itself."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.up = Linear(config.width, 4 * config.width, bias=config.bias)
        self.down = Linear(4 * config.width, config.width, bias=config.bias)
        self.drop = Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x = F.gelu(self.up(x), approximate="tanh")  # (B, T, 4 C)
        return self.drop(self.down(x))


class Block(Module):
    """Attention and a multilayer perceptron, each of which reads the residual stream and adds to it."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.norm1 = LayerNorm(config.width, bias=config.bias)
        self.attention = Attention(config)
        self.norm2 = LayerNorm(config.width, bias=config.bias)
        self.mlp = MultilayerPerceptron(config)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def run_in_turn(blocks: Iterable[Block], x: Tensor) -> Tensor:
    """(B, T, C) to (B, T, C)."""
    for block in blocks:
        x = block(x)
    return x


PRODUCTS = ("linear", "scaled_dot_product_attention")
"""What `GPT(checkpoint="selective")` keeps: the results of matrix products, which take the most time."""


class GPT(Module):
    """From tokens to scores for the token that comes next, at every place.

    config      a GPTConfig; the weights are drawn from the package's generator (`tensorgrad.manual_seed`)
    checkpoint  what the backward pass computes again instead of keeping it, see `utils.checkpoint`. True: all inside
                each block, so that only the residual stream between blocks is kept; a number n: all inside n blocks at
                a time; "selective": all inside each block but the results of matrix products (linear, attention).
                Gradients are the same bit for bit. May be changed later: `model.checkpoint = ...`
    """

    def __init__(self, config: GPTConfig, *, checkpoint: bool | int | str = False) -> None:
        super().__init__()
        if not isinstance(config, GPTConfig):
            raise TypeError(f"GPT: takes a GPTConfig, got a {type(config).__name__}")
        self.config = config
        self.checkpoint = checkpoint
        self.tokens = Embedding(config.vocabulary, config.width)
        self.positions = Embedding(config.context, config.width)
        self.drop = Dropout(config.dropout)
        self.blocks = ModuleList(Block(config) for _ in range(config.blocks))
        self.norm = LayerNorm(config.width, bias=config.bias)
        self.head = Linear(config.width, config.vocabulary, bias=False)
        self._initialize()
        if config.tied:
            self.head.weight = self.tokens.weight  # one tensor, used twice: its gradient is a sum

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, dropout: float = 0.0, dtype: Any = None) -> GPT:
        """GPT-2 with the weights in a folder as Hugging Face has it: `config.json` and `model.safetensors`.

        dropout  as GPTConfig has it; that of config.json is of no account
        dtype    of the parameters: by default the default of floats, whatever the files have

        The model is as a new one otherwise: in training mode. Nothing is fetched, and the package's random generator
        stays where it is.

        Raises FileNotFoundError for a folder or a file that is missing; ImportError without the package safetensors;
        ValueError, naming the file, for one that is damaged or of a model with another architecture, and for tensors
        that are missing or none of GPT-2's; ShapeError for one of another shape than config.json says.
        """
        return pretrained.load(cls, GPTConfig, folder, dropout=dropout, dtype=dtype)

    def _initialize(self) -> None:
        """Weights from N(0, 0.02), biases 0. What adds to the residual stream starts smaller, by the root of how many
        there are, so that the stream does not grow with depth (Radford et al. 2019, section 2.3)."""
        for module in self.modules():
            if isinstance(module, (Linear, Embedding)):
                init.normal_(module.weight, std=0.02)
            if isinstance(module, Linear) and module.bias is not None:
                init.zeros_(module.bias)
        for block in self.blocks:
            for layer in (block.attention.proj, block.mlp.down):
                init.normal_(layer.weight, std=0.02 / math.sqrt(2 * self.config.blocks))

    @property
    def checkpoint(self) -> bool | int | str:
        """What the backward pass computes again. Raises TypeError and ValueError for what says nothing of that kind."""
        return self._checkpoint

    @checkpoint.setter
    def checkpoint(self, value: bool | int | str) -> None:
        if isinstance(value, str):
            if value != "selective":
                raise ValueError(f"GPT: checkpoint is True, False, a number of blocks or 'selective', got {value!r}")
        elif not isinstance(value, (bool, np.bool_)) and whole("GPT", "checkpoint", value) < 1:
            raise ValueError(f"GPT: checkpoint is {value}; blocks are computed again 1 or more at a time, or False")
        self._checkpoint = value

    def forward(self, tokens: Tensor) -> Tensor:
        """Token numbers (B, T) to scores (B, T, V); the scores at place t are for the token at place t + 1.

        Raises as `hidden`.
        """
        return self.head(self.hidden(tokens))  # (B, T, V)

    def loss(self, tokens: Tensor, targets: Tensor, *, chunked: bool = False) -> Tensor:
        """The mean cross entropy of the scores for `tokens` (B, T) and the tokens `targets` (B, T) that come next.

        chunked  never holds the scores, which are (B T, V): they are computed for some rows at a time, and again in
                 the backward pass (`F.linear_cross_entropy`)

        Raises as `hidden`, and ShapeError for targets of another shape; IndexError for one that is no token. A target
        of -100 counts for nothing.
        """
        x = self.hidden(tokens)
        if getattr(targets, "shape", None) != tokens.shape:
            raise ShapeError(
                f"GPT: targets of shape {getattr(targets, 'shape', None)} for tokens of shape {tokens.shape}: one for "
                "each token, the one that comes after it"
            )
        if chunked:
            return F.linear_cross_entropy(x.flatten(0, 1), self.head.weight, targets.flatten())
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())

    def hidden(self, tokens: Tensor) -> Tensor:
        """Token numbers (B, T) to what the output layer makes the scores of (B, T, C).

        Raises ShapeError for tokens of another number of axes, or more of them than the context; IndexError for a
        token that is none of the vocabulary.
        """
        if tokens.ndim != 2:
            raise ShapeError(f"GPT: takes tokens of shape (B, T), got {tokens.shape}")
        T = tokens.shape[1]
        if not 1 <= T <= self.config.context:
            raise ShapeError(
                f"GPT: sequences of {T} tokens, of shape {tokens.shape}: from 1 to {self.config.context}, the context, "
                "can be read"
            )
        x = self.tokens(tokens) + self.positions(arange(T))  # (B, T, C) + (T, C)
        x = self.drop(x)
        return self.norm(self._through_blocks(x))  # (B, T, C)

    def _through_blocks(self, x: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C), as `checkpoint` says."""
        if not self._checkpoint:
            return run_in_turn(self.blocks, x)
        options: dict[str, Any] = {}
        size = 1
        if self._checkpoint == "selective":
            options["context_fn"] = partial(create_selective_checkpoint_contexts, list(PRODUCTS))
        else:
            size = int(self._checkpoint)
        blocks = list(self.blocks)
        for start in range(0, len(blocks), size):
            x = checkpoint(run_in_turn, blocks[start : start + size], x, **options)
        return x

    @no_grad()
    def generate(
        self,
        tokens: Tensor,
        count: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        generator: random.Generator | None = None,
    ) -> Tensor:
        """`tokens` (B, T) and `count` more after them (B, T + count), each drawn by its probability.

        temperature  the scores are divided by it: below 1 likely tokens come more often, 0 takes the likeliest
        top_k        draws from this many likeliest tokens only

        What lies further back than the context is not seen. Dropout is off meanwhile. Raises ValueError for settings
        that make no sense, and where the model's scores are nan or infinite; ShapeError for tokens of another number
        of axes.
        """
        count = whole("generate", "count", count)
        temperature = float(real("generate", "temperature", temperature))
        if count < 0:
            raise ValueError(f"generate: count is {count}; it must be 0 or more")
        if not 0 <= temperature < math.inf:
            raise ValueError(f"generate: temperature is {temperature:g}; it must be 0 or more, and finite")
        if top_k is not None and whole("generate", "top_k", top_k) < 1:
            raise ValueError(f"generate: top_k is {top_k}; it must be 1 or more, or None for all tokens")
        if getattr(tokens, "ndim", None) != 2:
            raise ShapeError(f"generate: takes tokens of shape (B, T), got {kind(tokens)}")
        training = [module for module in self.modules() if module.training]
        self.eval()
        try:
            for _ in range(count):
                scores = self(tokens[:, -self.config.context :])[:, -1].data  # (B, V)
                tokens = cat([tokens, self._drawn(scores, temperature, top_k, generator)], dim=1)
        finally:
            for module in training:
                module.training = True
        return tokens

    def _drawn(self, scores: np.ndarray, temperature: float, top_k: int | None, generator: Any) -> Tensor:
        """One token a row of `scores` (B, V): (B, 1)."""
        if not np.isfinite(scores).all():
            raise ValueError(
                "generate: the model's scores are not all finite: look for nan and inf among its weights, which "
                "training may have left there"
            )
        if temperature == 0:
            return new(scores.argmax(1, keepdims=True))
        scores = scores.astype(np.float64)  # in which any temperature above 0 is one
        with np.errstate(over="ignore"):  # to -inf, whose probability is 0
            scores = (scores - scores.max(1, keepdims=True)) / temperature
        if top_k is not None and top_k < scores.shape[1]:
            rest = np.argpartition(scores, -top_k, axis=1)[:, :-top_k]  # of equal scores some, so that top_k are left
            np.put_along_axis(scores, rest, -np.inf, axis=1)
        return multinomial(new(np.exp(scores)), 1, generator=generator)
