"""Equality (figures row 9), NumPy on the left of an operator, and updates in place."""

from __future__ import annotations

import array
import re
from fractions import Fraction

import numpy as np
import pytest

import tensorgrad as tg
from tensorgrad import Tensor, no_grad
from tensorgrad.errors import DtypeError, ShapeError


@pytest.fixture
def x() -> Tensor:
    return Tensor([1.0, 2.0, 3.0], requires_grad=True)


# -- equality ----------------------------------------------------------------------------------------------------------


def test_hash_and_equality_are_identity(x: Tensor):
    twin = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert x == x
    assert not x != x  # noqa: SIM202 - == and != are two methods
    assert len({x, twin, x}) == 2
    assert {x: "a"}[x] == "a"
    with pytest.warns(UserWarning, match="same object: use eq"):
        assert not x == twin  # noqa: SIM201 - == and != are two methods
    with pytest.warns(UserWarning, match="same object"):
        assert x != twin
    assert x.equal(twin)
    assert x.eq(twin).data.all()


@pytest.mark.parametrize("other", [2, 2.0, np.float32(2), [1, 2, 3], np.array([1.0, 2.0, 3.0])], ids=repr)
def test_equality_with_numbers_and_arrays_is_of_each_element(x: Tensor, other):
    want = (x.data == np.asarray(other)).tolist()
    for out in (x == other, other == x):
        assert isinstance(out, Tensor)
        assert (out.dtype, out.tolist()) == (np.bool_, want)
    for out in (x != other, other != x):
        assert out.tolist() == [not equal for equal in want]


@pytest.mark.parametrize("other", [None, "x", object(), {}])
def test_equality_with_anything_else_is_false(x: Tensor, other):
    assert (x == other) is False
    assert (x != other) is True


# -- NumPy on the left -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "left", [np.array([2.0, 3.0, 4.0]), np.float64(2.0), np.float32(2.0), np.int64(2), np.array(2.0)]
)
def test_numpy_on_the_left(x: Tensor, left):
    right = np.array([1.0, 2.0, 3.0], np.float32)
    operations = [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: a**b,
        lambda a, b: a < b,
        lambda a, b: a <= b,
        lambda a, b: a > b,
        lambda a, b: a >= b,
        lambda a, b: a == b,
        lambda a, b: a != b,
    ]
    for operation in operations:
        out = operation(left, x)
        assert isinstance(out, Tensor)
        np.testing.assert_allclose(out.data, operation(left, right))
    assert (left * x).requires_grad


def test_a_numpy_matrix_on_the_left_of_matmul(x: Tensor):
    m = np.arange(6.0).reshape(2, 3)
    out = m @ x
    assert out._op == "@"
    out.sum().backward()
    np.testing.assert_array_equal(x.grad, m.sum(0))


def test_numpys_own_functions_refuse_rather_than_leave_the_graph(x: Tensor):
    array = np.ones(3)
    for call in (lambda: np.exp(x), lambda: np.add(array, x), lambda: np.dot(array, x), lambda: np.asarray(x)):
        with pytest.raises((TypeError, RuntimeError)):
            call()
    with pytest.raises(TypeError):
        array += x
    with pytest.raises(RuntimeError, match=r"detach\(\).numpy\(\)"):
        x.numpy()
    np.testing.assert_array_equal(np.asarray(x.detach(), dtype=np.float64), [1.0, 2.0, 3.0])


# -- in place ----------------------------------------------------------------------------------------------------------

UPDATES = {
    "+=": lambda a, b: a.__iadd__(b),
    "-=": lambda a, b: a.__isub__(b),
    "*=": lambda a, b: a.__imul__(b),
    "/=": lambda a, b: a.__itruediv__(b),
}
every_update = pytest.mark.parametrize("op", UPDATES)


@every_update
def test_a_leaf_outside_no_grad_is_refused(op: str, x: Tensor):
    with pytest.raises(RuntimeError, match=re.escape(op) + " on a tensor of shape .*no_grad"):
        UPDATES[op](x, 2.0)
    assert x.tolist() == [1.0, 2.0, 3.0]


