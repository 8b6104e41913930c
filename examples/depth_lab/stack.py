"""A stack of layers on the tensor engine, and the gradient at each place of it.

Layer l, of `layers`, without biases:

    layer(h) = activation(scale * (h @ W[l]))              with pre-norm: h is normalised first, as in GPT-2
    h[l]     = layer(h[l - 1])   or, with residual,   h[l - 1] + layer(h[l - 1])

h[0] is a batch of standard normal numbers, and the loss is the mean of the squares of h[layers].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import tensorgrad.nn.functional as F
from depth_lab import draws
from depth_lab.initialisation import WEIGHTS, matrix
from tensorgrad import Tensor, tensor
from viz.arrays import norm

WIDTH, BATCH = 256, 8
MOST_LAYERS = 1_000

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": F.tanh,
    "relu": F.relu,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),  # the one of GPT-2
    "linear": lambda x: x,
}


@dataclass(frozen=True)
class Stack:
    """What a stack is made of.

    initialisation  one of `WEIGHTS`; `scale` multiplies it
    width           numbers in a row of the signal
    batch           rows
    """

    layers: int = 60
    scale: float = 0.5
    residual: bool = False
    activation: str = "tanh"
    norm: bool = False
    initialisation: str = "normal"
    seed: int = 0
    width: int = WIDTH
    batch: int = BATCH

    def __post_init__(self) -> None:
        """Raises ValueError for what no stack can be made of."""
        if not 1 <= self.layers <= MOST_LAYERS:
            raise ValueError(
                f"a stack has from 1 to {MOST_LAYERS:,} layers (the weights and gradients of so many take 1 GB), "
                f"got {self.layers:,}"
            )
        if not np.isfinite(self.scale) or self.scale <= 0:
            raise ValueError(f"a scale is a finite number above 0, got {self.scale:g}")
        for what, known, given in (
            ("activation", ACTIVATIONS, self.activation),
            ("initialisation", WEIGHTS, self.initialisation),
        ):
            if given not in known:
                raise ValueError(f"there is no {what} {given!r}: take {', '.join(known)}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"a seed is a whole number from 0 to 2**32 - 1, got {self.seed:,}")


@dataclass(frozen=True)
class Measured:
    """What one backward pass leaves along a stack of n layers.

    loss
    signal    (n + 1,) root mean square of h[0] ... h[n]
    states    (n + 1,) norm of the gradient at h[0] ... h[n]: layer l reads h[l - 1] and makes h[l]
    weights   (n,) norm of the gradient of W[1] ... W[n]
    """

    loss: float
    signal: np.ndarray
    states: np.ndarray
    weights: np.ndarray

    @property
    def at_inputs(self) -> float:
        """The gradient at the first layer's input over that at the last one's."""
        return _ratio(self.states[0], self.states[-2])

    @property
    def at_outputs(self) -> float:
        """The gradient at the first layer's output over that at the last one's."""
        return _ratio(self.states[1], self.states[-1])

    @property
    def at_weights(self) -> float:
        """The gradient of the first layer's weights over that of the last one's."""
        return _ratio(self.weights[0], self.weights[-1])


def measured(stack: Stack) -> Measured:
    """Run a stack forward and backward, in float64. Numbers that outgrow float64 become inf and nan without a word."""
    weights, states, loss = passed(stack)
    return Measured(
        loss=loss.item(),
        signal=np.array([norm(h.data) / np.sqrt(h.data.size) for h in states]),
        states=np.array([norm(h.grad) for h in states]),
        weights=np.array([norm(w.grad) for w in weights]),
    )


def passed(stack: Stack) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """The weights, h[0] ... h[layers], and the loss, after a backward pass: all have their gradients."""
    weights, states = leaves(stack)
    with np.errstate(over="ignore", invalid="ignore"):
        for w in weights:
            states.append(_layer(stack, states[-1], w))
        loss = (states[-1] ** 2).mean()
        loss.backward()
    return weights, states, loss


def leaves(stack: Stack) -> tuple[list[Tensor], list[Tensor]]:
    """The weights, and a list with nothing but h[0]."""
    shrink = 1 / np.sqrt(stack.layers) if stack.residual else 1.0
    weights = [
        tensor(matrix(stack.initialisation, stack.seed, layer, stack.width, shrink), requires_grad=True)
        for layer in range(1, stack.layers + 1)
    ]
    signal = draws.normal(stack.seed, 0, stack.batch * stack.width).reshape(stack.batch, stack.width)
    return weights, [tensor(signal, requires_grad=True)]


def _layer(stack: Stack, h: Tensor, w: Tensor) -> Tensor:
    read = F.layer_norm(h, (stack.width,)) if stack.norm else h
    made = ACTIVATIONS[stack.activation](stack.scale * (read @ w))
    return h + made if stack.residual else made


def _ratio(first: float, last: float) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.divide(first, last)) if last else float("nan")
