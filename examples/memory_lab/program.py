"""GPT-2's forward pass, step by step as `tensorgrad.models.gpt` takes it, with ghosts for arrays.

Each function here stands for the operation of that name, and says what that allocates, what its rule holds, and what
the rule allocates. Shapes: B sequences of T tokens, C the width, H heads, V the tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from math import prod
from typing import NamedTuple

from memory_lab.ghosts import Ghost, GhostNode, Memory, release
from memory_lab.variants import Shape, Variant
from micrograd.backprop import chain_rule, deliver
from tensorgrad.blocks import row_blocks
from tensorgrad.ops.attention_tiles import tiles

_TILE = 2**22  # scores that `tensorgrad.linear_tiles` has at one time
_SAMPLES = 512  # numbers of a result by which a checkpoint knows it again

_CHECKPOINT = 10_000
"""Bytes of the objects of a checkpoint: those of its rule, and the random generator's state. Measured."""


class Handle(NamedTuple):
    """What a program holds of a result: its data, and its node in the graph."""

    data: Ghost
    node: GhostNode

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape


class Program:
    """A GPT of these sizes. `leaves` are its parameters, by name."""

    def __init__(self, shape: Shape, variant: Variant) -> None:
        self.shape, self.variant, self.memory = shape, variant, Memory()
        self.leaves: dict[str, GhostNode] = {}
        self._where = ""
        self._kept: list[tuple[Ghost, ...]] | None = None  # of a selective checkpoint
        self._handed: Iterator[tuple[Ghost, ...]] | None = None

    # -- the model -----------------------------------------------------------------------------------------------------

    def loss(self, B: int) -> Handle:
        """The mean cross entropy of B sequences."""
        s = self.shape
        x = self._hidden(B)
        if self.variant.chunked:
            with self._in("loss"):
                return self._linear_cross_entropy(x)
        with self._in("head"):
            scores = self._linear(x, s.vocabulary, weight=self._leaf("tokens.weight", s.vocabulary, s.width))
        with self._in("loss"):
            return self._cross_entropy(scores)

    def _hidden(self, B: int) -> Handle:
        s = self.shape
        with self._in("tokens"):
            tokens = self._embedding(B, s.tokens, s.vocabulary)
        with self._in("positions"):
            positions = self._embedding(1, s.tokens, s.context)
        x = self._add(tokens, positions)
        del tokens, positions
        x = self._through_blocks(x)
        with self._in("norm"):
            return self._layer_norm(x)

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
        with self._in(f"blocks.{i}"):
            with self._in("norm1"):
                y = self._layer_norm(x)
            with self._in("attention"):
                y = self._attention(y)
            x = self._add(x, y)
            del y
            with self._in("norm2"):
                y = self._layer_norm(x)
            with self._in("mlp"):
                y = self._mlp(y)
            return self._add(x, y)

    def _attention(self, x: Handle) -> Handle:
        C = self.shape.width
        with self._in("qkv"):
            qkv = self._linear(x, 3 * C)
        y = self._dot_product_attention(qkv)
        with self._in("proj"):
            return self._linear(y, C)

    def _mlp(self, x: Handle) -> Handle:
        C = self.shape.width
        with self._in("up"):
            y = self._linear(x, 4 * C)
        y = self._gelu(y)
        with self._in("down"):
            return self._linear(y, C)

    # -- operations ----------------------------------------------------------------------------------------------------

    def _embedding(self, B: int, T: int, rows: int) -> Handle:
        C, memory = self.shape.width, self.memory
        table = self._leaf(f"{self._where}.weight", rows, C)
        self._begin("embedding")
        where = memory.array(B, T, itemsize=8, name="the numbers of rows")
        out = memory.array(B, T, C, name="embedding's result")

        def rule(g: Ghost) -> Ghost:
            sent = memory.array(rows, C)
            memory.passing(2 * B * T * C * 8)  # the place of each element
            return sent

        return self._result("embedding", out, (table,), (rule,), (where,))

    def _add(self, x: Handle, y: Handle) -> Handle:
        self._begin("+")
        out = self.memory.array(*x.shape, name="residual stream, x + ...")
        return self._result("+", out, (x.node, y.node), (_same, _same))

    def _layer_norm(self, x: Handle) -> Handle:
        memory, (B, T, C) = self.memory, x.shape
        weight, bias = self._leaf(f"{self._where}.weight", C), self._leaf(f"{self._where}.bias", C)
        self._begin("layer_norm")
        rows = B * T
        ones = memory.array(C, name="1/C, C times")
        kept = memory.array(3, rows, name="of each row mean, rest, 1/deviation")
        out = memory.array(B, T, C, name="layer_norm's result")
        at_once = _at_once(rows, C)

        def rule(g: Ghost) -> list[Ghost]:
            slopes = memory.array(B, T, C)
            pieces = -(-rows // at_once)
            sums = memory.array(3, pieces, C)
            memory.passing(at_once * C * 4 * 2)
            memory.passing(sums.bytes / 3)
            return [slopes, memory.array(C), memory.array(C)]

        return self._result("layer_norm", out, (x.node, weight, bias), rule, (x.data, kept, ones))

    def _linear(self, x: Handle, m: int, weight: GhostNode | None = None) -> Handle:
        memory, n = self.memory, x.shape[-1]
        tied = weight is not None
        leaves = [weight or self._leaf(f"{self._where}.weight", m, n)]
        if not tied:
            leaves.append(self._leaf(f"{self._where}.bias", m))
        self._begin("linear")
        shape = (*x.shape[:-1], m)
        (out,) = self._remembered(lambda: (memory.array(*shape, name="scores" if tied else "linear's result"),))
        rules = (lambda g: memory.array(*x_shape), lambda g: memory.array(m, n), _same)
        x_shape = x.shape
        return self._result("linear", out, (x.node, *leaves), rules[: 1 + len(leaves)], (x.data,))

    def _dot_product_attention(self, qkv: Handle) -> Handle:
        """With the views before and after it: of (B, T, 3 C), queries, keys and values, and to (B, T, C)."""
        memory, (B, T, C) = self.memory, (*qkv.shape[:2], qkv.shape[2] // 3)
        H, E = self.shape.heads, C // self.shape.heads
        three = 3 * B * T * C
        seen = self._node("view", three, (qkv.node,), (lambda g: memory.array(B, T, 3 * C),))
        seen = self._node("permute", three, (seen,), (_same,))
        parts = [self._node("unbind", B * T * C, (seen,), (lambda g: memory.array(3, B, H, T, E),)) for _ in range(3)]
        self._begin("scaled_dot_product_attention")
        scores = _of_tiles(B, H, T, E)
        keeps_weights = three >= B * H * T * T

        def compute() -> tuple[Ghost, ...]:
            rows = [memory.array(B, H, T, name="of each row of scores the largest, and the total") for _ in range(2)]
            out = memory.array(B, T, C, name="attention's result")
            if keeps_weights:
                return out, *rows, memory.array(scores.all, name="weights of attention, in tiles")
            memory.passing(4 * (scores.most + scores.queries) + 2 * scores.late)
            return out, *rows

        out, *held = self._remembered(compute)

        def rule(g: Ghost) -> list[Ghost]:
            sent = [memory.array(B, H, T, E) for _ in range(3)]
            memory.passing(4 * (scores.most * (1 if keeps_weights else 2) + scores.products))
            return sent

        y = self._result("scaled_dot_product_attention", out, parts, rule, (qkv.data, *held))
        node = self._node("transpose", B * T * C, (y.node,), (_same,))
        return Handle(out, self._node("reshape", B * T * C, (node,), (_same,)))

    def _gelu(self, x: Handle) -> Handle:
        memory, shape = self.memory, x.shape
        self._begin("gelu")
        out = memory.array(*shape, name="gelu's result")
        size = prod(shape)
        piece = _at_once(size, 1)
        in_pieces = piece < size
        memory.passing(4 * piece * in_pieces)

        def rule(g: Ghost) -> Ghost:
            sent = memory.array(*shape)
            memory.passing(4 * piece * (2 + in_pieces))
            return sent

        return self._result("gelu", out, (x.node,), (rule,), (x.data,))

    def _cross_entropy(self, scores: Handle) -> Handle:
        memory, (B, T, V) = self.memory, scores.shape
        flat = self._node("flatten", B * T * V, (scores.node,), (_same,))
        self._begin("cross_entropy")
        held = self._targets(B * T)
        memory.passing(4 * _at_once(B * T, V) * V)

        def rule(g: Ghost) -> Ghost:
            return memory.array(B, T, V)

        return self._result("cross_entropy", memory.array(1), (flat,), (rule,), (scores.data, *held))

    def _linear_cross_entropy(self, x: Handle) -> Handle:
        memory, (B, T, C), V = self.memory, x.shape, self.shape.vocabulary
        table = self._leaf("tokens.weight", V, C)
        flat = self._node("flatten", B * T * C, (x.node,), (_same,))
        self._begin("linear_cross_entropy")
        held = self._targets(B * T)
        rows = min(B * T, max(1024, _TILE // V))
        classes = max(_TILE // rows, 1)
        tile = rows * min(classes, V) * 4
        memory.passing(tile)

        def rule(g: Ghost) -> list[Ghost]:
            sent = [memory.array(B, T, C), memory.array(V, C)]
            buffer = memory.array(tile, itemsize=1)
            parts = []
            if classes < V:
                parts.append(min(_TILE // C * C, rows * C) * 4)
            if rows < B * T:
                parts.append(min(_TILE // C * C, min(classes, V) * C) * 4)
            memory.passing(max(parts, default=0))
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

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _checkpoint(self, blocks: Sequence[int], x: Handle) -> Handle:
        """`tensorgrad.utils.checkpoint.checkpoint(run_in_turn, blocks, x)`."""
        memory = self.memory
        kept: list[tuple[Ghost, ...]] = []
        with self._selective(kept, None):
            found = self._in_turn(blocks, x)
        size = prod(found.shape)
        samples = memory.array(-(-size // (size // _SAMPLES | 1)), itemsize=8, name="512 numbers to compare")
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
        node = GhostNode(memory, f"checkpoint of {_named(blocks)}", size, parents, rule, held, _CHECKPOINT)
        return Handle(found.data, node)

    @contextmanager
    def _selective(
        self, kept: list[tuple[Ghost, ...]] | None, handed: list[tuple[Ghost, ...]] | None
    ) -> Iterator[None]:
        if self.variant.checkpoint == "selective":
            self._kept, self._handed = kept, None if handed is None else iter(handed)
        yield
        self._kept = self._handed = None

    def _remembered(self, compute: Callable[[], tuple[Ghost, ...]]) -> tuple[Ghost, ...]:
        if self._handed is not None:
            return next(self._handed)
        found = compute()
        if self._kept is not None:
            self._kept.append(found)
        return found

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _leaf(self, name: str, *shape: int) -> GhostNode:
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
    def _in(self, name: str) -> Iterator[None]:
        before = self._where
        self._where = f"{before}.{name}" if before else name
        yield
        self._where = before


def _same(g: Ghost) -> Ghost:
    return g


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
    return min(rows, next(row_blocks((rows, n))).stop)


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
