"""A small program with annotations, as a user with a type checker would write it.

test_typing.py has mypy (strict) and pyright look through it, and runs it.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np

import tensorgrad
from micrograd import Value
from tensorgrad import Tensor, nn, optim
from viz import compare


class Classifier(nn.Module):
    """Two layers."""

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.second = nn.Linear(hidden, classes)
        self.scale = nn.Parameter(tensorgrad.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.norm(self.first(x))
        logits: Tensor = self.second(hidden.tanh())
        return logits * self.scale


def train(steps: int) -> float:
    tensorgrad.manual_seed(0)
    x = tensorgrad.randn(30, 4)
    y = (x[:, 0] > 0).long()
    model = Classifier(4, 8, 2)
    optimizer = optim.AdamW(model.parameters(), lr=0.05)
    for _ in range(steps):
        batch = tensorgrad.randperm(30)[:10]
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with tensorgrad.no_grad():
        predicted: Tensor = model(x).argmax(1)
        return float(tensorgrad.eq(predicted, y).float().mean())


@tensorgrad.no_grad()
def largest(x: Tensor) -> Tensor:
    return x.max()


@tensorgrad.no_grad
def smallest(x: Tensor) -> Tensor:
    return x.min()


@tensorgrad.inference_mode()
def size(x: Tensor) -> float:
    return float(x.abs().sum())


def tensors() -> Tensor:
    a = tensorgrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = tensorgrad.zeros(2, 2, dtype=tensorgrad.float32) + tensorgrad.arange(4).reshape(2, 2)
    assert_type(a + b, Tensor)
    assert_type(2 * a - 1, Tensor)
    assert_type(a @ b.T, Tensor)
    assert_type(a.exp(), Tensor)
    assert_type(a.sum(dim=0, keepdim=True), Tensor)
    assert_type(a.reshape(4), Tensor)
    assert_type(a.double(), Tensor)
    assert_type(a[0, 1:], Tensor)
    assert_type(a.shape, tuple[int, ...])
    assert_type(tensorgrad.cat([a, b]), Tensor)
    assert_type(tensorgrad.where(a > 1, a, b), Tensor)
    assert_type(a.data, np.ndarray)
    assert_type(a.requires_grad, bool)
    assert_type(a.max(), Tensor)
    assert_type(a.max(1).indices, Tensor)
    assert_type(a.size(0), int)
    assert_type(a.type(), str)
    assert_type(largest(a), Tensor)
    assert_type(smallest(a), Tensor)
    assert_type(size(a), float)
    values, positions = a.max(1)
    for row in a:
        values = values + row
    loss = (values * positions).softmax(-1).mean() + a.clone().relu().log1p().var()
    loss.backward()
    if a.grad is not None:
        print(a.grad.round(3), a.device, a.dtype)
    return loss


def scalars() -> float:
    x, y = Value(2.0), Value(-3.0)
    z = (x * y + 2).tanh() + (x**2).relu() / 3
    z.backward()
    return float(x.grad)


def compared() -> bool:
    w = tensorgrad.randn(3, requires_grad=True)
    return compare(lambda x: (x * x).sum(), w).ok


def main() -> None:
    print(f"{train(40):.2f} {tensors().item():.3f} {scalars():.3f} {compared()}")


if __name__ == "__main__":
    main()
