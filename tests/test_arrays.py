"""Arrays in words and on one line."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorgrad import Tensor
from viz import step, trace
from viz.arrays import in_words, nested, norm, norm_in_words
from viz.commands.steps_text import steps_text
from viz.labels import contribution_label


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(2.5), "2.5"),
        (np.array([1, -2]), "[1, −2]"),
        (np.array([[1.0, 2.0], [3.0, 1 / 3]]), "[[1, 2], [3, 0.3333]]"),
        (np.array([[[1.0]], [[math.nan]]]), "[[[1]], [[nan]]]"),
        (np.array([True, False]), "[1, 0]"),
        (np.empty((2, 0)), "[[], []]"),
    ],
)
def test_nested_writes_an_array_as_python_would(array, text):
    assert nested(array) == text


def test_nested_takes_the_number_of_digits():
    assert nested(np.array([1 / 3]), 2) == "[0.33]"


def test_in_words_gives_shape_and_norm():
    assert in_words(np.ones((4, 5))) == "(4, 5) norm 4.472"
    assert in_words(np.empty((0, 3))) == "(0, 3) no elements"
    assert in_words(np.full(8, np.inf)) == "(8,) norm inf"


def test_the_norm_of_small_number_types_does_not_overflow():
    assert norm(np.full(20, 60000, dtype=np.float16)) == pytest.approx(60000 * math.sqrt(20))
    assert norm(np.full(20, 100, dtype=np.int8)) == pytest.approx(100 * math.sqrt(20))


def test_picture_page_and_text_say_the_same_of_an_array():
    x = Tensor(np.arange(20.0).reshape(4, 5), requires_grad=True, label="x")
    root = (x * x).sum()
    words, short = "(4, 5) norm 49.7", norm_in_words(x.data)
    assert words == in_words(x.data) == f"(4, 5) {short}"
    assert f'"{words}"' in step(root, names={}).html
    assert f"x = {words}\n" in steps_text(trace(root, names={}))
    assert "\\n".join(line.strip() for line in contribution_label(x.data).split("\\n")) == f"← (4, 5)\\n{short}"
