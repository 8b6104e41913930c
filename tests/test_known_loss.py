"""Losses run on batches whose value and gradient are known: the right ones pass, and each mistake is named."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, no_grad
from tensorgrad.errors import ShapeError
from tensorgrad.monitoring.known_batch import cross_entropy_batch, squares_batch
from tensorgrad.monitoring.known_loss import check_loss_scale, loss_scale
from tensorgrad.nn import functional as F

V = 17
Loss = Callable[[Tensor, Tensor], Tensor]


def flat(scores: Tensor, targets: Tensor, **settings: Any) -> Tensor:
    """Cross entropy of (..., V) and (...)."""
    return F.cross_entropy(scores.view(-1, scores.shape[-1]), targets.view(-1), **settings)


def by_hand(scores: Tensor, targets: Tensor) -> Tensor:
    return -F.log_softmax(scores, -1).gather(-1, targets.unsqueeze(-1)).mean()


def over_classes_too(scores: Tensor, targets: Tensor) -> Tensor:
    return -(F.log_softmax(scores, -1) * F.one_hot(targets, V).float()).mean()


# --- the batches themselves


def test_one_target_counts_where_its_class_would_not() -> None:
    """Of a shape with room for one, which else would be class 0."""
    found = check_loss_scale(lambda s, t: F.cross_entropy(s, t, ignore_index=0), 5, shape=(1,), ignore_index=0)
    assert found.right
    assert type(found.value_factor) is float


@pytest.mark.parametrize("settings", [{}, {"ignore_index": -1}, {"label_smoothing": 0.2}, {"ignore_index": 3}])
def test_the_closed_form_is_what_finite_differences_of_plain_python_give(settings: dict[str, Any]) -> None:
    batch = cross_entropy_batch((2, 3), 4, **settings)
    smoothing = settings.get("label_smoothing", 0.0)

    def loss(rows: np.ndarray) -> float:
        costs = []
        for row, target in zip(rows.tolist(), batch.targets.reshape(-1).tolist(), strict=True):
            if target == settings.get("ignore_index"):
                continue
            total = math.log(math.fsum(math.exp(score) for score in row))
            wanted = [smoothing / 4 + (1 - smoothing) * (k == target) for k in range(4)]
            costs.append(math.fsum(q * (total - score) for q, score in zip(wanted, row, strict=True)))
        return math.fsum(costs) / len(costs)

    assert batch.value == pytest.approx(loss(batch.rows), rel=1e-12)
    for place in np.ndindex(batch.rows.shape):
        up, down = batch.rows.copy(), batch.rows.copy()
        up[place] += 1e-5
        down[place] -= 1e-5
        assert batch.gradient[place] == pytest.approx((loss(up) - loss(down)) / 2e-5, abs=1e-8)


def test_the_closed_form_of_squares() -> None:
    batch = squares_batch((2, 3), 2)
    differences = (batch.scores.astype(float) - batch.targets.astype(float)).ravel().tolist()
    assert batch.value == pytest.approx(math.fsum(d * d for d in differences) / 12, rel=1e-12)
    np.testing.assert_allclose(batch.gradient.ravel(), [2 * d / 12 for d in differences], rtol=1e-12)


def test_batches_are_the_same_at_every_call() -> None:
    first, second = cross_entropy_batch((4, 8), V), cross_entropy_batch((4, 8), V)
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first.targets, second.targets)


# --- losses that are right


RIGHT: list[tuple[str, Loss, dict[str, Any]]] = [
    ("flattened", flat, {}),
    ("for rows alone", F.cross_entropy, {}),
    ("classes along axis 1", lambda s, t: F.cross_entropy(s.transpose(1, 2), t), {}),
    ("by hand", by_hand, {}),
    ("log_softmax and nll_loss", lambda s, t: F.nll_loss(F.log_softmax(s, -1).view(-1, V), t.view(-1)), {}),
    ("of a module", lambda s, t: tensorgrad.nn.CrossEntropyLoss()(s.view(-1, V), t.view(-1)), {}),
    ("in float64", lambda s, t: flat(s.double(), t), {}),
    ("of shape (1,)", lambda s, t: flat(s, t).view(1), {}),
    ("divided for accumulation", lambda s, t: flat(s, t) / 40, {"accumulate": 40}),
    ("a sum, divided", lambda s, t: flat(s, t, reduction="sum") / t.numel(), {}),
    ("padding that does not count", lambda s, t: flat(s, t, ignore_index=-1), {"ignore_index": -1}),
    ("a class that does not count", lambda s, t: flat(s, t, ignore_index=0), {"ignore_index": 0}),
    ("smoothed", lambda s, t: flat(s, t, label_smoothing=0.1), {"label_smoothing": 0.1}),
    ("one size of batch alone", lambda s, t: flat(s.view(12, 64, V), t.view(12, 64)), {"shape": (12, 64)}),
]


@pytest.mark.parametrize(("loss", "settings"), [case[1:] for case in RIGHT], ids=[case[0] for case in RIGHT])
def test_right_losses_pass(loss: Loss, settings: dict[str, Any]) -> None:
    found = check_loss_scale(loss, V, **settings)
    assert found.right
    assert found.value_factor == pytest.approx(1, abs=1e-5)
    assert found.gradient_factor == pytest.approx(1, abs=1e-5)
    assert found.text.startswith("the loss is the mean cross entropy")


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 8, 32, 5_000])
@pytest.mark.parametrize("loss", [flat, F.cross_entropy], ids=["sequences", "rows"])
def test_any_number_of_classes(classes: int, loss: Loss) -> None:
    assert check_loss_scale(loss, classes).right
    with pytest.raises(AssertionError, match="40 times the mean cross entropy: divide it by 40"):
        check_loss_scale(lambda s, t: loss(s, t) * 40, classes)


def test_squares() -> None:
    assert check_loss_scale(F.mse_loss).right
    assert check_loss_scale(lambda p, t: F.mse_loss(p, t) / 8, accumulate=8).right


# --- losses that are off


def a_part_detached(scores: Tensor, targets: Tensor) -> Tensor:
    return flat(scores, targets) * 40 - flat(scores, targets).detach() * 39


WRONG: list[tuple[str, Loss, dict[str, Any], float, float, str]] = [
    ("times 40", lambda s, t: flat(s, t) * 40, {}, 40, 40, "is 40 times the mean cross entropy: divide it by 40"),
    (
        "not divided for accumulation",
        flat,
        {"accumulate": 40},
        40,
        40,
        "is not divided by the 40 batches that are added up: divide each by 40",
    ),
    (
        "divided without accumulation",
        lambda s, t: flat(s, t) / 40,
        {},
        0.025,
        0.025,
        "is 1/40 of the mean cross entropy: multiply it by 40, or say accumulate=40",
    ),
    ("divided twice", lambda s, t: flat(s, t) / 1600, {"accumulate": 40}, 0.025, 0.025, "divided by 40 twice"),
    ("sum", lambda s, t: flat(s, t, reduction="sum"), {}, 32, 32, "the sum over 32 targets, not the mean"),
    ("times 32", lambda s, t: flat(s, t) * 32, {}, 32, 32, "is 32 times the mean cross entropy"),
    (
        "sum over places",
        lambda s, t: flat(s, t, reduction="sum") / t.shape[0],
        {},
        8,
        8,
        "summed over the 8 places of a sequence",
    ),
    (
        "sum over sequences",
        lambda s, t: flat(s, t, reduction="sum") / t.shape[1],
        {},
        4,
        4,
        "summed over the 4 sequences of a batch",
    ),
    ("mean of a mean", lambda s, t: flat(s, t) / t.numel(), {}, 1 / 32, 1 / 32, "number of targets once more, 32"),
    ("mean over classes", over_classes_too, {}, 1 / V, 1 / V, "mean over the 17 classes too"),
    ("bits", lambda s, t: flat(s, t) / math.log(2), {}, 1.442695, 1.442695, "in bits, 1.4427 times"),
    ("uphill", lambda s, t: -flat(s, t), {}, -1, -1, "minus 1 times .* its sign is wrong"),
    (
        "depends on the size",
        lambda s, t: flat(s, t) * math.sqrt(s.shape[0]),
        {},
        2,
        2,
        "depends on the batch's size: 2 times on targets of shape .4, 8. and 1.732 times",
    ),
    (
        "padding in the denominator",
        lambda s, t: flat(s, t, ignore_index=-1, reduction="sum") / t.numel(),
        {"ignore_index": -1},
        22 / 32,
        22 / 32,
        "divided by all 32 targets, those of ignore_index included: divide it by the 22",
    ),
    ("value alone", lambda s, t: flat(s, t) + 0.3, {}, 1.0666, 1, r"gradient is that of .* \(\+0.3\)"),
    ("gradient alone", a_part_detached, {}, 1, 40, "value is right, and its gradient is 40 times"),
    ("cut off", lambda s, t: flat(s.detach(), t), {}, 1, 0, "no gradient reaches the scores"),
    ("a gradient of zeros", lambda s, t: flat(s.detach(), t) + 0 * s.sum(), {}, 1, 0, "no gradient reaches the scores"),
]

ANOTHER_FORM: list[tuple[str, Loss, dict[str, Any], str]] = [
    ("class ignored", lambda s, t: flat(s, t, ignore_index=0), {}, "class 0 count for nothing: .*ignore_index=0"),
    ("smoothed", lambda s, t: flat(s, t, label_smoothing=0.1), {}, "label smoothing of 0.1: .*label_smoothing=0.1"),
    ("smoothed, times 40", lambda s, t: 40 * flat(s, t, label_smoothing=0.1), {}, "label smoothing of 0.1"),
    ("not smoothed", flat, {"label_smoothing": 0.1}, "has no label smoothing"),
    (
        "class weights",
        lambda s, t: flat(s, t, weight=tensorgrad.linspace(0.5, 2, V)),
        {},
        "do not count equally, from 0.* to 1.* times",
    ),
    ("last place alone", lambda s, t: F.cross_entropy(s[:, -1], t[:, -1]), {}, "only 4 of 32 .* 7, 15, 23, 31"),
    ("no softmax", lambda s, t: F.nll_loss(s.view(-1, V), t.view(-1)), {}, "nll_loss wants the result of log_softmax"),
    ("softmax twice", lambda s, t: flat(F.softmax(s, -1), t), {}, "softmax is taken twice"),
    ("shifted", lambda s, t: flat(s[:, :-1].clone(), t[:, 1:].clone()), {}, "is no multiple .* not shifted"),
    (
        "log of softmax",
        lambda s, t: F.nll_loss((F.softmax(100 * s, -1)).log().view(-1, V), t.view(-1)),
        {},
        "scores of at most .* give a loss of inf",
    ),
]


@pytest.mark.parametrize(
    ("loss", "settings", "value", "gradient", "text"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG]
)
def test_each_mistake_is_named_with_its_factor(
    loss: Loss, settings: dict[str, Any], value: float, gradient: float, text: str
) -> None:
    found = loss_scale(loss, V, **settings)
    assert not found.right
    assert found.value_factor == pytest.approx(value, rel=1e-4)
    assert found.gradient_factor == pytest.approx(gradient, rel=1e-4)
    assert "\n" not in found.text
    with pytest.raises(AssertionError, match=text):
        check_loss_scale(loss, V, **settings)


@pytest.mark.parametrize(
    ("loss", "settings", "text"), [case[1:] for case in ANOTHER_FORM], ids=[case[0] for case in ANOTHER_FORM]
)
def test_losses_of_another_form_are_named(loss: Loss, settings: dict[str, Any], text: str) -> None:
    found = loss_scale(loss, V, **settings)
    assert math.isnan(found.gradient_factor)
    with pytest.raises(AssertionError, match=text):
        check_loss_scale(loss, V, **settings)


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (lambda p, t: F.mse_loss(p, t) * 40, "40 times the mean squared error"),
        (lambda p, t: F.mse_loss(p, t, reduction="sum"), "the sum over 96 numbers"),
        (lambda p, t: ((p - t) ** 2).sum(-1).mean(), "sum over the 3 numbers of a prediction"),
        (lambda p, t: 3 * F.mse_loss(p, t), "or a factor of 3"),  # the same thing
        (lambda p, t: F.mse_loss(p, t) / 2, "half the mean squared error"),
        (F.l1_loss, "no multiple of the mean squared error"),
    ],
)
def test_squares_that_are_off(loss: Loss, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_loss_scale(loss)


# --- what it leaves alone, and what it refuses


def test_no_gradient_of_the_program_is_changed_and_no_grad_does_not_matter() -> None:
    weight = Tensor(np.ones(V, np.float32), requires_grad=True)
    weight.grad = np.full(V, 7.0, np.float32)
    with no_grad():
        assert check_loss_scale(lambda s, t: flat(s * weight, t), V).right
    np.testing.assert_array_equal(weight.grad, 7.0)


def test_a_loss_that_is_not_one_number() -> None:
    with pytest.raises(ShapeError, match=r"one number, got shape \(32,\): take its .mean\(\)"):
        check_loss_scale(lambda s, t: flat(s, t, reduction="none"), V)


def test_a_loss_that_is_no_tensor() -> None:
    with pytest.raises(TypeError, match=r"is to be a Tensor, got [0-9.]+"):
        check_loss_scale(lambda s, t: flat(s, t).item(), V)


def test_what_the_loss_raises_itself_says_what_it_was_given() -> None:
    def loss(scores: Tensor, targets: Tensor) -> Tensor:
        raise KeyError("mask")

    with pytest.raises(KeyError, match="mask") as error:
        check_loss_scale(loss, V)
    assert error.value.__notes__ == [
        "check_loss_scale called the loss with scores and targets of the shapes (4, 8, 17) and (4, 8), then (32, 17) "
        "and (32,)"
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": 1}, "classes is 1"),
        ({"classes": V, "accumulate": 0}, "accumulate is 0"),
        ({"classes": V, "label_smoothing": 1.0}, "label_smoothing is 1.0"),
        ({"classes": V, "shape": ()}, "at least one target"),
        ({"classes": V, "shape": (3, 0)}, "at least one target"),
        ({"label_smoothing": 0.1}, "are of classes"),
        ({"ignore_index": 0}, "are of classes"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_loss_scale(flat, **settings)


@pytest.mark.parametrize("tolerance", [0, -1, math.nan, 1, math.inf])
def test_a_tolerance_that_is_none_is_refused(tolerance: float) -> None:
    with pytest.raises(ValueError, match=r"tolerance is .*; it must be above 0 and below 1"):
        check_loss_scale(F.cross_entropy, classes=10, tolerance=tolerance)


def test_rounding_of_half_precision_is_called_inexact_and_not_another_loss() -> None:
    def half(scores: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(scores.to(tensorgrad.float16), targets)

    with pytest.raises(AssertionError, match=r"a multiple of that of the mean cross entropy but for 0\.000\d+ of its"):
        check_loss_scale(half, classes=10)
    assert check_loss_scale(half, classes=10, tolerance=0.01).right


def test_a_tiny_factor_is_said_in_few_digits() -> None:
    with pytest.raises(AssertionError, match=r"the loss is 1e-30 times the mean cross entropy"):
        check_loss_scale(lambda scores, targets: F.cross_entropy(scores, targets) * 1e-30, classes=10)
