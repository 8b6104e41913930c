"""Rows of a table, read by number with many repeats: as an embedding, and with an index."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import partial
from typing import Any

import contender
import numpy as np
import peers
import racing
import serving


@dataclass(frozen=True)
class Size:
    """A table of `rows` rows, `width` wide, of which `count` are read."""

    rows: int
    width: int
    count: int


FULL = Size(rows=10_000, width=128, count=4_096)
TINY = Size(rows=7, width=3, count=40)


def arrays(size: Size) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Table, numbers of rows, and the gradient of what is read. Small numbers are read most often, as of words."""
    rng = np.random.default_rng(0)
    table, sent = (rng.normal(size=(n, size.width)).astype(np.float32) for n in (size.rows, size.count))
    return table, (size.rows * rng.random(size.count) ** 4).astype(np.int64), sent


@peers.guarded
def mygrad(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
    mg = importlib.import_module("mygrad")

    table = mg.tensor(table)

    def step() -> list[Any]:
        table[numbers].backward(sent)
        return [table.grad]

    return step


@peers.guarded
def autograd(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
    make_vjp = importlib.import_module("autograd").make_vjp

    pull = make_vjp(lambda table: table[numbers])
    return lambda: [pull(table)[0](sent)]


EMBEDDING, INDEX = "embedding", "index"

MAKERS = {
    EMBEDDING: {
        "ours": "ours:embedding",
        "torch": "peers_torch:embedding",
        "NumPy by hand": "by_hand.contenders:rows",
    },
    INDEX: {
        "ours": "ours:index",
        "torch": "peers_torch:index",
        "MyGrad": "tensor_indexing:mygrad",
        "autograd": "tensor_indexing:autograd",
        "NumPy by hand": "by_hand.contenders:rows",
    },
}
"""By what is done, who makes a step; what that returns is the gradient of the table."""


def make(what: str, who: str, size: Size) -> peers.Step | str:
    """That contender's step."""
    return contender.named(MAKERS[what][who])(*arrays(size))


CONTENDERS = {what: {who: partial(make, what, who, FULL) for who in makers} for what, makers in MAKERS.items()}


def report(quick: bool) -> list[str]:
    races = [serving.race(__file__, what, MAKERS[what], 3 if quick else 15) for what in MAKERS]
    numbers = arrays(FULL)[1]
    return [
        "## Rows by number",
        "",
        f"{FULL.count:,} rows of a table of {FULL.rows:,} x {FULL.width}, {len(np.unique(numbers)):,} different ones; "
        "forward and backward, float32. `embedding` is `F.embedding(numbers, table)`, `index` is `table[numbers]`.",
        "",
        *racing.table(races, to="ours"),
    ]


if __name__ == "__main__":
    racing.alone(report)
