"""Rows of a table, read by number with many repeats: as an embedding, and with an index."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import agreement
import numpy as np
import peers
import racing
from by_hand.rows import Rows

import tensorgrad as tg
from tensorgrad.nn import functional as F


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


def torchs(read: Callable[[Any, Any, Any], Any]) -> Callable[..., peers.Step | str]:
    """torch; `read` gets torch.nn.functional, the table and the numbers."""

    @peers.guarded
    def made(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
        torch = importlib.import_module("torch")

        torch.set_num_threads(racing.THREADS)
        table = torch.tensor(table, requires_grad=True)
        return pulled(table, lambda: read(torch.nn.functional, table, torch.tensor(numbers)), torch.tensor(sent))

    return made


def ours(read: Callable[[Any, Any, Any], Any]) -> Callable[..., peers.Step]:
    def made(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
        table, numbers = tg.tensor(table, requires_grad=True), tg.tensor(numbers)
        return pulled(table, lambda: read(F, table, numbers), tg.tensor(sent))

    return made


def pulled(table: Any, read: Callable[[], Any], sent: Any) -> peers.Step:
    def step() -> list[Any]:
        table.grad = None
        read().backward(sent)
        return [table.grad]

    return step


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


def by_hand(table: np.ndarray, numbers: np.ndarray, sent: np.ndarray) -> peers.Step:
    rows = Rows(table, len(numbers))

    def step() -> list[np.ndarray]:
        rows.forward(numbers)
        return [rows.backward(numbers, sent)]

    return step


def contenders(size: Size) -> dict[str, dict[str, Callable[[], Any] | str]]:
    """By what is done, a step of each; what it returns is the gradient of the table."""
    made = arrays(size)

    def embedding(functional: Any, table: Any, numbers: Any) -> Any:
        return functional.embedding(numbers, table)

    def index(functional: Any, table: Any, numbers: Any) -> Any:
        return table[numbers]

    both = {
        who: make(*made) for who, make in {"MyGrad": mygrad, "autograd": autograd, "NumPy by hand": by_hand}.items()
    }
    return {
        "embedding": {"ours": ours(embedding)(*made), "torch": torchs(embedding)(*made)},
        "index": {"ours": ours(index)(*made), "torch": torchs(index)(*made), **both},
    }


def report(quick: bool) -> list[str]:
    found = contenders(FULL)
    found["embedding"]["NumPy by hand"] = found["index"]["NumPy by hand"]
    for steps in found.values():
        agreement.check({who: step() for who, step in steps.items() if not isinstance(step, str)})
    repeats = 3 if quick else 25
    races = [racing.race(what, steps, repeats) for what, steps in found.items()]
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
