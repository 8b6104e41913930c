"""Operations on each element: arguments, dtypes and errors that the operator table does not hold."""

from __future__ import annotations

import math
import operator
from types import ModuleType

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, tensor
from tensorgrad.nn import functional as F
from tensorgrad.ops.erf import erf_of

INTEGERS = [7, -7, 0]
BOOLEANS = [True, False, True]
FLOATS = [1.5, -2.5, 3.0]


def leaf(*numbers: float) -> Tensor:
    return Tensor(numbers, dtype=np.float64, requires_grad=True)


# -- the error function ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "absolute", "relative"), [("float64", 2.3e-16, 5e-16), ("float32", 1.9e-7, 3.5e-7)])
def test_the_error_of_erf_is_what_its_docstring_says(dtype: str, absolute: float, relative: float):
    x = np.concatenate([np.linspace(0, 7, 70_001), np.geomspace(1e-30, 1, 2_000), [0.46875]]).astype(dtype)
    exact = np.array([math.erf(number) for number in x.tolist()])
    for sign in (1, -1):
        error = np.abs(erf_of(sign * x).astype(np.float64) - sign * exact)
        assert error.max() <= absolute
        assert np.all(error <= relative * exact)


def test_erf_beyond_the_grid():
    np.testing.assert_array_equal(erf_of(np.array([np.inf, -np.inf, 1e300, -40.0])), [1, -1, 1, -1])
    assert np.isnan(erf_of(np.nan))
    assert math.copysign(1, erf_of(np.array(-0.0))) == -1
    assert erf_of(np.zeros((0, 3), dtype=np.float16)).dtype == np.float16


def test_small_whole_powers_are_products_and_as_accurate():
    x = np.random.default_rng(2).uniform(0.5, 3, 10_000) * np.random.default_rng(3).choice([-1, 1], 10_000)
    for n in (-4, -3, -2, -1, 0, 1, 2, 3, 4, 3.0):
        exact = x.astype(np.longdouble) ** n
        assert np.all(np.abs(Tensor(x).pow(n).data - exact) <= 4.5e-16 * np.abs(exact))


# -- dtypes, as torch has them -----------------------------------------------------------------------------------------

