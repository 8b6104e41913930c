"""The benchmarks' arithmetic, on a clock that only the contenders move."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "benchmarks"))

import racing


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
