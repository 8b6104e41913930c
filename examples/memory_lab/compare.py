"""Every variant in a process of its own, one after the other."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path

from common.errors import Refused

from memory_lab.estimate import estimate
from memory_lab.limits import available
from memory_lab.measured import Run
from memory_lab.variants import Shape, Variant

SCRIPT = Path(__file__).parent.parent / "gpt2_memory.py"
PROGRESS = " ..."
"""With which a line ends that says what is under way."""


def measured(
    shape: Shape,
    variants: Sequence[Variant],
    tell: Callable[[str], None],
    rounds: int = 1,
    weights: str | None = None,
) -> dict[Variant, Run | str]:
    """What each was measured to be: of several rounds the shortest time. Words for one that does not fit here."""
    found: dict[Variant, Run | str] = {}
    for turn in range(rounds):
        for i, variant in enumerate(variants):
            tell(f"{variant.name}, {turn * len(variants) + i + 1} of {rounds * len(variants)}")
            before = found.get(variant)
            if isinstance(before, str):
                continue
            run = _run(shape, variant, weights)
            if isinstance(before, Run) and isinstance(run, Run):
                run = replace(run, seconds=min(run.seconds, before.seconds))
            found[variant] = run
    return found


def _run(shape: Shape, variant: Variant, weights: str | None) -> Run | str:
    need = estimate(shape, variant)
    if need.weights + need.peak > available()[0]:
        return "does not fit here"
    names = ("tokens", "batch") if weights is not None else [field.name for field in fields(shape)]
    sizes = [text for name in names for text in (f"--{name}", str(getattr(shape, name)))]
    given = [] if weights is None else ["--weights", weights]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--run", "--json", *sizes, *given, *variant.options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Refused(f"{variant.name}: {_said(done)}")
    run = json.loads(done.stdout)["measured"]
    return Run(**{field.name: run[field.name] for field in fields(Run)})


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """Why a process ended that did not succeed: its last line, if it is one of complaint and not of progress."""
    last = (done.stderr.strip().splitlines() or [""])[-1].removeprefix(f"{SCRIPT.name}: ")
    if last and not last.endswith(PROGRESS):
        return last
    if done.returncode < 0:
        return f"signal {-done.returncode} ended its process; without enough memory the system sends signal 9"
    return f"its process ended with status {done.returncode} and said no more"
