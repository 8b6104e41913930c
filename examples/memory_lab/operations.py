"""The operations of GPT-2, with ghosts for arrays: what each allocates, what its rule holds, what the rule allocates.

They follow `tensorgrad.ops`, and a test compares each with the operation itself (tests/test_gpt2_operations.py).

Shapes: B sequences of T tokens, C the width, H heads, V the tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from memory_lab.ghosts import Ghost, GhostNode, Memory, Placing
from memory_lab.variants import Shape
from tensorgrad.node import new
from tensorgrad.ops.attention_tiles import KEPT, tiles
from tensorgrad.ops.linear_tiles import _AT_ONCE, layer_of
from tensorgrad.pieces import row_pieces


class Handle(NamedTuple):
    """What a program holds of a result: its data, and its node in the graph."""

    data: Ghost
    node: GhostNode

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape


class Operations:
    """Of a model of these sizes. `leaves` are its parameters, by name."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.memory = shape, Memory()
        self.leaves: dict[str, GhostNode] = {}
        self._where = ""
        self.kept: list[tuple[Ghost, ...]] | None = None  # what a selective checkpoint keeps in its first run
        self.handed: Iterator[tuple[Ghost, ...]] | None = None  # and hands back in its second

    def embedding(self, B: int, T: int, rows: int) -> Handle:
        C, memory = self.shape.width, self.memory
        table = self.leaf(f"{self._where}.weight", rows, C)
        self._begin("embedding")
        where = memory.array(B, T, itemsize=8, name="the numbers of rows")
        out = memory.array(B, T, C, name="embedding's result")

        def rule(g: Ghost) -> Ghost:
            sent = memory.array(rows, C)
            n = B * T * C
            memory.passing(8 * (n + 2 * min(n, np.getbufsize())))  # the place of each element; NumPy's own buffers
            return sent

        return self._result("embedding", out, (table,), (Placing(rule),), (where,))

    def add(self, x: Handle, y: Handle) -> Handle:
        self._begin("+")
        out = self.memory.array(*x.shape, name="residual stream, x + ...")
        return self._result("+", out, (x.node, y.node), (_same, _same))

    def layer_norm(self, x: Handle) -> Handle:
        memory, (B, T, C) = self.memory, x.shape
        weight, bias = self.leaf(f"{self._where}.weight", C), self.leaf(f"{self._where}.bias", C)
        self._begin("layer_norm")
        rows = B * T
        ones = memory.array(C, name="1/C, C times")
        kept = memory.array(3, rows, name="of each row mean, rest, 1/deviation")
        out = memory.array(B, T, C, name="layer_norm's result")
        at_once = _at_once(rows, C)

        def rule(g: Ghost) -> list[Ghost]:
            slopes = memory.array(B, T, C)
            pieces = -(-rows // at_once)
            sums = [memory.array(pieces, C) for _ in range(2)]  # of each piece, for weight and bias
            centred = memory.array(at_once, C)
            if at_once > 256:  # then the sum is of an array of products
                memory.passing(centred.bytes)
            memory.passing(sums[0].bytes)  # in one array
            return [slopes, memory.array(C), memory.array(C)]

        return self._result("layer_norm", out, (x.node, weight, bias), rule, (x.data, kept, ones))

    def linear(self, x: Handle, m: int, weight: GhostNode | None = None) -> Handle:
        memory, n = self.memory, x.shape[-1]
        tied = weight is not None
        leaves = [weight or self.leaf(f"{self._where}.weight", m, n)]
        if not tied:
            leaves.append(self.leaf(f"{self._where}.bias", m))
        self._begin("linear")
        shape = (*x.shape[:-1], m)
        (out,) = self._remembered(lambda: (memory.array(*shape, name="scores" if tied else "linear's result"),))
        rules = (lambda g: memory.array(*x_shape), lambda g: memory.array(m, n), _same)
        x_shape = x.shape
        return self._result("linear", out, (x.node, *leaves), rules[: 1 + len(leaves)], (x.data,))

    def dot_product_attention(self, qkv: Handle) -> Handle:
        """With the views before and after it: of (B, T, 3 C), queries, keys and values, and to (B, T, C)."""
        memory, (B, T, C) = self.memory, (*qkv.shape[:2], qkv.shape[2] // 3)
        H, E = self.shape.heads, C // self.shape.heads
        three = 3 * B * T * C
        seen = self._node("view", three, (qkv.node,), (lambda g: memory.array(B, T, 3 * C),))
        seen = self._node("permute", three, (seen,), (_same,))
        part = Placing(lambda g: memory.array(3, B, H, T, E))
        parts = [self._node("unbind", B * T * C, (seen,), (part,)) for _ in range(3)]
        self._begin("scaled_dot_product_attention")
        scores = _of_tiles(B, H, T, E)
        keeps_weights = KEPT * three >= B * H * T * T

        def compute() -> tuple[Ghost, ...]:
            rows = [memory.array(B, H, T, name="of each row of scores the largest, and the total") for _ in range(2)]
            out = memory.array(B, T, C, name="attention's result")
            weights = [memory.array(scores.all, name="weights of attention, in tiles")] if keeps_weights else []
            memory.passing(4 * (scores.most * (not keeps_weights) + scores.queries) + 2 * scores.late)
            return out, *rows, *weights

        out, *held = self._remembered(compute)

        def rule(g: Ghost) -> list[Ghost]:
            sent = [memory.array(B, H, T, E) for _ in range(3)]
            memory.passing(4 * (scores.most * (1 if keeps_weights else 2) + scores.products))
            return sent

        y = self._result("scaled_dot_product_attention", out, parts, rule, (qkv.data, *held))
        node = self._node("transpose", B * T * C, (y.node,), (_same,))
        return Handle(out, self._node("reshape", B * T * C, (node,), (_same,)))

    def gelu(self, x: Handle) -> Handle:
        """By tanh."""
        memory, shape = self.memory, x.shape
        self._begin("gelu")
        out = memory.array(*shape, name="gelu's result")
        size = prod(shape)
        piece = _at_once(size, 1)
        in_pieces = piece < size  # or the last array of the piece is the result
        memory.passing(4 * piece * in_pieces)  # its tanh

        def rule(g: Ghost) -> Ghost:
            sent = memory.array(*shape)
            memory.passing(4 * piece * (2 + in_pieces))  # the operand within limits, its tanh, the slope
            return sent

        return self._result("gelu", out, (x.node,), (rule,), (x.data,))

    def cross_entropy(self, scores: Handle) -> Handle:
        memory, (B, T, V) = self.memory, scores.shape
        flat = self._node("flatten", B * T * V, (scores.node,), (_same,))
        self._begin("cross_entropy")
        held = self._targets(B * T)
        memory.passing(4 * V * min(B * T, 2 * _at_once(B * T, V)))  # a piece, and the one before

        def rule(g: Ghost) -> Ghost:
            return memory.array(B, T, V)

        return self._result("cross_entropy", memory.array(1), (flat,), (rule,), (scores.data, *held))

    def linear_cross_entropy(self, x: Handle) -> Handle:
        memory, (B, T, C), V = self.memory, x.shape, self.shape.vocabulary
        table = self.leaf("tokens.weight", V, C)
        flat = self._node("flatten", B * T * C, (x.node,), (_same,))
        self._begin("linear_cross_entropy")
        held = self._targets(B * T)
        rows, classes = _tile_of_scores(B * T, C, V)
        tile = 4 * rows * classes
        memory.passing(tile)

        def rule(g: Ghost) -> list[Ghost]:
            sent = [memory.array(B, T, C), memory.array(V, C)]
            buffer = memory.array(tile, itemsize=1)
            beside = [0]  # a part of a product that is added to what is there
            if classes < V:
                beside.append(4 * min(_AT_ONCE, rows * C))
            if rows < B * T:
                beside.append(4 * min(_AT_ONCE, classes * C))
            memory.passing(max(beside))
            del buffer
            return sent

        return self._result("linear_cross_entropy", memory.array(1), (flat, table), rule, (x.data, *held))

    def _targets(self, rows: int) -> list[Ghost]:
        memory = self.memory
        return [
            memory.array(rows, itemsize=8, name="the targets"),
            memory.array(rows, name="what each row counts"),
            memory.array(2, rows, name="of each row of scores the largest, and the total"),
        ]

    def _remembered(self, compute: Callable[[], tuple[Ghost, ...]]) -> tuple[Ghost, ...]:
        if self.handed is not None:
            return next(self.handed)
        found = compute()
        if self.kept is not None:
            self.kept.append(found)
        return found

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def leaf(self, name: str, *shape: int) -> GhostNode:
        if name not in self.leaves:
            self.leaves[name] = GhostNode(self.memory, "", prod(shape))
        return self.leaves[name]

    def _result(
        self, op: str, out: Ghost, parents: Sequence[GhostNode], rules: object, held: Sequence[Ghost] = ()
    ) -> Handle:
        return Handle(out, self._node(op, prod(out.shape), parents, rules, held))

    def _node(
        self, op: str, size: int, parents: Sequence[GhostNode], rules: object, held: Sequence[Ghost] = ()
    ) -> GhostNode:
        return GhostNode(self.memory, f"{self._where}: {op}" if self._where else op, size, parents, rules, held)

    def _begin(self, op: str) -> None:
        self.memory.doing = f"{self._where}: {op}, forward" if self._where else f"{op}, forward"

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        before = self._where
        self._where = f"{before}.{name}" if before else name
        yield
        self._where = before


def _same(g: Ghost) -> Ghost:
    return g


def _tile_of_scores(count: int, n: int, classes: int) -> tuple[int, int]:
    """How many rows and classes a chunked loss takes at one time: asked for with arrays that take no memory."""
    zero = np.zeros((), np.float32)
    rows, table = (new(np.broadcast_to(zero, (length, n))) for length in (count, classes))
    high, wide = layer_of([rows, table], zero.dtype).tile
    return min(high, count), min(wide, classes)


class _Tiles(NamedTuple):
    """Of the tiles in which attention works, in numbers: those of the largest tile's scores, of its queries, of these
    and of what is added up for its keys, of booleans for what comes later; and those of all scores together."""

    most: int
    queries: int
    products: int
    late: int
    all: int


@lru_cache(maxsize=16)
def _of_tiles(B: int, H: int, T: int, E: int) -> _Tiles:
    most = queries = products = late = total = 0
    for tile in tiles((B, H, T, T), True, False):
        n = prod(s.stop - s.start for s in tile.batch)
        rows, keys = tile.rows.stop - tile.rows.start, tile.keys.stop
        most = max(most, n * rows * keys)
        queries = max(queries, n * rows * E)
        products = max(products, n * (rows + (keys if rows < T else 0)) * E)
        late = max(late, rows * (keys - tile.rows.start))
        total += n * rows * keys
    return _Tiles(most, queries, products, late, total)


def _at_once(rows: int, n: int) -> int:
    """How many rows of n numbers an operation takes at one time."""
    return min(rows, next(row_pieces((rows, n))).stop)
