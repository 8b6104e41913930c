"""Times of several ways to do one thing, side by side: the harness that the benchmarks share.

Contenders take turns, so that a busy machine slows all of them, and what counts is the ratio within one turn. Every
turn has another order. `race` is for contenders that share a process, as sizes of one thing do; libraries that have
threads of their own race in processes of their own: `serving.py`.

A benchmark module is a *group*: it has a function `report(quick) -> list[str]` that returns lines of Markdown, and ends
with `if __name__ == "__main__": racing.alone(report)`.

The garbage collector is on, as in a user's program; what is left of one contender's turn is collected before the
next one's, outside of the time.
"""

from __future__ import annotations

import gc
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from statistics import fmean, median, quantiles
from typing import Protocol

THREADS = int(os.environ.get("OPENBLAS_NUM_THREADS", "2"))
"""Of every library. Set the variable to 1 for a look on a busy machine, where several threads wait for each other."""

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUM_CPU_THREADS",  # tinygrad's
)
SECONDS = 0.02
"""How long a turn takes at least: long enough that the clock's grain and a switch of process do not matter."""

Spread = tuple[float, float, float]
"""Median, lower quartile, upper quartile."""


# -- what was measured -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Race:
    """What one race gave.

    name    what was done
    times   seconds of one call in each turn, by contender
    absent  why a contender could not run, by contender
    phases  of `times`, the seconds of each phase of a call, in each turn, by contender; where they were taken
    """

    name: str
    times: dict[str, list[float]]
    absent: dict[str, str] = field(default_factory=dict)
    phases: dict[str, list[list[float]]] = field(default_factory=dict)

    def median(self, who: str) -> float:
        """Seconds of one call."""
        return median(self._of(who))

    def ratio(self, who: str, to: str) -> Spread:
        """How many times as long `who` takes as `to`: median of the ratios within each turn, and their quartiles."""
        return spread([a / b for a, b in zip(self._of(who), self._of(to), strict=True)])

    def _of(self, who: str) -> list[float]:
        if who in self.absent:
            raise KeyError(f"race {self.name!r}: {who!r} could not run: {self.absent[who]}")
        if who not in self.times:
            raise KeyError(f"race {self.name!r}: no contender {who!r}; there are {', '.join(self.times)}")
        return self.times[who]


@dataclass(frozen=True)
class Growth:
    """Times of one thing at several sizes.

    name   what was done
    times  seconds of one call in each turn, by size
    """

    name: str
    times: dict[int, list[float]]

    def median(self, size: int) -> float:
        """Seconds of one call at that size."""
        return median(self.times[size])

    def exponent(self) -> Spread:
        """The p for which the time grows as size ** p, and its quartiles over the turns: the slope of the least squares
        line through the logarithms of time over those of size."""
        sizes = list(self.times)
        return spread([slope(sizes, turn) for turn in zip(*self.times.values(), strict=True)])


@dataclass(frozen=True)
class Target:
    """A bound that a measured figure should keep.

    text      what is bounded, such as "tiny MLP: torch's time over ours"
    measured  the figure, with its quartiles
    limit     the bound
    least     whether the figure should be at least the bound; otherwise at most
    """

    text: str
    measured: Spread
    limit: float
    least: bool

    def met(self) -> bool:
        return self.measured[0] >= self.limit if self.least else self.measured[0] <= self.limit


