"""Losses: against torch with odd options and extreme inputs, fast paths against their composed twins, and bad input."""

from __future__ import annotations

import warnings
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.nn import functional as F
from tensorgrad.ops.classes import choose
from tensorgrad.ops.cross_entropy import composed_twin

TOLERANCE = {"float32": {"rtol": 2e-5, "atol": 2e-6}, "float64": {"rtol": 1e-12, "atol": 1e-12}}
DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
INF = float("inf")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def leaf(data: Any, dtype: str = "float64") -> Tensor:
    return Tensor(np.array(data, dtype=dtype), requires_grad=True)


def same_as_torch(torch: ModuleType, name: str, arrays: list[np.ndarray], constants: tuple, **options: Any) -> None:
    """Value, dtype, shape and gradients of F.name(*arrays, *constants, **options), with a random seed."""
    dtype = str(arrays[0].dtype)
    ours, theirs = [leaf(a, dtype) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    out = getattr(F, name)(*ours, *constants, **options)
    changed = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    want = getattr(torch.nn.functional, name)(*theirs, *[torch.tensor(c) for c in constants], **changed)
    assert (out.dtype, out.shape) == (dtype, tuple(want.shape))
    np.testing.assert_allclose(out.data, want.detach().numpy(), **TOLERANCE[dtype])
    seed = np.random.default_rng(2).standard_normal(out.shape).astype(dtype)
    out.backward(seed)
    want.backward(torch.tensor(seed))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), **TOLERANCE[dtype])


# -- classes -----------------------------------------------------------------------------------------------------------

CLASS_SHAPES = [(5,), (1,), (4, 5), (1, 1), (0, 3), (3, 4, 2), (2, 3, 2, 3), (2, 5, 0)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", CLASS_SHAPES, ids=str)
def test_classes_as_torch(shape: tuple[int, ...], dtype: str, rng: np.random.Generator, torch: ModuleType):
    classes = shape[0] if len(shape) == 1 else shape[1]
    wanted = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    x = (3 * rng.standard_normal(shape)).astype(dtype)
    target = np.asarray(rng.integers(0, classes, wanted))
    for reduction, weighted, ignored, smoothing in product(
        ("none", "mean", "sum"), (False, True), (-100, 0, 1), (0.0, 0.25, 1.0)
    ):
        options: dict[str, Any] = {"reduction": reduction, "ignore_index": ignored}
        if weighted:
            options["weight"] = rng.uniform(0.1, 2, classes).astype(dtype)
        same_as_torch(torch, "cross_entropy", [x], (target,), label_smoothing=smoothing, **options)
        if not smoothing:
            same_as_torch(torch, "nll_loss", [x], (target,), **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 4, 2), (2, 3, 2, 3)], ids=str)
def test_probabilities_as_torch(shape: tuple[int, ...], dtype: str, rng: np.random.Generator, torch: ModuleType):
    classes = shape[0] if len(shape) == 1 else shape[1]
    arrays = [rng.standard_normal(shape).astype(dtype), rng.uniform(0, 1, shape).astype(dtype)]
    for reduction, weighted, smoothing in product(("none", "mean", "sum"), (False, True), (0.0, 0.25)):
        options: dict[str, Any] = {"reduction": reduction, "label_smoothing": smoothing}
        if weighted:
            options["weight"] = rng.uniform(0.1, 2, classes).astype(dtype)
        same_as_torch(torch, "cross_entropy", arrays, (), **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logits_of_any_size(dtype: str, torch: ModuleType):
    x = np.array([[1e4, -1e4, 0], [-1e4, -1e4, -1e4], [0, 1e4, 1e4], [3, -INF, 2], [1, 2, -INF]], dtype=dtype)
    for target in ([0, 1, 2, 0, 1], [1, 2, 0, 2, 0], [2, 0, 0, 0, 2]):
        for reduction in ("none", "mean", "sum"):
            same_as_torch(torch, "cross_entropy", [x], (np.array(target),), reduction=reduction)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_mean_over_nothing_is_nan_with_gradient_0(dtype: str, torch: ModuleType):
    x = np.ones((2, 3), dtype=dtype)
    for name in ("cross_entropy", "nll_loss"):
        same_as_torch(torch, name, [x], (np.array([-100, -100]),))
        same_as_torch(torch, name, [x], (np.array([-100, -100]),), reduction="none")


def test_what_is_ignored_may_be_nan():
    x = leaf([[np.nan, INF], [1.0, 2.0]])
    loss = F.cross_entropy(x, [-100, 0])
    loss.backward()
    assert loss.item() == pytest.approx(np.log(1 + np.e))
    np.testing.assert_allclose(x.grad, [[0, 0], [-1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-1))]])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weight", [None, [0.5, 2.0, 1.0]])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropy_equals_its_twin(reduction: str, smoothing: float, weight: Any, dtype: str, rng):
    data = rng.standard_normal((2, 3, 4)).astype(dtype)
    target = np.array([[0, -100, 2, 1], [2, 2, 1, -100]])
    fast, plain = leaf(data, dtype), leaf(data, dtype)
    out = F.cross_entropy(fast, target, weight, reduction=reduction, label_smoothing=smoothing)
    chosen = choose("cross_entropy", plain.data.shape, plain.data.dtype, target, weight, -100)
    want = composed_twin(plain, chosen, reduction, smoothing)
    seed = rng.standard_normal(want.shape).astype(dtype)
    out.backward(seed)
    want.backward(seed)
    np.testing.assert_allclose(out.data, want.data, **TOLERANCE[dtype])
    np.testing.assert_allclose(fast.grad, plain.grad, **TOLERANCE[dtype])


