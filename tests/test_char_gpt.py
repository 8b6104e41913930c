"""The character model's training: the loop, its four mistakes, accumulation, the command line, early ends."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.models import GPT

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import char_gpt
from chars import progress
from chars.checkpoint import load
from chars.corpus import Corpus
from chars.run import Run
from chars.settings import BUGS, Settings
from chars.training import Batches, backward, build_model, build_optimizer, train
from common.errors import Refused

EXAMPLES = Path(char_gpt.__file__).parent
TEXT = "".join(f"line {i} of {i * i}\n" for i in range(60))
TINY = ("--blocks=1", "--heads=2", "--width=16", "--context=8", "--batch=3", "--warmup=3")


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a text in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    return "text.txt"


@pytest.fixture
def settings(text: str) -> Settings:
    return Settings(text=text, steps=8, batch=3, context=8, blocks=1, heads=2, width=16, warmup=3)


def gradients(model: GPT) -> dict[str, np.ndarray]:
    return {name: p._grad for name, p in model.named_parameters() if p._grad is not None}


# -- settings ----------------------------------------------------------------------------------------------------------


def test_the_rate_rises_in_a_line_and_stays() -> None:
    settings = Settings(learning_rate=1e-3)
    assert settings.rate(1) == pytest.approx(1e-5)
    assert settings.rate(50) == pytest.approx(0.5e-3)
    assert settings.rate(100) == settings.rate(1000) == 1e-3
    assert replace(settings, warmup=0).rate(1) == 1e-3
    assert replace(settings, warmup=2000).rate(1000) == pytest.approx(0.5e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "--steps is 0"),
        ({"batch": 1.5}, "--batch is 1.5"),
        ({"learning_rate": math.nan}, "--learning-rate is nan"),
        ({"clip": -1.0}, "--clip is -1.0"),
        ({"heads": 3}, "3 heads cannot share a width of 128"),
        ({"bug": "typo"}, "--bug typo: there is none"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        Settings(**changes)


def test_matrices_decay_and_vectors_do_not(settings: Settings) -> None:
    optimizer = build_optimizer(build_model(settings, 10), settings)
    matrices, vectors = optimizer.param_groups
    assert {p.ndim for p in matrices["params"]} == {2}
    assert {p.ndim for p in vectors["params"]} == {1}
    assert (matrices["weight_decay"], vectors["weight_decay"]) == (0.1, 0.0)


# -- batches and their gradient ----------------------------------------------------------------------------------------


def test_targets_are_the_characters_that_follow(settings: Settings) -> None:
    corpus = Corpus(TEXT)
    tokens = corpus.encode(corpus.train)
    for inputs, targets in Batches(tokens, replace(settings, accumulate=2)).draw():
        assert inputs.shape == targets.shape == (3, 8)
        for row, following in zip(inputs.data, targets.data, strict=True):
            assert np.array_equal(row[1:], following[:-1])
            assert corpus.decode([*row, following[-1]]) in corpus.train


def parts(tokens: Tensor, targets: Tensor, sizes: list[int]) -> list[tuple[Tensor, Tensor]]:
    return list(zip(tokens.split(sizes), targets.split(sizes), strict=True))


@pytest.mark.parametrize("sizes", [[1] * 40, [20, 20], [1, 2, 37]], ids=["40 of 1", "2 of 20", "unequal"])
def test_micro_batches_add_up_to_the_gradient_of_one_big_batch(settings: Settings, sizes: list[int]) -> None:
    """Also where they have different sizes, for which the mean of the means is another number."""
    corpus = Corpus(TEXT)
    model = build_model(settings, len(corpus.vocabulary)).double()
    [(tokens, targets)] = Batches(corpus.encode(corpus.train), replace(settings, batch=40)).draw()
    whole = backward(model, [(tokens, targets)])
    expected = gradients(model)
    for p in model.parameters():
        p.grad = None
    assert backward(model, parts(tokens, targets, sizes)) == pytest.approx(whole, rel=1e-12)
    found = gradients(model)
    assert found.keys() == expected.keys()
    assert all(np.allclose(found[name], expected[name], rtol=1e-10, atol=1e-14) for name in expected)


def test_a_run_with_micro_batches_is_the_run_with_large_batches(settings: Settings) -> None:
    large = train(replace(settings, batch=12), monitor=False)
    small = train(replace(settings, batch=3, accumulate=4), monitor=False)
    assert small.losses == pytest.approx(large.losses, rel=1e-5)
    assert small.norms == pytest.approx(large.norms, rel=1e-4)
    assert small.held_out == pytest.approx(large.held_out, rel=1e-5)


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_run_learns_and_is_repeatable(settings: Settings) -> None:
    seen: list[tuple[int, float, float]] = []
    settings = replace(settings, steps=60, learning_rate=1e-2)
    one = train(settings, on_step=lambda *step: seen.append(step))
    two = train(settings, monitor=False)  # the monitor changes nothing
    assert one.losses == two.losses
    assert one.held_out == two.held_out
    assert one.losses[0] == pytest.approx(one.corpus.uniform, abs=0.1)
    assert one.held_out < one.corpus.letter_frequencies
    assert one.findings == []
    assert seen == list(zip(range(1, 61), one.losses, one.norms, strict=True))
    assert one.checkpoint is None


def test_each_bug_does_what_it_says(settings: Settings) -> None:
    """Told from the gradient of one batch."""
    corpus = Corpus(TEXT)
    batch = Batches(corpus.encode(corpus.train), settings).draw()
    found = {}
    for bug in BUGS:
        tensorgrad.manual_seed(1)
        model = build_model(replace(settings, bug=bug), len(corpus.vocabulary))
        loss = backward(model, batch, bug)
        found[bug] = loss, gradients(model)
    loss, right = found["none"]
    assert found["loss-times-40"][0] == loss  # what is logged is nats a character
    assert np.allclose(found["loss-times-40"][1]["norm.weight"], 40 * right["norm.weight"], rtol=1e-5)
    assert "positions.weight" in right
    assert "positions.weight" not in found["detached-positions"][1]
    assert found["detached-positions"][0] == loss
    assert found["unshifted"][0] < loss  # with tied weights a character is its own likeliest successor at first


def test_gradients_that_are_not_cleared_pile_up_and_clipping_hides_most_of_it(settings: Settings) -> None:
    settings = replace(settings, steps=20)
    cleared = train(settings, monitor=False)
    uncleared = train(replace(settings, bug="no-zero-grad", clip=math.inf), monitor=False)
    clipped = train(replace(settings, bug="no-zero-grad"), monitor=False)
    assert gradients(cleared.model) == {}
    assert all(np.any(g) for g in gradients(uncleared.model).values())
    assert clipped.losses[:2] == cleared.losses[:2]  # the first update is right
    assert clipped.losses[2:] != cleared.losses[2:]
    assert uncleared.norms[0] == cleared.norms[0]
    assert uncleared.norms[-1] > 5 * max(cleared.norms)
    assert max(clipped.norms) <= settings.clip + max(cleared.norms) + 0.1


@pytest.mark.parametrize(
    ("bug", "check"), list(zip(BUGS, ("", "uncleared", "copied", "scaled", "unreached"), strict=True)), ids=BUGS
)
def test_the_monitor_names_each_bug_and_its_finding_is_kept(settings: Settings, bug: str, check: str) -> None:
    result = train(replace(settings, bug=bug, steps=20), folder="run")
    assert [found["check"] for found in result.findings] == ([check] if check else [])
    path = Path("run", "checkpoint.npz")
    assert load(path).findings == result.findings
    again = train(replace(settings, bug=bug, steps=22), resume=path)
    assert again.findings == result.findings
    lines = [json.loads(line) for line in Path("run", "monitor.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "step"] == list(range(1, 23))


def test_a_loss_that_is_not_finite_stops_the_run_and_the_last_checkpoint_stays(settings: Settings) -> None:
    wild = replace(settings, steps=20, warmup=0, learning_rate=1e30, clip=1e30)
    with pytest.raises(Refused, match=r"step 2: the loss is nan, so the run has stopped; .* after step 0") as error:
        train(wild, folder="run")
    assert "\n" not in str(error.value)
    assert load("run/checkpoint.npz").step == 0
    last = json.loads(Path("run/log.jsonl").read_text().splitlines()[-1])
    assert (last["step"], last["loss"]) == (2, "nan")


@pytest.mark.parametrize(("rate", "what"), [(1e30, "the score of the held-out text is nan"), (1e300, "is not finite")])
def test_weights_from_which_nothing_can_go_on_take_no_checkpoints_place(
    settings: Settings, rate: float, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rate > 1e38:  # as where Ctrl-C comes: a checkpoint without a score before it
        monkeypatch.setattr(Run, "_score", lambda run: None)
    wild = replace(settings, steps=1, warmup=0, learning_rate=rate)
    with pytest.raises(Refused, match=rf"after step 1: .*{what}.*; 'run/checkpoint.npz' holds .* after step 0"):
        train(wild, folder="run", monitor=False)
    assert load("run/checkpoint.npz").step == 0


def test_a_folder_of_its_own_leaves_the_checkpoint_that_is_resumed_as_it_was(settings: Settings) -> None:
    train(replace(settings, steps=3), folder="run")
    before = Path("run/checkpoint.npz").read_bytes()
    result = train(settings, folder="other", resume="run/checkpoint.npz")
    assert result.checkpoint == Path("other/checkpoint.npz")
    assert (load("other/checkpoint.npz").step, Path("run/checkpoint.npz").read_bytes()) == (settings.steps, before)
    again = train(replace(settings, steps=9), folder=Path("other").absolute(), resume="other/checkpoint.npz")
    assert load("other/checkpoint.npz").step == len(again.losses) == 9


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_stream_that_is_closed_does_not_end_a_run(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, name, None)
    assert char_gpt.main([*TINY, "--text", text, "--steps=5", "--folder=run", "--sample=0"]) == 0
    assert load("run/checkpoint.npz").step > 0


class Full(io.TextIOWrapper):
    """A stream on a full disk."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_stderr_that_cannot_be_written_to_does_not_end_a_run(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Full())
    run = [*TINY, f"--text={text}", "--steps=5", "--folder=run", "--bug=unshifted", "--sample=0"]
    assert char_gpt.main(run) == 0
    assert load("run/checkpoint.npz").findings
    assert char_gpt.main(run) == 2  # "is there already" cannot be said


