"""The cross entropy of a linear layer by tiles: against torch and the two operations, what is held, and bad input."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from micrograd.backprop import topological_order
from tensorgrad import Tensor, nn
from tensorgrad.autograd import gradcheck
from tensorgrad.errors import ChangedError, DtypeError, ShapeError
from tensorgrad.nn import functional as F
from tensorgrad.ops import linear_tiles
from tensorgrad.versions import held_arrays

TOLERANCE = {"float32": {"rtol": 2e-5, "atol": 2e-6}, "float64": {"rtol": 1e-12, "atol": 1e-12}}
N, C, WIDTH = 7, 11, 4
INF = float("inf")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def layer(rng: np.random.Generator, dtype: str = "float64", rows: int = N, classes: int = C) -> list[np.ndarray]:
    """Rows, a weight, a bias."""
    shapes = (rows, WIDTH), (classes, WIDTH), (classes,)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def leaves(arrays: list[np.ndarray]) -> list[Tensor]:
    return [Tensor(a.copy(), requires_grad=True) for a in arrays]


def gradients(out: Tensor, operands: list[Tensor], seed: Any = None) -> list[np.ndarray]:
    for x in operands:
        x.grad = None
    out.backward(seed)
    return [x.grad for x in operands]


def tiled(x: Tensor, w: Tensor, target: Any, b: Any = None, *, rows: int | None = None, **options: Any) -> Tensor:
    cut = None if rows is None else nn.LinearCrossEntropyOptions(batch_chunk_size=rows)
    return F.linear_cross_entropy(x, w, target, linear_bias=b, options=cut, **options)


def whole(x: Tensor, w: Tensor, target: Any, b: Any = None, **options: Any) -> Tensor:
    return F.cross_entropy(F.linear(x, w, b), target, **options)


def some_targets(rng: np.random.Generator) -> np.ndarray:
    target = rng.integers(0, C, N)
    target[2] = -100
    return target


# -- the numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("has_bias", [False, True])
def test_values_and_gradients_as_torch(has_bias: bool, dtype: str, rng: np.random.Generator, torch: ModuleType):
    arrays = layer(rng, dtype)[: 2 + has_bias]
    target, weight = some_targets(rng), rng.uniform(0.2, 2, C).astype(dtype)
    for reduction, weighted, ignored, smoothing in product(
        ("none", "mean", "sum"), (False, True), (None, -100, 3), (0.0, 0.3, 1.0)
    ):
        target[2] = 3 if ignored == 3 else -100
        ours, theirs = leaves(arrays), [torch.tensor(a, requires_grad=True) for a in arrays]
        options: dict[str, Any] = {"reduction": reduction, "ignore_index": ignored, "label_smoothing": smoothing}
        out = tiled(*ours[:2], target, *ours[2:], rows=3, weight=weight if weighted else None, **options)
        want = torch.nn.functional.linear_cross_entropy(
            *theirs[:2],
            torch.tensor(target),
            linear_bias=theirs[2] if has_bias else None,
            weight=torch.tensor(weight) if weighted else None,
            **options,
        )
        assert (out.dtype, out.shape, out._op) == (dtype, tuple(want.shape), "linear_cross_entropy")
        np.testing.assert_allclose(out.data, want.detach().numpy(), **TOLERANCE[dtype])
        seed = rng.standard_normal(out.shape).astype(dtype)
        want.backward(torch.tensor(seed))
        for ours_, theirs_ in zip(gradients(out, ours, seed), theirs, strict=True):
            np.testing.assert_allclose(ours_, theirs_.grad.numpy(), **TOLERANCE[dtype])


@pytest.mark.parametrize("rows", [None, 1, 3, 7, 100])
@pytest.mark.parametrize(("at_once", "fewest"), [(2**22, 1024), (6, 2), (15, 5), (1, 1), (40, 100)])
def test_tiles_of_any_size(rows, at_once, fewest, rng, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linear_tiles, "_AT_ONCE", at_once)
    monkeypatch.setattr(linear_tiles, "_ROWS", fewest)
    operands, target = leaves(layer(rng)), some_targets(rng)
    for options in ({}, {"label_smoothing": 0.2, "weight": rng.uniform(0.5, 2, C), "reduction": "sum"}):
        out, want = (
            tiled(*operands[:2], target, operands[2], rows=rows, **options),
            whole(*operands[:2], target, operands[2], **options),
        )
        np.testing.assert_allclose(out.data, want.data, rtol=1e-13)
        for a, b in zip(gradients(out, operands), gradients(want, operands), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_tiles_cover_every_score_once_and_stay_small(rng, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linear_tiles, "_AT_ONCE", 12)
    monkeypatch.setattr(linear_tiles, "_ROWS", 3)
    seen = np.zeros((N, C))
    found = linear_tiles.layer_of([Tensor(a) for a in layer(rng)], np.dtype(float))
    for tile in linear_tiles.tiles(found):
        assert tile.scores.size <= 12
        assert tile.scores.flags.c_contiguous
        seen[tile.r, tile.c] += 1
    assert (seen == 1).all()


def test_central_differences(rng: np.random.Generator):
    x, w, b = leaves(layer(rng))
    target = some_targets(rng)
    assert gradcheck(lambda x, w, b: tiled(x, w, target, b, rows=2, label_smoothing=0.1, reduction="none"), (x, w, b))


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_one_row(smoothing: float, rng: np.random.Generator):
    x, w, b = leaves(layer(rng))
    for target in (3, [3]):
        row = Tensor(x.data[0].copy(), requires_grad=True)
        options = {"label_smoothing": smoothing, "reduction": "none"}
        out, want = tiled(row, w, np.array(target), b, **options), whole(row, w, np.array(target), b, **options)
        assert out.shape == want.shape == ()
        np.testing.assert_allclose(out.data, want.data, rtol=1e-13)
        with tensorgrad.debug():  # which asks for each contribution in its operand's shape
            found = gradients(out, [row, w, b])
        for a, c in zip(found, gradients(want, [row, w, b]), strict=True):
            np.testing.assert_allclose(a, c, rtol=1e-12, atol=1e-15)


def test_one_row_of_no_inputs():
    row, w = Tensor(np.zeros(0), requires_grad=True), Tensor(np.zeros((4, 0)), requires_grad=True)
    out = F.linear_cross_entropy(row, w, np.array(1))
    out.backward()
    assert out.item() == pytest.approx(np.log(4))
    assert (row.grad.shape, w.grad.shape) == ((0,), (4, 0))


@pytest.mark.parametrize("rows", [None, 1, 2])
@pytest.mark.parametrize(
    "special",
    [
        {0: INF},
        {0: -INF},
        {3: np.nan},
        {0: INF, 1: INF},
        {0: -INF, 1: -INF, 2: -INF},
        {0: INF, 2: -INF},
        dict.fromkeys(range(C), -INF),
        dict.fromkeys(range(C), 1e300),
        {4: 1e300},
        {4: -1e300},
    ],
    ids=str,
)
def test_scores_that_are_not_finite(special, rows, rng, monkeypatch: pytest.MonkeyPatch):
    """As the two operations: also where whole tiles are -inf and others are not."""
    monkeypatch.setattr(linear_tiles, "_AT_ONCE", 9)
    monkeypatch.setattr(linear_tiles, "_ROWS", 3)
    x, w, b = layer(rng)
    for place, value in special.items():
        b[place] = value
    for reduction in ("none", "mean"):
        operands, target = leaves([x, w, b]), rng.integers(0, C, N)
        target[:2] = 0, 4
        out, want = (f(*operands[:2], target, operands[2], reduction=reduction) for f in (tiled, whole))
        np.testing.assert_allclose(out.data, want.data, rtol=1e-13)
        seed = np.ones(out.shape)
        for a, c in zip(gradients(out, operands, seed), gradients(want, operands, seed), strict=True):
            np.testing.assert_allclose(a, c, rtol=1e-12, atol=1e-14)


def test_large_scores_keep_their_digits(rng: np.random.Generator):
    x, w, b = layer(rng, "float32")
    operands, target = leaves([x, w, b + np.float32(10_000)]), some_targets(rng)
    out, want = tiled(*operands[:2], target, operands[2], rows=2), whole(*operands[:2], target, operands[2])
    np.testing.assert_allclose(out.data, want.data, rtol=1e-6)
    for a, c in zip(gradients(out, operands), gradients(want, operands), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-5, atol=1e-7)


def test_float16_has_scores_in_float32(rng: np.random.Generator):
    arrays = [3 * a for a in layer(rng, "float16")]
    half, single = leaves(arrays), leaves([a.astype(np.float32) for a in arrays])
    target = some_targets(rng)
    out, want = (tiled(*ops[:2], target, ops[2], rows=2) for ops in (half, single))
    assert out.dtype == np.float16
    assert out.data == want.data.astype(np.float16)
    for a, c in zip(gradients(out, half), gradients(want, single), strict=True):
        assert a.dtype == np.float16
        np.testing.assert_array_equal(a, c.astype(np.float16))


def test_mixed_dtypes_meet(rng: np.random.Generator):
    x, w, b = layer(rng)
    operands = leaves([x.astype(np.float32), w, b.astype(np.float16)])
    out = tiled(*operands[:2], some_targets(rng), operands[2])
    out.backward()
    assert out.dtype == np.float64
    assert [a.grad.dtype for a in operands] == [a.dtype for a in operands]


@pytest.mark.parametrize(("reduction", "value"), [("mean", np.nan), ("sum", 0.0), ("none", [])])
def test_no_rows_at_all(reduction: str, value: Any, rng: np.random.Generator):
    operands = leaves(layer(rng, rows=0))
    out = tiled(*operands[:2], np.zeros(0, np.int64), operands[2], reduction=reduction)
    np.testing.assert_array_equal(out.data, value)
    for a in gradients(out, operands, np.ones(out.shape)):
        assert not a.any()


def test_all_rows_ignored(rng: np.random.Generator):
    operands = leaves(layer(rng))
    out = tiled(*operands[:2], np.full(N, -100), operands[2])
    assert np.isnan(out.item())
    for a in gradients(out, operands):
        assert not a.any()


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_probabilities_and_several_places_as_the_two_operations(smoothing, rng, torch: ModuleType):
    x, w = rng.standard_normal((3, WIDTH)), rng.standard_normal((5, 2, WIDTH))
    b = rng.standard_normal((5, 2))
    for target in (rng.integers(0, 5, (3, 2)), rng.dirichlet(np.ones(5), (3, 2)).transpose(0, 2, 1)):
        ours, theirs = leaves([x, w, b]), [torch.tensor(a, requires_grad=True) for a in (x, w, b)]
        out = tiled(*ours[:2], target, ours[2], label_smoothing=smoothing)
        options = {"linear_bias": theirs[2], "label_smoothing": smoothing}
        want = torch.nn.functional.linear_cross_entropy(*theirs[:2], torch.tensor(target), **options)
        want.backward()
        np.testing.assert_allclose(out.data, want.detach().numpy(), rtol=1e-12)
        for a, c in zip(gradients(out, ours), theirs, strict=True):
            np.testing.assert_allclose(a, c.grad.numpy(), rtol=1e-11, atol=1e-14)
    with pytest.warns(UserWarning, match=r"two axes all scores, \(3, 5, 2\), are held"):
        tiled(Tensor(x), Tensor(w), np.zeros((3, 2), np.int64), rows=2)


# -- the graph ---------------------------------------------------------------------------------------------------------


def test_only_what_is_wanted_is_computed(rng: np.random.Generator):
    arrays = layer(rng)
    for wanted in product((False, True), repeat=3):
        operands = [Tensor(a, requires_grad=want) for a, want in zip(arrays, wanted, strict=True)]
        out = tiled(*operands[:2], some_targets(rng), operands[2])
        assert out.requires_grad == any(wanted)
        if any(wanted):
            sent = out._rules(np.ones(()))
            assert [a is not None for a in sent] == list(wanted)


def test_without_a_graph_nothing_is_kept(rng: np.random.Generator):
    operands, target = leaves(layer(rng)), some_targets(rng)
    with tensorgrad.no_grad():
        out = tiled(*operands[:2], target, operands[2])
    assert not out.requires_grad
    assert out._prev == ()
    assert not list(held_arrays(out._rules))
    np.testing.assert_allclose(out.data, whole(*operands[:2], target, operands[2]).data, rtol=1e-13)


def test_going_backward_twice_adds_the_same_again(rng: np.random.Generator):
    operands = leaves(layer(rng))
    out = tiled(*operands[:2], some_targets(rng), operands[2], rows=2)
    first = gradients(out, operands)
    once = [a.copy() for a in first]
    out.backward()
    for x, a in zip(operands, once, strict=True):
        np.testing.assert_allclose(x.grad, 2 * a, rtol=1e-14)


def test_a_weight_changed_in_place_before_backward_is_refused(rng: np.random.Generator):
    x, w, _ = leaves(layer(rng))
    out = tiled(x, w, some_targets(rng))
    with tensorgrad.no_grad():
        w += 1
    with pytest.raises(ChangedError, match="linear_cross_entropy"):
        out.backward()


def test_a_graph_is_no_reference_cycle(rng: np.random.Generator):
    gc.disable()
    try:
        operands = leaves(layer(rng))
        out = tiled(*operands[:2], some_targets(rng), operands[2]) * 1.0
        out.backward()
        dies = [weakref.ref(node) for node in topological_order(out)]
        del out, operands
        assert [ref() for ref in dies] == [None] * len(dies)
    finally:
        gc.enable()


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_rule_holds_operands_and_a_few_numbers_a_row(dtype: str, rng: np.random.Generator):
    rows, classes = 60, 300
    operands = leaves(layer(rng, dtype, rows, classes))
    target = rng.integers(0, classes, rows)
    out = tiled(*operands[:2], target, operands[2], label_smoothing=0.1)
    beside = [a for a in held_arrays(out._rules) if not any(a is x.data for x in operands)]
    assert all(a.size <= rows for a in beside)
    assert len(beside) <= 5, [a.shape for a in beside]


@pytest.mark.parametrize("rows", [None, 4])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_peak_does_not_grow_with_rows_times_classes(dtype, rows, rng, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linear_tiles, "_AT_ONCE", 4096)
    monkeypatch.setattr(linear_tiles, "_ROWS", 32)
    peaks = []
    for count, classes in ((256, 1024), (1024, 4096)):
        x, w = (Tensor(rng.standard_normal((n, 2)).astype(dtype), requires_grad=True) for n in (count, classes))
        target = rng.integers(0, classes, count)
        tracemalloc.start()
        try:
            tiled(x, w, target, rows=rows).backward()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0]  # of operands four times as large
    assert peaks[1] < 1024 * 4096 * 4 / 20  # never all scores


# -- the module, and bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("out_features", [(), (2,)])
@pytest.mark.parametrize("bias", [False, True])
def test_the_module_as_torch(bias: bool, out_features: tuple[int, ...], rng, torch: ModuleType):
    options: dict[str, Any] = {"bias": bias, "out_features": out_features, "label_smoothing": 0.1, "reduction": "sum"}
    weight = rng.uniform(0.5, 2, C)
    ours = nn.LinearCrossEntropyLoss(WIDTH, C, weight=tensorgrad.tensor(weight), dtype=np.float64, **options)
    theirs = torch.nn.LinearCrossEntropyLoss(WIDTH, C, weight=torch.tensor(weight), dtype=torch.float64, **options)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({name: tensorgrad.tensor(t.numpy()) for name, t in theirs.state_dict().items()})
    x, target = rng.standard_normal((N, WIDTH)), rng.integers(0, C, (N, *out_features))
    out, want = ours(Tensor(x), tensorgrad.tensor(target)), theirs(torch.tensor(x), torch.tensor(target))
    out.backward()
    want.backward()
    np.testing.assert_allclose(out.data, want.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(ours.linear.weight.grad, theirs.linear.weight.grad.numpy(), rtol=1e-11, atol=1e-13)


ROWS, MATRIX, TARGET = np.ones((3, 4)), np.ones((5, 4)), [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((np.ones((2, 3, 4)), MATRIX, TARGET), {}, ShapeError, r"\(2, 3, 4\) for a weight of shape \(5, 4\).*flatten"),
        ((np.ones(()), MATRIX, TARGET), {}, ShapeError, r"input of shape \(\) for a weight of shape \(5, 4\)"),
        ((ROWS, np.ones(4), TARGET), {}, ShapeError, r"weight of shape \(4,\) for an input of shape \(3, 4\)"),
        ((ROWS, np.ones((4, 5)), TARGET), {}, ShapeError, r"\(3, 4\) and weight of shape \(4, 5\).*transposed"),
        ((ROWS[0], np.ones((5, 2, 4)), TARGET), {}, ShapeError, r"\(5, 2, 4\) for an input of shape \(4,\).*rows"),
        ((ROWS, MATRIX, TARGET), {"linear_bias": np.ones(3)}, ShapeError, r"bias of shape \(3,\) .*\(5, 4\).* \(5,\)"),
        ((ROWS, MATRIX, [0, 1]), {}, ShapeError, r"target of shape \(2,\).* \(3, 4\) .* \(5, 4\).*\(3,\), one class"),
        ((ROWS, MATRIX, np.ones((3, 4))), {}, ShapeError, r"target of shape \(3, 4\).*or \(3, 5\), probabilities"),
        ((ROWS, MATRIX, [0, 5, 1]), {}, IndexError, r"linear_cross_entropy: target 5 at 1 is out of range"),
        ((ROWS, MATRIX, "abc"), {}, DtypeError, "targets are whole numbers"),
        ((ROWS.astype(int), MATRIX.astype(int), TARGET), {}, DtypeError, "of floats only.*int64"),
        ((ROWS, MATRIX, TARGET), {"weight": np.ones(4)}, ShapeError, r"weight of shape \(4,\) for 5 classes"),
        ((ROWS, MATRIX, TARGET), {"reduction": "max"}, ValueError, "linear_cross_entropy: reduction"),
        ((ROWS, MATRIX, TARGET), {"label_smoothing": 2}, ValueError, "label_smoothing must be from 0 to 1"),
        ((ROWS, MATRIX, TARGET), {"options": 4}, TypeError, "options are LinearCrossEntropyOptions or None, got int"),
        ((ROWS, MATRIX, np.ones((3, 5))), {"ignore_index": 0}, ValueError, "targets are probabilities: leave it out"),
    ],
)
def test_bad_input(arguments: tuple, options: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        F.linear_cross_entropy(*arguments, **options)


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (-3, ValueError), (1.5, TypeError), ("4", TypeError)])
def test_bad_options(size: Any, error: type[Exception]):
    with pytest.raises(error, match="LinearCrossEntropyOptions: batch_chunk_size"):
        nn.LinearCrossEntropyOptions(batch_chunk_size=size)
    with pytest.raises(ShapeError, match=r"LinearCrossEntropyLoss: weight of shape \(2,\) for 5 classes"):
        nn.LinearCrossEntropyLoss(4, 5, weight=tensorgrad.ones(2))
