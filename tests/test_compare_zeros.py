"""Gradients that are nan on tensors alone: 0 times inf through what the result does not depend on, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from command_line import run

from tensorgrad import Tensor
from tensorgrad.node import record
from viz import compare

UNREAD: dict[str, tuple[Callable[..., Tensor], list[float]]] = {
    "not read": (lambda x: x.sqrt()[0], [1.0, -1.0]),
    "read in another place": (lambda x: x.sqrt()[0] + x.sum(), [1.0, 0.0]),
    "not the largest": (lambda x: x.log().max() * 2, [1.0, 0.0]),
    "cut off": (lambda x: (1 / x)[:1].sum(), [2.0, 0.0]),
    "two operations on": (lambda x: (x * 3).log().sqrt()[0], [2.0, 0.0]),
}
"""Programs in which x[1] is not read, where a local derivative is infinite or nan."""


@pytest.mark.parametrize("name", UNREAD)
def test_an_element_that_is_not_read_is_no_mismatch(name: str) -> None:
    program, x = UNREAD[name]
    comparison = compare(program, x, finite_differences=False)
    leaf = next(node for node in comparison.nodes if node.name == "x")
    assert np.isnan(leaf.tensor_grad[1])
    assert not np.isnan(leaf.scalar_grad[1])
    assert leaf.zero_times_inf.tolist() == [False, True]
    assert comparison.ok
    assert comparison.mismatches == 0
    assert comparison.largest_difference() == 0.0
    assert "agree." in comparison.summary()


def test_it_has_a_note_and_a_mark() -> None:
    comparison = compare(lambda x: x.sqrt()[0], [1.0, -1.0])
    assert comparison.notes == (
        "nan by tensors and not by scalars: the gradient of x[1]. The tensor engine, like torch, sends 0 times inf "
        "through elements that the result does not depend on. Not counted as a mismatch.",
    )
    lines = comparison.table().splitlines()
    assert lines[2].endswith("<- 0 times inf")
    assert "differs" not in comparison.table()
    assert [row["zero_times_inf"] for row in comparison.to_json()["rows"]] == [False, True, False, False, False]
    assert "the gradient of x[1] and 2 others." in compare(lambda x: x.sqrt()[0], [1.0, -1.0, 0.0, -2.0]).notes[0]
    assert compare(lambda x: x.sqrt()[0], [1.0, 4.0]).notes == ()


def test_torch_sends_the_same(torch: Any) -> None:
    for program, x in UNREAD.values():
        assert compare(program, x, torch=True, finite_differences=False).largest_difference_from_torch() == 0.0


def test_the_command_exits_with_0() -> None:
    status, out, _ = run("compare", "sqrt(x)[0]", "x=[1,-1]", "--no-torch")
    assert status == 0
    assert "0 times inf" in out


def with_rule(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[Tensor], Tensor]:
    """The square root with another rule, from gradient and operand."""

    def sqrt(x: Tensor) -> Tensor:
        a = x.data
        with np.errstate(invalid="ignore"):
            return record("sqrt", np.sqrt(a), (x, lambda g: rule(g, a)))

    return sqrt


@pytest.mark.parametrize(
    ("program", "x"),
    [
        (lambda x: with_rule(lambda g, a: g * np.nan)(x)[0], [1.0, 4.0]),  # the slope at x[1] is finite
        (lambda x: with_rule(lambda g, a: g * np.nan)(x)[0], [1.0, -1.0]),  # x[0] is wrong beside x[1], which is not
        (lambda x: with_rule(lambda g, a: g + np.inf)(x)[0], [1.0, -1.0]),  # inf is no nan
        (lambda x: with_rule(lambda g, a: g + 1)(x)[0], [1.0, -1.0]),
    ],
)
def test_any_other_gradient_of_an_unread_element_is_a_mismatch(program: Callable[..., Tensor], x: list[float]) -> None:
    assert compare(program, x, finite_differences=False).mismatches > 0


def test_nan_by_scalars_alone_is_a_mismatch() -> None:
    def program(x: Tensor) -> Tensor:
        return with_rule(lambda g, a: np.zeros_like(a))(x).sum()

    assert compare(program, [-1.0], finite_differences=False).mismatches == 1
