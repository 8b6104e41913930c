"""Graphs that several tests look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorgrad
from micrograd import Value
from micrograd.backprop import Node
from tensorgrad import Tensor, nn
from tensorgrad.autograd import Function


def seven_nodes(leaf: Callable[..., Any] = Value) -> tuple[Node, dict[str, Node]]:
    """relu(a*b + c)*a at 2, -3 and 10, and its leaves by name: `a` receives 4 and then -6, which makes -2."""
    a, b, c = leaf(2.0), leaf(-3.0), leaf(10.0)
    return (a * b + c).relu() * a, {"a": a, "b": b, "c": c}


class Two(Function):
    """Twice and three times an array, as one operation."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, g: Tensor, h: Tensor) -> Tensor:
        return g * 2 + h * 3


def deep(activation: type[nn.Module] = nn.Tanh) -> tuple[nn.Module, Tensor]:
    """The 10 layers of figure 11: 256 wide, on a batch of 64."""
    net = nn.Sequential(*[layer for _ in range(10) for layer in (nn.Linear(256, 256), activation())])
    return net, net(tensorgrad.randn(64, 256)).mean()
