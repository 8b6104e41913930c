"""Assignments that are part of the graph, beside tensors that show the same memory: noise, or torch's numbers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, no_grad, zeros


def leaf(*numbers: float) -> Tensor:
    return Tensor(list(numbers), dtype=np.float64, requires_grad=True)


def a_row_of_a_constant() -> tuple[Tensor, Tensor]:
    x = zeros(3, 3)
    return x, x[0]


def a_detached_constant() -> tuple[Tensor, Tensor]:
    x = zeros(3, 3)
    return x, x.detach()


def the_constant_it_was_detached_from() -> tuple[Tensor, Tensor]:
    x = zeros(3, 3)
    return x.detach(), x


def a_leaf_it_was_detached_from() -> tuple[Tensor, Tensor]:
    x = Tensor(np.zeros((3, 3)), requires_grad=True)
    return x.detach(), x


def a_view_of_a_view() -> tuple[Tensor, Tensor]:
    x = zeros(3, 3)
    return x, x.T.reshape(3, 3)[:, 0].detach()


def a_detached_result() -> tuple[Tensor, Tensor]:
    x = zeros(3, 3) + leaf(1.0)
    return x, x.detach()


def a_view_of_a_result_made_under_no_grad() -> tuple[Tensor, Tensor]:
    x = zeros(3, 3) + leaf(1.0)
    with no_grad():
        return x, x[:2]


def a_squeezed_result() -> tuple[Tensor, Tensor]:
    x = zeros(3, 3) + leaf(1.0)
    return x.squeeze(), x


MAKERS = [
    a_row_of_a_constant,
    a_detached_constant,
    the_constant_it_was_detached_from,
    a_leaf_it_was_detached_from,
    a_view_of_a_view,
    a_detached_result,
    a_view_of_a_result_made_under_no_grad,
    a_squeezed_result,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("by_positions", [False, True])
def test_a_tensor_that_shows_the_elements_is_never_left_behind(make: Callable[[], Any], by_positions: bool):
    x, other = make()
    before = other.tolist()
    with pytest.raises(RuntimeError, match=r"x\[\.\.\.\] = .*(view|detach).*clone"):
        x[[0] if by_positions else 0] = leaf(1.0, 2.0, 3.0) * 2
    assert other.tolist() == before
    assert x.tolist()[0] != [2, 4, 6]


def test_a_view_that_the_value_was_computed_from_is_seen_by_others_too():
    x = leaf(1.0, 2.0) * 3
    first = x[0]
    with pytest.raises(RuntimeError, match="another tensor shows"):
        x[0] = first * 2
    x[1] = first * 2
    assert x.tolist() == [3, 6]
    assert first.item() == 3


def test_what_is_gone_or_in_the_graph_alone_is_no_hindrance(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        w = m.tensor([2.0, 3.0, 5.0], requires_grad=True)
        x = m.zeros(3, 3)
        x[0][1] = 4
        x[0] += w
        x[1] = x[0] + x[2] + x[1]
        x[2] = x.detach()[0] + w
        y = w * 1
        y[0] = y.detach()[1] + 1
        (x.sum() * 10 + y.sum()).backward()
        return [np.asarray(x.detach()), np.asarray(y.detach()), np.asarray(w.grad)]

    for a, b in zip(run(tensorgrad), run(torch), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_loop_that_keeps_a_name_for_the_row_before(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        w, x = m.tensor([2.0, 3.0], requires_grad=True), m.zeros(4, 2)
        for t in range(1, 4):
            before = x[t - 1]
            x[t] = before + w
        x.sum().backward()
        return [np.asarray(x.detach()), np.asarray(w.grad)]

    for a, b in zip(run(tensorgrad), run(torch), strict=True):
        np.testing.assert_array_equal(a, b)


def test_views_of_the_other_elements_can_no_longer_be_written():
    x = zeros(2, 2)
    row = x[1]
    x[0] = leaf(1.0, 2.0)
    for change in (lambda: row.fill_(7), lambda: row.__setitem__(0, 7)):
        with pytest.raises(RuntimeError, match="read-only"):
            change()
    assert row.tolist() == [0, 0]
    x[1] = 5
    assert x.tolist() == [[1, 2], [5, 5]]


def test_relatives_are_known_weakly_and_not_copied():
    x = zeros(2, 2)
    for _ in range(100):
        x[0].detach()
    assert len(x._kin) == 1
    row = x[0]
    for twin in (copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert twin._kin is None
        assert twin.tolist() == [0, 0]
