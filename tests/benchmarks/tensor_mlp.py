"""Forward and backward of MLPs: a tiny one, whose time is that of the engine alone, and one of ten layers 256 wide,
whose time is that of the products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import contender
import numpy as np
import peers
import racing
import serving

BY_HAND, NEW_ARRAYS = "NumPy by hand", "NumPy by hand, new arrays"


@dataclass(frozen=True)
class Size:
    """`layers` layers from `width` to `width`, and so many rows in a batch."""

    layers: int
    width: int
    rows: int


TINY = Size(layers=3, width=4, rows=4)
MIDDLE = Size(layers=10, width=256, rows=64)


def arrays(size: Size) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Weights (width, width), biases (width,) and an input (rows, width), float32, at random."""
    rng = np.random.default_rng(0)
    scale = size.width**-0.5
    weights = [rng.normal(scale=scale, size=(size.width, size.width)).astype(np.float32) for _ in range(size.layers)]
    biases = [rng.normal(scale=0.1, size=size.width).astype(np.float32) for _ in range(size.layers)]
    return weights, biases, rng.normal(size=(size.rows, size.width)).astype(np.float32)


MAKERS = {
    "ours": "ours:operators",
    "ours, modules": "ours:modules",
    "torch": "peers:torch_operators",
    "torch, modules": "peers:torch_modules",
    "MyGrad": "peers:mygrad",
    "autograd": "peers:autograd",
    "tinygrad": "peers:tinygrad",
    "tinygrad, TinyJit": "peers:tinygrad_jit",
    NEW_ARRAYS: "by_hand.contenders:new_arrays",
    BY_HAND: "by_hand.contenders:kept_arrays",
}
"""Each makes a step, which returns the gradients, weights first; or says why it cannot run."""


def make(who: str, size: Size) -> peers.Step | str:
    """That contender's step."""
    return contender.named(MAKERS[who])(*arrays(size))


SIZES = {"tiny": TINY, "ten layers": MIDDLE}
CONTENDERS = {name: {who: partial(make, who, size) for who in MAKERS} for name, size in SIZES.items()}


def report(quick: bool) -> list[str]:
    repeats = 3 if quick else 15
    tiny, middle = (serving.race(__file__, name, MAKERS, repeats) for name in SIZES)
    targets = [
        ("tiny MLP: torch's time over ours", tiny, "torch", "ours", 3, True),
        ("tiny MLP of modules: torch's time over ours", tiny, "torch, modules", "ours, modules", 3, True),
        ("tiny MLP: MyGrad's time over ours", tiny, "MyGrad", "ours", 5, True),
        (
            "MLP 64 x 256, ten layers: our time over NumPy's by hand with new arrays",
            middle,
            "ours",
            NEW_ARRAYS,
            1.15,
            False,
        ),
        ("MLP 64 x 256, ten layers: our time over torch's", middle, "ours", "torch", 1, False),
    ]
    return [
        "## MLPs",
        "",
        "Forward, backward and clearing of gradients of layers `tanh(h @ w + b)` with the mean of squares as the loss, "
        f"float32. Tiny: {TINY.layers} layers {TINY.width} wide, {TINY.rows} rows. Ten layers: {MIDDLE.width} wide, "
        f"{MIDDLE.rows} rows. By hand: `by_hand/mlp.py`, every line one call of NumPy; with new arrays for results and "
        "gradients in each step, as an engine must give them, or with arrays made once for this size and written over.",
        "",
        *racing.table([tiny, middle], to="ours"),
        *(
            racing.target_line(racing.Target(text, found.ratio(who, to), limit, least))
            for text, found, who, to, limit, least in targets
            if who in found.times and to in found.times
        ),
    ]


if __name__ == "__main__":
    racing.alone(report)
