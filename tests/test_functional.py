"""Layers as functions: against torch with odd options, fast paths against their composed twins, bad input."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.autograd import gradcheck
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.nn import functional as F
from tensorgrad.ops import linear, normalization
from viz import compare

TOLERANCE = {"float32": {"rtol": 3e-5, "atol": 5e-6}, "float64": {"rtol": 1e-12, "atol": 1e-12}}
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(13)


def leaf(data: Any, dtype: str = "float64") -> Tensor:
    return Tensor(np.array(data, dtype=dtype), requires_grad=True)


def same(ours: Any, theirs: Any, arrays: list[np.ndarray], other: Any) -> None:
    """ours(*arrays) with its gradients against theirs(*arrays), where `other` makes their leaves."""
    dtype = str(arrays[0].dtype)
    ours_in, theirs_in = [leaf(a, dtype) for a in arrays], [other(a) for a in arrays]
    out, want = ours(*ours_in), theirs(*theirs_in)
    seed = np.random.default_rng(2).standard_normal(out.shape).astype(dtype)
    out.backward(seed)
    want.backward(seed if isinstance(want, Tensor) else other(seed).detach())
    assert (out.dtype, out.shape) == (dtype, tuple(want.shape))
    np.testing.assert_allclose(out.data, want.detach().numpy(), **TOLERANCE[dtype])
    for a, b in zip(ours_in, theirs_in, strict=True):
        np.testing.assert_allclose(a.grad, np.asarray(b.grad), **TOLERANCE[dtype])


def torch_leaf(torch: ModuleType) -> Any:
    return lambda a: torch.tensor(a, requires_grad=True)


# -- linear ------------------------------------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 5, 3), (2, 1, 0, 3)], ids=str)
def test_linear_equals_its_twin_and_torch(shape: tuple[int, ...], dtype: str, rng, torch: ModuleType):
    x, w, b = (rng.standard_normal(s).astype(dtype) for s in (shape, (4, 3), (4,)))
    for arrays in ([x, w], [x, w, b]):
        same(F.linear, linear._linear, arrays, leaf if dtype == "float64" else lambda a: leaf(a, "float32"))
        same(F.linear, torch.nn.functional.linear, arrays, torch_leaf(torch))


def test_linear_is_one_node():
    out = F.linear(leaf(np.ones((2, 3))), leaf(np.ones((4, 3))), leaf(np.ones(4)))
    assert (out._op, len(out._prev)) == ("linear", 3)


def test_linear_takes_the_dtype_of_all():
    x = Tensor([[1.0, 2.0]])
    assert F.linear(x, leaf(np.ones((3, 2)))).dtype == np.float64
    assert F.linear(x, Tensor(np.ones((3, 2), np.float32)), leaf(np.ones(3))).dtype == np.float64
    assert F.linear(x, Tensor(np.ones((3, 2), np.float16))).dtype == np.float32


# -- embedding ---------------------------------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("padding", [None, 0, -1])
def test_embedding_as_torch(padding: int | None, dtype: str, rng: np.random.Generator, torch: ModuleType):
    w = rng.standard_normal((7, 5)).astype(dtype)
    for where in (rng.integers(0, 7, (4, 6)), np.array(6), np.zeros((2, 0), int), rng.integers(5, 7, 100)):
        same(
            lambda w, where=where: F.embedding(where, w, padding),
            lambda w, where=where: torch.nn.functional.embedding(torch.tensor(where), w, padding),
            [w],
            torch_leaf(torch),
        )


def test_embedding_is_indexing(rng: np.random.Generator):
    where = rng.integers(0, 7, (4, 6))
    same(lambda w: F.embedding(where, w), lambda w: w[where], [rng.standard_normal((7, 5))], leaf)


def test_embedding_takes_lists_and_keeps_them():
    where = np.array([1, 1])
    w = leaf(np.ones((3, 2)))
    out = F.embedding(where, w)
    where[:] = 0
    out.sum().backward()
    np.testing.assert_array_equal(w.grad, [[0, 0], [2, 2], [0, 0]])
    assert F.embedding([[0, 2]], w).shape == (1, 2, 2)
    assert F.embedding([], w).shape == (0, 2)


def test_padding_has_no_gradient_on_values_either():
    w = leaf(np.arange(6.0).reshape(3, 2))
    found = compare(lambda w: F.embedding([0, 1, 0], w, padding_idx=0), w, gradient=1.0, finite_differences=False)
    assert found.ok, str(found)


@pytest.mark.parametrize("classes", [-1, 4])
def test_one_hot_as_torch(classes: int, torch: ModuleType):
    for where in (np.array([[0, 2], [3, 1]]), np.array(3), np.array([0])):
        out = F.one_hot(where, classes)
        want = torch.nn.functional.one_hot(torch.tensor(where), classes).numpy()
        assert (out.dtype, out.shape) == (np.int64, want.shape)
        np.testing.assert_array_equal(out.data, want)


# -- normalisation -----------------------------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize(
    ("shape", "last"),
    [((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (3, 4)), ((0, 4), (4,)), ((3, 0), (0,))],
)
def test_layer_norm_and_rms_norm_equal_their_twins_and_torch(shape, last, dtype: str, rng, torch: ModuleType):
    x, w, b = (rng.standard_normal(s).astype(dtype) for s in (shape, last, last))
    ours = lambda a: leaf(a, dtype)  # noqa: E731
    theirs = torch_leaf(torch)
    for eps, arrays in ((1e-5, [x]), (0.1, [x, w]), (1e-5, [x, w, b])):
        layer = lambda *a, eps=eps: F.layer_norm(a[0], last, *a[1:], eps=eps)  # noqa: E731
        if 0 not in shape:  # the twin's mean of no elements is nan
            same(layer, normalization._layer_norm(last, len(arrays) > 1, eps), arrays, ours)
        same(layer, lambda *a, eps=eps: torch.nn.functional.layer_norm(a[0], last, *a[1:], eps=eps), arrays, theirs)
    same(
        lambda x, b: F.layer_norm(x, last, None, b),
        lambda x, b: torch.nn.functional.layer_norm(x, last, None, b),
        [x, b],
        theirs,
    )
    for eps, arrays in ((1e-5, [x]), (0.1, [x, w])):
        rms = lambda *a, eps=eps: F.rms_norm(a[0], last, *a[1:], eps=eps)  # noqa: E731
        if 0 not in shape:
            same(rms, normalization._rms_norm(last, len(arrays) > 1, eps), arrays, ours)
        same(rms, lambda *a, eps=eps: torch.nn.functional.rms_norm(a[0], last, *a[1:], eps=eps), arrays, theirs)


@DTYPES
def test_rms_norm_has_the_dtypes_eps(dtype: str, torch: ModuleType):
    x = np.array([[1e-4, -2e-4], [0.0, 0.0]], dtype=dtype)
    same(lambda x: F.rms_norm(x, (2,)), lambda x: torch.nn.functional.rms_norm(x, (2,)), [x], torch_leaf(torch))


@pytest.mark.parametrize("offset", [0.0, 2000.0, 40000.0, -3e6])
def test_layer_norm_of_float32_far_from_0(offset: float, rng: np.random.Generator):
    """As good as float64 on the same float32 numbers, in value and gradient."""
    x = (offset + rng.standard_normal((20, 128))).astype(np.float32)
    w, seed = rng.standard_normal(128).astype(np.float32), rng.standard_normal((20, 128))
    single, double = leaf(x, "float32"), leaf(x, "float64")
    out, want = F.layer_norm(single, 128, w), F.layer_norm(double, (128,), w.astype(float))
    np.testing.assert_allclose(out.data, want.data, rtol=1e-5, atol=1e-5)
    out.backward(seed)
    want.backward(seed)
    np.testing.assert_allclose(single.grad, double.grad, rtol=1e-4, atol=1e-5)


def test_layer_norm_of_float16_runs_in_float32(rng: np.random.Generator):
    x = (300 * rng.standard_normal((4, 512))).astype(np.float16)  # the squares leave float16's range
    a, b = leaf(x, "float16"), leaf(x, "float32")
    out, want = F.layer_norm(a, (512,)), F.layer_norm(b, (512,))
    assert out.dtype == np.float16
    np.testing.assert_allclose(out.data, want.data, rtol=2e-3, atol=1e-4)


def test_small_numbers_of_float16_are_normalised_in_float32(torch: ModuleType):
    numbers = np.array([1e-5, 2e-5, -3e-5, 4.5e-5], dtype=np.float16)  # their squares are 0 in float16
    x, same = leaf(numbers, "float16"), torch.tensor(numbers)
    np.testing.assert_allclose(F.rms_norm(x, (4,)).data, torch.nn.functional.rms_norm(same, (4,)), rtol=2e-3)
    np.testing.assert_allclose(F.cosine_similarity(x, 2 * x, dim=0).data, 1, rtol=2e-3)
    turned = Tensor(numbers[::-1])
    want = F.cosine_similarity(Tensor(numbers.astype(np.float64)), Tensor(numbers[::-1].astype(np.float64)), dim=0)
    np.testing.assert_allclose(F.cosine_similarity(x, turned, dim=0).data, want.data, rtol=2e-3)


def test_a_weight_that_needs_no_gradient_gets_none():
    w = Tensor(np.ones(3))
    x, bias = leaf(np.arange(6.0).reshape(2, 3)), leaf(np.zeros(3))
    F.layer_norm(x, (3,), w, bias).sum().backward()
    assert w._grad is None
    np.testing.assert_array_equal(bias.grad, [2, 2, 2])
    b = leaf(np.zeros(3))
    F.layer_norm(x.detach(), (3,), w, b).sum().backward()
    np.testing.assert_array_equal(b.grad, [2, 2, 2])


@DTYPES
def test_cosine_similarity_and_normalize_as_torch(dtype: str, rng: np.random.Generator, torch: ModuleType):
    theirs, T = torch_leaf(torch), torch.nn.functional
    for shapes, dim in ((((3, 4), (3, 4)), 1), (((2, 1, 4), (3, 4)), -1), (((4,), (4,)), 0), (((3, 4), (4,)), 0)):
        arrays = [rng.standard_normal(s).astype(dtype) for s in shapes]
        same(
            lambda x, y, d=dim: F.cosine_similarity(x, y, dim=d),
            lambda x, y, d=dim: T.cosine_similarity(x, y, dim=d),
            arrays,
            theirs,
        )
    for p, dim, eps in ((2.0, 1, 1e-12), (1.0, 0, 1e-12), (3.0, -1, 1e-12), (float("inf"), 1, 1e-12), (2.0, 1, 3.0)):
        same(
            lambda x, p=p, d=dim, e=eps: F.normalize(x, p, d, e),
            lambda x, p=p, d=dim, e=eps: T.normalize(x, p, d, e),
            [rng.standard_normal((3, 4)).astype(dtype)],
            theirs,
        )


def test_lengths_below_eps_are_constants(rng: np.random.Generator):
    x, y = leaf(rng.standard_normal((5, 4))), leaf(rng.standard_normal((5, 4)))
    assert gradcheck(lambda x, y: F.cosine_similarity(x, y, eps=2.0), [x, y])


def test_a_row_of_one_element_has_no_gradient():
    x = leaf([[0.3], [-1.7]], "float32")
    (F.layer_norm(x, (1,)) * 3).sum().backward()
    np.testing.assert_array_equal(x.grad, [[0], [0]])


# -- dropout -----------------------------------------------------------------------------------------------------------


def test_dropout_keeps_the_mean_and_leaves_out_the_right_share():
    tensorgrad.manual_seed(1)
    x = leaf(np.ones(20000))
    out = F.dropout(x, 0.3)
    out.sum().backward()
    assert set(np.unique(out.data)) == {0.0, 1 / 0.7}
    assert np.mean(out.data == 0) == pytest.approx(0.3, abs=0.02)
    np.testing.assert_array_equal(x.grad, out.data)  # the same elements, with the same factor


def test_dropout_follows_the_seed():
    x = Tensor(np.ones(50))
    tensorgrad.manual_seed(3)
    first, second = F.dropout(x).data, F.dropout(x).data
    tensorgrad.manual_seed(3)
    np.testing.assert_array_equal(F.dropout(x).data, first)
    assert (first != second).any()


def test_dropout_that_does_nothing_gives_its_input():
    x = leaf([1.0])
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 0.0) is x


def test_dropout_on_values():
    found = compare(lambda x: F.dropout(x, 0.4), leaf(np.arange(8.0)), gradient=1.0, finite_differences=False)
    assert found.ok, str(found)


# -- bad input ---------------------------------------------------------------------------------------------------------

W = Tensor(np.ones((4, 3)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.linear(np.ones((2, 4)), W), ShapeError, r"\(2, 4\) and weight of shape \(4, 3\).*transposed"),
        (lambda: F.linear(np.ones((2, 5)), W), ShapeError, "the last axis of both is the inputs'"),
        (lambda: F.linear(1.0, W), ShapeError, r"linear: input of shape \(\)"),
        (lambda: F.linear(np.ones(3), np.ones((2, 4, 3))), ShapeError, "linear: weight of shape"),
        (
            lambda: F.linear(np.ones(3), W, np.ones(3)),
            ShapeError,
            r"linear: bias of shape \(3,\) for a result of shape",
        ),
        (lambda: F.linear(np.ones((1, 3)), W, np.ones((2, 4))), ShapeError, "linear: bias of shape"),
        (lambda: F.linear(None, W), TypeError, "linear: .*None"),
        (lambda: F.embedding([0, 4], W), IndexError, "embedding: row 4 at 1 is out of range: there are 4 rows"),
        (lambda: F.embedding([[0, -1]], W), IndexError, r"row -1 at \(0, 1\)"),
        (lambda: F.embedding([0.5], W), DtypeError, "embedding: the numbers of rows are whole numbers, got float64"),
        (lambda: F.embedding([True], W), DtypeError, "got bool"),
        (lambda: F.embedding([0], np.ones(3)), ShapeError, "needs the axes"),
        (lambda: F.embedding([0], W, padding_idx=4), IndexError, "padding_idx 4 names no row of 4"),
        (lambda: F.embedding([0], W, max_norm=1.0), NotImplementedError, "embedding: max_norm"),
        (lambda: F.one_hot([0, 3], 3), IndexError, "one_hot: class 3 at 1 is out of range: there are 3 classes"),
        (lambda: F.one_hot([-1, 0]), IndexError, "one_hot: class -1 at 0"),
        (lambda: F.one_hot([]), ValueError, "one_hot: .* give num_classes"),
        (lambda: F.one_hot([1.0]), DtypeError, "one_hot: classes are whole numbers"),
        (lambda: F.one_hot([0], 0), ValueError, "num_classes must be 1 or more"),
        (lambda: F.layer_norm(W, (4,)), ShapeError, r"normalized_shape \(4,\) for an input of shape \(4, 3\)"),
        (lambda: F.layer_norm(W, ()), ShapeError, "one or more"),
        (lambda: F.layer_norm(W, 2.5), TypeError, "layer_norm: normalized_shape is a tuple of lengths, got 2.5"),
        (lambda: F.layer_norm(W, (3,), np.ones(4)), ShapeError, r"layer_norm: weight of shape \(4,\)"),
        (lambda: F.layer_norm(W, (3,), None, np.ones(4)), ShapeError, r"layer_norm: bias of shape \(4,\)"),
        (lambda: F.layer_norm(tensorgrad.tensor([1, 2]), 2), DtypeError, "layer_norm: of floats only"),
        (lambda: F.rms_norm(W, 3, np.ones(2)), ShapeError, "rms_norm: weight"),
        (lambda: F.cosine_similarity(W, np.ones(2)), ShapeError, "cosine_similarity: shapes"),
        (lambda: F.cosine_similarity(W, W, dim=2), IndexError, "cosine_similarity: dim 2"),
        (lambda: F.cosine_similarity(np.array([1]), np.array([1]), dim=0), DtypeError, "cosine_similarity: of floats"),
        (lambda: F.normalize(tensorgrad.tensor([3, 4]), dim=0), DtypeError, "norm: of floats"),
        (lambda: F.dropout(W, 1.5), ValueError, "dropout: the probability must be from 0 to 1, got 1.5"),
        (lambda: F.dropout(W, float("nan")), ValueError, "dropout: the probability"),
        (lambda: F.dropout(W, inplace=True), NotImplementedError, r"x = dropout\(x\)"),
        (lambda: F.dropout(tensorgrad.tensor([1])), DtypeError, "dropout: of floats only"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_a_normalised_input_keeps_its_dtype_beside_wider_parameters(name: str, torch: ModuleType):
    numbers = np.array([[1.0, 2.0, 4.0]], dtype=np.float16)
    x, weight = leaf(numbers, "float16"), leaf([1.0, 2.0, 3.0], "float32")
    out = getattr(F, name)(x, (3,), weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch computes rms_norm of two dtypes by a slower path
        want = getattr(torch.nn.functional, name)(torch.tensor(numbers), (3,), torch.tensor([1.0, 2.0, 3.0]))
    assert out.dtype == np.float16
    assert str(want.dtype) == "torch.float16"
    np.testing.assert_allclose(out.data, want.numpy(), rtol=2e-3)
    out.sum().backward()
    assert x.grad.dtype == np.float16
    assert weight.grad.dtype == np.float32


@pytest.mark.parametrize("name", ["relu", "relu6", "hardtanh", "leaky_relu", "elu", "silu"])
def test_activations_in_place(name: str, torch: ModuleType):
    found = []
    for m in (tensorgrad, torch):
        leaf = m.tensor([-2.0, 0.5, 7.0], requires_grad=True)
        x = leaf * 1.0
        out = getattr(m.nn.functional, name)(x, inplace=True)
        assert out is x
        (out * m.tensor([1.0, 2.0, 3.0])).sum().backward()
        found.append((out.tolist(), np.asarray(leaf.grad)))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)
    with pytest.raises(RuntimeError, match=rf"^{name}\(inplace=True\) on .*a leaf that requires a gradient"):
        getattr(tensorgrad.nn.functional, name)(tensorgrad.ones(2, requires_grad=True), inplace=True)
