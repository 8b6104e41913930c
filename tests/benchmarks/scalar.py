"""The scalar engine beside the original, PyPI's micrograd 0.1.0, and beside the smallest engine in Python.

    python tests/benchmarks/scalar.py [--quick] [FOLDER]

FOLDER holds the original, made with `pip install --target FOLDER micrograd==0.1.0`; without it, `.venv/original` beside
the package is taken, which `make bench` fills. Each engine runs in a process of its own, since two are imported by the
same name, and they take turns. The programs are in scalar_programs.py, the smallest engine is smallest.py.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import racing

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
HERE, ORIGINAL, SMALLEST = "here", "micrograd 0.1.0", "limit: smallest engine"
REPLAY, REPLAY_ONLY = "here: `script`, with update", "here: `script`, loss and gradients"

RACES = {
    # program: (what it is, turns)
    "net_step": ("step of `MLP(3, [4, 4, 1])`, four examples, 394 nodes", 15),
    "net_backward": ("of that, the backward pass", 9),
    "moons_step": ("step of the moons demo, `MLP(2, [16, 16, 1])`, 100 samples", 5),
    "chain": ("chain of 100,000 additions, forward and backward", 5),
}
MEMORY = {"memory_chain": "a node of a chain of additions", "memory_net": "a node of the 394-node graph"}


def original_folder() -> Path | None:
    """Where the original is, or None."""
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    folder = Path(given[0]) if given else ROOT / ".venv" / "original"
    return folder if (folder / "micrograd" / "engine.py").is_file() else None


def engines() -> dict[str, str]:
    """What scalar_programs.py takes for each engine that is there."""
    original = original_folder()
    return {HERE: str(ROOT)} | ({ORIGINAL: str(original)} if original else {}) | {SMALLEST: "smallest"}


def command(program: str, where: str, *size: int) -> list[str]:
    return [sys.executable, str(FOLDER / "scalar_programs.py"), program, where, *map(str, size)]


def steps(quick: bool) -> list[racing.Race]:
    """One race for each program; in that of the 394-node step the source code that `script` writes takes part."""
    races = []
    for program, (text, turns) in RACES.items():
        if quick and program not in ("net_step", "net_backward"):
            continue
        commands = {who: command(program, where) for who, where in engines().items()}
        if program == "net_step" and has_script():
            commands[REPLAY] = command("net_replay", str(ROOT))
            commands[REPLAY_ONLY] = command("net_replay_only", str(ROOT))
        races.append(racing.race_processes(text, commands, 2 if quick else turns))
    return races


def has_script() -> bool:
    sys.path.insert(0, str(ROOT))
    return hasattr(importlib.import_module("micrograd"), "script")


def bytes_of(program: str, where: str) -> float:
    done = subprocess.run(command(program, where), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def memory() -> list[str]:
    """A table of bytes a node, objects that belong to it included."""
    found = engines()
    rows = []
    for program, text in MEMORY.items():
        used = {who: bytes_of(program, where) for who, where in found.items()}
        rows.append([text, *(f"{number:,.0f} bytes" for number in used.values())])
    return racing.grid(["memory", *found], rows)


def replayed(step: racing.Race) -> list[str]:
    """What `script` saves, in a sentence; the table's ratios have too few digits for it."""
    if REPLAY not in step.times:
        return []
    against = [who for who in (HERE, ORIGINAL, SMALLEST) if who in step.times]
    told = ", ".join(f"{racing.ratio_text(step.ratio(who, REPLAY))} ({who})" for who in against)
    return [f"One step takes as long as this many of the source code that `micrograd.script` writes: {told}.", ""]


def targets(races: Sequence[racing.Race]) -> list[str]:
    bounds = [
        ("net_step", "eager scalar step, 394 nodes", HERE, 5.0),
        ("moons_step", "eager scalar step, the moons demo", HERE, 5.0),
        ("net_step", "step by `micrograd.script`, with update", REPLAY, 40.0),
    ]
    found = {race.name: race for race in races}
    return [
        racing.target_line(
            racing.Target(f"{text}: time of micrograd 0.1.0 over ours", race.ratio(ORIGINAL, who), at, True)
        )
        for program, text, who, at in bounds
        if (race := found.get(RACES[program][0])) is not None and {ORIGINAL, who} <= race.times.keys()
    ]


def report(quick: bool) -> list[str]:
    races = steps(quick)
    lines: Sequence[str] = (
        "## Scalar engine",
        "",
        *racing.table(races, HERE),
        "",
        "Each turn is a process of its own. Blocks of 40 steps (two of the moons demo) are timed as one, so that the",
        "garbage collector's share is in the figure: the original's graph is full of reference cycles, the others have",
        "none. The smallest engine keeps data, gradient, operands, operation and local derivatives, and nothing else.",
        "",
        *replayed(races[0]),
        *memory(),
        "",
        *targets(races),
    )
    if original_folder() is None:
        lines = (*lines, "The original was not there: `pip install --target .venv/original micrograd==0.1.0`.", "")
    return list(lines)


if __name__ == "__main__":
    racing.alone(report)
