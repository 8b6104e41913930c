"""Numbers as text."""

import math
import re
from pathlib import Path

import pytest

from viz import text
from viz.text import clip, count, cut, number, short, signed


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0.0000"),
        (-0.0, "0.0000"),
        (2, "2.0000"),
        (-6, "−6.0000"),
        (0.00005, "0.0001"),
        (1e-9, "1.0e-09"),
        (-7e-9, "−7.0e-09"),
        (123456.789, "123456.7890"),
        (1e6, "1.0e+06"),
        (math.inf, "inf"),
        (-math.inf, "−inf"),
        (math.nan, "nan"),
    ],
)
def test_number(x, text):
    assert number(x) == text


def test_only_zero_reads_as_zero():
    assert all(number(10.0**-k).strip("0.") for k in range(1, 300))


@pytest.mark.parametrize(
    ("x", "bare", "with_sign"),
    [
        (4.0, "4", "+4"),
        (-6.0, "−6", "−6"),
        (0.25, "0.25", "+0.25"),
        (1.2e-7, "1.2e-07", "+1.2e-07"),
        (0.0, "0", "0"),
        (-0.0, "0", "0"),
    ],
)
def test_short_and_signed(x, bare, with_sign):
    assert (short(x), signed(x)) == (bare, with_sign)


def test_clip_keeps_one_line():
    assert clip("a\nb") == "a b"
    assert clip("x" * 50, 10) == "x" * 9 + "…"


def test_cut_keeps_what_there_is_room_for():
    assert cut("a\nb ", 4) == "a\nb "
    assert cut("x" * 11, 10) == "x" * 9 + "…"


def test_count_agrees_with_its_number():
    assert [count(n, "node") for n in (0, 1, 2, 2000)] == ["0 nodes", "1 node", "2 nodes", "2,000 nodes"]


def test_text_needs_nothing_else_of_viz():
    """So that everything may write its numbers through it: an import of the graph would close a circle."""
    source = Path(text.__file__).read_text(encoding="utf-8")
    assert not re.search(r"^(from|import) (viz|micrograd|numpy)", source, re.MULTILINE)
