"""What is measured of one array, beside NumPy in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorgrad.monitoring.measure import nonfinite, norm, share_of_zeros


@pytest.mark.parametrize(
    "array",
    [
        np.full((3, 4), 0.5, np.float32),
        np.array([1e-2] + [1e-4] * 10_000, np.float16),  # whose norm float16 rounds
        np.full(100, 6e4, np.float16),  # whose squares are inf in it
        np.full(4, 3e30, np.float32),
        np.full(4, 3e-30, np.float32),
        np.full(4, 3e200),
        np.array([0.0, 5e-324]),
        np.float32(-2.0).reshape(()),
        np.ones((4, 6), np.float32).T[::2],
        np.zeros(3, np.float32),
        np.zeros((0, 3), np.float32),
    ],
    ids=["usual", "half small", "half large", "large", "small", "huge", "least", "number", "parts", "zeros", "empty"],
)
def test_norms_of_all_sizes(array: np.ndarray) -> None:
    flat = array.astype(np.float64).ravel()
    with np.errstate(over="ignore"):  # as the monitor has it
        assert norm(array) == pytest.approx(math.hypot(*flat), rel=1e-5, abs=0)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_makes_the_norm_so(odd: float) -> None:
    array = np.array([[1.0, odd], [0.0, 1e30]], np.float32)
    with np.errstate(all="ignore"):
        assert norm(array) == pytest.approx(abs(odd), nan_ok=True)
    assert nonfinite(array) == 1
    assert share_of_zeros(array) == 0.25


def test_shares_of_nothing() -> None:
    assert (share_of_zeros(np.zeros((0, 2))), nonfinite(np.zeros((0, 2)))) == (0.0, 0)
