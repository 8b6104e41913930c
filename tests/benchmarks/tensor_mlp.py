"""Forward and backward of MLPs: a tiny one, whose time is that of the engine alone, and one of ten layers 256 wide,
whose time is that of the products."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import agreement
import numpy as np
import peers
import racing
from by_hand import mlp

import tensorgrad as tg
from tensorgrad import nn

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


def operators(weights: peers.Arrays, biases: peers.Arrays, x: np.ndarray) -> peers.Step:
    """tensorgrad, layers written out."""
    ws, bs = ([tg.tensor(a, requires_grad=True) for a in some] for some in (weights, biases))
    x = tg.tensor(x)

    def step() -> list[Any]:
        for p in ws + bs:
            p.grad = None
        h = x
        for w, b in zip(ws, bs):
            h = (h @ w + b).tanh()
        (h * h).mean().backward()
        return [p.grad for p in ws + bs]

    return step


def modules(weights: peers.Arrays, biases: peers.Arrays, x: np.ndarray) -> peers.Step:
    """tensorgrad, nn.Sequential of Linear and Tanh."""
    layers = []
    for w, b in zip(weights, biases):
        layer = nn.Linear(w.shape[0], w.shape[1])
        layer.weight, layer.bias = nn.Parameter(tg.tensor(w.T.copy())), nn.Parameter(tg.tensor(b))
        layers += [layer, nn.Tanh()]
    return peers.sequential_step(nn.Sequential(*layers), tg.tensor(x))


def by_hand(weights: peers.Arrays, biases: peers.Arrays, x: np.ndarray) -> peers.Step:
    """NumPy alone, for this one size: a step writes over the gradients of the last one."""
    net = mlp.MLP(weights, biases, len(x))

    def step() -> list[Any]:
        net.step(x)
        return net.weight_gradients + net.bias_gradients

    return step


def by_hand_new_arrays(weights: peers.Arrays, biases: peers.Arrays, x: np.ndarray) -> peers.Step:
    """NumPy alone, with gradients in new arrays, as an engine must give them."""

    def step() -> list[Any]:
        _, of_weights, of_biases = mlp.step(weights, biases, x)
        return of_weights + of_biases

    return step


MAKERS = {
    "ours": operators,
    "ours, modules": modules,
    "torch": peers.torch_operators,
    "torch, modules": peers.torch_modules,
    "MyGrad": peers.mygrad,
    "autograd": peers.autograd,
    "tinygrad": peers.tinygrad,
    "tinygrad, TinyJit": peers.tinygrad_jit,
    NEW_ARRAYS: by_hand_new_arrays,
    BY_HAND: by_hand,
}
"""Each makes a step, which returns the gradients, weights first; or says why it cannot run."""


def contenders(size: Size) -> dict[str, peers.Step | str]:
    """A step of each, with equal weights."""
    made = arrays(size)
    return {who: make(*made) for who, make in MAKERS.items()}


def raced(name: str, size: Size, repeats: int) -> racing.Race:
    steps = contenders(size)
    agreement.check({who: step() for who, step in steps.items() if not isinstance(step, str)})
    return racing.race(name, steps, repeats)


def report(quick: bool) -> list[str]:
    repeats = 3 if quick else 25
    tiny, middle = raced("tiny", TINY, repeats), raced("ten layers", MIDDLE, repeats)
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
        ("the same over NumPy's by hand with arrays that are kept", middle, "ours", BY_HAND, 1.15, False),
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
