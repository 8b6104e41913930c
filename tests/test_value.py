"""`Value`: every operation against `math`, finite differences and torch; hard points."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from engines import BINARY, UNARY
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value
from micrograd.backprop import reached

inf, nan = math.inf, math.nan

BY_MATH = {
    "neg": operator.neg,
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "relu": lambda x: max(x, 0.0),
    "x**3": lambda x: x**3,
    "x**-1.5": lambda x: x**-1.5,
    "x+2": lambda x: x + 2,
    "2+x": lambda x: 2 + x,
    "x-2": lambda x: x - 2,
    "2-x": lambda x: 2 - x,
    "x*2": lambda x: x * 2,
    "2*x": lambda x: 2 * x,
    "x/2": lambda x: x / 2,
    "2/x": lambda x: 2 / x,
    "2**x": lambda x: 2**x,
}

POSITIVE_ONLY = {"log", "sqrt", "x**-1.5"}


def points(name: str) -> list[float]:
    return [0.3, 0.7, 2.5, 8.0] + ([] if name in POSITIVE_ONLY else [-0.3, -0.7, -2.5, -8.0])


def central_difference(function, x: float) -> float:
    """Fourth order: errs by about 1e-10 at the points above."""
    h = 1e-3
    near, far = function(x + h) - function(x - h), function(x + 2 * h) - function(x - 2 * h)
    return (8 * near - far) / (12 * h)


def close(a: float, b: float) -> bool:
    """Equal to 12 digits, infinities by sign, nan to nan."""
    return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-12)


# -- values and gradients ----------------------------------------------------------------------------------------------


def test_the_table_is_complete():
    assert BY_MATH.keys() == UNARY.keys()


@pytest.mark.parametrize(("name", "x"), [(name, x) for name in UNARY for x in points(name)])
def test_value_and_gradient_of_one_operand(name, x):
    v = Value(x)
    out = UNARY[name](v)
    out.backward()
    assert out.data == pytest.approx(BY_MATH[name](x), rel=1e-15)
    assert v.grad == pytest.approx(central_difference(BY_MATH[name], x), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(("x", "y"), [(0.7, 2.5), (2.5, -0.3), (1.5, 1.5), (3.0, -4.0)])
def test_value_and_gradient_of_two_operands(name, x, y):
    function = BINARY[name]
    a, b = Value(x), Value(y)
    out = function(a, b)
    out.backward()
    assert out.data == function(x, y)
    assert a.grad == pytest.approx(central_difference(lambda t: function(t, y), x), rel=1e-8)
    assert b.grad == pytest.approx(central_difference(lambda t: function(x, t), y), rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("name", ["+", "-", "*", "/"])
@pytest.mark.parametrize("x", [-2.5, 0.7])
def test_a_negative_operand_on_either_side(name, x):
    function = BINARY[name]
    for result, value in ((function(Value(x), -3), function(x, -3)), (function(-3, Value(x)), function(-3, x))):
        assert result.data == value


@pytest.mark.parametrize("n", [3, -2, 0.5, Fraction(1, 2), Decimal(3), np.float32(2), np.int8(3), True, 0])
def test_powers_by_numbers_of_every_kind(n):
    v = Value(2.5)
    out = v**n
    out.backward()
    assert out.data == 2.5 ** float(n)
    assert v.grad == pytest.approx(float(n) * 2.5 ** (float(n) - 1), rel=1e-15)
    assert len(out._prev) == 1


def test_a_value_as_the_exponent_is_an_operand():
    a, b = Value(2.0), Value(3.0)
    out = a**b
    out.backward()
    assert out._prev == (a, b)
    assert a.grad == 12.0
    assert b.grad == pytest.approx(8 * math.log(2), rel=1e-15)


@pytest.mark.parametrize(
    ("make", "op", "operands"),
    [
        (lambda a, b: a + b, "+", 2),
        (lambda a, b: a - b, "-", 2),
        (lambda a, b: a * b, "*", 2),
        (lambda a, b: a / b, "/", 2),
        (lambda a, b: a**b, "**", 2),
        (lambda a, b: a**2, "**2", 1),
        (lambda a, b: -a, "neg", 1),
        (lambda a, b: abs(a), "abs", 1),
        (lambda a, b: a.abs(), "abs", 1),
        (lambda a, b: a.relu(), "ReLU", 1),
        (lambda a, b: a.exp(), "exp", 1),
    ],
)
def test_each_operation_is_one_node(make, op, operands):
    a, b = Value(2.0), Value(3.0)
    out = make(a, b)
    assert out._op == op
    assert out._prev == (a, b)[:operands]


def test_operands_stand_in_the_written_order():
    x = Value(4.0)
    for result in (2 + x, 2 - x, 2 * x, 2 / x, 2**x):
        constant, operand = result._prev
        assert (constant.data, operand) == (2.0, x)


# -- hard points -------------------------------------------------------------------------------------------------------

HARD_UNARY = [
    # operation, x, value, gradient
    ("exp", 710.0, inf, inf),
    ("exp", -1000.0, 0.0, 0.0),
    ("exp", inf, inf, inf),
    ("exp", -inf, 0.0, 0.0),
    ("log", 0.0, -inf, inf),
    ("log", -0.0, -inf, -inf),
    ("log", -1.0, nan, -1.0),
    ("log", inf, inf, 0.0),
    ("sqrt", 0.0, 0.0, inf),
    ("sqrt", -1.0, nan, nan),
    ("sqrt", inf, inf, 0.0),
    ("tanh", 1000.0, 1.0, 0.0),
    ("tanh", -1000.0, -1.0, 0.0),
    ("tanh", inf, 1.0, 0.0),
    ("sigmoid", 1000.0, 1.0, 0.0),
    ("sigmoid", -1000.0, 0.0, 0.0),
    ("sigmoid", -inf, 0.0, 0.0),
    ("sigmoid", -700.0, math.exp(-700.0), math.exp(-700.0)),
    ("sigmoid", -740.0, math.exp(-740.0), math.exp(-740.0)),
    ("relu", 0.0, 0.0, 0.0),
    ("relu", inf, inf, 1.0),
    ("relu", -inf, 0.0, 0.0),
    ("relu", nan, nan, 1.0),
    ("abs", 0.0, 0.0, 0.0),
    ("abs", -inf, inf, -1.0),
    ("abs", nan, nan, nan),
    ("sin", inf, nan, nan),
    ("cos", -inf, nan, nan),
    ("2/x", 0.0, inf, -inf),
    ("2/x", -0.0, -inf, -inf),
    ("2**x", 1024.0, inf, inf),
    ("x**-1.5", 0.0, inf, -inf),
    ("x**3", 1e200, inf, inf),
    ("x**3", -1e200, -inf, inf),
] + [(name, nan, nan, nan) for name in ("exp", "log", "sqrt", "tanh", "sigmoid", "sin", "cos", "x**3")]


@pytest.mark.parametrize(("name", "x", "value", "slope"), HARD_UNARY)
def test_hard_points(name, x, value, slope):
    v = Value(x)
    out = UNARY[name](v)
    out.backward()
    assert close(out.data, value)
    assert close(v.grad, slope)


HARD_BINARY = [
    # operation, x, y, value, gradients
    ("/", 1.0, 0.0, inf, inf, -inf),
    ("/", -1.0, 0.0, -inf, inf, inf),
    ("/", 1.0, -0.0, -inf, -inf, -inf),
    ("/", 0.0, 0.0, nan, inf, nan),
    ("/", inf, inf, nan, 0.0, nan),
    ("/", 1e308, 1e-10, inf, 1e10, -inf),
    ("**", 0.0, 0.0, 1.0, 0.0, 0.0),
    ("**", 0.0, 2.0, 0.0, 0.0, 0.0),
    ("**", 0.0, -1.0, inf, -inf, -inf),
    ("**", -0.0, -1.0, -inf, -inf, inf),
    ("**", -2.0, 0.5, nan, nan, nan),
    ("**", -2.0, 2.0, 4.0, -4.0, nan),
    ("**", 10.0, 400.0, inf, inf, inf),
    ("**", -10.0, 401.0, -inf, inf, nan),
    ("**", nan, 0.0, 1.0, 0.0, nan),
    ("**", 1.0, inf, 1.0, inf, 0.0),
    ("*", inf, 0.0, nan, 0.0, inf),
    ("+", inf, -inf, nan, 1.0, 1.0),
]


@pytest.mark.parametrize(("name", "x", "y", "value", "slope_x", "slope_y"), HARD_BINARY)
def test_hard_points_of_two_operands(name, x, y, value, slope_x, slope_y):
    a, b = Value(x), Value(y)
    out = BINARY[name](a, b)
    out.backward()
    assert close(out.data, value)
    assert close(a.grad, slope_x)
    assert close(b.grad, slope_y)


def test_nan_in_a_comparison_is_false():
    v = Value(nan)
    assert not any((v < 1, v > 1, v <= 1, v >= 1, v <= v, v >= v))


# -- torch, hard points included ---------------------------------------------------------------------------------------

TORCH_POINTS = [0.0, -0.0, inf, -inf, nan, 710.0, -700.0, 1000.0, -1000.0, 1e-320, 1e308, 1e-9]
TORCH_POINTS += [1.0, -1.0, 2.0, -2.0, 0.5, -3.0, 30.0, -30.0]

UNLIKE_TORCH = {
    # torch takes sign(nan) for 0; the derivative of what is unknown is unknown
    ("abs", nan),
    # torch computes x**0.5 with sqrt, which differs from its own pow of two tensors
    ("x**y", -inf, 0.5),
    ("x**y", -0.0, 0.5),
}


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_as_in_torch(name, torch):
    for x in TORCH_POINTS:
        ours, theirs = Value(x), torch.tensor(x, dtype=torch.float64, requires_grad=True)
        out, expected = UNARY[name](ours), UNARY[name](theirs)
        out.backward()
        expected.backward()
        if (name, x) not in UNLIKE_TORCH:
            assert close(out.data, expected.item()), x
            assert close(ours.grad, theirs.grad.item()), x


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_as_in_torch(name, torch):
    for x, y in product(TORCH_POINTS, TORCH_POINTS):
        ours = Value(x), Value(y)
        theirs = [torch.tensor(t, dtype=torch.float64, requires_grad=True) for t in (x, y)]
        out, expected = BINARY[name](*ours), BINARY[name](*theirs)
        out.backward()
        expected.backward()
        assert close(out.data, expected.item()), (x, y)
        for v, t in zip(ours, theirs, strict=True):
            assert close(v.grad, t.grad.item()), (x, y)


def test_powers_by_numbers_as_in_torch(torch):
    for x, n in product(TORCH_POINTS, TORCH_POINTS):
        ours, theirs = Value(x), torch.tensor(x, dtype=torch.float64, requires_grad=True)
        out, expected = ours**n, theirs**n
        out.backward()
        expected.backward()
        if ("x**y", x, n) not in UNLIKE_TORCH:
            assert close(out.data, expected.item()), (x, n)
            assert close(ours.grad, theirs.grad.item()), (x, n)


# -- what it is --------------------------------------------------------------------------------------------------------


def test_equality_and_hash_are_identity():
    a, b = Value(1.0), Value(1.0)
    assert a == a
    assert a != b
    assert a != 1.0
    assert len({a, b, a}) == 2
    assert {a: "a", b: "b"}[b] == "b"
    assert b not in [a]


def test_comparisons_between_values():
    a, b, c = Value(1.0), Value(2.0), Value(2.0)
    assert (a < b, b < c, a <= b, b <= c, c <= a) == (True, False, True, True, False)
    assert (b > a, b > c, b >= a, b >= c, a >= c) == (True, False, True, True, False)


def test_values_can_be_sorted():
    values = [Value(x) for x in (3.0, -1.0, 2.0)]
    assert [v.data for v in sorted(values)] == [-1.0, 2.0, 3.0]
    assert max(values).data == 3.0


def test_a_fresh_gradient_reads_as_zero():
    v = Value(1.0)
    assert v.grad == 0.0
    assert type(v.grad) is float
    assert not reached(v)


def test_text():
    v = Value(2)
    assert repr(v) == "Value(data=2.0, grad=0.0)"
    assert repr(Value(1.0, label="w")) == "Value(data=1.0, grad=0.0)"


def test_an_operation_may_have_any_number_of_operands():
    values = [Value(float(i)) for i in range(1, 4)]
    out = Value(6.0, values, "product", local=(6.0, 3.0, 2.0))
    out.backward()
    assert [v.grad for v in values] == [6.0, 3.0, 2.0]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(x=st.floats(), y=st.floats())
def test_no_float_raises(x, y):
    for operation in BINARY.values():
        operation(Value(x), Value(y)).backward()
    for operation in UNARY.values():
        operation(Value(x)).backward()
    _ = Value(x) ** y


def test_relu_lets_nothing_through_where_it_is_shut():
    """torch's convention: relu selects, so an infinite gradient behind it does not become 0 * inf = nan."""
    x = Value(-1.0)
    x.relu().sqrt().backward()  # d sqrt(y)/dy at 0 is inf
    assert x.grad == 0.0


class Watching:
    """Notes what its gradient becomes."""

    @property
    def grad(self):
        return self.became[-1]

    @grad.setter
    def grad(self, gradient):
        self.__dict__.setdefault("became", []).append(gradient)


class Watched(Value):
    grad = Watching.grad


class Mixed(Watching, Value):
    pass


@pytest.mark.parametrize("kind", [Watched, Mixed])
def test_a_gradient_of_a_subclass_is_read_and_written_in_its_way(kind: type[Value]):
    x = kind(3.0)
    y = x * x + x
    y.backward()
    assert x.became == [0.0, 1.0, 4.0, 7.0]
    y.backward()
    assert x.grad == 14.0
