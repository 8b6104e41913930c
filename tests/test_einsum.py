"""einsum, for random equations and shapes, and its errors."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.autograd import gradcheck
from viz import compare

LETTERS = "abXY"


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """An equation and shapes that fit it: letters repeated, left out or broadcast, with and without an ellipsis and
    an arrow."""
    lengths = {letter: draw(st.integers(0, 3)) for letter in LETTERS}
    under = draw(st.lists(st.integers(1, 2), max_size=2))
    parts, shapes = [], []
    for _ in range(draw(st.integers(1, 3))):
        letters = draw(st.lists(st.sampled_from(LETTERS), max_size=3))
        alone = {letter: draw(st.booleans()) for letter in letters}
        shape = [1 if alone[letter] and letters.count(letter) == 1 else lengths[letter] for letter in letters]
        part = "".join(letters)
        if draw(st.booleans()):  # an ellipsis of some of the axes under it, from the right, some of length 1
            place = draw(st.integers(0, len(letters)))
            own = [draw(st.sampled_from([1, n])) for n in under[draw(st.integers(0, len(under))) :]]
            part = part[:place] + "..." + part[place:]
            shape[place:place] = own
        parts.append(part)
        shapes.append(tuple(shape))
    equation = ",".join(parts)
    if draw(st.booleans()):
        used = sorted(set(equation) - set(",."))
        kept = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        place = draw(st.integers(0, len(kept)))
        dots = "..." if "..." in equation else ""  # NumPy cannot leave an ellipsis out
        equation += "->" + "".join(kept[:place]) + dots + "".join(kept[place:])
    return equation, shapes


def operands(shapes: list[tuple[int, ...]], seed: int = 11) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(-2, 2, shape)) for shape in shapes]


random_equations = given(equations())
examples = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@examples
@random_equations
def test_equals_numpy(case: tuple[str, list[tuple[int, ...]]]):
    equation, shapes = case
    arrays = operands(shapes)
    out = tensorgrad.einsum(equation, *[Tensor(a) for a in arrays])
    want = np.asarray(np.einsum(equation, *arrays))
    assert out.shape == want.shape
    np.testing.assert_allclose(out.data, want, rtol=1e-12, atol=1e-12)


@settings(examples, max_examples=60)
@random_equations
def test_gradcheck(case: tuple[str, list[tuple[int, ...]]]):
    equation, shapes = case
    tensors = [Tensor(a, requires_grad=True) for a in operands(shapes)]
    assert gradcheck(lambda *tensors: tensorgrad.einsum(equation, *tensors), tensors)


@settings(examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@random_equations
def test_equals_torch(torch: ModuleType, case: tuple[str, list[tuple[int, ...]]]):
    equation, shapes = case
    arrays = operands(shapes)
    ours = [Tensor(a, requires_grad=True) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    out, want = tensorgrad.einsum(equation, *ours), torch.einsum(equation, *theirs)
    assert out.shape == tuple(want.shape)
    np.testing.assert_allclose(out.data, want.detach().numpy(), rtol=1e-12, atol=1e-12)
    seed = np.random.default_rng(3).standard_normal(out.shape)
    out.backward(seed)
    want.backward(torch.tensor(seed))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-12, atol=1e-12)


@settings(examples, max_examples=25)
@random_equations
def test_on_values(case: tuple[str, list[tuple[int, ...]]]):
    equation, shapes = case
    tensors = [Tensor(a, requires_grad=True) for a in operands(shapes)]
    found = compare(
        lambda *tensors: tensorgrad.einsum(equation, *tensors), *tensors, gradient=1.0, finite_differences=False
    )
    assert found.ok, str(found)


def test_an_ellipsis_may_be_left_out_of_the_result(torch: ModuleType):
    x = operands([(2, 3, 4)])[0]
    np.testing.assert_allclose(tensorgrad.einsum("...i->i", x).data, x.sum((0, 1)))
    np.testing.assert_allclose(torch.einsum("...i->i", torch.tensor(x)).numpy(), x.sum((0, 1)))


def test_a_result_may_have_an_ellipsis_of_nothing():
    assert tensorgrad.einsum("i->...i", Tensor([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_operands_in_a_list_and_spaces():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert tensorgrad.einsum(" i j , j k -> i k ", [x, x]).tolist() == [[7.0, 10.0], [15.0, 22.0]]


def test_operands_of_different_dtypes_meet():
    out = tensorgrad.einsum("i,i->i", Tensor(np.ones(2, np.float32)), Tensor(np.ones(2, np.int64)))
    assert out.dtype == np.float32


def test_float16_is_summed_in_float32():
    ones = Tensor(np.ones(4096, np.float16))
    assert tensorgrad.einsum("i,i->", ones, ones).item() == 4096  # one at a time it would end at 2048


def test_many_operands_are_multiplied_in_an_order_that_fits_into_memory():
    n = 2000  # left to right, "ij,kl" alone would have 1.6e13 elements
    x, y = Tensor(np.ones((n, n), np.float32), requires_grad=True), Tensor(np.ones((n, 2), np.float32))
    out = tensorgrad.einsum("ij,kl,jl->ik", x, y, y)
    assert out.shape == (n, n)
    assert out.data[0, 0] == 2 * n


def test_what_the_rules_hold_is_the_other_operands():
    """The array of the operand itself may change before the backward pass."""
    x, y = Tensor(np.ones((2, 3)), requires_grad=True), Tensor(np.ones((3, 4)))
    out = tensorgrad.einsum("ij,jk->ik", x, y).sum()
    with tensorgrad.no_grad():
        x *= 5.0
    out.backward()
    np.testing.assert_array_equal(x.grad, np.full((2, 3), 4.0))
    out = tensorgrad.einsum("ij,jk->ik", x, y).sum()
    y *= 5.0
    with pytest.raises(RuntimeError, match=r"einsum.*changed in place"):
        out.backward()


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], r"'ij,jk->ik' with the shapes \(2, 3\), \(4, 5\): 'j' is 3 in operand 0 and 4"),
        ("ij->i", [(2,)], r"operand 0 has 1 axes and 2 letters \('ij'\)"),
        ("i->i", [(2, 3)], "operand 0 has 2 axes and 1 letters"),
        ("i,j", [(2,)], "it has 2 operands, and 1 were given"),
        ("i", [(2,), (2,)], "it has 1 operands, and 2 were given"),
        ("ii", [(2, 3)], "'i' is 2 and 3 in operand 0"),
        ("ii", [(1, 3)], "'i' is 1 and 3 in operand 0"),
        ("i->ii", [(2,)], "'i' stands twice in the result"),
        ("i->j", [(2,)], "the result's 'j' is in no operand"),
        ("i1", [(2, 2)], "'1' in operand 0 is no letter"),
        (".i", [(2, 2)], "'.' in operand 0 is no letter"),
        ("...i...", [(2, 2)], "more than one '...'"),
        ("i->i->i", [(2,)], "'-' in the result is no letter"),
        ("...i,...i->...", [(3, 2), (4, 2)], "axis -1 under '...' is 3 in operand 0 and 4 in operand 1"),
    ],
)
def test_errors_name_the_equation_and_the_shapes(equation: str, shapes: list[tuple[int, ...]], message: str):
    with pytest.raises(ValueError, match=message) as caught:
        tensorgrad.einsum(equation, *[np.ones(shape) for shape in shapes])
    assert "einsum" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)


def test_lists_of_numbers_in_the_place_of_the_equation():
    with pytest.raises(TypeError, match="einsum: the equation is a string"):
        tensorgrad.einsum(Tensor([1.0]), [0])
    with pytest.raises(TypeError, match=r"einsum: .*None"):
        tensorgrad.einsum("i", None)
