"""Pictures of training runs, by what is drawn in them: numbers in lines and maps, names, texts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from run_logs import BLOCKS, UNREACHED, data, header, numbers, step, stormy, texts, usual, written

import viz
from viz.errors import UserError
from viz.plots import paper
from viz.plots.ends import spread
from viz.training.heat import chosen_rows
from viz.training.log import run_of
from viz.training.picture import figure_of

ROOT = Path(__file__).parent.parent
LIGHT = paper.theme_of("light")


def drawn(records, quantity="norm", level="blocks", theme=LIGHT):
    """The figure of a run, and its axes by what is drawn in them."""
    run = run_of(records)
    figure = figure_of(run, quantity, run.names(level), level, theme)
    return figure, dict(zip(("loss", "norm", "heat", "bar", "ratio"), figure.axes, strict=False))


def rows(axes):
    """The names beside a heat map."""
    return [label.get_text() for label in axes.get_yticklabels()]


@pytest.fixture(scope="module")
def plain():
    """The figure of a healthy run but for one finding, and its axes."""
    return drawn(usual())


@pytest.fixture(scope="module")
def storm():
    """The axes of a run with zeros, nan, inf and no gradient."""
    return drawn(stormy())[1]


# -- a run -------------------------------------------------------------------------------------------------------------


def test_loss_and_norm_are_drawn_as_they_were_logged(plain):
    _, axes = plain
    assert data(axes["loss"].lines[0]) == [(n, 4.0 / n) for n in range(1, 7)]
    assert data(axes["norm"].lines[0]) == [(n, 2.0 * n) for n in range(1, 7)]
    assert (axes["loss"].get_yscale(), axes["norm"].get_yscale()) == ("linear", "log")
    assert axes["loss"].get_xlim() == axes["heat"].get_xlim() == axes["ratio"].get_xlim() == (0.5, 6.5)


def test_the_heat_map_has_blocks_from_the_input_down_and_steps_across(plain):
    _, axes = plain
    mesh = axes["heat"].collections[0]
    shown = mesh.get_array()
    assert shown.shape == (5, 6)
    assert shown[2].tolist() == pytest.approx(np.log10(0.01 * np.arange(1, 7)).tolist())
    assert np.ma.getmaskarray(shown)[[1, 4]].all()
    assert rows(axes["heat"]) == ["tokens", "positions  [1]", "blocks.0", "blocks.1", "head"]
    assert axes["heat"].get_ylim() == (4.5, -0.5)  # the first row is at the top
    assert axes["heat"].patch.get_hatch()
    assert {"no gradient", "no weights of its own"} <= set(texts(axes["heat"]))
    assert (mesh.norm.vmin, mesh.norm.vmax) == (pytest.approx(-3.0), pytest.approx(np.log10(6)))
    assert mesh.get_rasterized()


def test_zero_and_what_is_not_finite_have_colours_of_their_own_and_are_told(storm):
    mesh = storm["heat"].collections[0]
    rgba = mesh.to_rgba(mesh.get_array())
    colours = {name: [tuple(np.round(c, 3)) for c in rgba[BLOCKS.index(name)]] for name in BLOCKS}
    hexed = {paper.module("colors").to_hex(c) for c in (colours["blocks.0"][3], *colours["blocks.1"][7:])}
    assert hexed == {LIGHT.zero, LIGHT.odd}
    assert {c[3] for c in colours["positions"]} == {0}  # the hatch shows through
    legend = [text.get_text() for text in storm["heat"].get_legend().get_texts()]
    assert legend == ["exactly 0", "nan or inf (from ×)", "no gradient"]
    marks = [c for c in storm["heat"].collections if c is not mesh]
    assert [c.get_offsets().tolist() for c in marks] == [[[8.0, 3.0]]]
    assert "nan or inf" in texts(storm["loss"])
    assert {"nan or inf", "0"} <= set(texts(storm["norm"]))


@pytest.mark.parametrize("theme", paper.THEMES)
def test_the_maps_colours_rise_in_lightness_below_that_of_zero(storm, theme):
    grey = storm["heat"].collections[0].cmap(np.linspace(0, 1, 256))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(grey) >= 0).all()
    assert grey[-1] - grey[0] > 0.6
    zero = np.array(paper.module("colors").to_rgb(paper.theme_of(theme).zero)) @ [0.2126, 0.7152, 0.0722]
    assert zero > grey.max() + 0.05


@pytest.mark.parametrize("quantity", ["output", "ratio", "zeros", "nonfinite"])
def test_other_quantities(quantity):
    _, axes = drawn(usual(), quantity)
    shown = axes["heat"].collections[0].get_array()
    expected = {"output": 0.0, "ratio": -3.0, "zeros": 0.25}
    if quantity in expected:
        assert shown[0, 0] == pytest.approx(expected[quantity])
    else:
        assert (shown < -100).all()  # none: the colour of 0
    assert ("exactly 0" in texts(axes["heat"])) == (quantity in ("ratio", "nonfinite"))


def test_a_row_for_each_parameter():
    _, axes = drawn(usual(), level="parameters")
    assert rows(axes["heat"]) == ["tokens.weight", "positions.weight  [1]", "blocks.0.weight", "blocks.1.weight"]
    assert axes["heat"].collections[0].get_array().shape == (4, 6)
    assert "by parameter" in axes["heat"].get_title(loc="left")


def test_ratios_are_named_at_their_ends_and_what_never_moved_is_said(plain):
    _, axes = plain
    lines = axes["ratio"].lines
    assert [data(line)[0][1] for line in lines] == pytest.approx([1e-3, 1e-3 / 3, 1e-3 / 4])
    assert {"tokens", "blocks.0", "blocks.1"} <= set(texts(axes["ratio"]))
    assert axes["ratio"].get_title(loc="left").endswith("by block (log); never moved: positions")
    assert len({str(line._dash_pattern) for line in lines}) == 3  # not by colour alone


def test_findings_are_numbered_and_marked_in_both_curves():
    more = [UNREACHED, {**UNREACHED, "step": 5, "check": "other", "text": "a $long$ line " * 20}]
    figure, axes = drawn([*usual(), *more])
    for name in ("loss", "norm"):
        assert {"1", "2"} <= set(texts(axes[name]))
        vertical = [line.get_xdata()[0] for line in axes[name].lines if len(set(line.get_xdata())) == 1]
        assert vertical == [3, 5]
    told = [text.get_text() for text in figure.texts]
    assert "[1]  step 3: no gradient has reached positions.weight in 3 steps" in told
    assert told[-1].startswith("[2]  step 5: a $long$ line")
    assert max(map(len, told[-1].split("\n"))) <= 128
    assert not any(text.get_parse_math() for text in figure.texts)


def test_a_block_without_weights_of_its_own_is_not_called_one_without_gradient():
    tied = ("tokens", "head")
    _, axes = drawn([header(tied), step(1, tied)])
    assert axes["heat"].get_legend() is None
    assert "no weights of its own" in texts(axes["heat"])
    assert not axes["ratio"].get_title(loc="left").endswith("head")


def test_many_findings_are_counted():
    many = [{**UNREACHED, "step": n % 6 + 1, "text": f"finding {n}"} for n in range(40)]
    figure, axes = drawn([*usual(), *many])
    assert rows(axes["heat"])[1] == "positions  [1, 2, 3, …]"
    assert figure.texts[-1].get_text() == "and 21 more in the log"


def test_a_healthy_run_says_so():
    figure, _ = drawn([header(), step(1), step(2)])
    assert figure.texts[-1].get_text() == "The monitor found nothing."


def test_one_step_is_a_point():
    _, axes = drawn([header(), step(1)])
    assert data(axes["loss"].lines[0]) == [(1, 4)]
    assert axes["loss"].lines[0].get_marker() == "o"


def test_a_run_without_steps_says_so():
    figure, axes = drawn([header(), UNREACHED])
    assert not axes
    assert "no step has been recorded" in texts(figure)
    assert any("positions.weight" in text for text in texts(figure))


def test_a_loss_that_was_not_recorded_is_not_called_nan():
    _, axes = drawn([header(), *(step(n, loss=None) for n in range(1, 4))])
    assert "not recorded" in texts(axes["loss"])
    assert "nan or inf" not in texts(axes["loss"])


def test_a_long_run_is_thinned_and_the_axis_says_how():
    records = [header(("a",)), *(step(n, ("a",), norm=1000.0 if n == 1700 else 2.0) for n in range(1, 3001))]
    _, axes = drawn(records)
    assert axes["heat"].collections[0].get_array().shape == (1, 600)
    assert axes["heat"].get_xlabel() == "step (each column of pixels: the median of 5 steps)"
    assert max(y for _, y in data(axes["norm"].lines[0])) == 2.0
    assert axes["norm"].collections[0].get_paths()[0].vertices[:, 1].max() == 1000.0  # the band has the spike


def test_steps_that_are_no_neighbours_keep_their_places():
    _, axes = drawn([header(), *({**step(1), "step": n} for n in (10, 20, 50))])
    edges = axes["heat"].collections[0].get_coordinates()[0, :, 0]
    assert edges.tolist() == [9.5, 15.0, 35.0, 50.5]


def test_names_of_many_rows_are_thinned_and_those_with_findings_kept():
    assert chosen_rows(600, 1.0, [301]) == sorted({301, 0, 599, *range(13, 287, 13), *range(325, 586, 13)})
    assert chosen_rows(5, 20.0, []) == [0, 1, 2, 3, 4]
    assert chosen_rows(1, 90.0, [0]) == [0]


def test_names_of_any_kind_are_drawn_as_they_are(tmp_path):
    names = ("a$b$_{", "x\ny", "deep." * 20 + "w", "日本語の層" * 6, "")
    _, axes = drawn([header(names), step(1, names)])
    assert rows(axes["heat"])[:2] == ["a$b$_{", "x y"]
    assert all(len(name) <= 34 for name in rows(axes["heat"]))
    viz.draw_run([header(names), step(1, names)], tmp_path / "run.png")


@pytest.mark.parametrize("size", [5e-324, 1.7e308])
def test_the_largest_and_the_smallest_numbers_are_drawn(tmp_path, size):
    odd = step(2, loss=size, norm=size, tokens=numbers(size, size))
    viz.draw_run([header(), step(1), odd, step(3)], tmp_path / "run.png")


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"), [("r.png", b"\x89PNG"), ("r.svg", b"<?xml"), ("r.pdf", b"%PDF"), ("new/r.PNG", b"\x89PNG")]
)
def test_files_of_each_kind_are_written(tmp_path, name, start):
    log = written(tmp_path / "run.jsonl", stormy())
    assert viz.draw_run(log, tmp_path / name, theme="dark") == tmp_path / name
    assert (tmp_path / name).read_bytes().startswith(start)


def test_what_is_wrong_is_said_and_the_old_file_kept(tmp_path):
    target = tmp_path / "run.png"
    target.write_text("old")
    for arguments, told in [
        ({"quantity": "size"}, "there is no quantity 'size'"),
        ({"level": "layers"}, "there is no level 'layers'"),
        ({"quantity": "output", "level": "parameters"}, "parameters have no quantity 'output'"),
        ({"theme": "blue"}, "there is no theme 'blue': take light or dark"),
        ({"names": ["token"]}, "the run has no block 'token': did you mean tokens?"),
    ]:
        with pytest.raises(UserError, match=told):
            viz.draw_run(usual(), target, **arguments)
    with pytest.raises(UserError, match=r"end it in \.png, \.svg or \.pdf"):
        viz.draw_run(usual(), tmp_path / "run.gif")
    assert [path.name for path in tmp_path.iterdir()] == ["run.png"]
    assert target.read_text() == "old"


def test_some_rows_only(tmp_path):
    assert viz.draw_run(usual(), tmp_path / "run.svg", names=["head", "tokens"]).exists()


def test_a_missing_matplotlib_is_said_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UserError, match=r"matplotlib, which is not installed: pip install 'plusequals\[train\]'"):
        viz.draw_run(usual(), tmp_path / "run.png")


def test_nothing_of_matplotlib_is_changed_or_loaded_before_it_is_needed(tmp_path):
    script = (
        "import sys, viz\n"
        "assert 'matplotlib' not in sys.modules\n"
        "viz.read_run('run.jsonl')\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import matplotlib\n"
        "before = matplotlib.rcParams.copy()\n"
        "viz.draw_run('run.jsonl', 'run.png')\n"
        "viz.draw_runs({'a': [3.0, 2.0]}, 'runs.png')\n"
        "assert matplotlib.rcParams.copy() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    written(tmp_path / "run.jsonl", usual())
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=True, timeout=60)


# -- places ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heights", "gap", "top", "expected"),
    [
        ([], 10, 100, []),
        ([50], 10, 100, [50]),
        ([10, 50, 90], 10, 100, [10, 50, 90]),
        ([50, 50], 10, 100, [45, 55]),
        ([-5, 130], 10, 100, [0, 100]),
        ([52, 50, 51], 10, 100, [61, 41, 51]),
        ([99, 100], 10, 100, [90, 100]),
        ([1, 1, 1], 60, 100, [0, 50, 100]),
    ],
)
def test_names_are_moved_apart_no_farther_than_they_must(heights, gap, top, expected):
    assert spread(heights, gap, top) == pytest.approx(expected)
