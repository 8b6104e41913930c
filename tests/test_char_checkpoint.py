"""Checkpoints of the character model: a run that was stopped goes on to the same losses, and no bad file is taken."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorgrad

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from chars import checkpoint
from chars.logs import Log
from chars.settings import Settings
from chars.training import Result, train
from common.errors import Refused

TEXT = "".join(f"line {i} of {i * i}\n" for i in range(60))
STEPS = 12


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return Settings(text=str(path), steps=STEPS, batch=3, context=8, blocks=1, heads=2, width=16, warmup=3)


@pytest.fixture(scope="module")
def finished(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a finished run, not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    train(settings, folder=folder)
    return folder / "checkpoint.npz"


class Stop(Exception):
    """The end of a program that is killed between two steps."""


def stopped_after(last: int) -> Any:
    def on_step(step: int, loss: float, norm: float) -> None:
        if step == last:
            raise Stop

    return on_step


def stopped(settings: Settings, folder: Path, after: int, every: int) -> Path:
    """A run that was killed after a step, with a checkpoint every so many."""
    with pytest.raises(Stop):
        train(settings, folder=folder, every=every, on_step=stopped_after(after))
    return folder / "checkpoint.npz"


def same_run(one: Result, other: Result) -> None:
    assert one.losses == other.losses
    assert one.norms == other.norms
    assert one.held_out == other.held_out
    theirs = other.model.state_dict()
    assert all(np.array_equal(x.data, theirs[name].data) for name, x in one.model.state_dict().items())


def steps_in(log: Path) -> list[tuple[str, int]]:
    return [(line["kind"], line["step"]) for line in map(json.loads, log.read_text().splitlines())]


# -- going on ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"accumulate": 3},
        {"tied": False},
        {"dropout": 0.2},
        {"bug": "no-zero-grad"},
        {"bug": "detached-positions"},
    ],
    ids=str,
)
def test_goes_on_to_the_same_losses_bit_for_bit(settings: Settings, tmp_path: Path, changes: dict[str, Any]) -> None:
    settings = replace(settings, **changes)
    whole = train(settings, folder=tmp_path / "whole", every=4)
    path = stopped(settings, tmp_path / "parts", after=7, every=4)
    assert checkpoint.load(path).step == 4
    tensorgrad.manual_seed(999)  # another program
    again = train(settings, resume=path, every=4)
    same_run(again, whole)
    assert again.scores == whole.scores
    assert again.checkpoint == path


def test_the_logs_of_the_parts_are_one_log(settings: Settings, tmp_path: Path) -> None:
    path = stopped(settings, tmp_path, after=7, every=4)
    log = tmp_path / "log.jsonl"
    assert steps_in(log)[-1] == ("step", 7)
    with log.open("a") as file:
        file.write('{"kind": "st')  # a line that a killed program left half there
    train(settings, resume=path, every=4)
    expected = [("step", step) for step in range(1, STEPS + 1)]
    for step in (12, 8, 4):
        expected.insert(step, ("held_out", step))
    assert steps_in(log) == expected
    seconds = [line["seconds"] for line in map(json.loads, log.read_text().splitlines()) if "seconds" in line]
    assert seconds == sorted(seconds)


def test_a_finished_run_can_be_given_more_steps(settings: Settings, tmp_path: Path) -> None:
    short = train(settings, folder=tmp_path)
    same = train(settings, resume=short.checkpoint)
    same_run(same, short)
    longer = train(replace(settings, steps=STEPS + 2), resume=short.checkpoint)
    assert longer.losses[:STEPS] == short.losses
    assert len(longer.losses) == STEPS + 2
    with pytest.raises(Refused, match="14 steps on already, and --steps is 12"):
        train(settings, resume=longer.checkpoint)


def test_refuses_another_text_and_other_settings(settings: Settings, finished: Path, tmp_path: Path) -> None:
    path = finished
    other = tmp_path / "other.txt"
    other.write_text(TEXT.replace("of", "is"), encoding="utf-8")
    with pytest.raises(Refused, match=r"trained on another text: .*text\.txt.*other\.txt"):
        train(replace(settings, text=str(other)), resume=path)
    other.write_text(TEXT, encoding="utf-8")
    train(replace(settings, text=str(other)), resume=path, checkpoint=tmp_path / "on.npz")  # the same text elsewhere
    with pytest.raises(Refused, match="made with seed = 1, which cannot become 2"):
        train(replace(settings, seed=2), resume=path)


def test_a_new_run_does_not_take_the_place_of_another(settings: Settings, tmp_path: Path) -> None:
    train(settings, folder=tmp_path)
    before = (tmp_path / "checkpoint.npz").read_bytes(), (tmp_path / "log.jsonl").read_bytes()
    with pytest.raises(Refused, match=r"is there already: go on from it with --resume"):
        train(replace(settings, seed=2), folder=tmp_path)
    assert before == ((tmp_path / "checkpoint.npz").read_bytes(), (tmp_path / "log.jsonl").read_bytes())
    assert train(replace(settings, seed=2), folder=tmp_path, overwrite=True).settings.seed == 2


# -- the model alone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", [True, False])
def test_load_model_gives_the_trained_model(settings: Settings, tmp_path: Path, tied: bool) -> None:
    result = train(replace(settings, tied=tied), folder=tmp_path)
    model, vocabulary = checkpoint.load_model(tmp_path / "checkpoint.npz")
    assert vocabulary == result.corpus.vocabulary
    tokens = tensorgrad.tensor(result.corpus.encode("line 7")[None])
    assert np.array_equal(model(tokens).data, result.model(tokens).data)
    assert (model.head.weight is model.tokens.weight) is tied


# -- files that are no good --------------------------------------------------------------------------------------------


def one_line(error: pytest.ExceptionInfo[Refused], path: Path) -> str:
    text = str(error.value)
    assert repr(str(path)) in text
    assert "\n" not in text
    return text


def test_refuses_files_that_are_no_checkpoints(finished: Path, tmp_path: Path) -> None:
    content = finished.read_bytes()
    bad = tmp_path / "bad.npz"
    middle = len(content) // 2
    for damaged in (b"", b"no archive at all", content[:middle], content[:middle] + b"\xff" * 64 + content[middle:]):
        bad.write_bytes(damaged)
        with pytest.raises(Refused, match=r"damaged.*; take another one, or train anew") as error:
            checkpoint.load_model(bad)
        one_line(error, bad)
    with pytest.raises(Refused, match="there is no file") as error:
        checkpoint.load_model(tmp_path / "nowhere.npz")
    one_line(error, tmp_path / "nowhere.npz")
    with pytest.raises(Refused, match="is a folder"):
        checkpoint.load_model(tmp_path)
    with bad.open("wb") as file:
        np.savez(file, weight=np.ones(3))
    with pytest.raises(Refused, match="was not written by save"):
        checkpoint.load_model(bad)
    tensorgrad.save({"weight": tensorgrad.ones(3)}, bad)
    with pytest.raises(Refused, match="is no checkpoint of a character model") as error:
        checkpoint.load_model(bad)
    one_line(error, bad)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("settings", {"blocks": "many"}),
        ("settings", {"width": 8}),
        ("settings", {"unheard_of": 1}),
        ("vocabulary", "abc"),
        ("vocabulary", None),
        ("model", {}),
        ("model", None),
    ],
    ids=str,
)
def test_refuses_a_checkpoint_whose_parts_do_not_fit(
    settings: Settings, tmp_path: Path, field: str, value: Any
) -> None:
    path = train(settings, folder=tmp_path).checkpoint
    content = tensorgrad.load(path)
    content[field] = {**content[field], **value} if field == "settings" else value
    tensorgrad.save(content, path)
    with pytest.raises(Refused, match="is damaged, or of another version") as error:
        checkpoint.load_model(path)
    one_line(error, path)


@pytest.mark.parametrize("field", ["optimizer", "generators", "losses", "gradients", "step", "norms"])
def test_refuses_to_go_on_from_parts_that_do_not_fit(
    settings: Settings, finished: Path, tmp_path: Path, field: str
) -> None:
    content = tensorgrad.load(finished)
    content[field] = {"step": "x", "losses": [1.0], "norms": None}.get(field, {"head": 1})
    path = tmp_path / "changed.npz"
    tensorgrad.save(content, path)
    with pytest.raises(Refused, match="is damaged, or of another version"):
        train(settings, resume=path)


# -- disks -------------------------------------------------------------------------------------------------------------


def test_a_disk_that_is_full_leaves_the_old_checkpoint(settings: Settings, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the end of the disk: writing fails in the middle of the file."""
    path = stopped(settings, tmp_path, after=5, every=4)
    before = path.read_bytes()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, old[1]))
    try:
        with pytest.raises(Refused, match=r"cannot write the checkpoint .* is as it was") as error:
            train(settings, resume=path, every=4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    one_line(error, path)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir() if "unfinished" in p.name) == []
    same_run(train(settings, resume=path, every=4), train(settings, every=4))  # there is room again


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_first_step(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    steps: list[int] = []
    with pytest.raises(Refused, match="cannot write the checkpoint"):
        train(settings, folder=tmp_path / "file", on_step=lambda step, loss, norm: steps.append(step))
    assert steps == []


def test_a_log_on_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    log = Log(tmp_path / "log.jsonl")
    log.close()
    log._file = open("/dev/full", "w")  # noqa: SIM115
    with pytest.raises(Refused, match=r"cannot write the log .*No space left"):
        log.write({"step": 1})
    with pytest.raises(Refused, match="No space left"):
        log.close()


def test_where_the_log_cannot_go_on_the_run_is_saved_first(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(log: Log, line: dict[str, Any]) -> None:
        if line["step"] == 3:
            raise Refused("no space")

    monkeypatch.setattr(Log, "write", write)
    with pytest.raises(Refused, match="no space"):
        train(settings, folder=tmp_path)
    assert checkpoint.load(tmp_path / "checkpoint.npz").step == 3
