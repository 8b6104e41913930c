"""The programs of the scalar benchmark. Each engine runs them in a process of its own, since two have the same name.

    python tests/benchmarks/scalar_programs.py PROGRAM ENGINE [SIZE]

ENGINE is the folder that holds a package `micrograd`, or "smallest". Prints seconds (or, of `memory_*`, bytes a node)
as JSON. Where the collector's share is to be in the figure, a block of many steps is timed as one.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import random
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

BLOCK = 40
"""Steps that are timed as one: enough for the collector to come by."""

BLOCKS = 5
CHAIN = 100_000
XS = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
YS = [1.0, -1.0, -1.0, 1.0]


class Engine:
    """`Value` and `MLP` of one engine."""

    def __init__(self, where: str) -> None:
        if where == "smallest":
            module = importlib.import_module("smallest")
            self.Value, self.MLP = module.Value, module.MLP
        else:
            sys.path.insert(0, where)
            self.Value = importlib.import_module("micrograd.engine").Value
            self.MLP = importlib.import_module("micrograd.nn").MLP


# -- programs: (engine, size) -> what is timed -------------------------------------------------------------------------


def net_loss(engine: Engine, copies: int = 1) -> tuple[Any, Callable[[], Any]]:
    """A net of 41 parameters and its squared error on four examples, 394 nodes; `copies` repeats the examples."""
    random.seed(1337)
    net = engine.MLP(3, [4, 4, 1])
    return net, lambda: sum((net(x) - y) ** 2 for x, y in zip(XS * copies, YS * copies))


def training_step(net: Any, loss_of: Callable[[], Any], rate: float) -> Callable[[], None]:
    parameters = net.parameters()

    def step() -> None:
        loss = loss_of()
        net.zero_grad()
        loss.backward()
        for p in parameters:
            p.data -= rate * p.grad

    return step


def net_step(engine: Engine, size: int = 1) -> Callable[[], None]:
    """Forward, zero_grad, backward, update."""
    return training_step(*net_loss(engine, size), rate=1e-3)


def net_backward(engine: Engine, size: int = 1) -> Callable[[], None]:
    """The backward pass of one graph, again and again."""
    return net_loss(engine, size)[1]().backward


def net_replay(engine: Engine, size: int = 1) -> Callable[[], None]:
    """The same step by the source code that `micrograd.script` writes: loss, gradients, update."""
    net, loss_of = net_loss(engine, size)
    numbers = [p.data for p in net.parameters()]
    replay = importlib.import_module("micrograd").script(loss_of, net.parameters())

    def step() -> None:
        nonlocal numbers
        _, grads = replay(*numbers)
        numbers = [x - 1e-3 * g for x, g in zip(numbers, grads)]

    return step


def net_replay_only(engine: Engine, size: int = 1) -> Callable[[], None]:
    """Of that, loss and gradients."""
    net, loss_of = net_loss(engine, size)
    numbers = [p.data for p in net.parameters()]
    replay = importlib.import_module("micrograd").script(loss_of, net.parameters())
    return lambda: replay(*numbers)


def moons(samples: int) -> tuple[list[list[float]], list[int]]:
    """Two half circles that reach into one another, with noise of 0.1, and the side of each point: 1 or -1."""
    chance = random.Random(1337)
    points, sides = [], []
    for i in range(samples):
        side = 1 if i % 2 else -1
        angle = math.pi * chance.random()
        x, y = math.cos(angle), math.sin(angle)
        x, y = (1.0 - x, 0.5 - y) if side > 0 else (x, y)
        points.append([x + chance.gauss(0.0, 0.1), y + chance.gauss(0.0, 0.1)])
        sides.append(side)
    return points, sides


def moons_step(engine: Engine, size: int = 100, hidden: int = 16, depth: int = 2) -> Callable[[], None]:
    """A step of micrograd's demo: hinge loss ("svm max-margin") and a penalty on the squares, all examples at once."""
    random.seed(1337)
    net = engine.MLP(2, [hidden] * depth + [1])
    points, sides = moons(size)

    def loss() -> Any:
        scores = [net([engine.Value(x) for x in point]) for point in points]
        losses = [(1 + -side * score).relu() for side, score in zip(sides, scores)]
        return sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in net.parameters())

    return training_step(net, loss, rate=0.05)


def chained(engine: Engine, size: int = CHAIN) -> Any:
    y, one = engine.Value(0.5), engine.Value(1.0)
    for _ in range(size):
        y = y + one
    return y


def chain(engine: Engine, size: int = CHAIN) -> Callable[[], None]:
    """`size` additions one after another, forward and backward."""
    return lambda: chained(engine, size).backward()


def memory(make: Callable[[], Any], nodes: int) -> float:
    """Bytes a node of the graph that `make` builds."""
    make()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    root = make()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    del root
    return used / nodes


TIMED: dict[str, Callable[..., Callable[[], None]]] = {
    "net_step": net_step,
    "net_backward": net_backward,
    "net_replay": net_replay,
    "net_replay_only": net_replay_only,
    "moons_step": moons_step,
    "chain": chain,
}
ONCE_A_BLOCK = {"moons_step": 2, "chain": 1}
"""Calls in a block of programs of which one call has enough nodes for the collector to come by."""

MEMORY: dict[str, Callable[[Engine], float]] = {
    "memory_chain": lambda engine: memory(lambda: chained(engine), CHAIN),
    # of the 394 nodes, 41 are the parameters, which live already
    "memory_net": lambda engine: memory(net_loss(engine)[1], 394 - 41),
}


def block_means(program: str, does: Callable[[], None]) -> list[float]:
    """Seconds of one call, the mean over each block."""
    calls = ONCE_A_BLOCK.get(program, BLOCK)
    blocks = 1 if program in ONCE_A_BLOCK else BLOCKS
    for _ in range(0 if program == "chain" else max(1, calls // 10)):
        does()
    means = []
    for _ in range(blocks):
        start = time.perf_counter()
        for _ in range(calls):
            does()
        means.append((time.perf_counter() - start) / calls)
    return means


def main() -> None:
    program, where, *size = sys.argv[1:]
    engine = Engine(where)
    if program in MEMORY:
        print(json.dumps(MEMORY[program](engine)))
    else:
        print(json.dumps(block_means(program, TIMED[program](engine, *map(int, size)))))


if __name__ == "__main__":
    # The original recurses: a long chain takes a high limit and a large stack.
    sys.setrecursionlimit(10 * CHAIN)
    threading.stack_size(512 * 2**20)
    worker = threading.Thread(target=main)
    worker.start()
    worker.join()
