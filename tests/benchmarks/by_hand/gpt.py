"""A GPT's loss and gradients by hand, in NumPy: how fast a training step can be without any engine.

The architecture is that of `tensorgrad.models.GPT`, with its names for parameters. All parameters are views of one
array, and so are their gradients, so that an optimizer and the clipping of gradients go over one row of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from by_hand.layers import Attention, Gelu, LayerNorm, cross_entropy
from by_hand.rows import add_rows


class Block:
    """A transformer block on the residual stream (N, C), N = B T."""

    def __init__(self, batch: int, tokens: int, heads: int, width: int) -> None:
        rows = batch * tokens
        self.norm1, self.norm2 = LayerNorm(rows, width), LayerNorm(rows, width)
        self.attention = Attention(batch, tokens, heads, width)
        self.gelu = Gelu(rows, 4 * width)
        self.qkv = np.empty((rows, 3 * width), np.float32)
        self.up = np.empty((rows, 4 * width), np.float32)
        self.ones = np.ones(rows, np.float32)

    def forward(self, x: np.ndarray, p: Mapping[str, np.ndarray], work: Work) -> None:
        """Change x (N, C) in place; p are the block's parameters."""
        normal = self.norm1.forward(x, p["norm1.weight"], p["norm1.bias"])
        np.matmul(normal, p["attention.qkv.weight"].T, self.qkv)
        read = self.attention.forward(self.qkv, p["attention.qkv.bias"])
        x += np.matmul(read, p["attention.proj.weight"].T, work.width)
        x += p["attention.proj.bias"]
        normal = self.norm2.forward(x, p["norm2.weight"], p["norm2.bias"])
        np.matmul(normal, p["mlp.up.weight"].T, self.up)
        wide = self.gelu.forward(self.up, p["mlp.up.bias"])
        x += np.matmul(wide, p["mlp.down.weight"].T, work.width)
        x += p["mlp.down.bias"]

    def backward(
        self, g: np.ndarray, p: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray], work: Work
    ) -> None:
        """Change g (N, C), the gradient of the result, in place to that of x, and leave those of the parameters."""
        to = gradients
        self._linear(g, self.gelu.out, p, to, "mlp.down", work.four)
        work.four *= self.up
        self._linear(work.four, self.norm2.out, p, to, "mlp.up", work.width)
        self.norm2.backward(work.width, p["norm2.weight"], to["norm2.weight"], to["norm2.bias"], g)
        self._linear(g, self.attention.out, p, to, "attention.proj", work.width)
        self.attention.backward(work.width, self.qkv, work.three)
        self._linear(work.three, self.norm1.out, p, to, "attention.qkv", work.width)
        self.norm1.backward(work.width, p["norm1.weight"], to["norm1.weight"], to["norm1.bias"], g)

    def _linear(
        self,
        g: np.ndarray,
        x: np.ndarray,
        p: Mapping[str, np.ndarray],
        to: Mapping[str, np.ndarray],
        name: str,
        sent: np.ndarray,
    ) -> None:
        np.matmul(g.T, x, to[f"{name}.weight"])
        np.matmul(self.ones, g, to[f"{name}.bias"])
        np.matmul(g, p[f"{name}.weight"], sent)


class Work:
    """Arrays that all blocks write over in turn."""

    def __init__(self, rows: int, width: int) -> None:
        self.width, self.three, self.four = (np.empty((rows, n * width), np.float32) for n in (1, 3, 4))


class GPT:
    """The whole model, for batches of one shape.

    state   arrays by name, as the model in tensorgrad names them; they are copied
    heads   attention heads
    batch, tokens  the shape of a batch
    """

    def __init__(self, state: Mapping[str, np.ndarray], heads: int, batch: int, tokens: int) -> None:
        self.flat = np.concatenate([np.ravel(a) for a in state.values()]).astype(np.float32, copy=False)
        self.flat_gradient = np.zeros_like(self.flat)
        self.parameters, self.gradients = _views(self.flat, state), _views(self.flat_gradient, state)
        width = self.parameters["tokens.weight"].shape[1]
        count = len({name.split(".")[1] for name in state if name.startswith("blocks.")})
        self.blocks = [Block(batch, tokens, heads, width) for _ in range(count)]
        self.of_block = [_below(self.parameters, f"blocks.{i}.") for i in range(count)]
        self.to_block = [_below(self.gradients, f"blocks.{i}.") for i in range(count)]
        rows = batch * tokens
        self.norm, self.work = LayerNorm(rows, width), Work(rows, width)
        self.stream = np.empty((rows, width), np.float32)
        self.scores = np.empty((rows, len(self.parameters["tokens.weight"])), np.float32)
        self.shape = (batch, tokens)

    def forward(self, tokens: np.ndarray, targets: np.ndarray) -> float:
        """The loss for tokens and targets (B, T)."""
        p, x = self.parameters, self.stream
        B, T = self.shape
        np.take(p["tokens.weight"], tokens.ravel(), 0, x, "clip")
        spread = x.reshape(B, T, -1)
        spread += p["positions.weight"][:T]
        for block, own in zip(self.blocks, self.of_block):
            block.forward(x, own, self.work)
        normal = self.norm.forward(x, p["norm.weight"], p["norm.bias"])
        np.matmul(normal, p["tokens.weight"].T, self.scores)
        return cross_entropy(self.scores, targets.ravel())

    def backward(self, tokens: np.ndarray) -> None:
        """Leave the gradients in `gradients`; once after `forward`."""
        p, to, g = self.parameters, self.gradients, self.stream
        B, T = self.shape
        np.matmul(self.scores.T, self.norm.out, to["tokens.weight"])
        np.matmul(self.scores, p["tokens.weight"], self.work.width)
        g.fill(0)
        self.norm.backward(self.work.width, p["norm.weight"], to["norm.weight"], to["norm.bias"], g)
        for block, own, its in zip(reversed(self.blocks), reversed(self.of_block), reversed(self.to_block)):
            block.backward(g, own, its, self.work)
        np.add.reduce(g.reshape(B, T, -1), 0, out=to["positions.weight"][:T])
        add_rows(to["tokens.weight"], tokens.ravel(), g)


def _views(flat: np.ndarray, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    ends = np.cumsum([a.size for a in state.values()])
    return {name: flat[end - a.size : end].reshape(a.shape) for end, (name, a) in zip(ends, state.items())}


def _below(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
