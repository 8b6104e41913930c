"""Which part of its operand an index, a part of a split and one of several results is, in the words of viz."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import viz
from tensorgrad import Tensor
from tensorgrad.autograd import Function
from viz.parts import part


def leaf(*shape: int) -> Tensor:
    return Tensor(np.arange(float(np.prod(shape))).reshape(shape), requires_grad=True)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (0, "[0]"),
        (-1, "[2]"),
        (slice(1, None), "[1:]"),
        (slice(None, 2), "[:2]"),
        (slice(1, 2), "[1:2]"),
        ((slice(None), 1), "[:, 1]"),
        ((1, slice(1, 3)), "[1, 1:3]"),
        ((2, 3), "[2, 3]"),
        (..., "[:]"),
        ((slice(None), slice(None, None, 2)), None),
        ([0, 0], None),
        ([0, 2], None),
        (slice(0, 0), None),
        (None, None),
    ],
)
def test_index(key: Any, text: str | None) -> None:
    x = leaf(3, 4)
    assert part(x[key]) == text
    if text is not None:
        assert np.array_equal(eval(f"x{text}", {"x": x.data}), x[key].data)


@pytest.mark.parametrize(
    ("take", "texts"),
    [
        (lambda x: x.split(2, dim=1), ["[:, :2]", "[:, 2:4]", "[:, 4:]"]),
        (lambda x: x.split([1, 5], dim=1), ["[:, :1]", "[:, 1:]"]),
        (lambda x: x.chunk(2), ["[:1]", "[1:]"]),
        (lambda x: x.unbind(), ["[0]", "[1]"]),
    ],
)
def test_parts_that_a_split_makes(take: Callable[[Tensor], Any], texts: list[str]) -> None:
    x = leaf(2, 6)
    parts = take(x)
    assert [part(p) for p in parts] == texts
    for p, text in zip(parts, texts, strict=True):
        assert np.array_equal(eval(f"x{text}", {"x": x.data}), p.data)


def test_axes_of_length_one_are_told_apart_or_left_out() -> None:
    assert part(leaf(1, 3)[:, 2]) == "[:, 2]"
    assert part(leaf(2, 3)[1:, 2]) is None  # [1:, 2] or [1, 2:]: the rule does not tell
    assert part(leaf(2, 3)[1]) == "[1]"


def test_results_of_an_operation_of_several() -> None:
    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
            return x * 2, x.sum()

        @staticmethod
        def backward(ctx: Any, g: Tensor, h: Tensor) -> Tensor:
            return g * 2 + h

    x = leaf(2, 2)
    first, second = Two.apply(x)
    loss = (first * second).sum()
    titles = [node.title for node in viz.snapshot(loss).nodes]
    assert titles == ["x", "a = Two(x)", "first = a[:4]", "second = a[4:]", "b = first*second", "loss = sum(b)"]


def test_other_operations_and_constants_have_no_part() -> None:
    x = leaf(2, 2)
    assert part(x) is None
    assert part(x.reshape(4)) is None
    assert part(x.detach()[0]) is None
    assert part(Tensor(2.0, requires_grad=True)[...]) is None
