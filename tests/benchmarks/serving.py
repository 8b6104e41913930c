"""Races between processes: each contender lives in one of its own, which waits while others have their turns.

Two libraries in one process slow each other: the threads of each look for work for a while after they had some, on the
cores that the other one's threads need. And what one of them changes, such as how the C library keeps freed memory,
changes for the other. So a contender is made in a process that imports nothing of another one. That process answers a
request once its threads sleep, and waits for the next one at a pipe, which takes no core.

A benchmark module has `CONTENDERS`: by the name of a race, for each contender a function that makes it. What that gives
is a step, which returns gradients; or a `Stepper`; or a text that says why it cannot run. A library that is not
installed says so by its ImportError.

    python tests/benchmarks/serving.py FILE RACE CONTENDER    # serves that one: JSON by lines
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TextIO

import agreement
import racing
from contender import Stepper

SECONDS = 0.1
"""How long a turn takes at least."""

REST = 0.02
"""Seconds in which a process must have done next to nothing to count as one whose threads sleep. OpenBLAS's look for
work for about 0.1 s after they had some, torch's for less than 0.01 s."""

RESTS = 25
"""So often a process looks whether its threads sleep, until it answers though they do not."""

WARM = 0.1
"""Part of a turn's calls that runs before it, since the caches hold other things after a rest."""


# -- the process that asks ---------------------------------------------------------------------------------------------


def race(
    file: str,
    name: str,
    contenders: Iterable[str],
    repeats: int,
    seconds: float = SECONDS,
) -> racing.Race:
    """Let contenders take turns, each in its process, once they have given equal gradients.

    file        of the module that has CONTENDERS
    name        of the race there
    contenders  their names there
    repeats     turns of each
    seconds     what a turn takes at least

    Raises ValueError where gradients differ, RuntimeError for a process that ended.
    """
    with ExitStack() as stack:
        served = {who: stack.enter_context(Served(file, name, who)) for who in contenders}
        absent = {who: why for who, one in served.items() if (why := one.absent())}
        able = {who: one for who, one in served.items() if who not in absent}
        agreement.check({who: one.sketch() for who, one in able.items()})
        return racing.raced(name, able, absent, repeats, seconds)


class Served:
    """A contender in a process of its own, which lives as long as the `with` block."""

    def __init__(self, file: str, name: str, who: str) -> None:
        self._told = f"race {name!r}, process of {who!r}"
        self._process = subprocess.Popen(
            [sys.executable, __file__, file, name, who],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **racing.thread_environment()},
        )

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *failure: object) -> None:
        if any(failure):
            self._process.kill()
        self._process.communicate()

    def absent(self) -> str | None:
        """Why it cannot run; to be asked first, and once."""
        return self._answer()

    def sketch(self) -> dict[str, list[float]]:
        """Of its gradients, for `agreement.check`."""
        return self._ask("sketch")

    def calls(self, seconds: float) -> int:
        return self._ask("calls", seconds)

    def turn(self, calls: int) -> list[float]:
        return self._ask("turn", calls)

    def _ask(self, *request: object) -> Any:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # that there is no answer tells it
            print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._told}: ended with exit code {self._process.wait()}, as it wrote above")
        return json.loads(line)


# -- the process that answers ------------------------------------------------------------------------------------------


def serve(file: str, name: str, who: str, requests: Iterable[str], answers: TextIO) -> None:
    """Make the contender, tell why it cannot run, or null, and answer requests until there are no more."""

    def answer(what: object) -> None:
        print(json.dumps(what), file=answers, flush=True)

    sys.path.insert(0, str(Path(file).parent))
    try:
        made = importlib.import_module(Path(file).stem).CONTENDERS[name][who]()
    except ImportError as error:
        made = f"{error.name} is not installed"
    if isinstance(made, str):
        answer(made)
        return
    results = made.results if isinstance(made, Stepper) else made
    runner = racing.Runner(made.phases if isinstance(made, Stepper) else [made], warm=WARM)

    def calls(seconds: float) -> int:
        return max(runner.calls(seconds) for _ in range(2))  # of a busy machine, the quieter moment

    does = {"sketch": lambda: agreement.sketch(results()), "calls": calls, "turn": runner.turn}
    rest()
    answer(None)
    with racing.settled():
        for line in requests:
            what, *arguments = json.loads(line)
            found = does[what](*arguments)
            rest()
            answer(found)


def rest(used: Callable[[], float] = time.process_time, sleep: Callable[[float], object] = time.sleep) -> None:
    """Wait until the threads of this process sleep: they use less than a tenth of a core.

    used  seconds that all threads have used so far
    """
    for _ in range(RESTS):
        before = used()
        sleep(REST)
        if used() - before < REST / 10:
            return


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    serve(*sys.argv[1:], requests=sys.stdin, answers=answers)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
