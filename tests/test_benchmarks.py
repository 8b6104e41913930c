"""The benchmarks' arithmetic, on a clock that only the contenders move; and that contenders compute the same thing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import missing, require_torch

sys.path.append(str(Path(__file__).parent / "benchmarks"))

import agreement
import gpt_sizes
import racing
import run
import serving
import tensor_checkpoint
import tensor_gpt
import tensor_indexing
import tensor_mlp
from by_hand import adamw, tiles
from by_hand.rows import add_rows

import tensorgrad

CLOSE = 1e-5
"""Largest difference of gradients in float32, relative to the largest of an array."""


class Clock:
    """Stands still unless somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, *seconds: float) -> Callable[[], None]:
        """A function whose calls take that long, the last of them again and again."""
        left = list(seconds)

        def call() -> None:
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return call


def test_a_turn_has_as_many_calls_as_fill_it() -> None:
    clock = Clock()
    found = racing.race("work", {"fast": clock.work(0.25), "slow": clock.work(2.0)}, 4, 1.0, clock)
    assert found.times == {"fast": [0.25] * 4, "slow": [2.0] * 4}
    assert clock.now == pytest.approx((1 + 1 + 5 + 4 * 5) * 0.25 + (1 + 1 + 4) * 2.0)  # warm, found, and 4 turns


def test_the_first_call_is_not_counted() -> None:
    clock = Clock()
    found = racing.race("work", {"lazy": clock.work(100.0, 2.0)}, 2, 1.0, clock)
    assert found.times["lazy"] == [2.0, 2.0]


