"""What may enter a `Value`, or stand beside one in an operation, and what is refused with a sentence that helps."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from micrograd import Value
from tensorgrad import Tensor

NUMBERS = [
    2,
    2.0,
    True,
    Fraction(1, 3),
    Decimal("0.1"),
    np.bool_(True),
    np.float16(0.1),
    np.float32(0.1),
    np.float64(0.1),
    np.longdouble("0.1"),
    np.int8(2),
    np.uint8(2),
    np.int64(2),
]


def kind(x: object) -> str:
    return type(x).__name__


@pytest.mark.parametrize("x", NUMBERS, ids=kind)
def test_numbers_become_floats(x):
    v = Value(x)
    assert type(v.data) is float
    assert v.data == float(x)


@pytest.mark.parametrize("x", [2, Fraction(1, 3), np.float32(0.1), np.float64(0.1), np.int64(2)], ids=kind)
def test_numbers_set_as_data_go_no_further_than_the_node(x):
    v = Value(1.0)
    v.data = x
    for made in (v * 2.0, -v, v.relu(), abs(v), v.exp()):
        assert type(made.data) is float


def test_what_is_no_number_is_refused_by_the_first_operation_on_it():
    v = Value(1.0)
    v.data = np.array([1.0, 2.0])
    for function in (lambda: v * 2.0, lambda: v + v, lambda: -v):
        with pytest.raises(TypeError, match="a Value is one number"):
            function()


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


@pytest.mark.parametrize("x", NUMBERS, ids=kind)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_numbers_on_either_side(x, function):
    v = Value(0.7)
    left, right = function(x, v), function(v, x)
    assert type(left) is type(right) is Value
    assert type(left.data) is type(right.data) is float
    assert left.data == function(float(x), 0.7)
    assert right.data == function(0.7, float(x))
    right.backward()
    assert type(v.grad) is float
    assert v.grad != 0.0


@pytest.mark.parametrize("x", NUMBERS, ids=kind)
def test_comparisons_by_value_with_numbers(x):
    below, above = Value(float(x) - 1), Value(float(x) + 1)
    assert below < x < above
    assert below <= x <= above
    assert above > x > below
    assert above >= x >= below
    assert not above < x
    same = Value(x)
    assert same <= x <= same
    assert same >= x >= same
    assert not same < x
    assert not same > x


def test_numpy_scalars_do_not_lower_the_precision():
    assert (Value(0.1) * np.float32(1)).data == 0.1
    assert (np.float32(1) * Value(0.1)).data == 0.1
    assert (Value(0.1) + np.float16(0)).data == 0.1


REFUSED = [
    # what, what the message must say
    (np.array([1.0, 2.0]), "a ndarray.*tensorgrad.Tensor"),
    (np.array(2.0), "a ndarray.*item"),
    ([1.0], "a list: make one Value an element"),
    ((1.0,), "a tuple: make one Value an element"),
    ("3", r"the string '3': write float\('3'\)"),
    (b"3", "a bytes"),
    (np.str_("3"), "the string"),
    (None, "None: does a function on the way end without a return"),
    (2j, r"the complex number 2j.*\.real"),
    (np.complex64(1), r"complex number.*\.real"),
    (np.datetime64("2020-01-01"), "a datetime64"),
    (Decimal("sNaN"), "a Decimal"),
    (object(), "a object"),
    (float, "a type"),
    ({}, "a dict"),
    (Tensor([1.0, 2.0]), r"a Tensor: the two engines do not mix, use \.item\(\)"),
    (Tensor(2.0), r"a Tensor: the two engines do not mix, use \.item\(\)"),
]


@pytest.mark.parametrize(("x", "message"), REFUSED, ids=lambda x: kind(x) if not isinstance(x, str) else x[:12])
def test_what_is_no_number_is_refused(x, message):
    with pytest.raises(TypeError, match=f"one number, got .*{message}"):
        Value(x)


@pytest.mark.parametrize(("x", "message"), REFUSED, ids=lambda x: kind(x) if not isinstance(x, str) else x[:12])
@pytest.mark.parametrize("function", [*OPERATORS, operator.lt, operator.ge], ids=lambda f: f.__name__)
def test_what_is_no_number_is_refused_as_an_operand(x, message, function):
    with pytest.raises(TypeError, match=f"one number, got .*{message}"):
        function(Value(1.0), x)


@pytest.mark.parametrize("x", ["3", None, [1.0], 2j, object()], ids=kind)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_what_is_no_number_is_refused_on_the_left(x, function):
    with pytest.raises(TypeError, match="one number, got"):
        function(x, Value(1.0))


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_a_tensor_on_the_left_is_refused(function):
    with pytest.raises(TypeError, match="not from Values"):
        function(Tensor([1.0]), Value(1.0))


def test_a_value_is_no_number():
    with pytest.raises(TypeError, match="it is a node already"):
        Value(Value(1.0))


def test_an_integer_beyond_floats_is_refused():
    with pytest.raises(OverflowError):
        Value(10**400)


def test_a_torch_tensor_is_refused(torch):
    for x in (torch.tensor(2.0), torch.tensor([1.0])):
        with pytest.raises(TypeError, match="got a Tensor"):
            Value(x)


def test_a_name_in_the_place_of_the_operands_is_refused():
    with pytest.raises(TypeError, match="a name goes into label="):
        Value(2.0, "a")


def test_an_array_on_the_left_works_element_by_element():
    """NumPy asks each element; that is what a lift is made of."""
    v = Value(3.0)
    out = np.array([1.0, 2.0]) * v
    assert [x.data for x in out] == [3.0, 6.0]
    values = np.array([Value(1.0), Value(2.0)])
    total = (values * values).sum()
    total.backward()
    assert total.data == 5.0
    assert [x.grad for x in values] == [2.0, 4.0]
    assert (np.array(2.0) - v).data == -1.0


def test_an_integer_too_large_for_a_float_says_so():
    with pytest.raises(OverflowError, match="this number is too large"):
        Value(10**400)
    with pytest.raises(OverflowError, match="this number is too large"):
        Value(1.0) + 10**400
