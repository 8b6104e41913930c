"""What the benchmarks of growth and of pictures measure runs, and is of the size that its name says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "benchmarks"))

import growth
import pictures
from conftest import missing
from graphs import seven_nodes

from viz.errors import NoDotError
from viz.render import find_dot


@pytest.fixture
def any_dot() -> None:
    try:
        find_dot()
    except NoDotError:
        missing("no dot program is installed")


@pytest.mark.parametrize("name", growth.TENSOR_THINGS)
def test_tensors_run_at_the_first_size(name: str) -> None:
    growth.TENSOR_THINGS[name](1)()


@pytest.mark.parametrize(("what", "count"), [("embedding", 1_024), ("index", 2_048)])
def test_rows_are_as_many_as_named(what: str, count: int) -> None:
    (gradient,) = growth.rows(what, count)()
    assert 1 < gradient.any(1).sum() <= count


@pytest.mark.usefixtures("any_dot")
@pytest.mark.parametrize("name", pictures.THINGS)
def test_each_way_to_look_takes_a_graph_of_values(name: str, tmp_path: Path) -> None:
    root, _ = seven_nodes()
    root.backward()
    pictures.THINGS[name](root, tmp_path)


@pytest.mark.usefixtures("any_dot")
def test_a_layout_that_takes_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, _ = seven_nodes()
    monkeypatch.setattr(pictures.render, "_LONGEST", 0.001)
    monkeypatch.setattr(pictures, "PNG_SECONDS", 0.001)
    assert pictures.cell("layout", root, 7, tmp_path, quick=True) == "not in 0.001 s"
