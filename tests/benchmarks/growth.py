"""How times grow: each thing at 1, 2, 4 and 8 times a size, and the exponent of its growth.

python tests/benchmarks/growth.py [--quick]
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import racing

sys.path.insert(0, str(Path(__file__).parents[2]))

import gpt_sizes
import ours
import pictures
import scalar_programs as scalars
import stepper
import tensor_indexing

import tensorgrad as tg
from tensorgrad import nn
from tensorgrad.models.gpt import Block, GPTConfig
from viz import compare

ROOT = Path(__file__).parents[2]
TIMES = (1, 2, 4, 8)
CHAIN = (10_000, 100_000, 1_000_000)
CHAIN_TURNS = 3
HERE, LIMIT = "here", "limit: smallest engine"
MOST_BEYOND = 0.05

Make = Callable[[int], Callable[[], object]]


# -- scalars -----------------------------------------------------------------------------------------------------------


def scalar_things() -> dict[str, Make]:
    engine = scalars.Engine(str(ROOT))
    return {
        "41-parameter step: 4 examples": lambda k: scalars.net_step(engine, k),
        "moons step: 5 examples, `MLP(2, [16, 16, 1])`": lambda k: scalars.moons_step(engine, 5 * k),
        "moons step: width 4, 5 examples (products of layers: to 2)": lambda k: scalars.moons_step(engine, 5, 4 * k),
        "moons step: 1 hidden layer of 8, 5 examples (the first is smaller)": lambda k: scalars.moons_step(
            engine, 5, 8, k
        ),
        "chain of Values: 2,000 nodes": lambda k: scalars.chain(engine, 2_000 * k),
    }


def script_things() -> dict[str, Make]:
    engine = scalars.Engine(str(ROOT))
    return {"`micrograd.script`, replayed: 4 examples": lambda k: scalars.net_replay_only(engine, k)}


# -- tensors -----------------------------------------------------------------------------------------------------------


def mlp(batch: int = 32, width: int = 128, depth: int = 4) -> Callable[[], None]:
    """Forward and backward of layers with tanh, from random inputs of shape (batch, width)."""
    tg.manual_seed(0)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.Tanh())]
    model, x = nn.Sequential(*layers), tg.randn(batch, width)

    def run() -> None:
        model.zero_grad()
        (model(x) ** 2).mean().backward()

    return run


def gpt_block(tokens: int) -> Callable[[], None]:
    """Forward and backward of a block of width 64 with four heads, on (2, tokens, 64)."""
    tg.manual_seed(0)
    block = Block(GPTConfig(vocabulary=8, context=tokens, blocks=1, heads=4, width=64))
    x = tg.randn(2, tokens, 64)

    def run() -> None:
        block.zero_grad()
        (block(x) ** 2).mean().backward()

    return run


def tensor_chain(nodes: int) -> Callable[[], None]:
    """`nodes` operations on 8 elements, one after another, forward and backward."""
    x = tg.ones(8, requires_grad=True)

    def run() -> None:
        y = x
        for _ in range(nodes):
            y = -y
        y.sum().backward()

    return run


def rows(what: str, count: int) -> Callable[[], object]:
    """`count` rows of a table, forward and backward."""
    return tensor_indexing.make(what, "ours", replace(tensor_indexing.FULL, count=count))


TENSOR_THINGS: dict[str, Make] = {
    "MLP of 4 layers of 128: batch 32": lambda k: mlp(batch=32 * k),
    "MLP of 4 layers, batch 32: width 64 (products: to 2)": lambda k: mlp(width=64 * k),
    "MLP of layers of 128, batch 32: depth 2": lambda k: mlp(depth=2 * k),
    "GPT block of width 64: 32 tokens (scores: to 2)": lambda k: gpt_block(32 * k),
    "training step of the character model: 2 sequences": lambda k: ours.whole_gpt(
        replace(gpt_sizes.CHARS, batch=2 * k)
    ),
    "two blocks of GPT-2 small, 5,000 tokens to choose from: 32 tokens": lambda k: ours.whole_gpt(
        replace(gpt_sizes.GPT2_CUT, tokens=32 * k), update=False
    ),
    "`embedding` with a table of 10,000 rows: 1,024 rows": lambda k: rows(tensor_indexing.EMBEDDING, 1_024 * k),
    "the same by index": lambda k: rows(tensor_indexing.INDEX, 1_024 * k),
    "chain of tensors: 500 nodes": lambda k: tensor_chain(500 * k),
}


# -- looking -----------------------------------------------------------------------------------------------------------


def looking_things(folder: Path) -> dict[str, Make]:
    def at(does: Callable[..., None]) -> Make:
        def make(k: int) -> Callable[[], object]:
            root = stepper.mlp([4, 4], 2 * k)
            root.backward()
            return lambda: does(root, folder)

        return make

    def comparison(k: int) -> Callable[[], object]:
        operands = pictures.operands(2 * k)
        return lambda: compare(pictures.layer, *operands, names={}, finite_differences=False)

    return {
        "`viz.trace`: 2 examples of `MLP(3, [4, 4, 1])`": at(pictures.trace),
        "DOT text: the same": at(pictures.dot),
        "layout: the same": at(pictures.layout),
        "page: the same": at(pictures.page),
        "`viz.compare` of a tanh layer: 2 rows": comparison,
    }


# -- the chain to a million --------------------------------------------------------------------------------------------


def collector_off(does: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        gc.disable()
        try:
            does()
        finally:
            gc.enable()

    return run


def long_chain(quick: bool) -> list[str]:
    """A chain of Values to a million nodes: seconds a node, with the exponent.

    Caches, fresh pages and the collector make a node dearer in a large graph, whatever the engine; so the smallest
    engine runs beside ours.
    """
    engine, smallest = scalars.Engine(str(ROOT)), scalars.Engine("smallest")
    sizes = [size // 10 for size in CHAIN] if quick else list(CHAIN)
    contenders: dict[str, Make] = {
        HERE: lambda n: scalars.chain(engine, n),
        "here, collector off": lambda n: collector_off(scalars.chain(engine, n)),
        LIMIT: lambda n: scalars.chain(smallest, n),
        "the same, collector off": lambda n: collector_off(scalars.chain(smallest, n)),
    }
    turns = 2 if quick else CHAIN_TURNS
    found = {who: racing.growth(who, sizes, make, turns) for who, make in contenders.items()}
    rows = []
    for who, one in found.items():
        a_node = [racing.duration(one.median(n) / n) for n in sizes]
        rows.append([who, *a_node, racing.ratio_text(one.exponent())])
    beyond = found[HERE].exponent()[0] - found[LIMIT].exponent()[0]
    text = f"a chain to {sizes[-1]:,} nodes: exponent beyond that of the smallest engine"
    target = racing.Target(text, (beyond,) * 3, MOST_BEYOND, False)
    return [
        *racing.grid(
            ["chain of additions, forward and backward", *(f"a node of {n:,}" for n in sizes), "exponent (quartiles)"],
            rows,
        ),
        "",
        "That no node is visited twice is a test (tests/test_growth.py). What is over 1 here is of the machine: a",
        "large graph leaves the caches, takes fresh pages, and the collector looks through what lives.",
        "",
        racing.target_line(target),
    ]


def report(quick: bool) -> list[str]:
    times, turns = (TIMES[:2], 2) if quick else (TIMES, 7)
    with tempfile.TemporaryDirectory() as folder:
        things = scalar_things() | TENSOR_THINGS | looking_things(Path(folder))
        if hasattr(scalars.importlib.import_module("micrograd"), "script"):
            things |= script_things()
        found = [racing.growth(name, times, make, turns) for name, make in things.items()]
    return [
        "## Growth",
        "",
        "At 1, 2, 4 and 8 times the size that is named; p in time ~ size^p.",
        "",
        *racing.growth_table(found),
        "",
        *long_chain(quick),
    ]


if __name__ == "__main__":
    racing.alone(report)
