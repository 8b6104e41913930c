"""The example that makes the five runs: what it tells of them, that finished runs are kept, and bad input."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from conftest import missing

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import silent_bugs
from chars import five_runs as five
from chars.corpus import Corpus
from chars.five_runs import RUNS, Finished, five_runs
from chars.five_table import as_dict, as_markdown, loss_at, seen_in_curve
from chars.settings import BUGS, Settings
from common.errors import Refused

EXAMPLES = Path(silent_bugs.__file__).parent
TEXT = "".join(f"line {i} of {i * i}\n" for i in range(120))
TINY = ["--blocks", "1", "--heads", "2", "--width", "16", "--context", "8", "--batch", "3", "--warmup", "3"]
STEPS = 12


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def options(text: Path, tmp_path: Path) -> list[str]:
    return ["--text", str(text), "--steps", str(STEPS), "--folder", str(tmp_path / "five"), *TINY]


@pytest.fixture
def settings(text: Path) -> Settings:
    return Settings(text=str(text), steps=STEPS, batch=3, context=8, blocks=1, heads=2, width=16, warmup=3)


def finished(name: str, end: float, held_out: float, *findings: dict[str, Any]) -> Finished:
    """A run of 1,000 steps whose loss falls, or rises, in a line from 4 to `end` by step 990."""
    losses = [4 + (end - 4) * min(step / 990, 1) for step in range(1, 1001)]
    return Finished(name, losses, held_out, list(findings), 60.0)


def source_like() -> list[Finished]:
    """Runs that end as the source's did."""
    found = {"step": 3, "check": "uncleared", "names": [], "text": "the gradients were\nnot cleared"}
    return [
        finished("none", 1.7, 1.74),
        finished("no-zero-grad", 2.0, 2.1, found),
        finished("no-zero-grad-unclipped", 7.37, 7.4, found, {**found, "step": 9}),
        finished("unshifted", 0.001, 10.7),
        finished("loss-times-40", 1.7, 1.735),
        finished("detached-positions", 1.9, 1.95),
    ]


# --- what is told


def test_a_training_loss_is_the_mean_of_the_ten_steps_up_to_there() -> None:
    losses = [float(step) for step in range(1, 61)]
    assert loss_at(losses, 50) == 45.5
    assert loss_at(losses, 5) == 3.0
    assert loss_at(losses[:49], 50) is None


@pytest.mark.parametrize(
    ("end", "seen"),
    [
        (1.74, ""),
        (1.95, ""),
        (7.37, "rises from 4.00 to 7.37"),
        (3.6, "no better than letter frequencies"),
        (0.001, "too good"),
        (math.nan, "not finite"),
    ],
)
def test_what_the_training_curve_alone_shows(end: float, seen: str) -> None:
    assert seen_in_curve([4.0] * 20 + [end] * 10, 3.25) == seen


def test_a_loss_that_rises_and_comes_back_is_seen_too() -> None:
    """As without clipping and clearing here, where the learning rate falls to the end; a single bad batch is not."""
    losses = [4.6] * 10 + [3.4] * 40 + [4.4] * 300 + [3.2] * 50
    assert seen_in_curve(losses, 3.25) == "rises from 3.40 to 4.40"
    assert seen_in_curve([4.0] * 10 + [2.0] * 40 + [5.0] + [2.0] * 49, 3.25) == ""


def test_the_sources_runs_are_told_as_the_source_tells_them() -> None:
    """Two of the four bugs are seen in the curve, where nothing is clipped."""
    content = as_dict(source_like(), Corpus(TEXT, "lines"), Settings(), cores=2)
    assert [run["seen_in_curve"] for run in content["runs"]] == [
        "",
        "",
        "rises from 4.02 to 7.37",
        "too good",
        "",
        "",
    ]
    table = as_markdown(content, Settings())
    lines = table.splitlines()
    assert len({line.count("|") for line in lines[:10]}) == 1  # a table
    assert "4.66 held out" in lines[2]  # ln 106
    assert lines[4].startswith("| correct | 3.")
    assert "| 1.700 | 1.740 | 1.74 held out | no | nothing |" in lines[4]
    assert lines[5].endswith("2.000 | 2.100 |  | no | uncleared (step 3) |")
    assert "3.37 at step 50, 7.37 at the end | yes: rises from 4.02 to 7.37 | uncleared (step 3)" in lines[6]
    assert "| 0.001 | 10.700 | 0.001 at the end, 10.7 held out | yes: too good" in lines[7]
    assert "1.735 held out | no" in lines[8]
    assert "1.95 held out | no" in lines[9]
    assert "took 6.0 min together, on 2 cores" in table
    assert "Loss times 40: -0.3 % beside the correct run (source: -0.3 %)" in table
    assert "Positions detached: +12.1 % beside the correct run (source: +12.1 %)" in table
    assert "- gradients not cleared, step 3: the gradients were not cleared\n" in table  # one line each


def test_short_runs_tell_nothing_by_their_curve() -> None:
    runs = [replace(run, losses=[4.6] * 5) for run in source_like()]
    table = as_markdown(as_dict(runs, Corpus(TEXT, "lines"), Settings(), cores=1), Settings())
    assert table.count("too early to tell") == 6
    assert "| correct |  | 4.600 |" in table  # no loss at step 50


# --- the runs


def test_every_bug_is_made() -> None:
    assert {changes.get("bug", name) for name, changes in RUNS.items()} == set(BUGS)


