"""How `micrograd` here compares with the original, PyPI's micrograd 0.1.0, in time and memory: a Markdown table.

    python tests/benchmarks/scalar.py [FOLDER]

FOLDER holds the original, made with `pip install --target FOLDER micrograd==0.1.0`; without it the one installed
beside this package is taken. Each engine runs in a process of its own, since both are imported by the same name, and
they take turns, so that a busy machine slows both. Times are the best of several runs.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TURNS = 3
CHAIN = 100_000

ROWS = {
    # key: (what is measured, unit, factor from seconds or bytes to the unit)
    "step": ("training step of `MLP(3, [4, 4, 1])` on four examples (394 nodes)", "ms", 1e3),
    "backward": ("of that, the backward pass", "ms", 1e3),
    "wide": ("training step of `MLP(8, [16, 16, 1])` on 16 examples", "ms", 1e3),
    "chain": (f"chain of {CHAIN:,} additions, forward and backward", "ms", 1e3),
    "memory": ("memory of a node of such a chain", "bytes", 1.0),
}


# -- in the process of one engine --------------------------------------------------------------------------------------


def measure() -> dict[str, float]:
    """Seconds and bytes for every row, by whichever micrograd is on the path."""
    return {**training(3, [4, 4, 1], 4, 60), "wide": training(8, [16, 16, 1], 16, 8)["step"], **chain()}


def training(inputs: int, sizes: list[int], examples: int, repeats: int) -> dict[str, float]:
    """The shortest step and the shortest backward pass. The garbage collector is on, as in a user's program, and its
    share is spread over the steps: the shortest of five means counts."""
    nn = __import__("micrograd.nn").nn
    random.seed(1337)
    net = nn.MLP(inputs, sizes)
    xs = [[random.uniform(-1, 1) for _ in range(inputs)] for _ in range(examples)]
    ys = [random.choice((-1.0, 1.0)) for _ in range(examples)]

    def forward() -> Any:
        return sum((net(x) - y) ** 2 for x, y in zip(xs, ys))

    def step() -> None:
        loss = forward()
        net.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.data -= 0.001 * p.grad

    loss = forward()
    return {"step": best(step, repeats), "backward": best(loss.backward, repeats)}


def best(function: Callable[[], object], repeats: int) -> float:
    """The shortest of five means over `repeats` calls, in seconds."""
    means = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        means.append((time.perf_counter() - start) / repeats)
    return min(means)


def chain() -> dict[str, float]:
    """Time and memory of a long chain. The original recurses, so it is given a limit and a stack that let it."""
    value = __import__("micrograd.engine").engine.Value
    one = value(1.0)

    def build() -> Any:
        y = value(0.5)
        for _ in range(CHAIN):
            y = y + one
        return y

    sys.setrecursionlimit(10 * CHAIN)
    start = time.perf_counter()
    build().backward()
    seconds = time.perf_counter() - start
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    y = build()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    del y
    return {"chain": seconds, "memory": used / CHAIN}


# -- the comparison ----------------------------------------------------------------------------------------------------


def run_on(folder: str) -> dict[str, float]:
    """What `measure` gives in a new process that finds micrograd in `folder`."""
    done = subprocess.run(
        [sys.executable, "-I", __file__, "--measure", folder], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"the benchmark failed on the micrograd in {folder}:\n{done.stderr}")
    return json.loads(done.stdout)


def original_folder() -> str:
    if len(sys.argv) > 1:
        return sys.argv[1]
    try:
        return str(distribution("micrograd").locate_file(""))
    except PackageNotFoundError:
        sys.exit("no original micrograd: pip install --target FOLDER micrograd==0.1.0, then give FOLDER")


def main() -> None:
    folders = {"here": str(ROOT), "original": original_folder()}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in folders}
    for _ in range(TURNS):
        for name, folder in folders.items():
            runs[name].append(run_on(folder))
    shortest = {name: {key: min(run[key] for run in found) for key in ROWS} for name, found in runs.items()}
    print("| | here | original | ratio |\n|---|---:|---:|---:|")
    for key, (text, unit, factor) in ROWS.items():
        ours, theirs = shortest["here"][key] * factor, shortest["original"][key] * factor
        print(f"| {text} | {ours:.3g} {unit} | {theirs:.3g} {unit} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.path.insert(0, sys.argv[2])
        threading.stack_size(512 * 2**20)
        worker = threading.Thread(target=lambda: print(json.dumps(measure())))
        worker.start()
        worker.join()
    else:
        main()
