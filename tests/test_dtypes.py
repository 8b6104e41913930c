"""The dtype contract: figures row 5, and torch's promotion by categories."""

from __future__ import annotations

from itertools import product
from types import ModuleType

import numpy as np
import pytest

import tensorgrad as tg
from tensorgrad import Tensor
from tensorgrad.dtypes import result_dtype
from tensorgrad.errors import DtypeError
from tensorgrad.lift import active

NUMERIC = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
FLOATING = ["float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", NUMERIC)
def test_an_array_keeps_its_dtype(dtype: str):
    assert Tensor(np.ones(2, dtype)).dtype == dtype
    assert Tensor(np.ones((), dtype)[()]).dtype == dtype  # a NumPy scalar
    assert tg.tensor(np.ones(2, dtype)).dtype == dtype
    assert Tensor([1, 0], dtype=dtype).dtype == dtype
    assert Tensor(np.ones(2, np.int64), dtype=dtype).dtype == dtype


@pytest.mark.parametrize(
    "data", [1, 1.5, True, [1, 2], [1.5], [[True]], (1, 2), range(2), [], [np.float64(1.0)], [np.ones(2)]]
)
def test_numbers_and_lists_become_float32(data):
    assert Tensor(data).dtype == np.float32


def test_tensor_infers_as_torch_does(torch: ModuleType):
    for data in (1, 1.5, True, [1, 2], [1, 2.5], [True, False], [], [[1], [2]], 1j):
        assert str(tg.tensor(data).dtype) == str(torch.tensor(data).dtype).removeprefix("torch."), data


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())], ids=str)
def test_promotion_equals_torch(shapes: tuple, torch: ModuleType):
    for a, b in product(NUMERIC, repeat=2):
        if "float16" in (a, b) and "complex" in a + b:
            continue  # torch answers with a complex32, which NumPy does not have
        ours = result_dtype(np.ones(shapes[0], a), np.ones(shapes[1], b))
        theirs = torch.result_type(
            torch.ones(shapes[0], dtype=getattr(torch, a)), torch.ones(shapes[1], dtype=getattr(torch, b))
        )
        assert f"torch.{ours}" == str(theirs), (a, b)


@pytest.mark.parametrize("number", [True, 2, 2.0, 2j])
@pytest.mark.parametrize("shape", [(2,), ()])
def test_python_numbers_promote_as_in_torch(number, shape: tuple, torch: ModuleType):
    for dtype in NUMERIC:
        if dtype == "float16" and isinstance(number, complex):
            continue  # torch answers with a complex32, which NumPy does not have
        ours = Tensor(np.ones(shape, dtype)) * number
        theirs = torch.ones(shape, dtype=getattr(torch, dtype)) * number
        assert f"torch.{ours.dtype}" == str(theirs.dtype), dtype
        assert (number * Tensor(np.ones(shape, dtype))).dtype == ours.dtype


@pytest.mark.parametrize("dtype", NUMERIC)
def test_division_and_functions_of_integers_are_floats(dtype: str, torch: ModuleType):
    x, y = Tensor(np.ones(2, dtype)), torch.ones(2, dtype=getattr(torch, dtype))
    for f in (lambda m, t: t / t, lambda m, t: m.exp(t), lambda m, t: m.tanh(t), lambda m, t: m.sqrt(t)):
        assert f"torch.{f(tg, x).dtype}" == str(f(torch, y).dtype)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_sums_and_products_have_torchs_dtype(dtype: str, torch: ModuleType):
    x, y = Tensor(np.ones(2, dtype)), torch.ones(2, dtype=getattr(torch, dtype))
    for f in (lambda t: t.sum(), lambda t: t * t, lambda t: t + t, lambda t: t**2, lambda t: 2**t):
        assert f"torch.{f(x).dtype}" == str(f(y).dtype)


