"""The picture of gradients along depth: what is drawn where, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

import viz
from viz.depth.decades import ticks
from viz.depth.result import Depth
from viz.errors import UserError
from viz.plots import paper


def depth(*norms: float | None, names: tuple[str, ...] | None = None) -> Depth:
    """The same norms at inputs, twice as large ones at outputs, none of weights."""
    doubled = tuple(None if x is None else 2 * x for x in norms)
    return Depth(names or tuple(f"net.blocks.{i}" for i in range(len(norms))), norms, doubled, (None,) * len(norms))


@pytest.fixture
def drawn(monkeypatch):
    """Draws, and gives the figure's only axes and all its texts."""
    monkeypatch.setattr(paper, "save", lambda figure, path: figure)

    def draw(curves, **options):
        figure = viz.draw_depth(curves, "depth.png", **options)
        figure.canvas.draw()
        (axes,) = figure.axes
        return axes, [text.get_text() for text in (*figure.texts, *axes.texts)]

    return draw


def test_lines_are_the_exponents_and_differ_without_colour(drawn):
    curves = {"deep": depth(1e-300, 1e-200, 1e-9), "shallow": depth(3.0, 2.0)}
    axes, texts = drawn(curves, title="Two stacks")
    deep, shallow = axes.lines
    np.testing.assert_allclose(deep.get_ydata(), [-300, -200, -9])
    np.testing.assert_allclose(shallow.get_ydata(), np.log10([3, 2]))
    assert list(deep.get_xdata()) == [1, 2, 3]
    assert deep.get_linestyle() != shallow.get_linestyle()
    assert "Two stacks" in texts
    assert {"deep  first : last = 1e-291", "shallow  first : last = 1.5"} <= set(texts)
    axes, texts = drawn(depth(5e3, 1.0), quantity="outputs")
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.log10([1e4, 2]))
    assert "first : last = 5,000" in texts


@pytest.mark.parametrize(
    ("first", "shown"), [(8.04e-18, "8e-18"), (0.2612, "0.261"), (10.49, "10.5"), (962.4, "962"), (8654, "8,650")]
)
def test_the_ratio_has_the_digits_of_the_depth_labs_table(drawn, first, shown):
    assert f"first : last = {shown}" in drawn(depth(first, 1.0))[1]


def test_what_has_no_logarithm_has_a_mark_and_is_counted(drawn):
    axes, texts = drawn({"odd": depth(1.0, 0.0, None, math.inf, math.nan, 2.0, 0.0)})
    np.testing.assert_array_equal(np.isfinite(axes.lines[0].get_ydata()), [True, *[False] * 4, True, False])
    marks = [sorted(x for x, _ in c.get_offsets()) for c in axes.collections]
    assert marks == [[1, 6], [2, 7], [4], [5]]
    assert {"odd: 0", "odd: inf", "odd: nan"} <= set(texts)
    counted = " ".join(next(text for text in texts if "backward pass" in text).split())
    assert counted.endswith(
        "odd: 0 (at the foot) at 2 blocks, inf (at the top) at 1 block, nan (at the top) at 1 block, "
        "none (a gap) at 1 block."
    )
    low, high = axes.get_ylim()
    assert low < 0 < math.log10(2) < high  # no line lies on the marks
    axes, texts = drawn(depth(0.0, 0.0), quantity="weights")
    assert any("none (a gap) at 2 blocks" in text for text in texts)


def test_blocks_have_names_where_all_curves_have_the_same(drawn):
    def labels(curves):
        axes, _ = drawn(curves)
        return axes.get_xlabel(), [label.get_text() for label in axes.get_xticklabels()]

    assert labels(depth(1.0, 2.0)) == ("net.blocks, from the input to the output", ["0", "1"])
    long = depth(*[1.0] * 40, names=tuple(f"a part with a very long name {i}" for i in range(40)))
    what, names = labels(long)
    assert what == "blocks, from the input to the output"
    assert 2 <= len(names) <= 6
    assert names[0].endswith("long name 0")
    what, names = labels({"a": depth(1.0, 2.0), "b": depth(*[1.0] * 1000)})
    assert {"200", "1,000"} <= set(names)


def test_the_axis_has_round_powers_of_ten():
    assert [text for _, text in ticks(-0.5, 0.5)] == ["0.5", "1", "2"]
    assert [text for _, text in ticks(-18.2, 0.3)] == ["1e−15", "1e−10", "1e−5", "1"]
    assert [text for _, text in ticks(2.9, 5.2)] == ["1,000", "3,000", "10,000", "30,000", "100,000"]
    for span in (0.4, 1, 2, 5, 30, 600):
        assert 1 <= len(ticks(-span / 3, 2 * span / 3)) <= 8


@pytest.mark.parametrize("theme", paper.THEMES)
def test_the_widest_range_and_odd_names_can_be_drawn(tmp_path, theme):
    curves = {"$x$\n": depth(1e-320, 1e300), "\x00": depth(1.0, 2.0), "l" * 50: depth(1.0), "l" * 60: depth(2.0)}
    path = viz.draw_depth(curves, tmp_path / "a.svg", theme=theme)
    assert path == tmp_path / "a.svg"
    assert path.read_text().count(f"{'l' * 35}…  first : last = 1 ") == 2
    assert [found.name for found in tmp_path.iterdir()] == ["a.svg"]


def test_a_title_is_one_line(drawn):
    _, texts = drawn(depth(1.0), title="one\ntwo " + "long " * 100)
    (title,) = (text for text in texts if text.startswith("one"))
    assert title.startswith("one two long long")
    assert len(title) == 105


def test_bad_input_writes_nothing(tmp_path):
    path = tmp_path / "depth.png"
    one = depth(1.0)
    for curves, options, told in [
        (3, {}, "draw_depth takes what viz.depth returns, or several such by name, got a int"),
        ({"a": [1.0]}, {}, "'a' is a list"),
        ({}, {}, "draw_depth takes 1 to 24 curves, got 0"),
        ({str(i): one for i in range(25)}, {}, "got 25"),
        (Depth((), (), (), ()), {}, "there is nothing to draw: no blocks"),
        (one, {"quantity": "input"}, "there is no quantity 'input': take inputs, outputs, weights"),
        (one, {"theme": "blue"}, "there is no theme 'blue'"),
    ]:
        with pytest.raises(UserError, match=told):
            viz.draw_depth(curves, path, **options)
    with pytest.raises(UserError, match=r"end it in \.png, \.svg or \.pdf"):
        viz.draw_depth(one, tmp_path / "depth.gif")
    assert not list(tmp_path.iterdir())
