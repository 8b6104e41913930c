"""Gradients of results are each one's own, and a pass inside a pass leaves no trace on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tensorgrad import Tensor, autograd, cat, where


def leaf(*numbers: float) -> Tensor:
    return Tensor(list(numbers), dtype=np.float64, requires_grad=True)


BOTH_GET_THE_SAME = {
    "+": lambda a, b: a + b,
    "- and views": lambda a, b: a.reshape(2, 1) + b.reshape(2, 1),
    "cat": lambda a, b: cat([a, b]),
    "transposed": lambda a, b: a[None].T + b[None].T,
    "sum": lambda a, b: a.sum() + b.sum(),
}


@pytest.mark.parametrize("name", BOTH_GET_THE_SAME)
def test_changing_one_gradient_in_place_changes_no_other(name: str):
    a, b = leaf(1.0, 2.0) * 1, leaf(3.0, 4.0) * 1
    y = BOTH_GET_THE_SAME[name](a, b)
    for _ in range(2):
        y.backward(np.ones(y.shape))
        a.grad *= 5
        y.grad[...] = 7
        assert b.grad.tolist() == [1, 1]
        assert a.grad.tolist() == [5, 5]
        assert a.grad is a.grad


def masked(x: Tensor) -> Tensor:
    return where(x.detach() > 0, x, 0.0).sum()


def test_a_pass_inside_a_hook_leaves_no_mask():
    x = leaf(0.0, 4.0)
    h = x * 1
    inner = masked(h)
    selected = where(h.detach() > 0, h, 0.0)

    def look(_: Tensor) -> None:
        assert h.grad is not None  # the root has come there before
        assert autograd.grad(inner, h)[0].tolist() == [0, 1]

    selected.register_hook(look)
    (selected.sum() + h.sqrt().sum()).backward()
    assert x.grad.tolist() == [np.inf, 1.25]


@pytest.mark.parametrize("order", [lambda a, b: a + b, lambda a, b: b + a])
def test_a_rule_of_the_users_own_counts_whole(order: Callable[[Tensor, Tensor], Tensor]):
    def doubled(x: Tensor) -> Tensor:
        out = Tensor(x.data * 2, _prev=(x,), _op="doubled")

        def rule() -> None:
            x.grad = x.grad + 2 * out.grad

        out._backward = rule
        return out

    x = leaf(0.0, 4.0)
    h = x.sqrt()
    order(masked(h), doubled(h).sum()).backward()
    assert x.grad.tolist() == [np.inf, 0.75]
