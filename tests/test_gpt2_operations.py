"""examples/memory_lab/operations.py: what its operations allocate and hold, against those of tensorgrad."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from memory_lab.ghosts import GhostNode, release
from memory_lab.operations import Handle, Operations
from memory_lab.variants import Shape

from micrograd.backprop import chain_rule, deliver
from tensorgrad import Tensor, lean_graph, manual_seed, randint, randn
from tensorgrad.nn import functional as F


class Found(NamedTuple):
    """Bytes: the most in the forward pass, what is left of it, and the most in the backward pass."""

    forward: int
    left: int
    backward: int


CUT = Shape(tokens=700, batch=2, heads=2, width=128, vocabulary=4_500)
"""Scores of attention in several tiles; those of the chunked loss, too, by rows and by classes."""
SHORT = Shape(tokens=100, batch=5, heads=2, width=96, vocabulary=700)
"""Attention keeps its weights, gelu and layer norm take all at once, the token table is a small part."""

Case = tuple[tuple[int, ...], Callable, Callable]
CASES: dict[str, Callable[[Shape], Case]] = {
    "embedding": lambda s: ((), lambda o, x: o.embedding(s.batch, s.tokens, s.vocabulary), embedding(s)),
    "add": lambda s: (stream(s), lambda o, x: o.add(x, x), lambda x: x + x),
    "layer_norm": lambda s: (stream(s), lambda o, x: o.layer_norm(x), layer_norm(s)),
    "linear": lambda s: (stream(s), lambda o, x: o.linear(x, 3 * s.width), linear(s)),
    "attention": lambda s: ((*stream(s)[:2], 3 * s.width), lambda o, x: o.dot_product_attention(x), attention(s)),
    "gelu": lambda s: (stream(s), lambda o, x: o.gelu(x), partial(F.gelu, approximate="tanh")),
    "cross_entropy": lambda s: ((*stream(s)[:2], s.vocabulary), lambda o, x: o.cross_entropy(x), cross_entropy(s)),
    "linear_cross_entropy": lambda s: (stream(s), lambda o, x: o.linear_cross_entropy(x), linear_cross_entropy(s)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [CUT, SHORT], ids=["cut", "short"])
def test_an_operation_allocates_and_holds_what_the_estimate_says(shape, name):
    manual_seed(0)
    of_x, ghosts, operation = CASES[name](shape)
    said = estimated(shape, of_x, ghosts)
    really(of_x, operation)  # what is imported, or kept from one call to the next
    found = really(of_x, operation)
    assert said.left == pytest.approx(found.left, abs=6_000)  # of Python's objects
    assert said.forward == pytest.approx(found.forward, rel=0.01, abs=60_000)  # NumPy's buffers
    assert said.backward == pytest.approx(found.backward, rel=0.01, abs=60_000)


def estimated(shape: Shape, of_x: tuple[int, ...], ghosts: Callable) -> Found:
    operations = Operations(shape)
    memory = operations.memory
    x = Handle(memory.array(*of_x), GhostNode(memory, "", prod(of_x))) if of_x else None
    before = memory.peak = memory.now
    y = ghosts(operations, x)
    forward, left = memory.peak - before, memory.now - before
    before = memory.peak = memory.now
    deliver(chain_rule(y.node, memory.array(*y.shape), done=release))
    return Found(forward, left, memory.peak - before)


def really(of_x: tuple[int, ...], operation: Callable) -> Found:
    x = randn(*of_x, requires_grad=True) if of_x else None
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        with lean_graph():
            y = operation(x)
        now, peak = tracemalloc.get_traced_memory()
        forward, left = peak - before, now - before
        g = np.ones(y.shape, np.float32)  # which backward copies
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        y.backward(g, keep_grads=False, retain_graph=False)
        return Found(forward, left, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()


def stream(s: Shape) -> tuple[int, ...]:
    return s.batch, s.tokens, s.width


def leaf(*shape: int) -> Tensor:
    return randn(*shape, requires_grad=True)


def fresh(operation: Callable, *leaves: Tensor) -> Callable:
    """`operation`, whose leaves have no gradient yet."""

    def run(x):
        for each in leaves:
            each.grad = None
        return operation(x)

    return run


def embedding(s: Shape) -> Callable:
    table, tokens = leaf(s.vocabulary, s.width), randint(0, s.vocabulary, (s.batch, s.tokens))
    return fresh(lambda x: F.embedding(tokens, table), table)


def layer_norm(s: Shape) -> Callable:
    weight, bias = leaf(s.width), leaf(s.width)
    return fresh(lambda x: F.layer_norm(x, (s.width,), weight, bias), weight, bias)


def linear(s: Shape) -> Callable:
    weight, bias = leaf(3 * s.width, s.width), leaf(3 * s.width)
    return fresh(lambda x: F.linear(x, weight, bias), weight, bias)


def attention(s: Shape) -> Callable:
    """As `tensorgrad.models.gpt.Attention` has it between its two linear layers."""
    B, T, C = stream(s)

    def heads(x):
        q, k, v = x.view(B, T, 3, s.heads, C // s.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C)

    return heads


def cross_entropy(s: Shape) -> Callable:
    targets = randint(0, s.vocabulary, (s.batch * s.tokens,))
    return lambda x: F.cross_entropy(x.flatten(0, 1), targets)


def linear_cross_entropy(s: Shape) -> Callable:
    table, targets = leaf(s.vocabulary, s.width), randint(0, s.vocabulary, (s.batch * s.tokens,))
    return fresh(lambda x: F.linear_cross_entropy(x.flatten(0, 1), table, targets), table)
