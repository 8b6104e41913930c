"""Blocked gradients: which edges pass nothing, and the words for why; each is checked against what is sent."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorgrad as tg
from micrograd import Value
from micrograd.backprop import topological_order
from tensorgrad import Tensor
from tensorgrad.nn import functional as F
from viz.graph import snapshot
from viz.pages.blocked import blocked, cut_words


def words(root) -> list[str]:
    order = topological_order(root)
    return list(blocked(order).values())


def tensor(*data):
    return Tensor(np.array(data, dtype=np.float64), requires_grad=True)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Value(-1.0).relu(), ["dead relu"]),
        (lambda: Value(0.0).relu(), ["dead relu"]),
        (lambda: Value(1.0).relu(), []),
        (lambda: Value(3.0).tanh(), ["saturated tanh"]),
        (lambda: Value(2.9).tanh(), []),
        (lambda: Value(-5.0).sigmoid(), ["saturated sigmoid"]),
        (lambda: Value(4.0).sigmoid(), []),
        (lambda: Value(0.0) * Value(2.0), ["zero factor"]),
        (lambda: Value(0.0) / Value(2.0), ["zero numerator"]),
        (lambda: Value(1.0) / Value(math.inf), ["infinite divisor", "zero numerator"]),
        (lambda: Value(0.0) ** 2, ["zero base"]),
        (lambda: Value(3.0) ** 0, ["exponent 0"]),
        (lambda: abs(Value(0.0)), ["abs at 0"]),
        (lambda: Value(-1000.0).exp(), ["exp is 0"]),
        (lambda: Value(1.0) + Value(0.0) - 3.0, []),
        (lambda: Value(1.0, (Value(2.0),), "mine"), ["no rule"]),
        (lambda: Value(1.0, (Value(2.0),), "mine", local=(0.0,)), ["zero slope"]),
    ],
)
def test_scalars(make, expected):
    assert words(make()) == expected


def test_the_edge_is_the_one_that_sends_zero():
    a, b, c = Value(0.0), Value(2.0), Value(-1.0)
    root = (a * b + c.relu()) * a + b
    root.backward()
    order = topological_order(root)
    found = blocked(order)
    for i, edge in enumerate(snapshot(root, {}).edges):
        if i in found:
            assert edge.contribution == 0
    assert sorted(found.values()) == ["dead relu", "zero factor", "zero factor", "zero factor"]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: x.relu(), ["dead relu: 3 of 4"]),
        (lambda x: (x + 3.0).relu(), ["constant"]),
        (lambda x: (x * 9.0).tanh(), ["constant", "saturated tanh: 4 of 4"]),
        (lambda x: (x * 9.0).sigmoid(), ["constant", "saturated sigmoid: 4 of 4"]),
        (lambda x: x * tensor(0, 0, 0, 0), ["zero factor"]),
        (lambda x: x * tensor(0, 0, 0, 1), ["zero factor: 3 of 4"]),
        (lambda x: x * tensor(0, 0, 1, 1), []),
        (lambda x: x @ tensor(0, 0, 0, 0), ["zero factor"]),
        (lambda x: F.linear(x, tensor([0, 0, 0, 0])), ["zero factor"]),
        (lambda x: x.clamp(5, 6), ["clamped: 4 of 4"]),
        (lambda x: x.clamp(-5, 6), []),
        (lambda x: F.hardtanh(x, -0.5, 0.5), ["clamped: 4 of 4"]),
        (lambda x: tg.where(np.array([True, False, False, False]), x, x), ["not selected: 3 of 4"]),
        (lambda x: x.masked_fill(np.array([True, True, True, False]), 0.0), ["masked: 3 of 4", "constant"]),
        (lambda x: tg.maximum(x, tensor(9, 9, 9, 9)), ["not selected: 4 of 4"]),
        (lambda x: x.detach() * x, ["detached"]),
        (lambda x: x**2, []),
        (lambda x: (x * 0.0) ** 2, ["constant", "zero factor", "zero base: 4 of 4"]),
        (lambda x: tensor(-1).relu(), ["dead relu"]),
    ],
)
def test_tensors(make, expected):
    assert sorted(words(make(tensor(-1, -2, -3, 4)))) == sorted(expected)


def test_a_mode_is_named():
    x = tensor(1, 2)
    with tg.no_grad():
        y = x.exp()
    assert words(x * y) == ["no_grad"]
    assert (
        cut_words(y)
        == "the result of 'exp' of shape (2,) was computed inside no_grad(): no gradient goes back from here"
    )
    assert "detach() was called on a leaf of shape (2,)" in cut_words(x.detach())
    assert cut_words(x) is None
    assert cut_words(Tensor([1.0])) is None
    assert cut_words(Value(1.0)) is None


def test_a_rule_of_the_users_own_is_left_alone():
    x = Value(-1.0)
    y = x.relu()
    y._backward = lambda: None
    assert words(y) == []


def test_looking_changes_nothing():
    x = tensor(-1, -2, 3)
    y = tg.where(x.data > 0, x.relu(), x.tanh()).sum()
    order = topological_order(y)
    blocked(order)
    assert all(node._grad is None and node._live is None for node in order)
