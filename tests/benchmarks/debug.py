"""What the assertions of `tensorgrad.debug()` cost (figures row 10): a Markdown table of backward passes.

python tests/benchmarks/debug.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import tensorgrad
from tensorgrad import Tensor


def mlp(layers: int, width: int, batch: int) -> Tensor:
    """The loss of a stack of tanh layers."""
    generator = np.random.default_rng(0)
    x = Tensor(generator.standard_normal((batch, width), dtype=np.float32))
    for _ in range(layers):
        weight = generator.standard_normal((width, width), dtype=np.float32) / np.float32(width**0.5)
        bias = Tensor(np.zeros(width, dtype=np.float32), requires_grad=True)
        x = (x @ Tensor(weight, requires_grad=True) + bias).tanh()
    return (x * x).mean()


def backward_time(loss: Tensor, repeats: int) -> float:
    """Seconds of one backward pass."""
    start = time.perf_counter()
    for _ in range(repeats):
        loss.backward()
    return (time.perf_counter() - start) / repeats


def main() -> None:
    print("| backward pass of 10 tanh layers | plain | with assertions | ratio | and checksums | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for width, batch, repeats in ((4, 4, 200), (64, 64, 50), (256, 64, 20)):
        loss = mlp(10, width, batch)
        with tensorgrad.debug():
            remembered = mlp(10, width, batch)  # with checksums of what the rules hold
        plain, checked, summed = [], [], []
        for _ in range(7):  # in turns, so that a busy machine slows both
            plain.append(backward_time(loss, repeats))
            with tensorgrad.debug():
                checked.append(backward_time(loss, repeats))
                summed.append(backward_time(remembered, repeats))
        a, b, c = min(plain), min(checked), min(summed)
        print(
            f"| {width} wide, batch of {batch} | {a * 1e3:.3g} ms | {b * 1e3:.3g} ms | {b / a:.2f} "
            f"| {c * 1e3:.3g} ms | {c / a:.2f} |"
        )


if __name__ == "__main__":
    main()
