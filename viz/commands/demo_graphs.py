"""The two graphs of the demonstration: an expression of 7 nodes, and a network of 41 parameters on four examples."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node
from micrograd.nn import MLP
from tensorgrad import Tensor
from viz.inputs.expression import parse

EXPRESSION = "relu(a*b + c)*a"
OPERANDS = {"a": 2.0, "b": -3.0, "c": 10.0}

INPUTS = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
TARGETS = [1.0, -1.0, -1.0, 1.0]
LAYERS = (3, [4, 4, 1])
SEED = 1337


@dataclass(frozen=True)
class Example:
    """A graph and the names of what is in it. `variables` is a namespace, as the user's would be."""

    root: Node
    variables: dict[str, Any]


def expression() -> Example:
    """relu(a*b + c)*a at a=2, b=-3, c=10: `a` is used twice, and receives 4 and then -6."""
    operands = {name: Value(number, label=name) for name, number in OPERANDS.items()}
    program = parse(EXPRESSION)
    return Example(program(*(operands[name] for name in program.parameters)), operands)


def network(leaf: Callable[[float], Node] = Value) -> Example:
    """MLP(3, [4, 4, 1]) and its summed squared error on four examples: 394 nodes. The same numbers every time.

    leaf  makes a parameter of its number: a Value, or what `tensor_leaf` gives
    """
    state = random.getstate()
    random.seed(SEED)
    net = MLP(*LAYERS)
    random.setstate(state)
    for layer in net.layers:
        for neuron in layer.neurons:
            neuron.w, neuron.b = [leaf(w.data) for w in neuron.w], leaf(neuron.b.data)
    predictions = [net(x) for x in INPUTS]
    loss = sum((p - y) ** 2 for y, p in zip(TARGETS, predictions, strict=True))
    return Example(loss, {"net": net, "predictions": predictions, "loss": loss})


def tensor_leaf(dtype: str) -> Callable[[float], Tensor]:
    """Makes a 0-d Tensor of a number, for `network`."""
    return partial(Tensor, dtype=np.dtype(dtype), requires_grad=True)


def gradients(net: MLP) -> list[float]:
    """What the parameters hold after a backward pass."""
    return [float(p.grad) for p in net.parameters()]


def torch_gradients(net: MLP, dtype: str) -> list[float]:
    """The gradients of the network's parameters as torch computes them in float32 or float64.

    The loss is written anew here with torch's matrices, so that it shares nothing with our graphs.
    """
    torch = importlib.import_module("torch")

    def tensor(numbers: Any, **options: Any) -> Any:
        return torch.tensor(numbers, dtype=getattr(torch, dtype), **options)

    layers = [
        (
            tensor([[float(w.data) for w in neuron.w] for neuron in layer.neurons], requires_grad=True),
            tensor([float(neuron.b.data) for neuron in layer.neurons], requires_grad=True),
        )
        for layer in net.layers
    ]
    rows = tensor(INPUTS)
    for number, (weights, biases) in enumerate(layers, 1):
        rows = rows @ weights.T + biases
        if number < len(layers):
            rows = rows.relu()
    ((rows[:, 0] - tensor(TARGETS)) ** 2).sum().backward()
    return [
        float(g)
        for weights, biases in layers
        for row, bias in zip(weights.grad, biases.grad, strict=True)
        for g in (*row, bias)
    ]


def furthest(ours: list[float], theirs: list[float]) -> float:
    """The largest distance between numbers in the same place."""
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
