"""Warnings where nothing is wrong by the rules: a loss of (N,) against (N, 1), constants made from parts of a graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, autograd
from viz import trace

N = 4

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean of squares": lambda p, y: ((p - y) ** 2).mean(),
    "sum of squares": lambda p, y: ((p - y) ** 2).sum(),
    "power of a float": lambda p, y: ((p - y) ** 2.0).mean(),
    "square": lambda p, y: (p - y).square().mean(),
    "function": lambda p, y: tensorgrad.mean(tensorgrad.square(tensorgrad.sub(p, y))),
    "product with itself": lambda p, y: ((p - y) * (p - y)).mean(),
    "abs": lambda p, y: (p - y).abs().mean(),
    "root": lambda p, y: ((p - y) ** 2).mean().sqrt(),
    "divided": lambda p, y: ((p - y) ** 2).sum() / N,
    "half": lambda p, y: 0.5 * ((p - y) ** 2).sum(),
    "negative": lambda p, y: -(-((p - y) ** 2)).mean(),
    "the other way round": lambda p, y: ((y - p) ** 2).mean(),
    "weighted": lambda p, y: (Tensor(np.ones(N), requires_grad=True) * (p - y) ** 2).mean(),
    "with a penalty before it": lambda p, y: 0.1 * (p * p).sum() + ((p - y) ** 2).mean(),
    "with a penalty after it": lambda p, y: ((p - y) ** 2).mean() + 0.1 * (p * p).sum(),
}

every_loss = pytest.mark.parametrize("name", LOSSES)


def operands(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    return Tensor(np.ones(left), requires_grad=True), Tensor(np.zeros(right))


@every_loss
@pytest.mark.parametrize("shapes", [((N, 1), (N,)), ((N,), (N, 1))])
def test_a_loss_that_broadcasts_warns(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    loss = LOSSES[name](*operands(*shapes))
    with pytest.warns(UserWarning, match=r"difference of shapes \(4.* and \(4.*, which broadcast to \(4, 4\)") as found:
        loss.backward()
    assert [Path(w.filename) for w in found] == [Path(__file__)]
    assert ".squeeze(-1)" in str(found[0].message)


@every_loss
@pytest.mark.parametrize(
    "shapes",
    [
        ((N,), (N,)),
        ((N, 1), (N, 1)),
        ((N, 1), (1, N)),
        ((N,), ()),
        ((N,), (1,)),
        ((N, 2, 1), (N,)),
        ((N, N), (N,)),
        ((1,), (1, 1)),
    ],
)
def test_others_do_not(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    LOSSES[name](*operands(*shapes)).backward()


def test_what_is_no_loss_does_not():
    p, y = operands((N, 1), (N,))
    distance = p - y  # meant: it is worked on further
    for loss in (
        distance.exp().sum(),
        (distance @ Tensor(np.ones(N))).sum(),
        distance[:, 0].sum(),
        distance.softmax(-1).sum(),
        (p + y).sum(),
        (p * y).mean(),
    ):
        loss.backward()


def test_a_backward_pass_from_several_tensors_warns_too():
    p, y = operands((N, 1), (N,))
    with pytest.warns(UserWarning, match="difference of shapes"):
        autograd.backward([p.sum(), ((p - y) ** 2).mean()])


def test_looking_does_not_warn():
    p, y = operands((N, 1), (N,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss = ((p - y) ** 2).mean()
        trace(loss)
        autograd.grad(loss, p)


def test_a_long_graph_is_not_searched():
    """Only what lies near the root: the warning is about the loss, and a pass must stay cheap."""
    p, y = operands((N, 1), (N,))
    loss = ((p - y) ** 2).mean()
    for _ in range(40):
        loss = loss + 1
    loss.backward()


W = Tensor([0.5, -1.0], requires_grad=True)


@pytest.mark.parametrize(
    ("make", "op", "shape"),
    [
        (lambda: tensorgrad.tensor([W[0], 2 * W[1]]), "tensor", "()"),
        (lambda: tensorgrad.tensor([[1.0, 2], [3, W[1]]]), "tensor", "()"),
        (lambda: tensorgrad.tensor((W,)), "tensor", r"(2,)"),
        (lambda: tensorgrad.tensor(W * 2), "tensor", r"(2,)"),
        (lambda: Tensor([W.sum()]), "Tensor", "()"),
        (lambda: Tensor(W), "Tensor", r"(2,)"),
    ],
)
def test_a_constant_made_from_what_requires_a_gradient_warns(make: Callable[[], Tensor], op: str, shape: str):
    with pytest.warns(UserWarning, match="that requires a gradient") as caught:
        made = make()
    assert not made.requires_grad
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"{op}: a constant is made from a tensor of shape {shape} that requires")
    assert Path(caught[0].filename) == Path(__file__)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tensorgrad.tensor([W[0].detach(), 1.0]),
        lambda: tensorgrad.tensor([w.item() for w in W]),
        lambda: tensorgrad.tensor(W, requires_grad=True),  # a leaf of its own, which is asked for
        lambda: Tensor(W.data),
        lambda: tensorgrad.stack([W[0], W[1]]),
        lambda: tensorgrad.as_tensor(W),
        lambda: tensorgrad.nn.Parameter(W),
        lambda: tensorgrad.tensor([tensorgrad.tensor(1.0), tensorgrad.tensor(2.0)]),
        lambda: tensorgrad.no_grad()(lambda: tensorgrad.tensor([W[0]]))(),
    ],
)
def test_constants_that_are_meant_do_not_warn(make: Callable[[], Tensor]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make()
