"""What the monitor costs, and how often it is wrong: Markdown tables.

OPENBLAS_NUM_THREADS=1 python tests/benchmarks/monitor.py [cost | alarms] [--steps N] [--profile]

The time is the process's own, which a busy machine leaves as it is where there is one thread.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from monitored import Control, Fault, findings_of, gpt, next_token, windows
from monitored_controls import CONTROLS
from monitored_faults import FAULTS

import tensorgrad
from tensorgrad.monitoring.checks import CHECKS
from tensorgrad.nn.utils import clip_grad_norm_

_ROUNDS = 25  # of one step without and one with a monitor, in turns, so that a busy machine slows both
_SKIPPED = 21  # first steps, in which more is looked at
_SIZES = {
    "4 blocks, 128 wide, 12 x 64 tokens": {"blocks": 4, "heads": 4, "width": 128, "context": 64, "batch": 12},
    "2 blocks, 32 wide, 8 x 16 tokens": {"blocks": 2, "heads": 2, "width": 32, "context": 16, "batch": 8},
    "12 blocks, 64 wide, 8 x 32 tokens": {"blocks": 12, "heads": 4, "width": 64, "context": 32, "batch": 8},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("cost", "alarms"))
    parser.add_argument("--steps", type=int, default=300, help="that each run of the second table takes")
    parser.add_argument("--profile", action="store_true", help="where the time of a monitored step goes")
    given = parser.parse_args()
    if given.profile:
        profile()
        return
    if given.what != "alarms":
        cost()
    if given.what != "cost":
        alarms(given.steps)


def stepper(batch: int, **sizes: int) -> Callable[[], None]:
    """A char GPT, and what takes one step of its training."""
    tensorgrad.manual_seed(0)
    model = gpt(103, **sizes)
    optimizer = tensorgrad.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = tensorgrad.randint(0, 103, (20_000,)).data
    stream = windows(tokens, batch=batch, context=sizes["context"])

    def step() -> None:
        loss = next_token(model, next(stream))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    step.watched = (model, optimizer)  # type: ignore[attr-defined]
    return step


def cost() -> None:
    """Medians of steps with and without."""
    print("| step of | without | monitor | | with a log | |\n|---|---:|---:|---:|---:|---:|")
    for name, sizes in _SIZES.items():
        plain = stepper(**sizes)
        watched, logged = (watched_stepper(sizes, path) for path in (None, os.devnull))
        with closing(watched[1]), closing(logged[1]):
            times = in_turns(plain, watched[0], logged[0])
        base = median(times[0])
        cells = [median(b - a for a, b in zip(times[0], found, strict=True)) for found in times[1:]]
        print(
            f"| {name} | {base * 1e3:.1f} ms | "
            + " | ".join(f"{more * 1e3:.2f} ms | {more / base:.1%}" for more in cells)
            + " |",
            flush=True,
        )


def watched_stepper(sizes: dict[str, int], log: str | None) -> tuple[Callable[[], None], tensorgrad.monitoring.Monitor]:
    """One that is watched, and its monitor."""
    step = stepper(**sizes)
    return step, tensorgrad.monitor(*step.watched, log=log)  # type: ignore[attr-defined]


def in_turns(*steps: Callable[[], None]) -> list[list[float]]:
    """Seconds of the processor, for each of the steps in each round."""
    times: list[list[float]] = [[] for _ in steps]
    for number in range(_SKIPPED + _ROUNDS):
        for step, found in zip(steps, times, strict=True):
            start = time.process_time()
            step()
            if number >= _SKIPPED:
                found.append(time.process_time() - start)
    return times


def profile() -> None:
    """What the monitor's functions take of 100 steps."""
    sizes = next(iter(_SIZES.values()))
    step, watch = watched_stepper(sizes, None)
    with closing(watch):
        for _ in range(60):
            step()
        with cProfile.Profile() as found:
            for _ in range(100):
                step()
    pstats.Stats(found).sort_stats("cumulative").print_stats("monitoring|watching|step")


def alarms(steps: int) -> None:
    """What was said of each control, and how often each check was right and wrong."""
    said = {case.name: {finding.check for finding in findings_of(case, steps)} for case in CONTROLS}
    print(f"\n| healthy run, of {steps} steps | checks that raised an alarm |\n|---|---|")
    for control in CONTROLS:
        print(f"| {control.sentence} | {', '.join(sorted(said[control.name])) or 'none'} |")
    print("\n| check | false alarms | faults named, with the right parameters, once |\n|---|---:|---:|")
    for check in CHECKS:
        wrong = sum(check in found for found in said.values())
        faults = [fault for fault in FAULTS if fault.check == check]
        named = sum(is_named(fault) for fault in faults)
        print(f"| `{check}` | {wrong} of {len(CONTROLS)} | {named} of {len(faults)} |")


def is_named(case: Fault | Control) -> bool:
    """Whether the finding of a fault is the one that it should be, within its first 50 steps, and the only one."""
    assert isinstance(case, Fault)
    found = findings_of(case, 50)
    return [(finding.check, finding.names) for finding in found] == [(case.check, case.names)]


if __name__ == "__main__":
    main()