@every_update
@pytest.mark.parametrize("other", [2, 0.5, np.float64(2.0), [2.0, 2.0, 4.0], Tensor([1.0, 2.0, 2.0]), True])
def test_under_no_grad_it_is_the_same_object_and_the_same_array(op: str, other, x: Tensor):
    array = x.data
    plain = np.asarray(other.data if isinstance(other, Tensor) else other, dtype=np.float32)
    want = {"+=": array + plain, "-=": array - plain, "*=": array * plain, "/=": array / plain}[op]
    with no_grad():
        out = UPDATES[op](x, other)
    assert out is x
    assert x.data is array
    np.testing.assert_allclose(array, want)
    assert x.requires_grad


@every_update
def test_a_constant_is_changed_in_place_anywhere(op: str):
    t = Tensor([1.0, 2.0])
    array = t.data
    assert UPDATES[op](t, 2) is t
    assert t.data is array


@every_update
def test_a_recorded_update_is_a_new_node(op: str, x: Tensor):
    y = x * 1
    out = UPDATES[op](y, 2.0)
    assert out is not y
    assert out._op == op[0]
    constant = Tensor([1.0, 1.0, 1.0])
    assert UPDATES[op](constant, x).requires_grad
    assert constant.tolist() == [1.0, 1.0, 1.0]


@every_update
def test_an_update_may_not_grow_or_change_the_dtype(op: str):
    t = Tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match=re.escape(f"{op}: a result of shape (3, 2)")):
        UPDATES[op](t, np.ones((3, 2)))
    n = tg.tensor([4, 6])
    with pytest.raises(DtypeError, match="float32 does not fit"):
        UPDATES[op](n, 2.5)
    assert n.tolist() == [4, 6]


def test_integers_are_updated_by_integers():
    n = tg.tensor([4, 6])
    n += 1
    n *= 2
    assert (n.tolist(), n.dtype) == ([10, 14], np.int64)
    with pytest.raises(DtypeError):
        n /= 2


# -- positions that read an element twice ------------------------------------------------------------------------------


class Positions:
    """What NumPy takes as positions through `__array__`."""

    def __array__(self, dtype=None, copy=None):
        return np.array([0, 0], dtype=dtype)


@pytest.mark.parametrize(
    "where",
    [
        [0, 0],
        ((0, 0),),
        ([0, 0],),
        (np.array([0, 0]),),
        (Tensor(np.array([0, 0])),),
        (range(1), (0, 0)),
        array.array("q", [0, 0]),
        memoryview(array.array("q", [0, 0])),
        Positions(),
    ],
    ids=lambda where: type(where[0] if isinstance(where, tuple) else where).__name__,
)
def test_an_element_that_is_read_twice_receives_both(where):
    """`=` for `+=` in one form of the index would lose one without a sound."""
    x = Tensor(np.ones((2, 2)), requires_grad=True)
    read = x[where]
    read.sum().backward()
    assert x.grad.sum() == read.numel()


def test_a_base_to_the_power_of_zero_blocks_an_infinite_gradient():
    x, y = Tensor(2.0, requires_grad=True), Tensor(0.0, requires_grad=True)
    (1 / (x**y - 1)).backward()
    assert x.grad == 0.0


def test_numbers_beyond_the_range_of_a_dtype_become_infinite_without_a_warning():
    x = Tensor([1.0], requires_grad=True)
    out = x * 1e300
    assert np.isinf(out.data).all()
    assert np.isinf(Tensor(1e300).data)
    assert np.isinf((Tensor(np.float16(1.0)) + 1e6).data)
    out.backward([1e300])
    x.grad = np.array([1e300])
    assert np.isinf(x.grad).all()


@pytest.mark.parametrize("exponent", [2, 2.0, True, Fraction(1, 2), np.float32(0.5), np.int64(3)])
def test_an_exponent_is_any_real_number(exponent):
    x = Tensor([4.0], requires_grad=True)
    out = x**exponent
    out.sum().backward()
    n = float(exponent)
    assert (out.item(), x.grad.item()) == (4.0**n, n * 4.0 ** (n - 1))
    assert len(out._prev) == 1