EXPRESSIONS = """
    floor(i)  trunc(i)  sign(i)  sign(b)  square(i)  square(b)  reciprocal(i)  rsqrt(i)  relu(i)  erf(i)  erf(b)
    exp2(i)  sigmoid(b)  abs(i)  positive(i)  neg(i)  round(f)  round(f,decimals=1)  round(f*100,decimals=-2)
    clamp(i,0.5)  clamp(i,0,1)  clamp(b,0,1)  clamp(f,3,1)  clamp(f,max=1)  clamp(i,f)  clamp(f,None,d)
    clamp(f,min=tensor(0.0,dtype=float64))  clamp(f,nan,1)  clip(f,-1,1)
    i//j  i//2  7//j  f//2  i%j  i%-2  -7%j  f%2  f//0  f%0  i//2.0  i%2.5  floor_divide(i,j)  remainder(f,j)
    div(i,j,rounding_mode="floor")  div(i,j,rounding_mode="trunc")  div(f,2,rounding_mode="trunc")
    div(-i,2.5,rounding_mode="floor")  b/b  divide(i,j)  true_divide(i,j)
    add(i,j,alpha=2)  add(f,i,alpha=2)  add(b,b)  add(b,b,alpha=2)  sub(f,f,alpha=0.5)  add(i,2.5,alpha=2)
    subtract(i,j)  multiply(b,b)  b*b  lerp(f,f+1,0.5)  lerp(f,f*2,f)
    lerp(f,f,tensor(0.5,dtype=float64))
    where(b,1,0)  where(b,1.0,0)  where(b,True,False)  where(b,f,0)  where(b,i,0.5)  where(b,i,f)  where(b,f,d)
    where(b,f,tensor(1.0,dtype=float64))  f.where(b,0.0)
    f.masked_fill(b,1)  i.masked_fill(b,0.5)  i.masked_fill(b,2.0)  b.masked_fill(b,0)  f.masked_fill(b,-inf)
    f.masked_fill(b,tensor(1.5,dtype=float64))  i.masked_fill(b,tensor(0.5))
    f.masked_fill(tensor([[True],[False]]),0.0)
    logical_and(i,f)  logical_not(f)  logical_xor(i,b)  logical_or(b,b)
    i&j  i&b  b&True  i&1  1|i  b|i  i^j  True^b  ~i  ~b
    isclose(i,j)  isclose(i,i+1,rtol=0.5)  isclose(b,b)  isclose(n,n)  isclose(n,n,equal_nan=True)  isclose(f,f+1e-9)
    isnan(n)  isinf(n)  isfinite(n)  isnan(i)  nan_to_num(n)  nan_to_num(n,1,2,3)  nan_to_num(n.double())
    nan_to_num(i)  nan_to_num(b)
    maximum(i,f)  maximum(b,b)  minimum(f,d)  maximum(n,f)
    pow(i,2.5)  i**j  b**2  2**j  2.5**i  i**tensor([-1,-2,3])  j**i  2**i  tensor([1,-1,-1])**tensor([-3,-3,-2])
    f**True
    greater(f,i)  greater_equal(f,2)  less(i,j)  less_equal(f,f)  not_equal(f,i)  i==7
""".split()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_dtypes_are_torchs(expression: str, torch: ModuleType):
    def evaluated(m: ModuleType) -> np.ndarray:
        names = {name: getattr(m, name) for name in dir(m) if not name.startswith("_")}
        names |= {"inf": math.inf, "nan": math.nan, "i": m.tensor(INTEGERS), "j": m.tensor([2, 2, 2])}
        names |= {"b": m.tensor(BOOLEANS), "f": m.tensor(FLOATS), "d": m.tensor([0.0, 1.0, 2.0], dtype=m.float64)}
        names |= {"n": m.tensor([math.nan, math.inf, -math.inf])}
        return eval(expression, names).numpy()

    want, got = evaluated(torch), evaluated(tensorgrad)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_where_alone_gives_positions():
    rows, columns = tensorgrad.where(tensor([[True, False], [True, True]]))
    assert (rows.tolist(), columns.tolist(), rows.dtype) == ([0, 1, 1], [0, 0, 1], np.int64)
    assert [x.tolist() for x in tensorgrad.where(tensor(5))] == [[0]]
    assert [x.tolist() for x in tensorgrad.where(tensor([0.0, 2.0]))] == [[1]]


def test_where_takes_a_condition_of_any_kind():
    for condition in ([True, False], np.array([True, False]), tensor([1, 0]).to(np.uint8)):
        assert tensorgrad.where(condition, leaf(1, 2), 0.0).tolist() == [1, 0]


def test_allclose_is_one_answer():
    assert tensorgrad.allclose(leaf(1, 2), leaf(1, 2 + 1e-9)) is True
    assert leaf(1, 2).allclose(leaf(1, 3)) is False
    assert tensorgrad.allclose(Tensor([np.nan]), Tensor([np.nan]), equal_nan=True)


def test_positive_is_the_tensor_itself():
    x = leaf(1)
    assert +x is x


# -- gradients ---------------------------------------------------------------------------------------------------------


def test_gradients_of_limits_and_fillings():
    x, low, high = leaf(0, 1, 5, 2), leaf(1, 1, 1, 3), leaf(3, 3, 3, 2)
    out = tensorgrad.clamp(x, low, high)
    out.backward(np.array([1.0, 2.0, 3.0, 4.0]))
    assert out.tolist() == [1, 1, 3, 2]
    assert (x.grad.tolist(), low.grad.tolist(), high.grad.tolist()) == ([0, 2, 0, 0], [1, 0, 0, 0], [0, 0, 3, 4])
    x, limit = leaf(0, 5), Tensor(2.0, requires_grad=True)
    tensorgrad.clamp(x, limit, 4).sum().backward()
    assert (x.grad.tolist(), float(limit.grad)) == ([0, 0], 1)
    x, value = leaf(1, 2, 3), Tensor(9.0, requires_grad=True)
    x.masked_fill(tensor([True, False, True]), value).backward(np.array([1.0, 2.0, 4.0]))
    assert (x.grad.tolist(), float(value.grad)) == ([0, 2, 0], 5)