def test_contenders_take_turns_in_changing_order() -> None:
    said: list[str] = []
    clock = Clock()

    def contender(who: str) -> Callable[[], None]:
        work = clock.work(1.0)

        def call() -> None:
            said.append(who)
            work()

        return call

    racing.race("work", {who: contender(who) for who in "abc"}, 8, 1.0, clock)
    turns = ["".join(said[start : start + 3]) for start in range(6, 30, 3)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(set(turns)) > 2


def test_a_ratio_is_taken_within_each_turn() -> None:
    # the machine is busy in the second turn, which slows both; the ratio of the medians would be 4
    found = racing.Race("work", {"a": [2.0, 20.0, 20.0], "b": [1.0, 10.0, 5.0]})
    assert found.ratio("a", "b") == (2.0, 2.0, 3.0)
    assert found.median("a") == 20.0


def test_whoever_cannot_run_is_told() -> None:
    clock = Clock()
    found = racing.race("work", {"a": clock.work(1.0), "b": "no compiler"}, 1, 1.0, clock)
    assert "| work | b | cannot run: no compiler |  |" in racing.table([found], to="a")
    with pytest.raises(KeyError, match="no compiler"):
        found.median("b")
    with pytest.raises(KeyError, match="no contender 'c'; there are a"):
        found.ratio("c", "a")


def test_phases_are_timed_one_by_one() -> None:
    clock = Clock()
    runner = racing.Runner([clock.work(0.25), clock.work(1.0)], clock, warm=0.1)
    assert runner.calls(3.0) == 3
    before = clock.now
    assert runner.turn(11) == [0.25, 1.0]
    assert clock.now - before == (2 + 11) * 1.25  # a tenth of the calls runs before
    found = racing.raced("work", {"a": runner}, {"b": "no compiler"}, 2, 3.0)
    assert found.times == {"a": [1.25, 1.25]}
    assert racing.phases_table(found, ("forward", "backward", "clip")) == [
        "| medians | forward | backward |",
        "| --- | ---: | ---: |",
        "| a | 250 ms | 1.00 s |",
    ]


def test_a_turn_ends_when_threads_sleep() -> None:
    cores, slept = iter([2.0, 1.0, 0.5, 0.05, 2.0]), []
    used = Clock()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        used.now += next(cores) * seconds

    serving.rest(used, sleep)
    assert slept == [serving.REST] * 4
    busy = Clock()
    serving.rest(busy, lambda seconds: busy.work(seconds)())  # never sleeps: there is an end
    assert busy.now == pytest.approx(serving.RESTS * serving.REST)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_the_exponent_of_growth(power: float) -> None:
    clock = Clock()
    found = racing.growth("work", [1, 2, 4, 8], lambda size: clock.work(size**power), 3, 1.0, clock)
    assert found.exponent() == pytest.approx((power,) * 3)
    assert racing.growth_table([found])[2] == (
        f"| work | 1.00 s | {2**power:.2f} s | {racing.digits(4**power)} s | {racing.digits(8**power)} s | "
        f"{power:.2f} ({power:.2f}-{power:.2f}) |"
    )


def test_processes_print_seconds() -> None:
    say = [sys.executable, "-S", "-c"]
    commands = {"number": [*say, "print('warm'); print(2.5)"], "list": [*say, "print([1, 2, 9])"]}
    found = racing.race_processes("work", commands, repeats=1)
    assert found.times == {"number": [2.5], "list": [2.0]}
    with pytest.raises(RuntimeError, match=r"'sad' gave no seconds \(exit code 1\)(.|\n)*no engine"):
        racing.race_processes("work", {"sad": [*say, "import sys; sys.exit('no engine')"]}, repeats=1)
    with pytest.raises(RuntimeError, match="'silent' gave no seconds"):
        racing.race_processes("work", {"silent": [*say, ""]}, repeats=1)


CONTENDERS = """
import os
from contender import Stepper

def plain():
    print("what a library prints is no answer")
    return lambda: [[1.0, 2.0], [os.getpid() * 0.0]]

def phased():
    return Stepper([lambda: None, lambda: None, lambda: None], lambda: {1: [0.0]}, lambda: [1.0, 2.0])

def missing():
    import no_such_library

RACE = {"plain": plain, "alike": plain, "missing": missing, "text": lambda: "no compiler"}
CONTENDERS = {
    "race": RACE,
    "phases": {"phased": phased},
    "differing": {"plain": plain, "other": lambda: lambda: [[1.0, 2.5], [0.0]]},
    "ending": {"plain": plain, "ends": lambda: lambda: os._exit(3)},
}
"""


def test_contenders_race_in_processes_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "trivial_contenders.py"
    file.write_text(CONTENDERS)
    found = serving.race(str(file), "race", ["plain", "alike", "missing", "text"], 3, seconds=1e-4)
    assert found.absent == {"missing": "no_such_library is not installed", "text": "no compiler"}
    assert {who: len(times) for who, times in found.times.items()} == {"plain": 3, "alike": 3}
    assert all(seconds > 0 for times in found.times.values() for seconds in times)
    with pytest.raises(ValueError, match=r"gradient 0, shape \(2,\): 'other' is 2.* from 'plain'"):
        serving.race(str(file), "differing", ["plain", "other"], 1, seconds=1e-4)
    with pytest.raises(RuntimeError, match="race 'ending', process of 'ends': ended with exit code 3"):
        serving.race(str(file), "ending", ["plain", "ends"], 1, seconds=1e-4)


def test_requests_are_answered_by_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    file, answers = tmp_path / "phased_contenders.py", io.StringIO()
    file.write_text(CONTENDERS)
    serving.serve(str(file), "phases", "phased", ['["sketch"]', '["calls", 1e-9]', '["turn", 2]'], answers)
    ready, sketch, calls, turn = map(json.loads, answers.getvalue().splitlines())
    assert ready is None
    assert sketch == {"loss, shape (2,)": [1.0, 2.0, 2.5**0.5], "1, shape (1,)": [0.0, 0.0]}
    assert calls >= 1
    assert len(turn) == 3


def test_peers_run_in_processes_that_have_not_imported_tensorgrad() -> None:
    """Which changes how the C library keeps freed memory, for a whole process."""
    code = (
        f"import sys; sys.path.insert(0, {str(run.FOLDER)!r})\n"
        "import tensor_checkpoint, tensor_gpt, tensor_gpt2, tensor_indexing, tensor_mlp, by_hand.contenders\n"
        "sys.exit(' '.join({'tensorgrad', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.345, "12.3 s"), (0.0999, "99.9 ms"), (1e-3, "1.00 ms"), (181e-6, "181 µs"), (4.2e-8, "42.0 ns")],
)
def test_durations_have_three_digits(seconds: float, text: str) -> None:
    assert racing.duration(seconds) == text


def test_targets_travel_in_reports() -> None:
    targets = [
        racing.Target("speed", (3.2, 3.0, 3.5), 3.0, least=True),
        racing.Target("cost", (1.4, 1.3, 1.5), 1.35, least=False),
    ]
    lines = ["# Head", *map(racing.target_line, targets), "words"]
    assert racing.targets_in(lines) == (["# Head", "words"], targets)
    assert racing.targets_table(targets)[2:] == [
        "| speed | at least 3 | 3.20 (3.00-3.50) | met |",
        "| cost | at most 1.35 | 1.40 (1.30-1.50) | **not met** |",
    ]


# -- contenders compute the same thing ---------------------------------------------------------------------------------

MLP_PEERS = [who for who in tensor_mlp.MAKERS if not who.startswith("tinygrad")]  # it compiles kernels for seconds


@pytest.mark.parametrize("who", MLP_PEERS)
def test_mlps_have_equal_gradients(who: str) -> None:
    step = able(tensor_mlp.make(who, tensor_mlp.TINY), who)
    step()  # a second one must not add to the first
    agreement.check({"ours": tensor_mlp.make("ours", tensor_mlp.TINY)(), who: step()}, CLOSE)


@pytest.mark.parametrize("what", list(tensor_indexing.MAKERS))
def test_tables_have_equal_gradients(what: str) -> None:
    require_torch()
    steps = {who: tensor_indexing.make(what, who, tensor_indexing.TINY) for who in tensor_indexing.MAKERS[what]}
    able_ones = {who: step for who, step in steps.items() if not isinstance(step, str)}
    assert set(able_ones) >= {"ours", "torch"}
    for step in able_ones.values():
        step()
    agreement.check({who: step() for who, step in able_ones.items()}, CLOSE)


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_rows_added_by_hand(rows: int) -> None:
    numbers = np.random.default_rng(rows).integers(0, rows, 100) ** 2 // rows  # some often, some never
    table, given = np.zeros((rows, 3)), np.random.default_rng(1).normal(size=(100, 3))
    expected = table.copy()
    np.add.at(expected, numbers, given)
    add_rows(table, numbers, given)
    np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12)


