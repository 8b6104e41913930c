"""What it saves and costs never to hold the scores of a vocabulary: a Markdown table, forward and backward together.

python tests/benchmarks/linear_cross_entropy.py             GPT-2's: 1,024 rows of 768, 50,257 classes; 1 GB of memory
python tests/benchmarks/linear_cross_entropy.py 64 32 1000  rows, width and classes of your own
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from tensorgrad import Tensor
from tensorgrad.nn import LinearCrossEntropyOptions
from tensorgrad.nn import functional as F

MB = 10**6


def main(rows: int = 1024, width: int = 768, classes: int = 50_257) -> None:
    rng = np.random.default_rng(0)
    x = Tensor(rng.standard_normal((rows, width), dtype=np.float32), requires_grad=True)
    w = Tensor(0.02 * rng.standard_normal((classes, width), dtype=np.float32), requires_grad=True)
    target = rng.integers(0, classes, rows)
    chunk = LinearCrossEntropyOptions(batch_chunk_size=max(rows // 8, 1))
    programs: dict[str, Callable[[], Tensor]] = {
        "linear, cross_entropy": lambda: F.cross_entropy(F.linear(x, w), target),
        "linear_cross_entropy": lambda: F.linear_cross_entropy(x, w, target),
        f"the same, {chunk.batch_chunk_size} rows at a time": lambda: F.linear_cross_entropy(
            x, w, target, options=chunk
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(3):  # in turns, so that a busy machine slows all of them
        for name, program in programs.items():
            times[name].append(_time(program, (x, w)))
    first, *_ = programs
    print(f"{rows:,} rows of {width:,}, {classes:,} classes: all scores are {rows * classes * 4 / MB:,.1f} MB\n")
    print("| | held after forward | peak | of which the operands' gradients | time, as a ratio |")
    print("|---|---:|---:|---:|---:|")
    gradients = (x.data.nbytes + w.data.nbytes) / MB
    for name, program in programs.items():
        held, peak = (n / MB for n in _memory(program, (x, w)))
        ratio = min(times[name]) / min(times[first])
        print(f"| {name} | {held:,.1f} MB | {peak:,.1f} MB | {gradients:,.1f} MB | {ratio:.2f} |")


def _time(program: Callable[[], Tensor], leaves: tuple[Tensor, ...]) -> float:
    _forget(leaves)
    start = time.perf_counter()
    program().backward()
    return time.perf_counter() - start


def _memory(program: Callable[[], Tensor], leaves: tuple[Tensor, ...]) -> tuple[int, int]:
    """Bytes beside the operands: what is held when the loss is there, and the most at any time until the gradients
    are."""
    _forget(leaves)
    tracemalloc.start()
    try:
        loss = program()
        held = tracemalloc.get_traced_memory()[0]
        loss.backward()
        return held, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _forget(leaves: tuple[Tensor, ...]) -> None:
    for x in leaves:
        x.grad = None


if __name__ == "__main__":
    main(*[int(argument) for argument in sys.argv[1:]])
