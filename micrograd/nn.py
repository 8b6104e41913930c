"""A small neural-network library on top of `Value`: the original's classes, with its arguments and its seeds."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

from micrograd.backprop import Node
from micrograd.engine import Number, Value
from micrograd.scopes import each_call


class Module:
    """Something with parameters. The nodes that a call makes know that this module made them: see `scopes`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if isinstance(cls.__dict__.get("__call__"), FunctionType):
            cls.__call__ = each_call(cls.__call__)

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for p in self.parameters():
            p.grad = p._zero

    def parameters(self) -> list[Value]:
        """Every number that training changes; none here."""
        return []


class Neuron(Module):
    """A weighted sum of `nin` inputs plus a bias, through a ReLU unless `nonlin` is false.

    Weights start uniform in [-1, 1] from Python's `random`, the bias at 0.
    """

    def __init__(self, nin: int, nonlin: bool = True) -> None:
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin = nonlin

    def __call__(self, x: Iterable[Value | Number]) -> Value:
        x = _inputs(x)
        if len(x) != len(self.w):
            raise ValueError(f"{self} takes {len(self.w)} inputs, got {len(x)}")
        act = self.b
        for wi, xi in zip(self.w, x):
            act = act + wi * xi
        return act.relu() if self.nonlin else act

    def parameters(self) -> list[Value]:
        """The weights, then the bias."""
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """`nout` neurons that see the same `nin` inputs; a single neuron's output comes bare, not in a list."""

    def __init__(self, nin: int, nout: int, **kwargs: bool) -> None:
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Iterable[Value | Number]) -> list[Value] | Value:
        x = _inputs(x)
        out = [n(x) for n in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self) -> list[Value]:
        """Those of each neuron in turn."""
        return [p for n in self.neurons for p in n.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(str(n) for n in self.neurons)}]"


class MLP(Module):
    """Layers of the sizes `nouts` after `nin` inputs, ReLU between them, the last one linear."""

    def __init__(self, nin: int, nouts: Sequence[int]) -> None:
        sizes = [nin, *nouts]
        self.layers = [Layer(sizes[i], sizes[i + 1], nonlin=i != len(nouts) - 1) for i in range(len(nouts))]

    def __call__(self, x: Iterable[Value | Number]) -> list[Value] | Value:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list[Value]:
        """Those of each layer in turn."""
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"


def _inputs(x: Iterable[Value | Number] | Value) -> Sequence[Value | Number]:
    """`x` as a sequence: a list of one where it is a single node, as a layer of one neuron hands it on."""
    if isinstance(x, (list, tuple)):
        return x
    return [x] if isinstance(x, Node) and getattr(x.data, "shape", ()) == () else list(x)