def test_adamw_by_hand() -> None:
    """With gradients as small as eps, a strong decay, and more numbers than are in a tile."""
    rng = np.random.default_rng(0)
    start, sent = rng.normal(size=(2, tiles.TILE + 5))
    sent *= 1e-6
    ours = tensorgrad.nn.Parameter(tensorgrad.tensor(start))
    its = tensorgrad.optim.AdamW([ours], lr=0.1, weight_decay=0.5)
    flat, gradient = start.copy(), sent.copy()
    mine = adamw.AdamW(flat, gradient, lr=0.1, weight_decay=0.5)
    for scale in (1.0, -0.01, 3.0):
        np.multiply(sent, scale, out=gradient)
        ours.grad = gradient.copy()
        its.step()
        mine.step()
    np.testing.assert_allclose(flat, ours.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_blocks_have_equal_gradients() -> None:
    require_torch()
    steps = {who: tensor_gpt.make(who, "block", gpt_sizes.TINY) for who in tensor_gpt.MAKERS}
    for step in steps.values():
        step()
    agreement.check({who: step() for who, step in steps.items()}, CLOSE)


@pytest.mark.parametrize("batch", [3, 1])
def test_gpts_learn_alike(batch: int) -> None:
    """Gradients of the first step, and losses after clipping and AdamW. A batch of one is cut otherwise by hand."""
    require_torch()
    size = gpt_sizes.Size(vocabulary=11, context=9, blocks=2, heads=2, width=8, batch=batch, tokens=8)
    steppers = {who: tensor_gpt.make(who, "whole_gpt", size) for who in tensor_gpt.MAKERS}
    agreement.check({who: one.results() for who, one in steppers.items()}, CLOSE)
    losses = {}
    for who, one in steppers.items():
        losses[who] = []
        for _ in range(4):
            one()
            losses[who].append(one.loss())
    agreement.check({who: [np.array(found)] for who, found in losses.items()}, CLOSE)
    assert losses["ours"][0] - losses["ours"][-1] > 0.005, losses


def test_checkpoints_change_no_bit() -> None:
    ways = {way: tensor_checkpoint.stepper(way, gpt_sizes.TINY) for way in tensor_checkpoint.WAYS}
    agreement.check({way: one.results() for way, one in ways.items()}, close=0)


def test_a_sketch_stands_for_an_array() -> None:
    a = np.random.default_rng(0).normal(size=(50, 40))
    few = agreement.sketch({"w": a})["w, shape (50, 40)"]
    assert len(few) == agreement.SAMPLE + 1
    assert few == agreement.sketch({"w": a.copy()})["w, shape (50, 40)"]
    a[0] = 9.0
    with pytest.raises(ValueError, match="gradient w"):
        agreement.check({"one": {"w": few}, "other": {"w": agreement.sketch([a])["0, shape (50, 40)"]}})


def test_a_disagreement_is_told() -> None:
    one, other = {"w": np.ones(3), "b": np.zeros(2)}, {"w": np.array([1, 1, 1.01]), "b": np.zeros(2)}
    with pytest.raises(ValueError, match=r"gradient w: 'b' is 1\.0e-02 from 'a', more than 0\.0001"):
        agreement.check({"a": one, "b": other})
    with pytest.raises(ValueError, match="'b' and 'a' have gradients of different things: b"):
        agreement.check({"a": one, "b": {"w": np.ones(3)}})
    with pytest.raises(ValueError, match=r"gradient 0: 'b' has shape \(3,\), 'a' \(1, 3\)"):
        agreement.check({"a": [np.ones((1, 3))], "b": [np.ones(3)]})
    with pytest.raises(ValueError, match="is nan from"):
        agreement.check({"a": [np.ones(1)], "b": [np.array([np.nan])]})


def able(step: Callable[[], object] | str, who: str) -> Callable[[], object]:
    """The step, or a skip that says why there is none; torch must be there where CI is set."""
    if isinstance(step, str):
        if who.startswith("torch"):
            missing(step)
        pytest.skip(step)
    return step


# -- the runner --------------------------------------------------------------------------------------------------------


def test_every_group_is_a_program() -> None:
    for group in run.GROUPS:
        text = (run.FOLDER / f"{group}.py").read_text()
        assert "def report(quick: bool) -> list[str]:" in text
        assert text.endswith('if __name__ == "__main__":\n    racing.alone(report)\n')


def test_a_run_gathers_targets_and_writes_once_it_is_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = racing.Target("speed", (2.0, 2.0, 2.0), 3.0, least=True)
    results = tmp_path / "RESULTS.md"
    monkeypatch.setattr(run, "RESULTS", results)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "machine", lambda: ["# Results", ""])
    monkeypatch.setattr(run, "run", lambda group, quick: [f"## {group}", "", "text", racing.target_line(target)])
    assert run.main(["growth"]) == 0
    assert run.main(["--quick"]) == 0
    assert not results.exists()
    assert run.main([]) == 0
    text = results.read_text()
    assert text.startswith("# Results\n\n## Targets\n\n| target")
    assert text.count("**not met**") == text.count("\ntext\n") == len(run.GROUPS)
    assert "<!--" not in text
    monkeypatch.setattr(run, "run", lambda group, quick: None)
    assert run.main([]) == 1
    printed = capsys.readouterr()
    assert "## growth\n\nFailed" in printed.out
    assert "growth; nothing is written" in printed.err
    assert results.read_text() == text
    with pytest.raises(SystemExit, match="2"):
        run.main(["grwth"])
    assert "no group 'grwth': there are scalar," in capsys.readouterr().err
