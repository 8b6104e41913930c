"""Undoing broadcasting: figures row 6, over every pair of shapes up to four axes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tensorgrad.errors import ShapeError
from tensorgrad.shapes import unbroadcast

SHAPES = [shape for n in range(5) for shape in product((1, 2, 3), repeat=n)]


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1], strict=False))


def test_from_4_3_back_to_3():
    np.testing.assert_array_equal(unbroadcast(np.ones((4, 3)), (3,)), [4.0, 4.0, 4.0])


@pytest.mark.parametrize("to", SHAPES, ids=str)
def test_every_pair_of_shapes(to: tuple[int, ...]):
    """Each element receives the sum of all places that it was copied to, found here by broadcasting its number."""
    grad = np.arange(1.0, np.prod(to, dtype=int) + 1).reshape(to)
    for shape in SHAPES:
        if not broadcasts(shape, to):
            with pytest.raises(ShapeError, match="cannot be summed"):
                unbroadcast(grad, shape)
            continue
        size = int(np.prod(shape, dtype=int))
        numbered = np.broadcast_to(np.arange(size).reshape(shape), to)
        want = np.bincount(numbered.ravel(), weights=grad.ravel(), minlength=size).reshape(shape)
        got = unbroadcast(grad, shape)
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize(
    ("grad", "shape"), [((0, 3), (3,)), ((0, 3), (1, 3)), ((2, 0), (2, 1)), ((0,), ()), ((0,), (1,)), ((2, 0), (0,))]
)
def test_empty_gradients_sum_to_zeros(grad: tuple[int, ...], shape: tuple[int, ...]):
    np.testing.assert_array_equal(unbroadcast(np.ones(grad), shape), np.zeros(shape), strict=True)


def test_the_message_names_both_shapes():
    with pytest.raises(ShapeError, match=r"\(4, 3\) .* \(4,\)"):
        unbroadcast(np.ones((4, 3)), (4,))
