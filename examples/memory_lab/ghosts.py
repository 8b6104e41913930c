"""Arrays without numbers, and nodes of such: what a program would have in memory, without its having it.

A ghost knows how many bytes an array would have, and is counted as long as Python keeps it alive. A program of ghosts
that makes, hands on and drops them where the real one does with its arrays, so has the same memory at each moment. The
backward pass needs no program of its own: it is the engine's own walk, `micrograd.backprop.chain_rule`, over nodes of
ghosts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from micrograd.backprop import Node

OBJECTS = 1_500
"""Bytes of Python's objects for one node: itself, its tuples, its rule. Measured, with `tracemalloc`."""


class Memory:
    """What ghosts there are: bytes now, the most that there ever were, and during which operation that was."""

    def __init__(self) -> None:
        self.now = self.peak = 0
        self.doing = self.peak_at = ""
        self.arrived: set[GhostNode] = set()  # the leaves that the pass which is on has sent to

    def array(self, *shape: int, itemsize: int = 4, name: str = "") -> Ghost:
        """A new array."""
        made = Ghost(self, shape, itemsize, name)
        self.now += made.bytes
        if self.now > self.peak:
            self.peak, self.peak_at = self.now, self.doing
        return made

    def passing(self, size: float) -> None:
        """So many bytes are needed for a moment."""
        self.array(int(size), itemsize=1)


class Ghost:
    """An array, by its shape and what it is called. Views of it are it itself."""

    __slots__ = ("bytes", "itemsize", "memory", "name", "shape")

    def __init__(self, memory: Memory, shape: tuple[int, ...], itemsize: int, name: str) -> None:
        self.memory, self.shape, self.itemsize, self.name = memory, shape, itemsize, name
        self.bytes = prod(shape) * itemsize

    def __add__(self, other: Ghost | Placed) -> Ghost:
        return self if isinstance(other, Placed) else self.memory.array(*self.shape, itemsize=self.itemsize)

    def __del__(self) -> None:
        self.memory.now -= self.bytes


Rule = Callable[[Ghost], Any]


class Placed:
    """A contribution that is put into the gradient which is there, and takes no array; see `tensorgrad.placing`."""


class Placing:
    """A rule whose contributions are `Placed` where a gradient is there already."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def __call__(self, g: Ghost) -> Any:
        return self.rule(g)


class GhostNode(Node):
    """A node of a lean graph: it holds what its rules do, and no data.

    rules    for each operand one from gradient to contribution, or None; or a function that returns all of them, where
             a list stands for several contributions
    held     the arrays that the rules hold
    objects  bytes of what else there is of it
    """

    def __init__(
        self,
        memory: Memory,
        op: str,
        size: int,
        parents: Sequence[GhostNode] = (),
        rules: Sequence[Rule | None] | Rule = (),
        held: Sequence[Ghost] = (),
        objects: int = OBJECTS,
    ) -> None:
        self.memory, self._op, self.size = memory, op, size
        self._prev, self.rules, self.held = tuple(parents), rules, tuple(held)
        self.grad: Ghost | None = None
        self.data = None
        self._objects = memory.array(objects, itemsize=1) if parents else None

    def _vjp(self) -> list[tuple[Node, Ghost | Placed]]:
        self.memory.doing = f"{self._op}, backward"
        arrived = self.memory.arrived
        if callable(self.rules):
            arrived.update(parent for parent in self._prev if not parent._prev)
            sent = zip(self._prev, self.rules(self.grad), strict=True)
            return [
                (parent, _delivered(self, parent, one))
                for parent, s in sent
                if s is not None
                for one in (s if isinstance(s, list) else (s,))
            ]
        contributions: list[tuple[Node, Ghost | Placed]] = []
        for parent, rule in zip(self._prev, self.rules, strict=True):
            if rule is None:
                continue
            if isinstance(rule, Placing) and parent.grad is not None and (parent._prev or parent in arrived):
                contributions.append((parent, Placed()))
                continue
            if not parent._prev:
                arrived.add(parent)
            contributions.append((parent, _delivered(self, parent, rule(self.grad))))
        return contributions


def _delivered(node: GhostNode, parent: GhostNode, sent: Ghost) -> Ghost:
    """As a node of the engine takes it: summed to its shape, and copied where a leaf would share it with its sender."""
    if prod(sent.shape) != parent.size:
        B, rest = sent.shape[0], prod(sent.shape[1:])
        summed = sent.bytes / B if 1 < B <= 64 and rest > parent.size else 0  # over the sequences first
        sent.memory.passing(summed + sent.bytes / 64)  # then sums of 64 rows each
        sent = sent.memory.array(parent.size)
    shared = sent is node.grad or node._op.endswith("view")  # what NumPy's reshape copies, it gives as a view
    if shared and not parent._prev and parent.grad is None:
        return sent.memory.array(*sent.shape)
    return sent


def release(node: GhostNode) -> None:
    """What `backward(keep_grads=False, retain_graph=False)` does with a node that has sent."""
    node.grad = None
    node.rules, node.held = (), ()
