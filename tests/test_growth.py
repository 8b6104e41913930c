"""What a pass does grows with the number of nodes and no faster; what a step leaves does not grow at all.

No time is measured: lines of Python are counted, which come out the same on every run.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from engines import Engine, on_both_engines

import tensorgrad as tg
from micrograd.backprop import chain_rule, deliver
from micrograd.nn import MLP
from tensorgrad import nn
from tensorgrad.models import GPT, GPTConfig
from tensorgrad.nn import functional as F

# -- visits ------------------------------------------------------------------------------------------------------------


def lines_run(does: Callable[[], object]) -> int:
    """How many lines of Python run in a call. (The collector is off: what it finds of other tests has lines, too.)"""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.disable()
    sys.settrace(trace)
    try:
        does()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def chain(x: Any, n: int) -> Any:
    """n nodes, each on the one before."""
    for _ in range(n):
        x = -x
    return x


def doubled(x: Any, n: int) -> Any:
    """n nodes, with 2**n ways from the root to the leaf."""
    for _ in range(n):
        x = x + x
    return x


def ladder(x: Any, n: int) -> Any:
    """2n nodes, each on two of the rung before: 2**n ways again, over nodes that wait on the stack together."""
    a, b = -x, -x
    for _ in range(n):
        a, b = a + b, a * b
    return a + b


def test_what_other_tests_have_left_to_the_collector_is_not_counted():
    class Left:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            self.itself = None

    def makes_collected_objects() -> None:
        kept.extend([] for _ in range(3 * gc.get_threshold()[0]))

    kept: list[list[None]] = []
    gc.collect()
    alone = lines_run(makes_collected_objects)
    Left()
    assert lines_run(makes_collected_objects) == alone


@on_both_engines
@pytest.mark.parametrize("program", [chain, doubled, ladder], ids=lambda f: f.__name__)
def test_what_a_graph_and_its_pass_take_is_linear_in_the_nodes(engine: Engine, program: Callable[[Any, int], Any]):
    def run(n: int) -> Callable[[], None]:
        return lambda: program(engine.leaf(0.5), n).backward()

    run(3)()  # what is set up once
    ten, twenty, thirty = (lines_run(run(n)) for n in (10, 20, 30))
    assert thirty - twenty == twenty - ten > 0


@on_both_engines
def test_each_operand_is_sent_to_once(engine: Engine):
    root = ladder(engine.leaf(0.5), 30)
    sent = list(contributions(root))
    assert len(sent) == 1 + 2 + 2 * 2 * 30 + 2  # the seed, the two starts, four a rung, the root's two


def contributions(root: Any) -> list[Any]:
    taken: list[Any] = []

    def passed_on():
        for each in chain_rule(root, root._seed()):
            taken.append(each)
            yield each

    deliver(passed_on())
    return taken


# -- memory ------------------------------------------------------------------------------------------------------------


def growth(step: Callable[[], object], first: int, last: int) -> int:
    """How many more blocks of memory live after `last` steps than after `first`.

    Each object has a block at least, and each array is an object. tracemalloc would not do: where an object takes the
    place of one that was there before it began, it counts growth.
    """
    for _ in range(first):
        step()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(last - first):
        step()
    gc.collect()
    return sys.getallocatedblocks() - before


def of_values() -> Callable[[], None]:
    net = MLP(2, [2, 1])

    def step() -> None:
        loss = (net([0.5, -1.0]) - 1.0) ** 2
        net.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.data -= 0.01 * p.grad

    return step


def of_tensors() -> Callable[[], None]:
    layer, x = nn.Linear(2, 1), tg.randn(3, 2)
    return training(layer, lambda: layer(x).square().mean())


def of_a_gpt() -> Callable[[], None]:
    model, idx = GPT(GPTConfig(vocabulary=7, context=4, blocks=1, heads=2, width=8)), tg.arange(4)
    return training(model, lambda: F.cross_entropy(model(idx[None])[0], idx + 1))


def training(model: nn.Module, loss: Callable[[], tg.Tensor]) -> Callable[[], None]:
    optimizer = tg.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


@pytest.mark.parametrize(
    ("make", "first", "last"),
    [(of_values, 100, 1_000), (of_tensors, 100, 1_000), (of_a_gpt, 20, 140)],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_later_steps_leave_nothing_behind(make: Callable[[], Callable[[], None]], first: int, last: int):
    # not an object a step; NumPy keeps a few hundred small blocks for re-use, which come one by one at first
    assert growth(make(), first, last) < 0.75 * (last - first)


def test_growth_would_be_found():
    kept = []
    assert growth(lambda: kept.append(tg.ones(2)), 10, 110) >= 100
