"""examples/depth.py: the source's figures, one stack, clipping, files, and what it says of bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import depth
from depth_lab import printed, summary, waiting
from depth_lab.curves import usual
from depth_lab.initialisation import WEIGHTS
from depth_lab.seeds import over_seeds
from depth_lab.source import SETTINGS
from depth_lab.stack import ACTIVATIONS, Stack, measured
from depth_lab.words import sentences, size

SMALL = ("--layers", "4", "--seeds", "2")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The status, stdout and stderr of the script, run in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def script(*given: str) -> tuple[int, str, str]:
        status = depth.main(given)
        return status, *capsys.readouterr()

    return script


def complaint(run: Run, *given: str) -> str:
    """The one line that is said of input that cannot be used."""
    status, out, err = run(*given)
    assert (status, out) == (2, "")
    assert err.startswith("depth.py: ")
    assert err.count("\n") == 1
    return err


@pytest.fixture(scope="module")
def table() -> tuple[dict, str]:
    """The source's settings as data and as text, with two seeds whose figures lie on both sides of the source's."""
    seeds = (3, 5)
    data = summary.of_settings(SETTINGS, over_seeds([s.stack for s in SETTINGS], seeds), seeds, None)
    return data, printed.settings(data)


def in_one_line(text: str) -> str:
    return " ".join(text.split())


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_sources_figures_are_within_our_range(table):
    figures = [(s["source"], s["first_over_last"]["inputs"]) for s in table[0]["settings"] if s["source"] is not None]
    assert [source for source, _ in figures] == [7e-9, 1e-17, 7700, 992]
    for source, found in figures:
        assert found["least"] <= source <= found["most"]
        assert found["median"] == pytest.approx((found["least"] + found["most"]) / 2)
    assert "Of the source's 4 figures, 4 lie between our least and most at the layers' inputs" in in_one_line(table[1])


def test_with_residual_connections_the_first_layer_never_gets_less(table):
    residual = [s for s in table[0]["settings"] if s["stack"]["residual"]]
    assert [(s["stack"]["layers"], s["stack"]["scale"]) for s in residual] == [(30, 0.5), (60, 0.5), (60, 2.0)]
    assert all(ratio >= 1 for s in residual for found in s["first_over_last"].values() for ratio in found["each"])
    least = min(s["first_over_last"]["inputs"]["least"] for s in residual)
    assert f"never received less than {size(least)} times what the last one's did" in in_one_line(table[1])


def test_where_the_gradient_vanishes_the_weights_gradients_are_alike_and_tiny(table):
    for setting in table[0]["settings"][:2]:
        assert 1 < setting["first_over_last"]["weights"]["least"] < setting["first_over_last"]["weights"]["most"] < 10
        assert setting["longest_weights"] < 1e-16


def test_the_table_has_a_row_for_each_place_of_each_stack(table):
    data, text = table
    rows = [re.split(r"\s{2,}", line.strip()) for line in text.split("\n\n")[0].splitlines()]
    assert rows[0][-4:] == ["median", "least", "most", "source"]
    assert len(rows) == 1 + 3 * len(data["settings"])
    found = data["settings"][2]["first_over_last"]
    inputs = [size(found["inputs"][name]) for name in ("median", "least", "most")]
    assert rows[7] == ["tanh, plain, 60 layers, scale 2:", "inputs", *inputs, "7,700"]
    assert rows[8][0] == "outputs"
    assert max(map(len, text.splitlines())) <= 100


def test_without_options_it_is_the_table(run, monkeypatch):
    small = [replace(s, stack=replace(s.stack, layers=3)) for s in SETTINGS]
    monkeypatch.setattr(depth, "SETTINGS", small)
    status, out, err = run("--seed", "7", "--seeds", "3", "--clip", "0.5", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["seeds"] == [7, 8, 9]
    for setting, ours in zip(small, found["settings"], strict=True):
        assert ours["source_says"] == setting.in_words
        each = [measured(replace(setting.stack, seed=seed)).at_outputs for seed in (7, 8, 9)]
        assert ours["first_over_last"]["outputs"]["each"] == each
    assert [(c["limit"], c["stack"]["seed"]) for c in found["clipping"]] == [(0.5, 7)] * 3
    assert "Of 3 seeds, 7 to 9; layers 256 wide" in run("--seed", "7", "--seeds", "3")[1]
    one = in_one_line(run("--seeds", "1")[1])
    assert "One seed has no range in which the source's figures could lie" in one
    assert "lie between" not in one


# -- clipping ----------------------------------------------------------------------------------------------------------


def test_clipping_shortens_the_exploding_gradient_and_leaves_the_other(table):
    vanished, exploded = table[0]["clipping"]
    assert (vanished["stack"]["scale"], exploded["stack"]["scale"]) == (0.5, 2.0)
    assert not vanished["changed"]
    assert vanished["before"] == vanished["after"]
    assert exploded["norm_before"] > 1000
    assert exploded["norm_after"] == pytest.approx(1, abs=1e-6)
    assert exploded["cosine"] == pytest.approx(1, abs=1e-14)
    assert exploded["most_factor"] == pytest.approx(exploded["least_factor"], rel=1e-14)
    ratios = [exploded[when][0] / exploded[when][-1] for when in ("before", "after")]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-12)
    assert "clipping cures no gradient that vanished" in table[1]
    assert "clipping shortens and never turns" in table[1]


def test_clipping_one_stack(run):
    stack = (*SMALL, "--scale", "3", "--clip")
    _, out, _ = run(*stack, "1e-3")
    ratio = size(measured(Stack(layers=4, scale=3.0)).at_weights)
    assert re.search(rf"^first over last +{ratio} +{ratio}$", out, re.MULTILINE)
    assert "the cosine between before and after is 1" in in_one_line(out)
    assert "below the limit" in run(*stack, "inf")[1]
    assert "take the step out" in run("--layers", "9", "--activation", "linear", "--scale", "1e200", "--clip", "1")[1]
    assert "of length 0" in run("--layers", "9", "--scale", "1e-300", "--clip", "1")[1]
    assert "is 0 in float64" in run(*stack, "1e-323")[1]
    assert "has lost digits in float64" in run(*stack, "1e-320")[1]


# -- one stack ---------------------------------------------------------------------------------------------------------


def test_one_stack_as_text(run):
    status, out, err = run("--layers", "25", "--residual", "--norm", "--activation", "gelu", "--seeds", "3")
    assert (status, err) == (0, "")
    stack = Stack(25, 0.5, residual=True, norm=True, activation="gelu")
    found = measured(stack)
    assert out.startswith("gelu, residual, pre-norm, 25 layers, scale 0.5; 256 wide, a batch of 8, float64\n")
    rows = [line.split() for line in out.split("\n\n")[2].splitlines()[1:]]
    assert [row[0] for row in rows] == ["1", "4", "6", "9", "12", "14", "17", "20", "22", "25"]
    for row in rows:
        at = int(row[0])
        numbers = found.signal[at - 1], found.states[at - 1], found.states[at], found.weights[at - 1]
        assert row[1:] == [size(x) for x in numbers]
    assert all(sentence in in_one_line(out) for sentence in sentences(stack, found))
    assert "(3 seeds, 0 to 2)" in out
    assert "clip" not in out


def test_one_stack_as_json(run):
    status, out, err = run(*SMALL, "--json", "--seed", "5", "--initialisation", "orthogonal", "-o", "page.html")
    assert (status, err) == (0, "")
    found = json.loads(out)
    runs = [measured(Stack(4, initialisation="orthogonal", seed=seed)) for seed in (5, 6)]
    assert found["seeds"] == [5, 6]
    assert found["stack"]["initialisation"] == "orthogonal"
    assert found["first_seed"]["states"] == runs[0].states.tolist()
    assert found["first_seed"]["weights"] == runs[0].weights.tolist()
    assert found["first_over_last"]["weights"]["each"] == [each.at_weights for each in runs]
    assert Path("page.html").exists()


@pytest.mark.parametrize("scale", ["1e200", "1e-300"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_numbers_that_float64_cannot_hold_are_said_in_words(run, activation, scale):
    """Warnings are errors here."""
    given = ("--layers", "9", "--seeds", "2", "--activation", activation, "--scale", scale)
    for more in ((), ("--residual",)):
        status, out, err = run(*given, *more)
        assert (status, err) == (0, "")
        assert more or re.search("outgrow float64|where float64 ends|nothing", in_one_line(out))
        json.loads(run(*given, *more, "--json")[1], parse_constant=pytest.fail)


@pytest.mark.parametrize("name", WEIGHTS)
def test_one_layer_and_every_initialisation(run, name):
    status, out, _ = run("--layers", "1", "--initialisation", name, "--seeds", "1")
    assert status == 0
    assert WEIGHTS[name] in out
    assert "(seed 0)" in out


# -- files -------------------------------------------------------------------------------------------------------------


def test_pictures(run, tmp_path):
    for name in ("light.png", "dark.png", "new folder/weights.svg"):
        theme = "dark" if "dark" in name else "light"
        at = "weights" if "weights" in name else "inputs"
        status, out, err = run(*SMALL, "--norm", "-o", name, "--theme", theme, "--at", at)
        assert (status, err) == (0, "")
        assert out.endswith(f"\npicture: {name}\n")
    assert (tmp_path / "light.png").read_bytes() != (tmp_path / "dark.png").read_bytes()
    drawn = (tmp_path / "new folder/weights.svg").read_text()
    assert "tanh, pre-norm, 4 layers, seed 0" in drawn
    assert "plain, scale 0.5" in drawn
    assert "residual, scale 0.5" in drawn


def test_the_picture_of_no_stack_is_of_the_usual_ones(run, monkeypatch):
    monkeypatch.setattr(depth, "SETTINGS", [replace(s, stack=replace(s.stack, layers=2)) for s in SETTINGS])
    monkeypatch.setattr(depth, "usual", lambda seed: [replace(stack, layers=3) for stack in usual(seed)])
    drawn = []
    monkeypatch.setattr(
        depth.viz, "draw_depth", lambda curves, path, **options: drawn.append((curves, options)) or path
    )
    assert run("--seed", "3", "--seeds", "1", "-o", "usual.svg")[0] == 0
    [(curves, options)] = drawn
    kinds = [f"{kind}, scale {scale}" for kind in ("plain", "residual") for scale in ("0.5", "1", "2")]
    assert list(curves) == kinds
    assert curves["residual, scale 2"].at_inputs == measured(Stack(3, 2.0, residual=True, seed=3)).at_inputs
    assert options == {"quantity": "inputs", "theme": "light", "title": "tanh, 3 layers, seed 3"}


def test_the_page_opens_with_the_stack(run, tmp_path):
    status, out, _ = run(*SMALL, "--scale", "1.5", "-o", "depth.html")
    assert status == 0
    assert out.endswith("\npage: depth.html\n")
    _, out, _ = run(*SMALL, "-o", "one.html", "-o", "other.svg")
    assert out.endswith("\npage: one.html\n\npicture: other.svg\n")
    assert {"one.html", "other.svg"} < {path.name for path in tmp_path.iterdir()}
    page = (tmp_path / "depth.html").read_text(encoding="utf-8")
    assert re.search(r'"layers":\s*4\b', page)
    assert re.search(r'"scale":\s*1.5\b', page)


def test_what_takes_long_says_so_on_stderr(run, monkeypatch):
    monkeypatch.setattr(waiting, "SECONDS", 0.0)
    status, out, err = run(*SMALL, "--json")
    assert status == 0
    json.loads(out)
    assert err == "depth.py: 1 of 2 stacks measured ...\n"


def test_as_a_program():
    command = [sys.executable, depth.__file__, "--layers", "2", "--seeds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "The first of 2 layers receives" in done.stdout


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--layers 0", "a stack has from 1 to 1,000 layers"),
        ("--layers -1", "a stack has from 1 to 1,000 layers"),
        ("--layers 100000", "(the weights and gradients of so many take 1 GB), got 100,000"),
        ("--layers 1e3", "argument --layers: invalid int value: '1e3'"),
        ("--scale nan", "a scale is a finite number above 0, got nan"),
        ("--scale inf", "a scale is a finite number above 0, got inf"),
        ("--scale 0", "a scale is a finite number above 0, got 0"),
        ("--scale -2", "a scale is a finite number above 0, got -2"),
        ("--scale two", "argument --scale: invalid float value: 'two'"),
        ("--activation sine", "there is no activation 'sine': take tanh, relu, gelu, linear"),
        ("--initialisation zero", "there is no initialisation 'zero': take normal, he"),
        ("--seeds 0", "--seeds is 0; it must be from 1 to 1,000"),
        ("--seeds 1000000", "--seeds is 1,000,000; it must be from 1 to 1,000"),
        ("--seed -1", "a seed is a whole number from 0"),
        ("--seed 4294967295", "the last of 10 seeds must be below 2**32"),
        ("--clip nan", "--clip is nan; a limit is a number above 0"),
        ("--clip 0", "--clip is 0; a limit is a number above 0"),
        ("-o depth.txt", "end the name in .html for the page, or .png, .svg or .pdf for a picture"),
        ("-o depth", "-o 'depth': end the name"),
        ("--at weights", "--at is for the picture: add -o"),
        ("--theme dark -o depth.html", "--theme is for the picture: add -o"),
        ("--at middle", "argument --at: invalid choice: 'middle'"),
        ("more", "unrecognized arguments: more"),
    ],
)
def test_bad_input_is_said_in_one_line(run, given, said, tmp_path):
    assert said in complaint(run, *given.split())
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written(run, tmp_path):
    (tmp_path / "a file").write_text("")
    (tmp_path / "folder.png").mkdir()
    for name, said in (("a file/depth.html", "is a file, not a folder"), ("folder.png", "it is a folder")):
        err = complaint(run, *SMALL, "-o", name)  # before any work
        assert name in err
        assert said in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a file", "folder.png"]


def test_a_picture_needs_matplotlib_and_says_so_first(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'plusequals[train]'" in complaint(run, *SMALL, "-o", "depth.png")
