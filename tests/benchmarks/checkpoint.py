"""What checkpoints cost and save on a stack of GPT blocks: a Markdown table of whole steps, ratios to the plain one.

python tests/benchmarks/checkpoint.py
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

import tensorgrad
from tensorgrad import Tensor, lean_graph
from tensorgrad.models.gpt import Block, GPTConfig
from tensorgrad.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

BLOCKS, WIDTH, TOKENS, BATCH, HEADS = 4, 128, 128, 4, 4
TURNS = 15


def ways() -> dict[str, Callable[[Block, Tensor], Tensor]]:
    """How a block is called."""

    def keeping(*names: str) -> Callable[[Block, Tensor], Tensor]:
        return partial(checkpoint, context_fn=partial(create_selective_checkpoint_contexts, names))

    return {
        "no checkpoints": lambda block, x: block(x),
        "each block": checkpoint,
        "each block, results of `linear` kept": keeping("linear"),
        "each block, of `linear` and attention kept": keeping("linear", "scaled_dot_product_attention"),
    }


@lean_graph()
def forward(call: Callable[[Block, Tensor], Tensor], blocks: list[Block], x: Tensor) -> Tensor:
    for block in blocks:
        x = call(block, x)
    return (x * x).mean()


def step(call: Callable[[Block, Tensor], Tensor], blocks: list[Block], x: Tensor) -> float:
    """Seconds that forward and backward take."""
    for block in blocks:
        block.zero_grad()
    start = time.perf_counter()
    forward(call, blocks, x).backward(retain_graph=False)
    return time.perf_counter() - start


def memory(call: Callable[[Block, Tensor], Tensor], blocks: list[Block], x: Tensor) -> tuple[int, int]:
    """Bytes that the graph holds after the forward pass, and the peak of both passes without the parameters' gradients
    that are there before."""
    tracemalloc.start()
    loss = forward(call, blocks, x)
    held = tracemalloc.get_traced_memory()[0]
    loss.backward(retain_graph=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held, peak


def main() -> None:
    tensorgrad.manual_seed(0)
    config = GPTConfig(vocabulary=1, context=TOKENS, blocks=BLOCKS, heads=HEADS, width=WIDTH)
    blocks = [Block(config) for _ in range(BLOCKS)]
    x = tensorgrad.randn(BATCH, TOKENS, WIDTH)
    calls = ways()
    for call in calls.values():
        step(call, blocks, x)  # of the first call the imports; and from here on every parameter has its gradient
    sizes = {name: memory(call, blocks, x) for name, call in calls.items()}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(TURNS):  # in turns, so that a busy machine slows all
        for name, call in calls.items():
            seconds[name].append(step(call, blocks, x))
    plain = seconds["no checkpoints"]
    unit = x.numel() * 4
    print(f"{BLOCKS} blocks, width {WIDTH}, {BATCH} x {TOKENS} tokens; memory in float32 arrays of tokens x width\n")
    print("| | held after forward | peak | time of a step |\n|---|---:|---:|---:|")
    for name, (held, peak) in sizes.items():
        ratio = median(a / b for a, b in zip(seconds[name], plain, strict=True))
        fastest = min(seconds[name]) / min(plain)
        print(f"| {name} | {held / unit:.1f} | {peak / unit:.1f} | {ratio:.2f} (fastest {fastest:.2f}) |")


if __name__ == "__main__":
    main()
