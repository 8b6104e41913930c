"""What the monitor reads of a loss from the gradient of its scores, beside what the loss was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgrad.nn.functional as F
from tensorgrad import Tensor
from tensorgrad.monitoring.scores import Scores, scores_of

PLACES, CLASSES = 24, 7
RNG = np.random.default_rng(3)
LOGITS = RNG.normal(0, 2, (PLACES, CLASSES)).astype(np.float32)
TARGETS = RNG.integers(0, CLASSES, PLACES)


def read(
    loss: Callable[[Tensor, Tensor], Any],
    logits: np.ndarray = LOGITS,
    targets: np.ndarray = TARGETS,
    scaled_by: float = 1.0,
) -> Scores | None:
    z = Tensor(logits, requires_grad=True)
    loss(z, Tensor(targets)).backward()
    return scores_of([(z, -1)], scaled_by)


def costs(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Minus the log of each target's probability, in float64."""
    z = logits.astype(np.float64)
    return np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), targets]


@pytest.mark.parametrize(
    ("loss", "total"),
    [
        (F.cross_entropy, 1.0),
        (lambda z, y: 40 * F.cross_entropy(z, y), 40.0),
        (lambda z, y: F.cross_entropy(z, y, reduction="sum"), PLACES),
        (lambda z, y: -z.softmax(-1).gather(-1, y.unsqueeze(-1)).log().mean() / 3, 1 / 3),
    ],
    ids=["mean", "times 40", "sum", "by hand, divided by 3"],
)
def test_factor_targets_and_mean_are_read_from_the_gradient(loss: Any, total: float) -> None:
    found = read(loss)
    assert found is not None
    assert found.total == pytest.approx(total, rel=1e-4)
    assert found.mean == pytest.approx(costs(LOGITS, TARGETS).mean(), rel=1e-4)
    np.testing.assert_array_equal(found.targets, TARGETS)
    assert (found.places, found.counted, found.classes, found.even) == (PLACES, PLACES, CLASSES, True)


def test_the_factor_of_a_grad_scaler_is_divided_out() -> None:
    found = read(lambda z, y: 1024 * F.cross_entropy(z, y), scaled_by=1024.0)
    assert found is not None
    assert found.total == pytest.approx(1.0, rel=1e-4)


def test_targets_that_are_ignored_do_not_count() -> None:
    targets = np.where(np.arange(PLACES) % 3 == 0, -100, TARGETS)
    found = read(F.cross_entropy, targets=targets)
    assert found is not None
    assert (found.places, found.counted) == (PLACES, PLACES * 2 // 3)
    assert found.total == pytest.approx(1.0, rel=1e-4)
    counts = targets >= 0
    assert found.mean == pytest.approx(costs(LOGITS, TARGETS)[counts].mean(), rel=1e-4)
    np.testing.assert_array_equal(found.targets, np.where(counts, targets, -1))


def test_weights_that_differ_are_not_even() -> None:
    weights = Tensor(np.linspace(1, 3, PLACES).astype(np.float32))
    found = read(lambda z, y: (F.cross_entropy(z, y, reduction="none") * weights).sum() / weights.sum())
    assert found is not None
    assert not found.even
    assert found.total == pytest.approx(1.0, rel=1e-4)


def test_places_of_which_the_model_is_nearly_sure_count_like_the_others() -> None:
    """The digits of their gradients are mostly lost in float32: 1 - p is 1e-6, and rounded to 2^-24."""
    logits = LOGITS.copy()
    logits[::2] = 0.0
    logits[np.arange(PLACES)[::2], TARGETS[::2]] = np.log(6e6)
    found = read(F.cross_entropy, logits)
    assert found is not None
    assert found.total == pytest.approx(1.0, rel=1e-3)
    assert found.even
    assert found.mean == pytest.approx(costs(logits, TARGETS).mean(), rel=1e-3)


def test_of_many_scores_a_part_is_read_and_stands_for_all() -> None:
    """4,000 classes at 100 places: 64 places are read, of which every fourth does not count."""
    logits = RNG.normal(0, 1, (100, 4_000)).astype(np.float32)
    targets = np.where(np.arange(100) % 4 == 0, -100, RNG.integers(0, 4_000, 100))
    found = read(F.cross_entropy, logits, targets)
    assert found is not None
    assert len(found.targets) == 64
    assert (found.places, found.counted) == (100, 75)
    assert found.total == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    "loss",
    [
        lambda z, y: F.cross_entropy(z, y, label_smoothing=0.3),
        lambda z, y: (z**2).mean(),
        lambda z, y: F.cross_entropy(z, y) + 0.1 * (z**2).sum(),
        lambda z, y: (z * 0).sum(),
    ],
    ids=["soft targets", "squares", "another term", "no gradient"],
)
def test_a_gradient_of_another_form_says_nothing(loss: Any) -> None:
    assert read(loss) is None
