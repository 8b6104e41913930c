"""Losses of several runs in one picture, by what is drawn in it."""

from __future__ import annotations

import numpy as np
import pytest
from run_logs import data, header, step, texts, written

import viz
from viz.errors import UserError
from viz.plots import paper
from viz.training import curves


@pytest.fixture
def figures(monkeypatch):
    """The figures that draw_runs would write."""
    kept = []
    monkeypatch.setattr(paper, "save", lambda figure, path: kept.append(figure) or path)
    return kept


def test_a_panel_for_each_run_beside_the_first(figures):
    losses = {"correct": [4.0, 2.0, 1.0], "too good": [4.0, 0.1, 0.001], "worse": [4.0, 3.0, 3.0]}
    viz.draw_runs(losses, "runs.png", baselines={"uniform": 4.6}, title="Three")
    axes = figures[0].axes
    assert [panel.get_title(loc="left") for panel in axes] == list(losses)
    for panel, values in zip(axes, losses.values(), strict=True):
        assert data(panel.lines[-1]) == list(enumerate(values, 1))
        assert "uniform 4.60" in texts(panel)
        assert f"{values[-1]:.3g}" in texts(panel)
    assert [data(panel.lines[1]) == list(enumerate(losses["correct"], 1)) for panel in axes[1:]] == [True, True]
    assert [panel.get_yscale() for panel in axes] == ["linear", "log", "linear"]
    assert [panel.get_ylabel() for panel in axes[:2]] == ["loss, nats", "loss, nats (log)"]
    assert figures[0].texts[0].get_text() == "Three"
    assert "Dashed: correct." in figures[0].texts[-1].get_text()


def test_all_in_one_panel_with_names_at_the_ends_and_dashes(figures):
    losses = {f"run {i}": [3.0, 1.0 + i / 100] for i in range(7)}
    viz.draw_runs(losses, "runs.png", together=True, baselines={"letters": 3.25}, scale="log")
    [panel] = figures[0].axes
    assert {f"{1 + i / 100:.3g}  run {i}" for i in range(7)} <= set(texts(panel))
    named = [line for line in panel.lines if line.get_label() in losses]
    assert len({(line.get_color(), str(line._dash_pattern)) for line in named}) == 7
    assert len({str(line._dash_pattern) for line in named}) == 6
    assert panel.get_yscale() == "log"


def test_curves_are_means_around_each_step():
    curve = curves.curve_of("a", [1.0, 2.0, 6.0, np.nan, 2.0], 3)
    assert curve.smooth.tolist() == pytest.approx([1.5, 3.0, 4.0, np.nan, 2.0], nan_ok=True)
    assert curves.curve_of("a", np.ones(1000)).window == 19  # a fiftieth, and odd
    spike = curves.curve_of("a", [1.0, 1e30, 1.0, 1.0, 1.0], 3)
    assert spike.smooth.tolist()[3:] == [1.0, 1.0]  # nothing of it is left where it is out of reach
    assert curves.curve_of("a", [1.0, 2.0], 99).smooth.tolist() == [1.5, 1.5]


def test_losses_may_come_from_logs(tmp_path, figures):
    log = written(tmp_path / "run.jsonl", [header(), *({**step(1), "step": n} for n in (10, 20))])
    viz.draw_runs({"log": log, "run": viz.read_run(log)}, "runs.png")
    assert [data(panel.lines[-1]) for panel in figures[0].axes] == [[(10, 4), (20, 4)]] * 2


def test_nan_empty_and_single_losses_are_drawn_and_said(figures):
    viz.draw_runs({"nan": [3.0, 2.0, np.nan], "none": [], "one": [2.0], "inf": [np.inf]}, "runs.png")
    found = [set(texts(panel)) for panel in figures[0].axes]
    assert "× nan from step 3" in found[0]
    assert "2" in found[0]
    assert "no steps" in found[1]
    assert "2" in found[2]
    assert "× inf from step 1" in found[3]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (({}, "a.png"), "draw_runs takes 1 to 24 runs, got 0"),
        (({"a": [1.0]}, "a.jpg"), "end it in .png, .svg or .pdf"),
        (({"a": ["x"]}, "a.png"), "the losses of 'a' are no list of numbers"),
        (({"a": [[1.0]]}, "a.png"), "the losses of 'a' have shape (1, 1)"),
    ],
)
def test_what_are_no_runs_is_refused(arguments, told):
    with pytest.raises(UserError) as error:
        viz.draw_runs(*arguments)
    assert told in str(error.value)


def test_options_that_there_are_not_are_refused():
    with pytest.raises(UserError, match="there is no scale 'square'"):
        viz.draw_runs({"a": [1.0]}, "a.png", scale="square")
    with pytest.raises(UserError, match="smooth=0"):
        viz.draw_runs({"a": [1.0]}, "a.png", smooth=0)


@pytest.mark.parametrize("size", [5e-324, 1.7e308])
def test_the_largest_and_the_smallest_numbers_are_drawn(tmp_path, size):
    viz.draw_runs({"a": [1.0, size, -size]}, tmp_path / "runs.png")
    assert (tmp_path / "runs.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"smooth": "x"}, "smooth='x' is no number of steps"),
        ({"smooth": 1.5}, "smooth=1.5 is no number of steps"),
        ({"baselines": [1]}, "baselines are levels by name, got a list"),
        ({"baselines": {"a": "x"}}, "the baseline 'a' is no number"),
    ],
)
def test_options_of_another_kind_are_refused(tmp_path, options, told):
    with pytest.raises(UserError, match=told):
        viz.draw_runs({"a": [1.0, 2.0]}, tmp_path / "runs.png", **options)
    with pytest.raises(UserError, match="losses by the run's name, got a list"):
        viz.draw_runs([1.0, 2.0], tmp_path / "runs.png")


def test_names_that_cannot_be_shown_and_numbers_that_are_far_apart_are_drawn(tmp_path):
    odd = "a\ud800\x1b$x$"
    losses = {odd: [1e-320] * 5, "b": [1e300]}
    assert viz.draw_runs(losses, tmp_path / "runs.png", title=odd, baselines={odd: 1}).stat().st_size
