"""The gradient checker: what it finds, what it says, and what it leaves as it was."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from tensorgrad import Tensor, enable_grad, no_grad
from tensorgrad.autograd import GradcheckError, gradcheck
from tensorgrad.node import record

EXAMPLE = Path(__file__).parent.parent / "examples" / "finite_differences.py"


def leaf(data) -> Tensor:
    return Tensor(np.array(data, dtype=np.float64), requires_grad=True)


def wrong_square(x: Tensor) -> Tensor:
    """A rule that is right at 1 only."""
    return record("square", x.data**2, (x, lambda g: g * 2 * x.data**2))


def test_a_right_gradient():
    x, w = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([0.5, -0.5])
    assert gradcheck(lambda x, w: (x @ w).tanh(), (x, w)) is True
    assert gradcheck(lambda w: w.exp().sum(), w)  # a bare tensor for a single input


def test_it_names_input_index_and_both_values():
    a, x = leaf([1.0]), leaf([[1.0, 1.0], [1.0, 3.0]])
    with pytest.raises(GradcheckError, match=r"^input 1 at \[1, 1\]: gradient 18, finite difference 6\.?\d*$"):
        gradcheck(lambda a, x: (a * wrong_square(x)).sum(), (a, x))


def test_it_counts_further_failures_and_needs_no_index_for_a_scalar():
    with pytest.raises(GradcheckError, match=r"input 0 at \[0\]: .* \(and 1 more\)"):
        gradcheck(wrong_square, leaf([2.0, 3.0]))
    with pytest.raises(GradcheckError, match=r"^input 0: gradient 8, finite difference 4\.?\d*$"):
        gradcheck(wrong_square, leaf(2.0))


def test_it_can_answer_false():
    assert gradcheck(wrong_square, leaf(2.0), raise_exception=False) is False


def test_it_finds_a_wrong_closure():
    def cube(x: Tensor) -> Tensor:
        out = Tensor(x.data**3, _prev=(x,), _op="cube")
        if out.requires_grad:

            def _backward() -> None:
                x.grad = x.grad + 3 * x.data * out.grad

            out._backward = _backward
        return out

    with pytest.raises(GradcheckError, match="gradient 6, finite difference 12"):
        gradcheck(cube, leaf(2.0))


def test_it_finds_a_lost_contribution():
    """`=` for `+=` in one element: weights that differ from place to place tell them apart."""
    swapped = leaf([1.0, 2.0])
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: record("f", x.data * 1.0, (x, lambda g: g[::-1])), swapped)


def test_it_finds_a_missing_gradient():
    with pytest.raises(GradcheckError, match="gradient 0, finite difference 2"):
        gradcheck(lambda x: x.detach() * 2, leaf(1.0))


def test_nan_fails():
    with pytest.raises(GradcheckError, match="gradient nan"):
        gradcheck(lambda x: x.log() * 0 + x.sqrt(), leaf(-1.0))
    with pytest.raises(GradcheckError, match="gradient nan"):
        gradcheck(lambda x: record("f", x.data * 2, (x, lambda g: g * np.nan)), leaf(1.0))


def test_at_a_kink_the_two_differ():
    """At 0 relu's gradient is 0 by convention; the difference sees half of each side."""
    with pytest.raises(GradcheckError, match=r"gradient 0, finite difference 0\.5"):
        gradcheck(lambda x: x.relu(), leaf(0.0))
    assert gradcheck(lambda x: x.relu(), leaf([0.1, -0.1]))


def test_float32_warns():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match="not float64"):
        gradcheck(lambda x: x * 2, x, eps=1e-2, rtol=1e-2, raise_exception=False)


def test_a_step_that_is_lost_to_rounding_is_an_error():
    x = Tensor([1000.0], requires_grad=True)
    with (
        pytest.warns(match="not float64"),
        pytest.raises(ValueError, match=r"1000 \+- 1e-06 is the same number in float32"),
    ):
        gradcheck(lambda x: x * 2, x)


def test_gradients_and_data_are_left_as_they_were():
    x, closed_over, unused = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf(1.0)
    middle = closed_over * 2
    (middle.sum() + x.sum() * 0).backward()
    data, before = x.data, [x.grad, closed_over.grad, middle.grad]
    for function in (lambda x, c: x * middle, lambda x, c: wrong_square(x) * closed_over):
        gradcheck(function, (x, unused), raise_exception=False)
        assert x.data is data
        assert data.tolist() == [1.0, 2.0]
        assert all(a is b for a, b in zip([x.grad, closed_over.grad, middle.grad], before, strict=True))
        assert unused.grad is None


def test_they_are_put_back_when_the_function_raises():
    x = leaf([1.0, 2.0])
    x.sum().backward()
    grad, data, calls = x.grad, x.data, []

    def fails_later(x: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("later")
        return x * 2

    with pytest.raises(KeyError):
        gradcheck(fails_later, x)
    assert x.grad is grad
    assert x.data is data
    assert data.tolist() == [1.0, 2.0]


def test_constants_and_other_arguments_are_passed_on():
    assert gradcheck(lambda x, c, n: x**n * c, (leaf([1.0, 2.0]), Tensor([3.0, 4.0], dtype=np.float64), 2))


def test_the_same_tensor_twice():
    x = leaf([1.0, 2.0])
    assert gradcheck(lambda a, b: a * b, (x, x))


def test_it_runs_inside_no_grad_only_with_enable_grad():
    with no_grad(), enable_grad():
        assert gradcheck(lambda x: x * 2, leaf(1.0))


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ((Tensor([1.0]),), ValueError, "no input requires a gradient"),
        ((), ValueError, "no input requires a gradient"),
    ],
)
def test_inputs_that_cannot_be_checked(inputs, error, words):
    with pytest.raises(error, match=words):
        gradcheck(lambda *xs: xs, inputs)


@pytest.mark.parametrize("out", [lambda x: (x, x), lambda x: x.data, lambda x: None, lambda x: 1.0])
def test_the_function_must_return_one_tensor(out):
    with pytest.raises(TypeError, match="must return one Tensor, got"):
        gradcheck(out, leaf([1.0]))


@pytest.mark.parametrize("as_json", [True, False])
def test_the_example_measures_about_1e_3_in_float32(as_json: bool, monkeypatch, capsys):
    """Figures row 5."""
    monkeypatch.setattr("sys.argv", [EXAMPLE.name, *(["--json"] if as_json else [])])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    if as_json:
        worst = {row["dtype"]: row["worst"] for row in json.loads(printed) if row["best"]}
        assert 1e-4 < worst["float32"] < 1e-2
        assert worst["float64"] < 1e-7
    else:
        assert re.search(r"^float32 +1e-02 +\S+ +\S+  best$", printed, re.MULTILINE)


def test_it_works_inside_no_grad():
    with no_grad():
        assert gradcheck(lambda x: x * x, Tensor(np.array([3.0]), requires_grad=True))