@pytest.mark.parametrize(("operation", "want"), [(F.gelu, 1), (F.silu, 1), (F.softplus, 1), (F.elu, 1), (F.relu6, 0)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_activations_do_not_overflow(operation, want: float, dtype: str):
    x = Tensor(np.array([-1e4, 1e4], dtype=dtype), requires_grad=True)
    operation(x).sum().backward()
    np.testing.assert_array_equal(x.grad, [0, want])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-6), ("float16", 2e-3)])
def test_gelu_equals_its_composed_twin(approximate: str, dtype: str, tolerance: float):
    data = np.linspace(-6, 6, 101)
    x, y = Tensor(data.astype(dtype), requires_grad=True), leaf(*data.astype(dtype))
    if approximate == "none":
        twin = y * (0.5 * (1 + tensorgrad.erf(y * math.sqrt(0.5))))
    else:
        twin = y * (0.5 * (1 + tensorgrad.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3))))
    out = F.gelu(x, approximate)
    out.sum().backward()
    twin.sum().backward()
    np.testing.assert_allclose(out.data, twin.data, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(x.grad, y.grad, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_the_gradient_of_gelu_far_from_0_is_1_or_0(approximate: str):
    x = Tensor(np.array([-1e30, -1e13, -60, 60, 1e13, 1e30], dtype=np.float32), requires_grad=True)
    F.gelu(x, approximate).sum().backward()
    np.testing.assert_array_equal(x.grad, [0, 0, 0, 1, 1, 1])


def test_a_rule_holds_only_what_it_needs():
    x = leaf(1, 2)
    out = tensorgrad.relu(x) + tensorgrad.floor(x) + F.relu6(x) + tensorgrad.exp(x) + tensorgrad.reciprocal(x)
    with tensorgrad.no_grad():
        x += 1
    out.sum().backward()  # none of these needs the operand's numbers
    np.testing.assert_allclose(x.grad, 1 + 0 + 1 + np.exp([1, 2]) - 1 / np.array([1.0, 4.0]))


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tensorgrad.floor(tensor(BOOLEANS)), TypeError, "floor: of numbers only.*bool"),
        (lambda: tensorgrad.relu(tensor(BOOLEANS)), TypeError, "relu: of numbers only.*bool"),
        (lambda: abs(tensor(BOOLEANS)), TypeError, "abs: of numbers only.*bool"),
        (lambda: -tensor(BOOLEANS), TypeError, "neg: .*use ~x"),
        (lambda: +tensor(BOOLEANS), TypeError, "positive: of numbers only"),
        (lambda: tensor(BOOLEANS) - tensor(BOOLEANS), TypeError, r"sub: .*use x \^ y"),
        (lambda: tensor(BOOLEANS) // tensor(BOOLEANS), TypeError, "floor_divide: of numbers only"),
        (lambda: tensor(BOOLEANS) ** tensor(BOOLEANS), TypeError, "pow: of numbers only"),
        (lambda: tensor(INTEGERS) // 0, ZeroDivisionError, "floor_divide: an integer divided by 0"),
        (lambda: tensor(INTEGERS) % tensor([1, 0, 1]), ZeroDivisionError, "remainder: an integer divided by 0"),
        (lambda: tensor(INTEGERS) ** -1, ValueError, "pow: integers to the power -1.*float"),
        (lambda: tensorgrad.div(leaf(1), 2, rounding_mode="up"), ValueError, "div: rounding_mode is None.*'up'"),
        (lambda: tensorgrad.add(tensor([1]), tensor([1]), alpha=0.5), TypeError, "add: alpha=0.5 beside integers"),
        (lambda: tensorgrad.sub(leaf(1), leaf(1), alpha=leaf(2)), TypeError, "sub: alpha is a number, got a Tensor"),
        (lambda: tensorgrad.round(leaf(1), decimals=0.5), TypeError, "round: decimals is a whole number, got 0.5"),
        (lambda: tensorgrad.clamp(leaf(1)), ValueError, "clamp: give min, max"),
        (lambda: tensorgrad.clamp(leaf(1, 2), leaf(1, 2, 3)), ValueError, r"clamp_min: shapes \(2,\) and \(3,\)"),
        (lambda: tensorgrad.clamp(leaf(1, 2), 0.0, leaf(1, 2, 3)), ValueError, r"clamp: shapes .*\(2,\).*\(3,\)"),
        (lambda: tensorgrad.clamp(leaf(1), "low"), TypeError, "clamp_min: .*str"),
        (lambda: F.hardtanh(leaf(1), 1, -1), ValueError, "hardtanh: min_val=1 is above max_val=-1"),
        (lambda: F.gelu(leaf(1), approximate="erf"), ValueError, "gelu: approximate is 'none' or 'tanh', got 'erf'"),
        (lambda: F.gelu(None), TypeError, "gelu: .*None"),
        (lambda: tensorgrad.erf([[1.0], [1.0, 2.0]]), TypeError, "erf: .*ragged"),
        (lambda: tensorgrad.where(leaf(1), 1, 2), TypeError, "where: the condition holds float64, not booleans"),
        (lambda: tensorgrad.where(tensor([True]), leaf(1)), TypeError, "where: give both x and y"),
        (lambda: tensorgrad.where(tensor(BOOLEANS), leaf(1, 2), 0), ValueError, r"where: shapes \(3,\) and \(2,\)"),
        (lambda: tensorgrad.where("c", 1, 2), TypeError, "where: the condition holds"),
        (lambda: leaf(1).masked_fill(tensor([1]), 0), TypeError, "masked_fill: the mask holds int64"),
        (lambda: leaf(1, 2).masked_fill(tensor(BOOLEANS), 0), ValueError, r"masked_fill: shapes \(3,\) and \(2,\)"),
        (lambda: leaf(1).masked_fill(tensor([True]), leaf(1)), ValueError, r"masked_fill: .*got shape \(1,\)"),
        (lambda: leaf(1).masked_fill(tensor([True]), 1j), TypeError, "masked_fill: the complex value"),
        (lambda: tensor([1]).masked_fill(tensor([True]), math.inf), TypeError, "masked_fill: inf does not fit"),
        (lambda: leaf(1) & 1, TypeError, "bitwise_and: of booleans and integers.*compare first"),
        (lambda: ~leaf(1), TypeError, "bitwise_not: of booleans and integers"),
        (lambda: tensor(BOOLEANS) | tensor([True, False]), ValueError, "bitwise_or: shapes"),
        (lambda: tensorgrad.maximum(leaf(1, 2), leaf(1, 2, 3)), ValueError, "maximum: shapes"),
        (lambda: tensorgrad.isclose(leaf(1), leaf(1), rtol=-1), ValueError, "isclose: tolerances are at least 0"),
        (lambda: tensorgrad.logical_and(leaf(1, 2), leaf(1, 2, 3)), ValueError, "logical_and: shapes"),
        (lambda: tensorgrad.lerp(leaf(1, 2), leaf(1, 2, 3), 0.5), ValueError, "lerp: shapes"),
        (lambda: tensorgrad.lerp(leaf(1, 2), leaf(1, 2), leaf(1, 2, 3)), ValueError, "lerp: shapes"),
    ],
)  # fmt: skip
def test_errors_name_the_operation_and_the_remedy(call, error: type[Exception], words: str):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor, operator.floordiv, operator.mod])
def test_operators_with_the_number_first(op):
    x = tensor([5, 6, 7])
    assert op(3, x).tolist() == [op(3, n) for n in (5, 6, 7)]
    assert op(x, 3).tolist() == [op(n, 3) for n in (5, 6, 7)]
    assert op(np.array([3, 3, 3]), x).tolist() == [op(3, n) for n in (5, 6, 7)]


def test_division_does_not_go_by_way_of_a_common_integer_dtype(torch: ModuleType):
    minus_3, bytes_ = np.array(-3), np.array([5, 1], dtype=np.uint8)
    for x, y in ((minus_3, bytes_), (bytes_, minus_3)):
        out = tensor(x) / tensor(y)
        assert out.dtype == np.float32
        np.testing.assert_allclose(out.data, (torch.tensor(x) / torch.tensor(y)).numpy())


def test_nothing_divided_by_0_is_nothing():
    empty = tensor(np.zeros((0, 2), dtype=np.int64))
    for out in (empty // tensor([1, 0]), empty % 0, tensorgrad.div(empty, 0, rounding_mode="trunc")):
        assert out.shape == (0, 2)