def test_cross_entropy_is_nll_of_log_softmax(rng: np.random.Generator):
    x = rng.standard_normal((4, 3))
    two = F.nll_loss(F.log_softmax(Tensor(x), 1), [0, 2, 1, 1])
    np.testing.assert_allclose(F.cross_entropy(Tensor(x), [0, 2, 1, 1]).data, two.data, rtol=1e-14)


@pytest.mark.parametrize("target", [[2, 0], (2, 0), np.array([2, 0], dtype=np.uint8), np.array([2, 0], dtype=np.int32)])
def test_targets_are_lists_or_arrays_too(target: Any):
    x = Tensor([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
    want = F.cross_entropy(x, tensorgrad.tensor([2, 0]))
    assert F.cross_entropy(x, target).item() == want.item()


def test_a_target_changed_later_does_not_move_the_gradient():
    x, target = leaf([[1.0, 2.0]]), np.array([0])
    loss = F.cross_entropy(x, target)
    target[0] = 1
    loss.backward()
    assert x.grad[0, 0] < 0 < x.grad[0, 1]


X = Tensor(np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: F.cross_entropy(X, [0, 4, 1]),
            IndexError,
            "cross_entropy: target 4 at 1 is out of range: there are 4",
        ),
        (lambda: F.cross_entropy(X, [0, 1, -1]), IndexError, "target -1 at 2"),
        (lambda: F.nll_loss(Tensor(np.zeros((1, 2, 3))), [[0, 5, 1]]), IndexError, r"nll_loss: target 5 at \(0, 1\)"),
        (lambda: F.cross_entropy(X[0], 7), IndexError, "target 7 is out of range"),
        (lambda: F.cross_entropy(X, [0, 1]), ShapeError, r"\(2,\) for an input of shape \(3, 4\): it must be \(3,\)"),
        (lambda: F.cross_entropy(X, np.zeros((3, 4), int)), ShapeError, "probabilities are floats"),
        (lambda: F.cross_entropy(X, np.zeros(3)), ShapeError, "probabilities need the input's shape"),
        (lambda: F.nll_loss(X, np.zeros(3)), DtypeError, "nll_loss: targets are whole numbers, got float64"),
        (lambda: F.cross_entropy(X, [True, False, True]), DtypeError, "got bool"),
        (lambda: F.cross_entropy(X, None), DtypeError, "cross_entropy: targets are whole numbers"),
        (lambda: F.cross_entropy(tensorgrad.tensor([[1, 2]]), [0]), DtypeError, "floats only, this input is int64"),
        (lambda: F.cross_entropy(Tensor(1.0), 0), ShapeError, "needs an axis of classes"),
        (lambda: F.cross_entropy(X, [0, 1, 2], weight=[1.0, 2.0]), ShapeError, r"weight of shape \(2,\) for 4 classes"),
        (lambda: F.cross_entropy(X, [0, 1, 2], weight=leaf(np.ones(4))), RuntimeError, "use weight.detach"),
        (lambda: F.cross_entropy(X, X, weight=[1.0]), ShapeError, r"weight of shape \(1,\) for 4 classes"),
        (lambda: F.cross_entropy(X, X, ignore_index=1), ValueError, "ignore_index"),
        (lambda: F.cross_entropy(X, [0, 1, 2], reduction="avg"), ValueError, "reduction is 'none', 'mean' or 'sum'"),
        (lambda: F.cross_entropy(X, [0, 1, 2], label_smoothing=1.5), ValueError, "label_smoothing"),
    ],
)
def test_errors_of_classes(call: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call()


# -- distances ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_as_torch(name: str, dtype: str, rng: np.random.Generator, torch: ModuleType):
    options = {"smooth_l1_loss": ({"beta": 0.5}, {"beta": 0.0}), "huber_loss": ({"delta": 0.5}, {"delta": 3.0})}
    for shape in ((), (4,), (3, 4), (0,)):
        arrays = [rng.standard_normal(shape).astype(dtype) for _ in range(2)]
        for reduction in ("none", "mean", "sum"):
            for extra in ({}, *options.get(name, ())):
                same_as_torch(torch, name, arrays, (), reduction=reduction, **extra)
            if name != "smooth_l1_loss":
                weight = rng.uniform(0.1, 2, shape).astype(dtype)
                same_as_torch(torch, name, arrays, (), reduction=reduction, weight=weight)


@pytest.mark.parametrize("name", DISTANCES)
def test_at_their_kinks_and_far_away_as_torch(name: str, torch: ModuleType):
    d = np.array([0.0, 1.0, -1.0, 1e4, -1e4, INF, -INF])
    same_as_torch(torch, name, [d, np.zeros(7)], (), reduction="none")


@pytest.mark.parametrize("name", DISTANCES)
def test_shapes_that_broadcast_warn_at_the_users_line(name: str):
    x, y = Tensor(np.zeros(3)), Tensor(np.zeros((3, 1)))
    pattern = rf"{name}: input of shape \(3,\) and target of shape \(3, 1\) broadcast .* \(3, 3\).*squeeze\(-1\)"
    with pytest.warns(UserWarning, match=pattern) as caught:
        getattr(F, name)(x, y)
    assert [w.filename for w in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert getattr(F, name)(x, y, reduction="none").shape == (3, 3)
        with pytest.raises(ShapeError, match=rf"{name}: shapes \(3,\) and \(4,\) do not broadcast"):
            getattr(F, name)(x, Tensor(np.zeros(4)))


def test_distances_promote_and_refuse_integers():
    assert F.mse_loss(Tensor([1.0, 2.0]), tensorgrad.tensor([1, 3])).dtype == np.float32
    with pytest.raises(DtypeError, match="mse_loss: of floats only, got int64"):
        F.mse_loss(tensorgrad.tensor([1]), tensorgrad.tensor([2]))
    with pytest.raises(ValueError, match="huber_loss: delta must be more than 0"):
        F.huber_loss(X, X, delta=0)
    with pytest.raises(ValueError, match="smooth_l1_loss: beta must be 0 or more"):
        F.smooth_l1_loss(X, X, beta=-1)
    with pytest.raises(ShapeError, match="mse_loss: weight of shape"):
        F.mse_loss(X, X, weight=Tensor([1.0]))


# -- probabilities -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_cross_entropy_as_torch(dtype: str, rng: np.random.Generator, torch: ModuleType):
    for shape in ((), (4,), (3, 4), (0,)):
        arrays = [rng.uniform(0.01, 0.99, shape).astype(dtype) for _ in range(2)]
        for reduction in ("none", "mean", "sum"):
            same_as_torch(torch, "binary_cross_entropy", arrays, (), reduction=reduction)
            weight = rng.uniform(0.1, 2, (1,) * len(shape)).astype(dtype)
            same_as_torch(torch, "binary_cross_entropy", arrays, (), reduction=reduction, weight=weight)


def test_binary_cross_entropy_at_0_and_1_as_torch(torch: ModuleType):
    x, y = np.meshgrid(np.array([0, 1, 0.5], dtype="float32"), np.array([0, 1, 0.5], dtype="float32"))
    same_as_torch(torch, "binary_cross_entropy", [x, y], (), reduction="none")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_cross_entropy_with_logits_as_torch(dtype: str, rng: np.random.Generator, torch: ModuleType):
    name = "binary_cross_entropy_with_logits"
    for shape in ((), (4,), (3, 4), (0,)):
        arrays = [(5 * rng.standard_normal(shape)).astype(dtype), rng.uniform(0, 1, shape).astype(dtype)]
        for reduction, positive, weighted in product(("none", "mean", "sum"), (False, True), (False, True)):
            options: dict[str, Any] = {"reduction": reduction}
            if positive:
                options["pos_weight"] = rng.uniform(0.1, 2, shape[-1:]).astype(dtype)
            if weighted:
                options["weight"] = rng.uniform(0.1, 2, shape).astype(dtype)
            same_as_torch(torch, name, arrays, (), **options)
    logits = np.array([-1e4, -100, -20, 0, 20, 100, 1e4], dtype=dtype)
    for y in (0, 1, 0.5):
        same_as_torch(torch, name, [logits], (np.full(7, y, dtype=dtype),), reduction="none")


def test_with_logits_loses_no_digits():
    x = leaf([-30.0, 30.0])
    F.binary_cross_entropy_with_logits(x, np.array([0.0, 1.0]), reduction="sum").backward()
    np.testing.assert_allclose(x.grad, [np.exp(-30), -np.exp(-30)], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kl_div_as_torch(dtype: str, rng: np.random.Generator, torch: ModuleType):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says what its mean divides by
        for shapes in (((), ()), ((4,), (4,)), ((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (3, 4))):
            arrays = [rng.uniform(0.1, 1, shape).astype(dtype) for shape in shapes]
            for reduction, log_target in product(("none", "batchmean", "mean", "sum"), (False, True)):
                same_as_torch(torch, "kl_div", arrays, (), reduction=reduction, log_target=log_target)
    x = np.array([-1.0, -2.0], dtype=dtype)
    same_as_torch(torch, "kl_div", [x], (np.array([0, 1], dtype=dtype),), reduction="none")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: F.binary_cross_entropy(X, Tensor(np.zeros((4, 1)))),
            ShapeError,
            r"\(3, 4\) and target of shape \(4, 1\)",
        ),
        (lambda: F.binary_cross_entropy(Tensor([1.5]), [1.0]), ValueError, "input must be probabilities.*with_logits"),
        (lambda: F.binary_cross_entropy(Tensor([np.nan]), [1.0]), ValueError, "input must be probabilities"),
        (lambda: F.binary_cross_entropy(Tensor([0.5]), [-1.0]), ValueError, "target must be probabilities"),
        (lambda: F.binary_cross_entropy_with_logits(X, X[0]), ShapeError, "must have the same"),
        (
            lambda: F.binary_cross_entropy_with_logits(X, X, pos_weight=Tensor([1.0, 2.0])),
            ShapeError,
            "do(es)? not broadcast",
        ),
        (lambda: F.binary_cross_entropy_with_logits(tensorgrad.tensor([1]), [1.0]), DtypeError, "floats only"),
        (lambda: F.kl_div(X, X, reduction="batch"), ValueError, "'batchmean'"),
        (lambda: F.kl_div(tensorgrad.tensor([1]), tensorgrad.tensor([1])), DtypeError, "kl_div: of floats only"),
        (lambda: F.mse_loss(X, "x"), TypeError, "mse_loss"),
        (lambda: F.mse_loss(X, None), TypeError, "mse_loss"),
    ],
)
def test_errors_of_probabilities(call: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call()


def test_weights_that_would_make_more_losses():
    x = tensorgrad.tensor([[0.2, 0.4, 0.6]])
    bce, logits = F.binary_cross_entropy, F.binary_cross_entropy_with_logits
    for name, call in {
        "binary_cross_entropy: weight": lambda w: bce(x, x, weight=w),
        "binary_cross_entropy_with_logits: weight": lambda w: logits(x, x, weight=w),
        "binary_cross_entropy_with_logits: pos_weight": lambda w: logits(x, x, pos_weight=w),
    }.items():
        with pytest.raises(ShapeError, match=rf"{name} of shape \(2, 1\) does not broadcast to \(1, 3\)"):
            call(tensorgrad.ones(2, 1))
        assert call(2.0).item() == pytest.approx(call(np.full(3, 2.0)).item())
