"""The page's own number texts (viz/kit/numbers.js), in Chromium: the same as Python's, for every kind of double."""

from __future__ import annotations

import base64
import math
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viz
from viz import text
from viz.pages.quantities import Quantities

NUMBERS = Path(viz.__file__).parent / "kit" / "numbers.js"


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    page = browser.new_page()
    page.add_script_tag(content=NUMBERS.read_text(encoding="utf-8"))
    yield page
    page.close()


def packed(numbers: list[float]) -> str:
    return base64.b64encode(np.array(numbers, dtype="<f8").tobytes()).decode()


def doubles() -> list[float]:
    chance = random.Random(1)
    odd = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 1e22, 1e23]
    rims = [1e6, 999999.99999, 999999.5, 5e-5, math.nextafter(5e-5, 0), 9999.5, 99999.95, 0.03125, 2.5, 9.5]
    bits = [struct.unpack("<d", chance.randbytes(8))[0] for _ in range(8000)]
    usual = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-12, 12) for _ in range(5000)]
    dyadic = [chance.randint(-(10**6), 10**6) / 2 ** chance.randint(0, 30) for _ in range(6000)]
    halves = [float((2 * chance.randint(0, 10**6) + 1) * 5 * 10 ** chance.randint(0, 16)) for _ in range(2000)]
    subnormal = [chance.randint(1, 2**20) * 2.0 ** chance.randint(-1074, -1000) for _ in range(1000)]
    return odd + rims + bits + usual + dyadic + halves + subnormal


def test_every_number_reads_as_in_python(tab):
    numbers = doubles()
    got = tab.evaluate(
        """(packed) => Array.from(unpackFloats(packed), (x) =>
          [numberText(x), numberText(x, 2), shortText(x), shortText(x, 3), signedText(x), signedText(x, 4)])""",
        packed(numbers),
    )
    for x, texts in zip(numbers, got, strict=True):
        expected = [text.number(x), text.number(x, 2), text.short(x), text.short(x, 3)]
        assert texts == [*expected, text.signed(x), text.signed(x, 4)], x


def test_halves_go_to_the_even_digit(tab):
    assert tab.evaluate("numberText(0.03125)") == "0.0312"
    assert tab.evaluate("numberText(0.09375)") == "0.0938"
    assert tab.evaluate("[shortText(2.5, 1), shortText(3.5, 1), shortText(1234565), shortText(1234575)]") == [
        "2",
        "4",
        "1.23456e+06",
        "1.23458e+06",
    ]


def test_counts_have_commas(tab):
    counts = [0, 7, 999, 1000, 65_536, 1_234_567, 2**53]
    assert tab.evaluate("counts => counts.map(countText)", counts) == [f"{n:,}" for n in counts]


@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -6.25, 1e-9, 3e7, math.nan, math.inf, -math.inf])
def test_a_scalar_reads_as_an_array_of_one_element(tab, x):
    quantities = Quantities()
    record = quantities.records[quantities.of(np.array(x))]
    expected = {name: value for name, value in record.items() if name not in ("shape", "dtype", "value")}
    fields = "({ text, short, chip, sign, odd }) => ({ text, short, chip, sign, odd })"
    got = tab.evaluate(f"(packed) => ({fields})(scalar(unpackFloats(packed)[0]))", packed([x]))
    assert {name: value for name, value in got.items() if value is not None or name == "sign"} == expected


def test_equal_scalars_are_one_object(tab):
    assert tab.evaluate("scalar(0.1 + 0.2) === scalar(0.30000000000000004)")
    assert tab.evaluate("scalar(NaN) === scalar(0 / 0) && scalar(-0) === scalar(0)")
    assert tab.evaluate("Object.is(scalar(-0).value, 0) && Object.isFrozen(scalar(1))")
    assert not tab.evaluate("scalar(1) === scalar(1 + Number.EPSILON)")


def test_integers_are_unpacked(tab):
    numbers = [0, -1, 2**31 - 1, -(2**31)]
    text_of = base64.b64encode(np.array(numbers, dtype="<i4").tobytes()).decode()
    assert tab.evaluate("(packed) => Array.from(unpackInts(packed))", text_of) == numbers
    assert tab.evaluate("[unpackInts('').length, unpackFloats('').length]") == [0, 0]
