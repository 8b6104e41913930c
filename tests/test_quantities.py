"""The quantities that a page embeds: numbers as numbers, arrays with texts, statistics and a heat map."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from viz.pages import quantities as module
from viz.pages.quantities import Quantities, grid


def stored(q):
    quantities = Quantities()
    return quantities.records[quantities.of(q)]


@pytest.mark.parametrize(
    ("x", "expected"), [(0.1, 0.1), (-0.0, 0.0), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")]
)
def test_a_number_is_stored_as_itself(x, expected):
    assert stored(x) == expected
    assert math.copysign(1, stored(-0.0)) == 1


def test_equal_ones_stand_once():
    quantities = Quantities()
    large = np.arange(90.0).reshape(9, 10)
    assert quantities.of(0.0) == quantities.of(-0.0)
    assert quantities.of(math.nan) == quantities.of(-math.nan)
    assert quantities.of(large) == quantities.of(large.copy())
    assert quantities.of(large) == quantities.of(large.T.copy().T)
    assert quantities.of(large) != quantities.of(large + 1e-12)
    assert quantities.of(large) != quantities.of(large.reshape(10, 9))
    assert quantities.of(large) != quantities.of(large.astype(np.float32))  # another dtype to show
    assert quantities.of(1.0) != quantities.of(np.array(1.0))
    assert quantities.of(None) is None


def test_a_single_element_has_a_value_and_no_heat_map():
    record = stored(np.array([[-2.5]]))
    assert record["value"] == -2.5
    assert record["chip"] == "−2.5"
    assert record["shape"] == "(1, 1)"
    assert not {"grid", "stats", "rows"} & set(record)
    assert stored(np.array(np.nan))["value"] == "nan"


def test_an_array_has_statistics_and_its_dtype():
    record = stored(np.array([[3, 0], [-4, 0]], dtype=np.float32))
    assert record["stats"] == "min −4, max 3, mean −0.25, norm 5, zero 50%"
    assert record["dtype"] == "float32"
    assert "more" not in record
    assert stored(np.ones(65))["more"] == "min 1, max 1, mean 1, norm 8.062"
    assert stored(np.zeros((0, 3)))["shape"] == "(0, 3)"
    assert "grid" not in stored(np.zeros((0, 3)))


def test_a_heat_map_of_few_elements_has_a_cell_for_each():
    found = grid(np.array([[1, 2.000049, np.nan], [-np.inf, 0, 123456.7]]))
    assert (found["rows"], found["columns"]) == (2, 3)
    assert found["values"] == [1, 2, "nan", "-inf", 0, 123500]
    assert found["exact"]
    assert found["note"] == ""
    assert [grid(np.ones(shape))["rows"] for shape in ((4,), (4, 1), (2, 3, 4))] == [1, 4, 6]


def test_a_large_one_has_the_element_of_greatest_magnitude_of_each_block():
    values = np.random.default_rng(0).normal(size=(50, 30))
    values[0, 0] = -9.0
    values[49, 29] = np.inf
    values[10, 10] = np.nan
    found = grid(values, 24)
    assert (found["rows"], found["columns"]) == (17, 15)
    assert found["note"] == "each cell: the largest of 3 × 2"
    assert not found["exact"]
    for i in range(17):
        for j in range(15):
            block = values[3 * i : 3 * i + 3, 2 * j : 2 * j + 2]
            expected = block.flat[np.abs(block).argmax()]  # which takes a nan before all
            got = float(found["values"][15 * i + j])
            assert got == pytest.approx(expected, rel=1e-3, nan_ok=True)
    assert found["values"][-1] == "inf"
    assert found["values"][0] == -9


@pytest.mark.parametrize("shape", [(1025,), (5000, 1), (3, 900), (900, 3), (2, 40, 40), (1000, 1000)])
def test_it_has_few_cells_whatever_the_shape(shape):
    found = stored(np.ones(shape))["grid"]
    assert len(found["values"]) == found["rows"] * found["columns"] <= 576
    assert set(found["values"]) == {1}  # also those at the rim, where a block has fewer elements


def test_a_page_has_a_budget_of_cells(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 3_000)
    quantities = Quantities()
    random = np.random.default_rng(1)
    for _ in range(3):
        quantities.of(random.normal(size=(30, 30)))
    assert not quantities.sampled
    record = quantities.records[quantities.of(random.normal(size=(30, 30)))]
    assert quantities.sampled
    assert (record["grid"]["rows"], record["grid"]["columns"]) == (8, 8)
    small = quantities.records[quantities.of(random.normal(size=(8, 8)))]
    assert small["grid"]["exact"]


def test_what_is_stored_is_json():
    quantities = Quantities()
    for q in (math.nan, 1.5, np.array([np.inf, 1]), np.array(np.nan), np.array([True, False]), np.arange(3)):
        quantities.of(q)
    json.dumps(quantities.records, allow_nan=False)
