"""Mixed precision on float32 arrays: what torch.autocast computes in 16 bits is rounded to a format with few bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from precision_lab.formats import Format
from tensorgrad import Tensor
from tensorgrad.autograd import Function
from tensorgrad.nn import Linear, Module
from tensorgrad.nn import functional as F


@dataclass
class Tally:
    """What rounding did to numbers that were neither 0 nor odd: how many there were, how many became 0, how many inf
    or nan."""

    values: int = 0
    lost: int = 0
    overflowed: int = 0

    def add(self, before: np.ndarray, after: np.ndarray) -> None:
        """Count what became of an array; both have one shape."""
        sound = np.isfinite(before) & (before != 0)
        self.values += int(np.count_nonzero(sound))
        self.lost += int(np.count_nonzero(sound & (after == 0)))
        self.overflowed += int(np.count_nonzero(sound & ~np.isfinite(after)))

    @property
    def share_lost(self) -> float:
        """0.0 where there were no numbers."""
        return self.lost / max(self.values, 1)


class Simulated:
    """A model that computes in a format until `remove()`, which may stand in a `with`.

    weights  of the gradients of weights and biases
    between  of the gradients at what the Linears read and make, so at the scores of the model's tokens, too

    Both are counted from the start or the last `count_anew()` on.
    """

    def __init__(self, layers: list[Linear]) -> None:
        self._layers = layers
        self.count_anew()

    def count_anew(self) -> None:
        self.weights, self.between = Tally(), Tally()

    def remove(self) -> None:
        """Let the model compute in its own precision again."""
        for layer in self._layers:
            layer.__dict__.pop("forward", None)
        self._layers = []

    def __enter__(self) -> Simulated:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def simulate(model: Module, kind: Format) -> Simulated:
    """Let a model of float32 compute as torch.autocast would let it in that format.

    At each Linear the input, the weight and the bias are rounded to the format, and so is what comes out. On the way
    back the gradient of each of these four is rounded. Their products are summed in float32, as matrix units do.

    All else stays float32, as it does there (norms, the softmax, the loss, the table of an embedding) or nearly so
    (what lies between two Linears: GELU, attention, whose inputs and results are rounded). Between a GELU or tanh and a
    norm right behind it autocast rounds once more; a GPT has no such place. The residual stream is float32 there, too,
    since embeddings are. The parameters stay float32: each step starts from them, and the optimizer changes them. What
    is too large becomes inf (or nan in a format without it) and goes on as such.

    Not seen are products outside a Linear, and a Linear that has a forward of its own. A copy of the model computes in
    the format, too, for good: copy `(model, simulated)` to get what ends it. Raises ValueError for a model without a
    Linear, RuntimeError for one that is simulated already.
    """
    linear = [m for m in model.modules() if isinstance(m, Linear) and type(m).forward is Linear.forward]
    if any(isinstance(layer.__dict__.get("forward"), _Forward) for layer in linear):
        raise RuntimeError("simulate: this model is simulated already: call remove() on what simulate returned before")
    layers = [layer for layer in linear if "forward" not in layer.__dict__]
    if not layers:
        raise ValueError(f"simulate: there is no Linear in this {type(model).__name__}, so nothing would be rounded")
    simulated = Simulated(layers)
    for layer in layers:
        layer.forward = _Forward(layer, kind, simulated)  # type: ignore[method-assign]
    return simulated


@dataclass
class _Forward:
    """What a layer computes in the format, in place of its `forward`. It is no closure, so that copies of the model
    compute with their own weights."""

    layer: Linear
    kind: Format
    simulated: Simulated

    def __call__(self, input: Tensor) -> Tensor:
        weights, between = (self.simulated, "weights"), (self.simulated, "between")
        layer, kind = self.layer, self.kind
        bias = None if layer.bias is None else _Rounded.apply(layer.bias, kind, weights)
        weight = _Rounded.apply(layer.weight, kind, weights)
        return _Rounded.apply(F.linear(_Rounded.apply(input, kind, between), weight, bias), kind, between)


class _Rounded(Function):
    """Numbers of a format, and on the way back a gradient of that format."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kind: Format, counted: tuple[Simulated, str]) -> Tensor:
        ctx.kind, ctx.counted = kind, counted
        return _rounded(x, kind)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        found = _rounded(gradient, ctx.kind)
        simulated, name = ctx.counted
        getattr(simulated, name).add(gradient.data, found.data)
        return found, None, None


def _rounded(x: Tensor, kind: Format) -> Tensor:
    return Tensor(kind.rounded(x.data).astype(x.dtype))
