"""Gradients from elsewhere beside the engines': finite differences, and torch's."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from compared import W, X, layer

import tensorgrad
from tensorgrad import Tensor
from viz import compare
from viz.comparison import references


def test_finite_differences_are_taken_in_float64_and_only_of_so_many() -> None:
    x = Tensor(X, requires_grad=True)
    comparison = compare(lambda x: (x.exp() * x).sum(), x)
    assert x.dtype == np.float32
    assert comparison.nodes[0].finite_difference == pytest.approx((np.exp(X) * (1 + np.array(X))), rel=1e-8)
    large = compare(lambda x: x.sum(), np.zeros(2001))
    assert large.nodes[0].finite_difference is None
    assert "no finite differences: the leaves have 2,001 elements, more than 2,000" in large.notes
    assert compare(lambda x: x.sum(), X, finite_differences=False).notes == ()


def test_a_program_that_fails_beside_its_operands_has_no_finite_differences() -> None:
    def exact(x: Tensor) -> Tensor:
        if x.item() != 2.0:
            raise ValueError("only 2")
        return x * x

    comparison = compare(exact, 2.0)
    assert comparison.ok
    assert comparison.notes == ("no finite differences: the program fails near its operands (ValueError: only 2)",)


def test_a_leaf_that_the_program_makes_has_no_finite_difference() -> None:
    def program(x: Tensor) -> Tensor:
        return (x * Tensor([2.0, 3.0], requires_grad=True, label="own")).sum()

    comparison = compare(program, [1.0, 2.0])
    own = next(node for node in comparison.nodes if node.name == "own")
    assert own.scalar_grad.tolist() == own.tensor_grad.tolist() == [1.0, 2.0]
    assert own.finite_difference is None
    assert comparison.nodes[0].finite_difference is not None


def test_torch_agrees(torch: ModuleType) -> None:
    comparison = compare(layer, X, W, [0.1, -0.1], torch=True)
    assert comparison.largest_difference_from_torch() < 1e-12
    assert "torch" in comparison.table().splitlines()[0].split()
    assert "\ntorch: largest difference " in comparison.summary()
    assert "torch" not in compare(layer, X, W, [0.1, -0.1]).summary()
    inside = Tensor(W, dtype=np.float64, requires_grad=True)
    mixed = compare(lambda x: (x @ inside).sum(), X, torch=True)
    assert mixed.largest_difference_from_torch() is None
    assert "Tensors beside its operands, which torch does not take" in mixed.notes[0]
    numpys = compare(lambda x: x.astype(np.float64).sum(), X, torch=True)
    assert any("the program does not run on torch's tensors (AttributeError: " in note for note in numpys.notes)


def test_without_torch_the_column_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert compare(layer, X, W, [0.1, -0.1], torch=True).notes == ("no gradients by torch: it is not installed",)


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("", "AttributeError: module 'torch' has no attribute 'tensor'"),
        ("raise OSError('libtorch.so: no such file')", "OSError: libtorch.so: no such file"),
        ("import a_module_that_does_not_exist", "ModuleNotFoundError: No module named 'a_module_that_does_not_exist'"),
    ],
)
def test_another_module_called_torch_costs_only_its_column(
    source: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    comparison = compare(layer, X, W, [0.1, -0.1], torch=True)
    sys.modules.pop("torch", None)  # the one that was put there; monkeypatch puts the real one back
    assert comparison.ok
    assert [note[:60] for note in comparison.notes] == [f"no gradients by torch: it cannot be used ({cause})"[:60]]


def test_only_operands_too_large_for_a_step_have_no_finite_differences() -> None:
    comparison = compare(lambda a, b: a * b, 1e300, 10.0)
    assert comparison.ok
    assert comparison.notes == ("no finite differences for operands that hold 1e+300: a step of 1e-06 is lost in it",)
    assert comparison.nodes[0].finite_difference is None
    assert comparison.nodes[1].finite_difference == pytest.approx(1e300)
    assert compare(lambda a, b: a * b, 1e308, 10.0).ok  # the product overflows
    assert compare(lambda a: (a * 2).sum(), [1e9, np.inf]).notes == ()


def test_at_a_kink_a_note_says_why_the_finite_difference_differs() -> None:
    comparison = compare(lambda a: a.relu(), 0.0, names={})
    assert comparison.ok
    assert comparison.notes == (
        "a has the finite difference 0.5 beside the gradient 0: at a kink (relu at 0) a finite difference is the mean "
        "of both sides; elsewhere one of the two is inexact or wrong.",
    )
    assert comparison.notes[0] in comparison.table()
    assert "(and 1 other)" in compare(lambda a: a.relu().sum(), [0.0, 1.0, 0.0]).notes[0]


def test_without_a_kink_there_is_no_note_on_finite_differences() -> None:
    assert compare(lambda a: (a**3).sum() + 1e9, [0.0, 1e-3, 3.0]).notes == ()
    assert compare(lambda a: a.relu() * 1e9 - a.exp() * 1e6, 1.0).notes == ()
    assert compare(lambda a: a * a, np.float32(1 / 3), gradient=1e6).notes == ()
    assert compare(lambda a: a.log(), 0.0).notes == ()  # nan beside inf speaks for itself


def test_a_long_program_of_many_elements_is_not_run_again_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def long(x: Tensor) -> Tensor:
        for _ in range(10):
            x = (x * 1.01).tanh()
        return x.sum()

    monkeypatch.setattr(references, "_MOST_WORK", references._MOST_WORK // 10)
    comparison = compare(long, np.ones(700) / 700)
    assert "no finite differences: the program would do 32 operations 1,400 times" in comparison.notes
    assert comparison.ok


def test_a_program_that_computes_in_float32_has_no_finite_differences() -> None:
    comparison = compare(lambda x: (x.to(np.float32) ** 2).sum(), np.array([1.0, 2.0]))
    assert comparison.ok
    assert any("'to float32' gives float32" in note for note in comparison.notes)
    assert all(node.finite_difference is None for node in comparison.nodes)


def test_a_program_of_tensorgrads_functions_is_not_run_on_torch() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    for comparison in (
        compare(lambda x: tensorgrad.exp(x).sum(), w, torch=True),
        compare(lambda: tensorgrad.exp(w).sum(), torch=True),
    ):
        assert comparison.ok
        assert any("the program uses tensorgrad's functions, or Tensors" in note for note in comparison.notes)


def test_overflow_that_the_scalars_do_not_have_is_explained() -> None:
    x = Tensor(np.array([1e38, 1.0], dtype=np.float32), requires_grad=True)
    comparison = compare(lambda x: (x * 10).sum(), x, finite_differences=False)
    assert not comparison.ok
    assert comparison.notes == (
        "overflow: the value of a[0] is too large for float32, whose largest number is 3.4e+38; the scalars are "
        "float64.",
    )
    assert not compare(lambda x: (x * 1).sum(), x, finite_differences=False).notes
