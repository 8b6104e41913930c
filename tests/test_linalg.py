"""Products of matrices: arguments, errors, and what is held until the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, no_grad
from tensorgrad.versions import held_arrays
from viz import compare
from viz.errors import TooLargeError


def ones(*shape: int, **kwargs: object) -> Tensor:
    return Tensor(np.ones(shape), **kwargs)


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        ("mm", [(2, 3), (3,)], r"mm: takes 2 axes and 2 axes, got shapes \(2, 3\) and \(3,\); matmul takes every rank"),
        ("mm", [(2, 3), (2, 3)], r"mm: shapes \(2, 3\) and \(2, 3\): the last axis of the first \(3\)"),
        ("bmm", [(2, 3), (3, 2)], "bmm: takes 3 axes and 3 axes"),
        ("bmm", [(1, 2, 3), (4, 3, 2)], r"bmm: .*the first axes \(1 and 4\) must be equal; matmul broadcasts"),
        ("mv", [(3,), (3,)], "mv: takes 2 axes and 1 axis"),
        ("mv", [(2, 3), (2,)], r"mv: shapes \(2, 3\) and \(2,\)"),
        ("dot", [(2, 2), (2,)], "dot: takes 1 axis and 1 axis"),
        ("dot", [(2,), (3,)], r"dot: shapes \(2,\) and \(3,\)"),
        ("outer", [(2, 2), (2,)], "outer: takes 1 axis and 1 axis"),
        ("inner", [(2, 3), (2,)], r"inner: shapes \(2, 3\) and \(2,\): the last axes \(3 and 2\) must be equal"),
        ("trace", [(2,)], r"trace: takes 2 axes, got shape \(2,\)"),
        ("trace", [(2, 2, 2)], "trace: takes 2 axes"),
        ("addmm", [(2, 2), (2, 3), (4, 2)], r"addmm: shapes \(2, 3\) and \(4, 2\)"),
        ("addmm", [(3,), (2, 3), (3, 2)], r"addmm: input of shape \(3,\) does not broadcast to \(2, 2\)"),
        ("addmm", [(1, 2, 2), (2, 3), (3, 2)], r"addmm: input of shape \(1, 2, 2\)"),
        ("matmul", [(), (3,)], r"matmul: shapes \(\) and \(3,\): a 0-d operand"),
    ],
)
def test_errors_name_the_operation_and_the_shapes(op: str, shapes: list[tuple[int, ...]], message: str):
    operands = [ones(*shape) for shape in shapes]
    with pytest.raises(ValueError, match=message) as caught:
        getattr(tensorgrad, op)(*operands)
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize(
    ("dims", "error", "message"),
    [
        (1, ValueError, r"tensordot: shapes \(2, 3\) and \(2, 3\): axis 1 of the first \(3\) and axis 0 of the second"),
        (3, ValueError, "tensordot: dims=3"),
        (-1, ValueError, "tensordot: dims=-1"),
        (1.5, TypeError, "tensordot: dims is a number, or the axes of each operand, got 1.5"),
        (([0, 1], [0]), ValueError, "tensordot: dims pairs axes"),
        (([0],), ValueError, "tensordot: dims is a number, or the axes of each of the two operands"),
        (([5], [0]), IndexError, r"tensordot: dim 5 is not an axis of shape \(2, 3\)"),
        (([0, 0], [0, 1]), ValueError, "names an axis twice"),
    ],
)
def test_dims_of_tensordot(dims: object, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        tensorgrad.tensordot(ones(2, 3), ones(2, 3), dims)


@pytest.mark.parametrize("op", ["mm", "dot", "outer", "inner", "matmul", "tensordot"])
@pytest.mark.parametrize("bad", [None, "text", [[1.0], [1.0, 2.0]]])
def test_operands_that_are_no_tensors(op: str, bad: object):
    with pytest.raises((TypeError, ValueError), match=f"{op}: "):
        getattr(tensorgrad, op)(bad, ones(2))


def test_tensordot_broadcasts_lengths_of_one(torch: ModuleType):
    x, y = np.arange(2.0).reshape(2, 1), np.arange(12.0).reshape(3, 4)
    ours, theirs = Tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    out, want = tensorgrad.tensordot(ours, y, 1), torch.tensordot(theirs, torch.tensor(y), 1)
    np.testing.assert_array_equal(out.data, want.detach().numpy())
    out.sum().backward()
    want.sum().backward()
    np.testing.assert_array_equal(ours.grad, theirs.grad.numpy())


def test_addmm_does_not_read_its_input_with_beta_0():
    c = Tensor([np.nan, np.inf], requires_grad=True)
    out = tensorgrad.addmm(c, ones(1, 3), ones(3, 2), beta=0)
    assert out.tolist() == [[3.0, 3.0]]
    out.sum().backward()
    assert c.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("op", ["matmul", "einsum", "tensordot", "inner", "outer", "addmm"])
def test_float16_is_computed_in_float32(op: str):
    n = 4096
    x = Tensor(np.ones((1, n), np.float16), requires_grad=True)
    y = Tensor(np.ones((n, 1), np.float16), requires_grad=True)
    out = {
        "matmul": lambda: x @ y,
        "einsum": lambda: tensorgrad.einsum("ij,jk", x, y),
        "tensordot": lambda: tensorgrad.tensordot(x, y, 1),
        "inner": lambda: tensorgrad.inner(x[0], y.reshape(-1)),
        "outer": lambda: tensorgrad.outer(x[0, :1], y[:1, 0]) * n,
        "addmm": lambda: tensorgrad.addmm(0.0, x, y),
    }[op]()
    assert (out.dtype, out.item()) == (np.float16, n)  # one at a time, sums of 1 in float16 end at 2048
    out.backward(np.ones(out.shape))
    assert x.grad.dtype == y.grad.dtype == np.float16


def test_integers_stay_integers():
    x = tensorgrad.tensor([[1, 2], [3, 4]])
    for out in (x @ x, tensorgrad.mm(x, x), tensorgrad.einsum("ij,jk", x, x), tensorgrad.addmm(x, x, x)):
        assert out.dtype == np.int64
    assert tensorgrad.trace(x).item() == 5


@pytest.mark.parametrize("shapes", [((4, 5), (5, 6)), ((2, 4, 5), (5, 6)), ((2, 4, 5), (2, 5, 6)), ((4, 5), (5,))])
def test_each_rule_of_a_product_holds_the_other_operand_alone(shapes: tuple[tuple[int, ...], ...]):
    x, y = (ones(*shape, requires_grad=True) for shape in shapes)
    out = x @ y
    for rule, own, other in zip(out._rules, (x, y), (y, x), strict=True):
        held = list(held_arrays(rule))
        assert any(np.shares_memory(array, other.data) for array in held)
        assert not any(np.shares_memory(array, own.data) for array in held)
        assert sum(array.nbytes for array in held) == other.data.nbytes


def test_an_operand_may_change_where_only_its_shape_is_needed():
    x, w = ones(2, 3, requires_grad=True), ones(3, 4)
    out = (x @ w).sum()
    with no_grad():
        x += 1.0
    out.backward()
    assert x.grad.tolist() == [[4.0] * 3] * 2


def test_linalg_has_torchs_names():
    x = Tensor([3.0, -4.0])
    assert tensorgrad.linalg.norm(x).item() == 5.0
    assert tensorgrad.linalg.vector_norm(x, 1).item() == 7.0
    assert tensorgrad.linalg.matmul(x, x).item() == 25.0


@pytest.mark.parametrize(
    ("program", "products"),
    [
        (lambda x: tensorgrad.einsum("ij,jk->ik", x, x), 1000),
        (lambda x: tensorgrad.einsum("ij,jk,kl->il", x, x, x), 2000),
        (lambda x: tensorgrad.tensordot(x, x, 1), 1000),
        (lambda x: tensorgrad.inner(x, x), 1000),
        (lambda x: tensorgrad.addmm(x, x, x), 1000),
    ],
)
def test_what_a_comparison_expects_of_them(program: Callable[[Tensor], Tensor], products: int):
    """Two scalar nodes a product, and the sum of the result."""
    x = ones(10, 10, requires_grad=True)
    with pytest.raises(TooLargeError, match=f"about {2 * products + 200:,} scalar nodes"):
        compare(lambda x: program(x).sum(), x, max_scalars=products)
