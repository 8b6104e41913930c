"""Making tensors: what torch makes of the same call, and what is said of calls that make no sense."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.errors import DtypeError, ShapeError

SAME_AS_TORCH = (
    "zeros(2, 3)", "zeros((2, 3))", "zeros([2, 3])", "zeros(size=(2, 3))", "zeros(())", "zeros(0, 3)",
    "zeros(2, dtype=torch.int32)", "ones(3)", "ones(2, dtype=int)", "ones((1,), dtype=torch.bool)",
    "full((2, 2), 3)", "full((), True)", "full((2,), 1.5)", "full((3,), float('nan'))",
    "full((2,), 2, dtype=torch.float64)", "full((2,), torch.tensor(3.0))", "eye(3)", "eye(2, 3)",
    "eye(3, 2, dtype=torch.int64)", "eye(0)", "arange(4)", "arange(4.0)", "arange(1, 4)", "arange(1, 10, 2.5)",
    "arange(5, 0, -2)", "arange(0, 1, 0.1)", "arange(end=4)", "arange(start=1, end=4, step=2)", "arange(1, end=3)",
    "arange(torch.tensor(3))", "arange(0.5, 5, dtype=torch.int64)", "arange(3, dtype=torch.float16)",
    "arange(2, 2)", "arange(True)", "linspace(0, 1, 5)", "linspace(0, 1, 1)", "linspace(0, 1, 0)",
    "linspace(3, -2, 7, dtype=torch.float64)", "linspace(0, 10, 5, dtype=torch.int64)",
    "linspace(torch.tensor(0.0), 1, 3)", "logspace(0, 3, 4)", "logspace(-1, 1, 3, base=2.0)", "tensor(1)",
    "tensor(1.5)", "tensor(True)", "tensor([1, 2])", "tensor([1, 2.5])", "tensor([True, 2])", "tensor([])",
    "tensor([[]])", "tensor(np.float64(2))", "tensor(np.uint8(2))", "tensor([np.float64(2), 1.5])",
    "tensor([np.float32(2)])", "tensor(np.arange(3, dtype='int16'))",
    "tensor([torch.tensor(1.0), torch.tensor(2.0)])", "tensor([torch.tensor(1.0, dtype=torch.float64)])",
    "tensor(np.ones((2, 0)))", "tensor([[1, 2], [3, 4]], dtype=torch.float32)",
    "tensor([300], dtype=torch.int64).to(torch.uint8)", "tensor(range(3))", "tensor((1, 2))", "as_tensor([1, 2.0])",
    "as_tensor(np.arange(3))", "as_tensor(np.arange(3), dtype=torch.float32)", "from_numpy(np.eye(2))",
    "zeros_like(torch.ones(2, 3))", "ones_like(torch.tensor([1, 2]))", "full_like(torch.tensor([1, 2]), 2.7)",
    "zeros_like(torch.ones(2), dtype=torch.int64)", "tril_indices(3, 4, 1)", "triu_indices(3, 4, -1)",
    "tril_indices(0, 3)", "triu_indices(2, 2, offset=5)", "ones(2).new_tensor([1, 2])",
    "tensor([1, 2]).new_zeros(2, 3)", "tensor([1, 2]).new_ones((2,))", "tensor([1, 2]).new_full((2,), 1.5)",
    "ones(2).new_zeros(2, dtype=torch.int64)", "zeros(torch.tensor(2))", "zeros(2, device='cpu')",
    "ones(2, device=torch.device('cpu'))",
)  # fmt: skip


def called(text: str, package: ModuleType) -> Any:
    return eval(f"torch.{text}", {"torch": package, "np": np})


@pytest.mark.parametrize("text", SAME_AS_TORCH)
def test_makes_what_torch_makes(text: str, torch: ModuleType):
    ours, theirs = called(text, tensorgrad), called(text, torch).numpy()
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert not ours.requires_grad
    np.testing.assert_allclose(ours.data, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("zeros()", TypeError, r"zeros: needs a shape"),
        ("zeros(2, -1)", ValueError, r"zeros: lengths are at least 0, got 2, -1"),
        ("zeros(2.0)", TypeError, r"zeros: takes whole numbers, got \(2.0,\)"),
        ("zeros(None)", TypeError, r"zeros: takes whole numbers"),
        ("zeros(3, shape=2)", TypeError, r"zeros: got an unexpected argument 'shape'"),
        ("zeros(3, size=(2,))", TypeError, r"zeros: .* the shape is given once"),
        ("zeros(3, dtype='text')", TypeError, r"not a dtype: 'text'"),
        ("zeros(3, device='cuda')", RuntimeError, r"zeros: device 'cuda': .* the one device is 'cpu'"),
        ("zeros(3, dtype=int, requires_grad=True)", DtypeError, r"only floating-point tensors can require gradients"),
        ("tensor([1, 2], requires_grad=True)", DtypeError, r"only floating-point tensors can require gradients"),
        ("tensor([True], requires_grad=True)", DtypeError, r"only floating-point tensors can require gradients"),
        ("tensor(None)", TypeError, r"made from numbers, .* got None"),
        ("tensor('1')", TypeError, r"made from numbers, .* write float\('1'\)"),
        ("tensor([[1], [1, 2]])", ValueError, r"ragged"),
        ("tensor(2**63)", OverflowError, r"does not fit into int64"),
        ("tensor(2**70)", OverflowError, r"does not fit into int64"),
        ("full((2,), [1, 2])", ValueError, r"full: fills with one number, got 2"),
        ("full((2,), None)", TypeError, r"got None"),
        ("from_numpy([1])", TypeError, r"from_numpy: takes a NumPy array, got a list"),
        ("zeros_like([1])", TypeError, r"zeros_like: takes a Tensor, got a list"),
        ("eye(-1)", ValueError, r"eye: lengths are at least 0"),
        ("arange(0, 1, 0)", ValueError, r"arange: the step is 0$"),
        ("arange(0, 1, 0.5, dtype=int)", ValueError, r"arange: the step is 0 as int64"),
        ("arange(5, 1)", ValueError, r"arange: a step of 1 does not lead from 5 to 1"),
        ("arange(0, float('inf'))", ValueError, r"arange: .* must be finite"),
        ("arange()", TypeError, r"arange: needs an end"),
        ("arange(1, 2, 3, 4)", TypeError, r"arange: takes end, or start and end"),
        ("arange(1, 2, start=3)", TypeError, r"arange: takes end"),
        ("arange('3')", TypeError, r"arange: end is a number, got '3'"),
        ("arange(3, dtype=bool)", DtypeError, r"arange: counts in numbers"),
        ("linspace(0, 1, -1)", ValueError, r"linspace: lengths are at least 0, got -1"),
        ("zeros(10**12, 10**12)", ValueError, r"zeros: .* more elements than any memory"),
        ("randperm([3])", TypeError, r"randperm: n is a whole number, got \[3\]"),
        ("tril_indices(2, 2, [])", TypeError, r"tril_indices: offset is a whole number, got \[\]"),
        ("linspace(0, 1, 2.5)", TypeError, r"linspace: steps is a whole number, got 2.5"),
        ("linspace(0, [1, 2], 3)", TypeError, r"linspace: end is a number"),
        ("triu_indices(-1, 2)", ValueError, r"triu_indices: lengths are at least 0"),
    ],
)
def test_calls_that_make_no_sense(text: str, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        called(text, tensorgrad)


def test_a_leaf_can_be_asked_for_everywhere():
    like = Tensor(np.ones((2, 2)))
    for text in ("zeros(2)", "ones(2)", "full((2,), 1.0)", "eye(2)", "linspace(0, 1, 3)", "arange(3.0)", "empty(2)"):
        made = called(f"{text[:-1]}, requires_grad=True)", tensorgrad)
        assert made.requires_grad
        assert made.is_leaf
    for name in ("zeros_like", "ones_like", "empty_like"):
        made = getattr(tensorgrad, name)(like, requires_grad=True)
        assert (made.requires_grad, made.dtype, made.shape) == (True, np.float64, (2, 2))
    assert like.new_ones(3, requires_grad=True).requires_grad


def test_data_is_copied_or_shared_as_torch_does():
    array = np.zeros(2)
    copy, shared, cast = tensorgrad.tensor(array), tensorgrad.from_numpy(array), tensorgrad.as_tensor(array, dtype="f4")
    also_shared = tensorgrad.as_tensor(array)
    array[0] = 5
    assert copy.tolist() == [0, 0]
    assert cast.tolist() == [0, 0]
    assert shared.tolist() == also_shared.tolist() == [5, 0]
    x = Tensor([1.0], requires_grad=True)
    assert tensorgrad.as_tensor(x) is x
    tensorgrad.as_tensor(x, dtype=np.float64).sum().backward()
    assert x.grad.tolist() == [1]
    assert not tensorgrad.tensor(x.detach()).requires_grad


def test_empty_has_a_shape_and_a_dtype_and_can_be_filled():
    x = tensorgrad.empty(2, 3, dtype=np.float64)
    assert (x.shape, x.dtype) == ((2, 3), np.float64)
    x.data[...] = 1
    assert x.sum().item() == 6
    assert x.new_empty((4,)).dtype == np.float64


def test_elements_of_arange_do_not_gather_errors():
    got = tensorgrad.arange(0, 1000, 0.1, dtype=np.float64).data
    np.testing.assert_array_equal(got, np.arange(10_000) * 0.1)


@pytest.fixture
def float64_as_default() -> Iterator[None]:
    tensorgrad.set_default_dtype(tensorgrad.float64)
    yield
    tensorgrad.set_default_dtype(tensorgrad.float32)


def test_the_default_dtype_is_that_of_new_floats(float64_as_default: None):
    assert tensorgrad.get_default_dtype() == np.float64
    for text in (
        "tensor(1.5)",
        "tensor([1.5])",
        "zeros(2)",
        "rand(2)",
        "randn(2)",
        "eye(2)",
        "linspace(0, 1, 3)",
        "Tensor([1])",
    ):
        assert called(text, tensorgrad).dtype == np.float64
    assert (tensorgrad.tensor([1, 2]) * 1.5).dtype == np.float64
    assert tensorgrad.tensor([1, 2]).sqrt().dtype == np.float64
    assert tensorgrad.finfo().dtype == np.float64
    assert (Tensor([1.0], dtype=np.float32) * 1.5).dtype == np.float32


def test_the_default_dtype_is_of_floats():
    with pytest.raises(TypeError, match=r"set_default_dtype: .*, not int64"):
        tensorgrad.set_default_dtype(np.int64)
    assert tensorgrad.get_default_dtype() == np.float32


# -- devices -----------------------------------------------------------------------------------------------------------


def test_the_usual_choice_of_a_device_runs():
    device = "cuda" if tensorgrad.cuda.is_available() else "mps" if tensorgrad.backends.mps.is_available() else "cpu"
    x = tensorgrad.zeros(2, device=device)
    assert x.to(device) is x.cpu() is x
    assert x.device == tensorgrad.device(device) == "cpu"
    assert x.device.type == "cpu"
    assert str(x.device) == "cpu"
    assert repr(tensorgrad.device("cpu")) == "device(type='cpu')"
    assert tensorgrad.cuda.device_count() == 0
    for call in (tensorgrad.cuda.manual_seed, tensorgrad.cuda.manual_seed_all):
        tensorgrad.manual_seed(3)
        first = tensorgrad.rand(1).item()
        tensorgrad.manual_seed(3)
        call(4)  # of a generator that is not there
        assert tensorgrad.rand(1).item() == first
    assert (tensorgrad.cuda.empty_cache(), tensorgrad.cuda.synchronize()) == (None, None)
    assert not any(tensorgrad.backends.cudnn.__dict__[switch] for switch in ("enabled", "benchmark", "allow_tf32"))
    assert not tensorgrad.backends.mps.is_built()
    assert len({tensorgrad.device("cpu"), x.device}) == 1
    assert tensorgrad.device("cpu") != "cuda"
    assert tensorgrad.device("cpu:0").index == 0


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "mps", "cpu:1", "gpu", ""])
def test_another_device_is_refused(name: str):
    with pytest.raises(RuntimeError, match=f"device '{name}': .* the one device is 'cpu'"):
        tensorgrad.device(name)
    with pytest.raises(RuntimeError, match=r"to: device"):
        tensorgrad.ones(2).to(name)


def test_a_device_is_a_name():
    with pytest.raises(TypeError, match="takes a name such as 'cpu', got 3"):
        tensorgrad.device(3)


# -- questions ---------------------------------------------------------------------------------------------------------

QUESTIONS = (
    "result_type(torch.tensor([1]), 1.5)", "result_type(1, 1.5)", "result_type(torch.tensor([1]), 2)",
    "result_type(torch.tensor([True]), 2)", "result_type(torch.ones(2), torch.tensor(1.0, dtype=torch.float64))",
    "result_type(torch.tensor([1]), torch.tensor(1.0, dtype=torch.float64))",
    "promote_types(torch.int64, torch.float16)", "promote_types(torch.uint8, torch.int8)",
    "promote_types(torch.bool, torch.int16)", "promote_types(torch.float32, torch.float64)",
)  # fmt: skip


@pytest.mark.parametrize("text", QUESTIONS)
def test_dtypes_that_results_have(text: str, torch: ModuleType):
    assert str(called(text, torch)) == f"torch.{called(text, tensorgrad)}"


def test_can_cast_as_in_torch(torch: ModuleType):
    names = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")
    for a in names:
        for b in names:
            want = torch.can_cast(getattr(torch, a), getattr(torch, b))
            assert tensorgrad.can_cast(getattr(tensorgrad, a), getattr(tensorgrad, b)) == want, (a, b)


def test_dtypes_have_torchs_names():
    names = {
        "half": "float16",
        "float": "float32",
        "double": "float64",
        "short": "int16",
        "int": "int32",
        "long": "int64",
    }
    for name, full in names.items():
        assert getattr(tensorgrad, name) == getattr(tensorgrad, full) == np.dtype(full)
        assert isinstance(getattr(tensorgrad, name), tensorgrad.dtype)
    assert tensorgrad.bool == np.dtype(bool)
    assert isinstance(tensorgrad.ones(2).shape, tensorgrad.Size)


def test_what_a_tensor_is():
    x = Tensor([[1.0, 2.0]])
    assert tensorgrad.is_tensor(x)
    assert not tensorgrad.is_tensor(x.data)
    assert tensorgrad.numel(x) == 2
    assert tensorgrad.is_floating_point(x)
    assert x.is_floating_point()
    assert not tensorgrad.tensor([1]).is_floating_point()
    assert not x.is_complex()
    assert not x.is_cuda
    assert tensorgrad.is_nonzero(Tensor([2.0]))
    assert not tensorgrad.is_nonzero(tensorgrad.tensor([[0]]))
    with pytest.raises(ValueError, match="2 elements"):
        tensorgrad.is_nonzero(x)


def test_broadcast_shapes():
    assert tensorgrad.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    assert tensorgrad.broadcast_shapes() == ()
    with pytest.raises(ShapeError, match=r"broadcast_shapes: shapes \(2,\) and \(3,\) do not broadcast"):
        tensorgrad.broadcast_shapes((2,), (3,))


def test_limits_of_dtypes():
    assert tensorgrad.finfo(tensorgrad.float16).max == 65504
    assert tensorgrad.finfo().eps == np.finfo(np.float32).eps
    assert tensorgrad.iinfo(tensorgrad.int8).min == -128
    with pytest.raises(TypeError, match="finfo: int8 is no dtype of floats; iinfo"):
        tensorgrad.finfo(np.int8)
    with pytest.raises(TypeError, match="iinfo: float32 is no dtype of integers; finfo"):
        tensorgrad.iinfo(np.float32)


def test_constants():
    assert tensorgrad.inf == float("inf")
    assert np.isnan(tensorgrad.nan)
    assert f"{tensorgrad.pi:.5f} {tensorgrad.e:.5f}" == "3.14159 2.71828"
    assert tensorgrad.newaxis is None


def test_print_options():
    before = np.get_printoptions()
    try:
        tensorgrad.set_printoptions(precision=2, sci_mode=False)
        assert "0.33" in repr(Tensor([1 / 3]))
        assert "0.333" not in repr(Tensor([1 / 3]))
        tensorgrad.set_printoptions(profile="full", threshold=float("inf"))
        assert "..." not in repr(tensorgrad.zeros(5000))
        with pytest.raises(ValueError, match="profile must be one of default, short, full"):
            tensorgrad.set_printoptions(profile="long")
    finally:
        np.set_printoptions(**before)


def test_print_options_that_would_stop_all_printing():
    before = np.get_printoptions()
    for name in ("precision", "edgeitems", "linewidth"):
        with pytest.raises(ValueError, match=f"set_printoptions: {name} is -1, it must be 0 or more"):
            tensorgrad.set_printoptions(**{name: -1})
        with pytest.raises(TypeError, match=f"set_printoptions: {name} is a whole number, got 'a'"):
            tensorgrad.set_printoptions(**{name: "a"})
    assert np.get_printoptions() == before