def test_the_example_writes_table_json_and_picture(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_spec("matplotlib") is None:
        missing("matplotlib is not installed")
    assert silent_bugs.main([*options, "--json"]) == 0
    out = capsys.readouterr().out
    content = json.loads(out)
    assert [run["run"] for run in content["runs"]] == list(RUNS)
    scores = {run["run"]: run["held_out"] for run in content["runs"]}
    assert all(2.0 < score < 4.0 for score in scores.values())
    assert scores["loss-times-40"] == pytest.approx(scores["none"], abs=0.01)  # AdamW takes the factor out
    assert len(set(scores.values())) == 6  # but all runs differ
    folder = tmp_path / "five"
    assert json.loads((folder / "silent_bugs.json").read_text(encoding="utf-8")) == content
    assert (folder / "silent_bugs.md").read_text(encoding="utf-8").count("\n| ") == 9
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")

    # the same again, from the folder: nothing is trained
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(five, "train", None)
        assert silent_bugs.main([*options, "--json", "-o", str(tmp_path / "other.svg")]) == 0
        same = json.loads(capsys.readouterr().out)
        for run, other in zip(same["runs"], content["runs"], strict=True):
            assert {**run, "seconds": None} == {**other, "seconds": None}
        assert (tmp_path / "other.svg").is_file()

        # where nothing can draw the picture, the table comes first
        patch.setitem(sys.modules, "matplotlib.figure", None)
        patch.setattr(silent_bugs, "find_spec", lambda name: None)
        (folder / "silent_bugs.md").unlink()
        assert silent_bugs.main(options) == 2
    out, err = capsys.readouterr()
    assert out == (folder / "silent_bugs.md").read_text(encoding="utf-8")
    assert "no curves will be drawn" in err.splitlines()[0]  # before the minutes that the runs take
    assert "plusequals[train]" in err.splitlines()[-1]


class Killed(Exception):
    """The end of a program between two runs or steps."""


def test_an_interrupted_run_goes_on_to_the_same_losses(settings: Settings, tmp_path: Path) -> None:
    corpus = Corpus(TEXT, "lines")
    whole = list(five_runs(settings, corpus, tmp_path / "whole"))
    started: list[str] = []

    def say(line: str) -> None:
        started.append(line)
        if "run 3" in line:
            raise Killed

    with pytest.raises(Killed):
        list(five_runs(settings, corpus, tmp_path / "parts", say=say))
    real = five.train

    def interrupted(given: Settings, **arguments: Any) -> Any:
        """The third run, killed after its first checkpoint, which stands for step 0."""

        def on_step(step: int, loss: float, norm: float) -> None:
            if step == 5:
                raise Killed

        return real(given, **arguments, on_step=on_step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(five, "train", interrupted)
        with pytest.raises(Killed):
            list(five_runs(settings, corpus, tmp_path / "parts"))
    lines: list[str] = []
    runs = list(five_runs(settings, corpus, tmp_path / "parts", say=lines.append))
    assert [line.split(", ")[-1] for line in lines] == ["is there"] * 2 + ["goes on after step 0"] + ["starts"] * 3
    for run, other in zip(runs, whole, strict=True):
        assert (run.name, run.losses, run.held_out) == (other.name, other.losses, other.held_out)
        assert [found["check"] for found in run.findings] == [found["check"] for found in other.findings]


def test_runs_of_other_settings_or_another_text_are_not_taken_for_these(settings: Settings, tmp_path: Path) -> None:
    settings = replace(settings, steps=2)
    corpus = Corpus(TEXT, "lines")
    next(five_runs(settings, corpus, tmp_path))
    for other in ({"steps": 3}, {"width": 32}, {"seed": 5}):
        [(name, value)] = other.items()
        with pytest.raises(Refused, match=f"is a run with {name} = .*, not {value}: replace it with --again"):
            next(five_runs(replace(settings, **other), corpus, tmp_path))
    with pytest.raises(Refused, match="is a run on another text"):
        next(five_runs(settings, Corpus(TEXT + "more", "more"), tmp_path))
    again = next(five_runs(replace(settings, steps=3), corpus, tmp_path, again=True))
    assert len(again.losses) == 3


def test_ctrl_c_says_how_to_go_on(options: list[str], tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "silent_bugs.py"), *options, "--steps", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("step "):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("silent_bugs.py: interrupted after step ")
    assert "to go on: python examples/silent_bugs.py --text " in last
    assert "Traceback" not in err
    assert (tmp_path / "five" / "none" / "checkpoint.npz").is_file()


# --- bad input: one line, status 2, and nothing is written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", "nothing.txt"], "there is no file 'nothing.txt'"),
        (["--steps", "0"], "--steps is 0"),
        (["--steps", "many"], "argument --steps: invalid int value: 'many'"),
        (["--heads", "3"], "3 heads cannot share a width of 16"),
        (["--context", "5000"], "too few for a context of 5000"),
        (["-o", "curves.gif"], "a picture's name ends in .png, .svg, .pdf"),
        (["--bug", "none"], "unrecognized arguments"),
        (["--folder", "text.txt"], "text.txt"),
    ],
)
def test_bad_input_is_one_line(
    options: list[str],
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert silent_bugs.main([*options, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("silent_bugs.py: ")
    assert message in last
    assert os.listdir(tmp_path) == ["text.txt"]
