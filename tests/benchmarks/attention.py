"""What attention in tiles takes in time and memory, beside the whole matrix of weights, and in time beside torch.

OPENBLAS_NUM_THREADS=1 python tests/benchmarks/attention.py
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import tensorgrad
from tensorgrad.ops import attention_tiles
from tensorgrad.versions import held_arrays, owner

THREADS = int(os.environ.get("OPENBLAS_NUM_THREADS", os.cpu_count() or 1))  # NumPy's; torch shall have as many
SHAPES = ((12, 4, 64, 32), (4, 4, 256, 32), (1, 12, 1024, 64), (1, 4, 4096, 64))
MB = 10**6


@contextmanager
def whole() -> Iterator[None]:
    """One tile, whose weights are kept: a matrix of all scores."""
    before = attention_tiles.TILE, attention_tiles.KEPT
    attention_tiles.TILE, attention_tiles.KEPT = 2**62, float("inf")
    try:
        yield
    finally:
        attention_tiles.TILE, attention_tiles.KEPT = before


def program(lib: Any, shape: tuple[int, ...]) -> tuple[Any, Callable[[], Any], Any]:
    """What a layer gives (B, T, 3, H, D), causal attention on it with the heads put together, and a gradient."""
    B, H, T, D = shape
    rng = np.random.default_rng(0)
    qkv = lib.tensor(rng.standard_normal((B, T, 3, H, D), dtype=np.float32), requires_grad=True)

    def attend() -> Any:
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(B, T, H * D)

    return qkv, attend, lib.tensor(rng.standard_normal((B, T, H * D), dtype=np.float32))


def timed(lib: Any, shape: tuple[int, ...]) -> Callable[[], float]:
    """Seconds of a pass forward and backward."""
    qkv, attend, g = program(lib, shape)

    def run() -> float:
        start = time.perf_counter()
        qkv.grad = None
        attend().backward(g)
        return time.perf_counter() - start

    return run


def memory(shape: tuple[int, ...]) -> tuple[float, float, float]:
    """MB that the rule of attention holds, the operands and the result among them; and those that forward and backward
    take at their peaks beside what was there before."""
    _, attend, _ = program(tensorgrad, shape)
    tracemalloc.start()
    y = attend()
    forward = tracemalloc.get_traced_memory()[1]
    [joined] = y._prev
    [out] = joined._prev
    g = np.ones_like(out.data)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    out._rules(g)
    backward = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    held = {id(owner(a)): owner(a).nbytes for a in held_arrays(out._rules)}
    return sum(held.values()) / MB, forward / MB, backward / MB


def main() -> None:
    try:
        torch = import_module("torch")
        torch.set_num_threads(THREADS)
    except ImportError:
        torch = None
    print(f"| causal (B, H, T, D), threads: {THREADS} | in tiles | whole matrix | ratio | torch | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for shape in SHAPES:
        tiled, plain = timed(tensorgrad, shape), timed(tensorgrad, shape)
        theirs = timed(torch, shape) if torch else lambda: float("nan")
        times: list[list[float]] = [[], [], []]
        for _ in range(4 if shape[2] > 1000 else 40):  # in turns, so that a busy machine slows all
            times[0].append(tiled())
            with whole():
                times[1].append(plain())
            times[2].append(theirs())
        a, b, c = (1e3 * min(found) for found in times)
        print(f"| {shape} | {a:.3g} ms | {b:.3g} ms | {a / b:.2f} | {c:.3g} ms | {a / c:.2f} |", flush=True)
    print("\n| MB | held | forward | backward | whole matrix: held | forward | backward |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for shape in SHAPES:
        found = memory(shape)
        with whole():
            found += memory(shape)
        print(f"| {shape} | {' | '.join(f'{x:.1f}' for x in found)} |")


if __name__ == "__main__":
    main()
