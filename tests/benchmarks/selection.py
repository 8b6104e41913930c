"""What it costs that unselected branches of `where` poison no gradient: a Markdown table of backward passes.

python tests/benchmarks/selection.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from debug import backward_time

from tensorgrad import Tensor, selection, where


def chain(size: int, steps: int = 10) -> Tensor:
    """The sum of where(x > 0, exp(-x), x*x), again and again."""
    x = Tensor(np.random.default_rng(0).standard_normal(size), requires_grad=True)
    y = x * 1.0
    for _ in range(steps):
        y = where(y > 0, (-y).exp(), y * y) - 0.5
    return y.sum()


def main() -> None:
    print("| backward pass of 10 `where` | masks off | with masks | ratio |\n|---|---:|---:|---:|")
    for size, repeats in ((10, 300), (10_000, 50), (1_000_000, 2)):
        loss = chain(size)
        plain, masked = [], []
        for _ in range(7):  # in turns, so that a busy machine slows both
            selection.screened, kept = unscreened, selection.screened
            plain.append(backward_time(loss, repeats))
            selection.screened = kept
            masked.append(backward_time(loss, repeats))
        a, b = min(plain), min(masked)
        print(f"| {size:,} elements | {a * 1e3:.3g} ms | {b * 1e3:.3g} ms | {b / a:.2f} |")


def unscreened(node, sent):
    """What `selection.screened` does, without masks: the gradients as torch has them."""
    plain = []
    for parent, contribution, _ in sent:
        is_selected = type(contribution) is selection.Selected
        plain.append((parent, contribution.array if is_selected else contribution))
    return plain


if __name__ == "__main__":
    main()
