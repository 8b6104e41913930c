"""Programs that the tests of `viz.compare` run."""

from __future__ import annotations

from typing import Any

from tensorgrad import Tensor

X = [[0.5, -1.0], [2.0, 0.25]]
W = [[1.0, -2.0], [0.5, 1.5]]


def relu_example(a: Any, b: Any, c: Any) -> Any:
    return (a * b + c).relu() * a


def layer(x: Any, w: Any, b: Any) -> Any:
    return ((x @ w + b).tanh() ** 2).sum()


def square(x: Tensor, factor: float = 2) -> Tensor:
    """An operation as a user writes one; its rule is right with the factor 2."""
    out = Tensor(x.data * x.data, _prev=(x,), _op="square")

    def backward() -> None:
        x.grad += factor * x.data * out.grad

    out._backward = backward
    return out


def wrong(x: Any) -> Tensor:
    return (square(x * 3.0, 2.5) + 1).sum()