def spread(figures: Iterable[float]) -> Spread:
    """Median and quartiles."""
    figures = list(figures)
    if len(figures) == 1:
        return (figures[0],) * 3
    low, middle, high = quantiles(figures, n=4, method="inclusive")
    return middle, low, high


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Of the least squares line through (log size, log seconds)."""
    xs, ys = [math.log(x) for x in sizes], [math.log(y) for y in seconds]
    x_mean, y_mean = fmean(xs), fmean(ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / sum((x - x_mean) ** 2 for x in xs)


# -- measuring ---------------------------------------------------------------------------------------------------------


def race(
    name: str,
    contenders: Mapping[str, Callable[[], object] | str],
    repeats: int = 15,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Race:
    """Let the contenders take turns in this process.

    contenders  what is called, by name; a text in place of a function says why that one cannot run
    repeats     turns of each
    seconds     what a turn takes at least; how many calls that are is found once for each, before the race
    """
    runners = {who: Runner([does], clock) for who, does in contenders.items() if not isinstance(does, str)}
    absent = {who: why for who, why in contenders.items() if isinstance(why, str)}
    with settled():
        return raced(name, runners, absent, repeats, seconds)


class Runs(Protocol):
    """What lets a contender run, in this process or in another one."""

    def calls(self, seconds: float) -> int:
        """How many calls take that long; the contender is warm after it."""

    def turn(self, calls: int) -> list[float]:
        """Seconds of each phase of a call, in a turn of so many."""


@dataclass(frozen=True)
class Runner:
    """Lets a contender run in this process.

    phases  functions that make up a call, in order
    warm    which part of a turn's calls runs before it, uncounted (rounded up): for a process that was idle
    """

    phases: Sequence[Callable[[], object]]
    clock: Callable[[], float] = time.perf_counter
    warm: float = 0

    def __call__(self) -> None:
        for phase in self.phases:
            phase()

    def calls(self, seconds: float) -> int:
        return calls_for(seconds, self, self.clock)

    def turn(self, calls: int) -> list[float]:
        gc.collect()
        for _ in range(math.ceil(self.warm * calls)):
            self()
        if len(self.phases) == 1:
            return [timed(self.phases[0], calls, self.clock) / calls]
        took = [0.0] * len(self.phases)
        for _ in range(calls):
            before = self.clock()
            for i, phase in enumerate(self.phases):
                phase()
                after = self.clock()
                took[i] += after - before
                before = after
        return [seconds / calls for seconds in took]


def raced(
    name: str,
    contenders: Mapping[str, Runs],
    absent: Mapping[str, str],
    repeats: int,
    seconds: float,
) -> Race:
    """Let them take turns; `absent` says why others cannot run."""
    calls = {who: one.calls(seconds) for who, one in contenders.items()}
    phases: dict[str, list[list[float]]] = {who: [] for who in contenders}
    for order in orders(contenders, repeats):
        for who in order:
            phases[who].append(contenders[who].turn(calls[who]))
    times = {who: [sum(turn) for turn in turns] for who, turns in phases.items()}
    return Race(name, times, dict(absent), phases)


def race_processes(
    name: str,
    commands: Mapping[str, Sequence[str]],
    repeats: int = 5,
    environment: Mapping[str, str] | None = None,
) -> Race:
    """Let commands take turns, each a process of its own, which measures itself and prints seconds as its last line: a
    JSON number, or a list, of which the median counts.

    environment  variables beside those of this process

    Raises RuntimeError, with what it wrote, for a command that fails or prints something else.
    """
    times: dict[str, list[float]] = {who: [] for who in commands}
    for order in orders(commands, repeats):
        for who in order:
            times[who].append(seconds_printed(who, list(commands[who]), environment or {}))
    return Race(name, times)


def growth(
    name: str,
    sizes: Sequence[int],
    make: Callable[[int], Callable[[], object]],
    repeats: int = 9,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Growth:
    """Let what `make` gives for each of the sizes take turns."""
    run = race(name, {str(size): make(size) for size in sizes}, repeats, seconds, clock)
    return Growth(name, {size: run.times[str(size)] for size in sizes})


@contextmanager
def settled():
    """What lives already is of no concern to the garbage collector, so that imports of one contender cost no other."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def orders(names: Iterable[str], repeats: int) -> Iterable[list[str]]:
    """The same shuffled orders in each run."""
    names, chance = list(names), random.Random(0)
    for _ in range(repeats):
        yield chance.sample(names, len(names))


def calls_for(seconds: float, function: Callable[[], object], clock: Callable[[], float]) -> int:
    """How many calls take that long; the function is warm after it. What a first call does once is not counted."""
    function()
    calls = 1
    while True:
        took = timed(function, calls, clock)
        if took >= seconds:
            return calls
        calls = max(calls + 1, min(10 * calls, math.ceil(1.1 * calls * seconds / took) if took > 0 else 10 * calls))


