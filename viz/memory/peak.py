"""How much a backward pass needs at its peak beside what was alive before it: measured, with `tracemalloc`."""

from __future__ import annotations

import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from micrograd.backprop import Node, chain_rule, deliver
from tensorgrad import lean
from tensorgrad.gate import unseen_pass
from tensorgrad.node import ArrayNode
from viz.errors import UserError
from viz.memory.measure import Piece
from viz.passes import empty_gradients

_one_at_a_time = threading.RLock()


class Released:
    """Counts the bytes of these pieces of memory that have been released since; keeps none of them alive.

    bytes   that have gone
    before  called before each goes
    """

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self.bytes = 0
        self.before: Callable[[], None] = _nothing
        for piece in pieces:
            if isinstance(piece.owner, np.ndarray):
                weakref.finalize(piece.owner, self._gone, piece.bytes).atexit = False

    def _gone(self, size: int) -> None:
        self.before()
        self.bytes += size


def _nothing() -> None:
    pass


def added_by_backward(
    root: Node,
    seed: Any,
    order: Sequence[Node],
    *,
    keep_grads: bool | None = None,
    retain_graph: bool | None = None,
    released: Released,
) -> int:
    """The most bytes that a backward pass from empty gradients has beside what was alive before, its gradients among
    them. All gradients are put back; with retain_graph=False the graph is of no use any more.

    root, order   the graph
    keep_grads    and retain_graph, as `Tensor.backward` takes them
    released      what was alive before

    NumPy reports each array to `tracemalloc`, and Python its objects. What a rule releases was there before the
    measurement began, which cannot see it go: it is taken off when its array dies.
    """
    done = lean.done((root,), keep_grads, retain_graph) if isinstance(root, ArrayNode) else None
    most = 0
    with _marks_kept(order), empty_gradients(order), unseen_pass(), _tracing():
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()

        def look() -> None:
            nonlocal most
            most = max(most, tracemalloc.get_traced_memory()[1] - before - released.bytes)
            tracemalloc.reset_peak()

        released.before = look
        try:
            deliver(chain_rule(root, seed, done=done))
            if not tracemalloc.is_tracing():
                raise UserError("a hook or a rule has stopped tracemalloc, which measures the peak")
            look()
        finally:
            released.before = _nothing
        return most


@contextmanager
def _marks_kept(order: Sequence[Node]) -> Iterator[None]:
    """Let results not say, because of a pass that was only measured, that their gradients have been released."""
    marked = [node for node in order if isinstance(node, ArrayNode) and node._released]
    try:
        yield
    finally:
        for node in marked:  # the others lost it when their gradients were put back
            node._released = True


@contextmanager
def _tracing() -> Iterator[None]:
    """Let tracemalloc count inside, and stop it afterwards unless it did before; for one thread at a time, as there is
    one count."""
    with _one_at_a_time:
        was = tracemalloc.is_tracing()
        if not was:
            tracemalloc.start()
        try:
            yield
        finally:
            if not was:
                tracemalloc.stop()