@pytest.mark.parametrize("dtype", FLOATING)
def test_a_gradient_has_the_dtype_of_its_data(dtype: str):
    x = Tensor(np.ones(3, dtype), requires_grad=True)
    wide = Tensor(np.ones((2, 3)), requires_grad=True)
    (x * wide).sum().backward()
    assert x.grad.dtype == dtype
    assert wide.grad.dtype == np.float64
    x.grad = np.ones(3)
    assert x.grad.dtype == dtype


def test_a_contribution_has_the_dtype_of_the_operand_that_it_is_for():
    x, wide = Tensor([1.0, 2.0], requires_grad=True), Tensor(np.ones(2), requires_grad=True)
    out = x * wide
    out.grad = np.ones(2)
    sent = dict(out._contributions())
    assert (sent[x].dtype, sent[wide].dtype) == (np.float32, np.float64)


def test_float32_is_never_widened_by_numbers():
    x = Tensor([1.0, 2.0], requires_grad=True)
    for out in (x + 1.5, 2 * x, x**2, x**0.5, 2**x, x / 3, x.mean(), x.sigmoid(), x.relu(), x * np.float64(2), x.max()):
        assert out.dtype == np.float32


def test_sums_of_float16_run_in_float32_as_in_torch(torch: ModuleType):
    data = np.full(4096, 100.0, np.float16)
    assert Tensor(data).mean().item() == torch.tensor(data).mean().item() == 100.0
    assert Tensor(data[:600] / 100).sum().item() == torch.tensor(data[:600] / 100).sum().item() == 600.0


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "complex64"])
def test_only_floats_can_require_gradients(dtype: str):
    with pytest.raises(DtypeError, match=f"only floating-point tensors can require gradients, this one is {dtype}"):
        Tensor(np.ones(2, dtype), requires_grad=True)
    t = Tensor(np.ones(2, dtype))
    with pytest.raises(DtypeError):
        t.requires_grad = True
    assert not t.requires_grad


def test_a_complex_result_of_a_tracked_operand_is_refused():
    with pytest.raises(DtypeError, match="complex"):
        Tensor([1.0], requires_grad=True) * 1j


def test_mean_and_neg_refuse_what_torch_refuses():
    with pytest.raises(DtypeError, match="mean: of floats only, this tensor is int64"):
        tg.tensor([1, 2]).mean()
    with pytest.raises(DtypeError, match="neg"):
        -tg.tensor([True])
    with pytest.raises(DtypeError, match="sub"):
        tg.tensor([True]) - tg.tensor([True])


@pytest.mark.parametrize("dtype", [str, object, "datetime64[D]", "no dtype", 3])
def test_a_dtype_of_no_numbers_is_refused(dtype):
    assert not active()
    with pytest.raises(TypeError, match="not"):
        Tensor([1.0], dtype=dtype)
    with pytest.raises(TypeError, match="not"):
        tg.zeros(2, dtype=dtype)


def test_a_number_that_does_not_fit_the_dtype_beside_it_is_refused():
    with pytest.raises(TypeError, match=r"add: .*300"):
        Tensor(np.ones(2, np.int8)) + 300


def test_arange():
    assert tg.arange(3).tolist() == [0, 1, 2]
    assert tg.arange(3).dtype == np.int64
    assert tg.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert tg.arange(1, 2, 0.5).dtype == np.float32
    assert tg.arange(1, 4, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="arange: the step is 0"):
        tg.arange(0, 3, 0)
    with pytest.raises(TypeError, match="arange: end is a number, got 'a'"):
        tg.arange("a")


def test_zeros_and_ones():
    for shape in ((2, 3), [2, 3]):
        assert tg.zeros(shape).equal(np.zeros((2, 3)))
    assert tg.ones(2, 3).equal(np.ones((2, 3)))
    assert (tg.ones(2).dtype, tg.ones(2, dtype=bool).dtype) == (np.float32, np.bool_)
    assert tg.zeros(()).shape == ()
    assert tg.zeros(2, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match=r"zeros: lengths are at least 0, got 2, -1"):
        tg.zeros(2, -1)
    for wrong in (2.5, "a", None):
        with pytest.raises(TypeError, match="ones: takes whole numbers"):
            tg.ones(wrong)