def timed(function: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    """Seconds of so many calls."""
    turns = range(calls)
    start = clock()
    for _ in turns:
        function()
    return clock() - start


def seconds_printed(who: str, command: list[str], environment: Mapping[str, str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    lines = done.stdout.strip().splitlines()
    try:
        if done.returncode:
            raise ValueError(f"exit code {done.returncode}")
        printed = json.loads(lines[-1] if lines else "")
        return float(median(printed) if isinstance(printed, list) else printed)
    except (ValueError, TypeError) as error:
        raise RuntimeError(
            f"the benchmark of {who!r} gave no seconds ({error}): {' '.join(command)}\n{done.stdout}{done.stderr}"
        ) from None


# -- Markdown ----------------------------------------------------------------------------------------------------------


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table; all columns but the first are aligned to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def table(races: Sequence[Race], to: str, tell: Mapping[str, str] | None = None) -> list[str]:
    """One line for each contender of each race: its time, and how many times as long as `to` it takes.

    tell  what is printed for a contender in place of its name
    """
    rows = []
    for found in races:
        for who in [*found.times, *found.absent]:
            named = (tell or {}).get(who, who)
            if who in found.absent:
                rows.append([found.name, named, f"cannot run: {found.absent[who]}", ""])
            elif to in found.times:
                rows.append([found.name, named, duration(found.median(who)), ratio_text(found.ratio(who, to))])
            else:
                rows.append([found.name, named, duration(found.median(who)), ""])
    return grid(["what", "by", "time", f"ratio to {(tell or {}).get(to, to)} (quartiles)"], rows)


def phases_table(found: Race, names: Sequence[str]) -> list[str]:
    """Medians of the phases, which have these names, or of as many as there are: one line for each contender."""
    rows = [[who, *(duration(median(one)) for one in zip(*turns, strict=True))] for who, turns in found.phases.items()]
    return grid(["medians", *names[: len(rows[0]) - 1]], rows)


def growth_table(found: Sequence[Growth]) -> list[str]:
    """One line for each thing that grows: its time at each of the sizes, which are the same for all, and the
    exponent."""
    sizes = list(found[0].times)
    rows = [
        [one.name, *(duration(one.median(size)) for size in one.times), ratio_text(one.exponent())] for one in found
    ]
    return grid(["what", *(f"size {size:,}" for size in sizes), "exponent (quartiles)"], rows)


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{digits(seconds * factor)} {unit}"
    return f"{digits(seconds * 1e9)} ns"


def digits(figure: float) -> str:
    """Three digits that count, without an exponent."""
    return f"{figure:,.0f}" if figure >= 99.95 else f"{figure:.1f}" if figure >= 9.995 else f"{figure:.2f}"


def ratio_text(found: Spread) -> str:
    middle, low, high = found
    return f"{digits(middle)} ({digits(low)}-{digits(high)})"


# -- groups and their targets ------------------------------------------------------------------------------------------

_TARGET = "<!-- target "


def target_line(target: Target) -> str:
    """A line for a report that a reader does not see; `run.py` makes one table of those of all groups."""
    return f"{_TARGET}{json.dumps(asdict(target))} -->"


def targets_in(lines: Iterable[str]) -> tuple[list[str], list[Target]]:
    """The lines without those of `target_line`, and the targets."""
    text, targets = [], []
    for line in lines:
        if line.startswith(_TARGET):
            read = json.loads(line.removeprefix(_TARGET).removesuffix(" -->"))
            targets.append(Target(read["text"], tuple(read["measured"]), read["limit"], read["least"]))
        else:
            text.append(line)
    return text, targets


def targets_table(targets: Sequence[Target]) -> list[str]:
    """One line for each target."""
    return grid(
        ["target", "bound", "measured (quartiles)", ""],
        [
            [
                one.text,
                f"{'at least' if one.least else 'at most'} {one.limit:g}",
                ratio_text(one.measured),
                "met" if one.met() else "**not met**",
            ]
            for one in targets
        ],
    )


def thread_environment() -> dict[str, str]:
    """The variables that give every library the same number of threads; NumPy's is read when it is imported."""
    return dict.fromkeys(THREAD_VARIABLES, str(THREADS))


def alone(report: Callable[[bool], list[str]]) -> None:
    """What a group does as a program: print its report; with --quick one of small sizes and few turns.

    Where another number of threads is set than all libraries shall have, the program starts once more.
    """
    if any(os.environ.get(name) != number for name, number in thread_environment().items()):
        again = subprocess.run([sys.executable, *sys.argv], env={**os.environ, **thread_environment()}, check=False)
        sys.exit(again.returncode)
    for line in report("--quick" in sys.argv[1:]):
        print(line, flush=True)
