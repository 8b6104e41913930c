"""GPT-2's forward pass and its checkpoints, step by step as `tensorgrad.models.gpt` has them, of ghosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from math import prod

import numpy as np

from memory_lab.ghosts import Ghost, GhostNode, release
from memory_lab.operations import Handle, Operations
from memory_lab.variants import Shape, Variant
from micrograd.backprop import chain_rule, deliver
from tensorgrad.utils.same import sample

_OBJECTS = 10_000
"""Bytes of the objects of a checkpoint: those of its rule, and the random generator's state. Measured."""


class Program(Operations):
    """A GPT of these sizes, run in this way."""

    def __init__(self, shape: Shape, variant: Variant) -> None:
        super().__init__(shape)
        self.variant = variant

    # -- the model -----------------------------------------------------------------------------------------------------

    def loss(self, B: int) -> Handle:
        """The mean cross entropy of B sequences."""
        s = self.shape
        x = self._hidden(B)
        if self.variant.chunked:
            with self.inside("loss"):
                return self.linear_cross_entropy(x)
        with self.inside("head"):
            scores = self.linear(x, s.vocabulary, weight=self.leaf("tokens.weight", s.vocabulary, s.width))
        with self.inside("loss"):
            return self.cross_entropy(scores)

    def _hidden(self, B: int) -> Handle:
        s = self.shape
        with self.inside("tokens"):
            tokens = self.embedding(B, s.tokens, s.vocabulary)
        with self.inside("positions"):
            positions = self.embedding(1, s.tokens, s.context)
        x = self.add(tokens, positions)
        del tokens, positions
        x = self._through_blocks(x)
        with self.inside("norm"):
            return self.layer_norm(x)

    def _through_blocks(self, x: Handle) -> Handle:
        step = self.variant.blocks_at_a_time
        if not step:
            return self._in_turn(range(self.shape.blocks), x)
        for start in range(0, self.shape.blocks, step):
            x = self._checkpoint(range(start, min(start + step, self.shape.blocks)), x)
        return x

    def _in_turn(self, blocks: Sequence[int], x: Handle) -> Handle:
        for i in blocks:
            x = self._block(i, x)
        return x

    def _block(self, i: int, x: Handle) -> Handle:
        with self.inside(f"blocks.{i}"):
            with self.inside("norm1"):
                y = self.layer_norm(x)
            with self.inside("attention"):
                y = self._attention(y)
            x = self.add(x, y)
            del y
            with self.inside("norm2"):
                y = self.layer_norm(x)
            with self.inside("mlp"):
                y = self._mlp(y)
            return self.add(x, y)

    def _attention(self, x: Handle) -> Handle:
        C = self.shape.width
        with self.inside("qkv"):
            qkv = self.linear(x, 3 * C)
        y = self.dot_product_attention(qkv)
        with self.inside("proj"):
            return self.linear(y, C)

    def _mlp(self, x: Handle) -> Handle:
        C = self.shape.width
        with self.inside("up"):
            y = self.linear(x, 4 * C)
        y = self.gelu(y)
        with self.inside("down"):
            return self.linear(y, C)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _checkpoint(self, blocks: Sequence[int], x: Handle) -> Handle:
        """`tensorgrad.utils.checkpoint.checkpoint(run_in_turn, blocks, x)`."""
        memory = self.memory
        kept: list[tuple[Ghost, ...]] = []
        with self._selective(kept, None):
            found = self._in_turn(blocks, x)
        size = prod(found.shape)
        count = sample(np.broadcast_to(np.float32(0), size)).size  # of numbers by which it knows its result again
        samples = memory.array(count, itemsize=8, name=f"{count} numbers to compare")
        parents = _read(found.node, x.node)

        def rule(g: Ghost) -> list[list[Ghost]]:
            with self._selective(None, kept):
                root = self._in_turn(blocks, x).node
            sent: dict[GhostNode, list[Ghost]] = {parent: [] for parent in parents}

            def inside(contributions: Iterator) -> Iterator:
                for sender, node, one in contributions:
                    if node in sent:
                        sent[node].append(one)
                    else:
                        yield sender, node, one

            with closing(chain_rule(root, g, parents, done=release)) as contributions:
                deliver(inside(contributions))
            return [sent[parent] for parent in parents]

        held = (x.data, samples, memory.array(1), *(a for each in kept for a in each))
        node = GhostNode(memory, f"checkpoint of {_named(blocks)}", size, parents, rule, held, _OBJECTS)
        return Handle(found.data, node)

    @contextmanager
    def _selective(
        self, kept: list[tuple[Ghost, ...]] | None, handed: list[tuple[Ghost, ...]] | None
    ) -> Iterator[None]:
        if self.variant.checkpoint == "selective":
            self.kept, self.handed = kept, None if handed is None else iter(handed)
        yield
        self.kept = self.handed = None


def _named(blocks: Sequence[int]) -> str:
    return f"blocks.{blocks[0]}" if len(blocks) == 1 else f"blocks.{blocks[0]} to {blocks[-1]}"


def _read(root: GhostNode, x: GhostNode) -> list[GhostNode]:
    """The leaves that `root` was computed from, and x, at which the graph ends."""
    read: dict[GhostNode, None] = {}
    seen: set[GhostNode] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node is x or not node._prev:
            read[node] = None
        else:
            stack += node._prev[::-1]
    return list(read)