def test_the_log_has_a_line_for_each_step(settings: Settings) -> None:
    result = train(settings, folder="run", every=4)
    lines = [json.loads(line) for line in Path("run/log.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["kind"] == "step"]
    assert [line["loss"] for line in steps] == result.losses
    assert [line["norm"] for line in steps] == result.norms
    assert [line["lr"] for line in steps] == [settings.rate(step) for step in range(1, 9)]
    assert [line["tokens"] for line in steps] == [24 * step for step in range(1, 9)]
    scores = [[line["step"], line["nats"]] for line in lines if line["kind"] == "held_out"]
    assert scores == result.scores
    assert scores[-1] == [8, result.held_out]


# -- the bar -----------------------------------------------------------------------------------------------------------


class Terminal:
    """A stand-in for stderr in a terminal."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.shown = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.shown += text
        return len(text)

    def flush(self) -> None:
        pass


def test_the_bar_shows_loss_norm_and_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = progress.Progress(3)
    bar.step(1, 2.5, 1.25, 9876.0)
    bar.say("a line above")
    bar.close()
    for part in ("loss=2.500", "norm=1.25", "tokens/s=9,876", "1/3", "a line above\n"):
        assert part in terminal.shown


def test_without_tqdm_there_are_lines_and_one_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    bar = progress.Progress(100)
    for step in range(1, 101):
        bar.step(step, 2.5, 1.25, 9876.0)
    lines = terminal.shown.splitlines()
    assert "pip install 'plusequals[train]'" in lines[0]
    assert lines[1] == "step 1 of 100: loss 2.500, norm 1.25, tokens/s 9,876"
    assert len(lines) == 22


# -- the command line --------------------------------------------------------------------------------------------------


def test_the_summary(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert char_gpt.main(["--text", text, "--steps=5", "--sample=40", *TINY]) == 0
    out, err = capsys.readouterr()
    summary, sample = out.split("\n\n", 1)
    titles = "text model run training held-out for monitor checkpoint".split()
    assert [line.split()[0] for line in summary.splitlines()] == titles
    assert "text.txt: 904 characters, 18 distinct" in summary
    assert "monitor         found nothing" in summary
    assert len(sample.removesuffix("\n")) == 40
    assert "step 5 of 5: loss" in err
    assert sorted(os.listdir("runs/char-gpt")) == ["checkpoint.npz", "log.jsonl", "monitor.jsonl"]


def test_json_is_one_object_on_stdout_and_runs_find_a_free_folder(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--text", text, "--bug=unshifted", "--steps=51", "--json", "--sample=3", *TINY]
    assert char_gpt.main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["bug"] == "unshifted"
    assert found["losses"].keys() == {"1", "50", "last"}
    assert found["losses"]["last"] < found["losses"]["1"]
    assert found["checkpoint"] == "runs/char-gpt-unshifted/checkpoint.npz"
    assert [finding["check"] for finding in found["findings"]] == ["copied"]
    assert 0 < found["letter_frequencies"] < found["uniform"]
    assert char_gpt.free_folder("unshifted") == Path("runs/char-gpt-unshifted-2")
    resume = ["--resume", found["checkpoint"], "--json", "--sample=3"]
    assert char_gpt.main(resume) == 0
    again = json.loads(capsys.readouterr().out)
    assert {**again, "seconds": 0} == {**found, "seconds": 0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--text nowhere.txt", "there is no file 'nowhere.txt'"),
        ("--text .", "'.' is a folder"),
        ("--text=", "the path of the text is empty"),
        ("--text empty", "'empty' is empty"),
        ("--text binary", "byte 1 is 0xff"),
        ("--text one", "only the character 'a'"),
        ("--text text.txt --context 5000", "are too few for a context of 5000: 5557 are needed"),
        ("--text text.txt --folder text.txt", "cannot write the checkpoint 'text.txt/checkpoint.npz'"),
        ("--text text.txt --checkpoint run.bin", "the suffix of 'run.bin' names no format"),
        ("--resume text.txt", "cannot read the checkpoint 'text.txt'"),
        ("--resume nowhere.npz", "there is no file 'nowhere.npz'"),
        ("--steps many", "argument --steps: invalid int value: 'many'"),
        ("--every 0", "--every is 0"),
        ("--sample -1", "--sample is -1"),
        ("--sample 100000000000000000000", "--sample is 100000000000000000000"),
        ("--text text.txt --seed 18446744073709551616", "--seed is 1.845e+19; it must be below 2**64"),
        ("--text text.txt --width 100000000000 --heads 1", "there is not enough memory for this: Unable to allocate"),
        ("--bug typo", "invalid choice: 'typo'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    text: str, arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").write_bytes(b"")
    Path("binary").write_bytes(b"a\xff")
    Path("one").write_bytes(b"a" * 100)
    before = sorted(os.listdir())
    tiny = [] if "--resume" in arguments else [t for t in TINY if t.split("=")[0] not in arguments]
    assert char_gpt.main([*arguments.split(), *tiny, "--steps=1"][: 2 if "--steps" in arguments else None]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("char_gpt.py: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(os.listdir()) == before


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


SLOW = """\
import sys, time
sys.path.insert(0, {examples!r})
import char_gpt, chars.signals, chars.training

right = chars.signals.Signals._note

def step(*arguments):
    print("in a step", flush=True)
    time.sleep(60)

def note(self, *arguments):
    right(self, *arguments)
    print("noted", flush=True)

chars.training.backward = step
chars.signals.Signals._note = note
sys.exit(char_gpt.main(["--resume", "run/checkpoint.npz"]))
"""


def started(folder: Path, *more: str) -> subprocess.Popen[str]:
    """A run without end in a program of its own, after its first steps."""
    command = [
        sys.executable,
        str(EXAMPLES / "char_gpt.py"),
        "--text=text.txt",
        "--folder=run",
        "--steps=100000",
        *TINY,
    ]
    program = subprocess.Popen([*command, *more], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    log = folder / "run" / "log.jsonl"
    until = time.monotonic() + 60
    while not (log.exists() and log.read_text().count("\n") > 5):
        assert program.poll() is None, program.stderr and program.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.02)
    return program


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_after_a_step_and_a_checkpoint(text: str, tmp_path: Path, number: int) -> None:
    program = started(tmp_path)
    program.send_signal(number)
    out, err = program.communicate(timeout=60)
    assert program.returncode == 128 + number
    assert out == ""
    assert "Traceback" not in err
    kept = load(tmp_path / "run" / "checkpoint.npz")
    last = err.splitlines()[-1]
    assert last.startswith(f"char_gpt.py: interrupted after step {kept.step}; ")
    assert last.endswith("--resume run/checkpoint.npz")
    steps = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in steps if line["kind"] == "step"] == kept.losses


def test_a_second_ctrl_c_stops_at_once(text: str, tmp_path: Path) -> None:
    """While the first is still being answered, in a step that takes a minute."""
    program = started(tmp_path)
    program.kill()
    program.communicate()
    kept = (tmp_path / "run" / "checkpoint.npz").read_bytes()
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW.format(examples=str(EXAMPLES)), encoding="utf-8")
    command = [sys.executable, str(slow)]
    program = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    for said in ("in a step", "noted"):
        assert program.stdout.readline() == f"{said}\n"
        program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=20)
    assert program.returncode == 130
    assert err.splitlines()[-1] == "char_gpt.py: stopped at once; every file that was written before is whole"
    assert (tmp_path / "run" / "checkpoint.npz").read_bytes() == kept
