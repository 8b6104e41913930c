"""Run all benchmarks, each group in a process of its own, and write RESULTS.md beside this file.

    python tests/benchmarks/run.py [--quick] [GROUP ...]

Every library gets two threads, unless OPENBLAS_NUM_THREADS says otherwise. RESULTS.md is written after a whole run
only: with --quick, which takes small sizes and few turns, with groups that are named, and where a group failed, the
report is only printed. Exit code 1 where one failed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import date
from importlib import metadata
from pathlib import Path

import racing
import serving

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
RESULTS = FOLDER / "RESULTS.md"

GROUPS = (
    "scalar",
    "tensor_mlp",
    "tensor_gpt",
    "tensor_gpt2",
    "tensor_checkpoint",
    "tensor_indexing",
    "imports",
    "pictures",
    "growth",
)

PEERS = ("torch", "mygrad", "autograd", "tinygrad")

READING = f"""\
Contenders take turns in changing order, and a ratio is taken within each turn: the median of these ratios is \
given, with their quartiles. Times are medians. In races between libraries every contender lives in a process of \
its own, where no other one is imported; a turn takes {serving.SECONDS * 1e3:g} ms or more, in as many calls as \
that needs, and the next one begins once the threads of the last one sleep. Sizes of one thing take turns in one \
process. "By hand" is NumPy without an engine, written for that one program: the limit of what an engine on NumPy \
can reach. That there are no reference cycles, no growth of memory over 1,000 steps, and no node visited twice are \
tests, since these do not depend on a clock."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run benchmarks; after a whole run, write RESULTS.md.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all if none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes and few turns; nothing is written")
    given = parser.parse_args(arguments)
    unknown = [group for group in given.groups if group not in GROUPS]
    if unknown:
        parser.error(f"no group {unknown[0]!r}: there are {', '.join(GROUPS)}")
    head = machine()  # before the load of the run itself
    sections: list[str] = []
    targets: list[racing.Target] = []
    failed = []
    for group in given.groups or GROUPS:
        start = time.perf_counter()
        lines = run(group, given.quick)
        if lines is None:
            failed.append(group)
            lines = [f"## {group}", "", "Failed: see what the program wrote."]
        text, found = racing.targets_in(lines)
        targets += found
        sections += [*text, ""]
        print(*text, "", sep="\n", flush=True)
        print(f"{group}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    summary = ["## Targets", "", *racing.targets_table(targets), ""] if targets else []
    print(*summary, sep="\n", flush=True)
    if failed:
        print(f"failed, as written above: {', '.join(failed)}; nothing is written", file=sys.stderr)
    elif not given.quick and not given.groups:
        write("\n".join([*head, *summary, *sections]).rstrip() + "\n")
    return 1 if failed else 0


def run(group: str, quick: bool) -> list[str] | None:
    """The report of a group, or None if it fails; what it writes to stderr is seen."""
    command = [sys.executable, str(FOLDER / f"{group}.py"), *(["--quick"] if quick else [])]
    environment = {**os.environ, **racing.thread_environment()}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    return None if done.returncode else done.stdout.splitlines()


def write(text: str) -> None:
    """As a whole or not at all."""
    sys.path.insert(0, str(ROOT))
    importlib.import_module("viz.files").write(RESULTS, text)
    print(f"written: {RESULTS.relative_to(ROOT)}", file=sys.stderr)


def machine() -> list[str]:
    """What the figures depend on, and how to get them again."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f"; load before the run {os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else ""
    return [
        "# Results of the benchmarks",
        "",
        f"{date.today().isoformat()}, {processor()}, {cores} cores, {platform.system()}; {racing.THREADS} threads for "
        f"every library{load}. Python {platform.python_version()}, NumPy {version('numpy')} with {blas()}, "
        f"{', '.join(f'{peer} {version(peer)}' for peer in PEERS)}, micrograd {original()}.",
        "",
        "Once more, on a machine that does nothing else: `make bench`, or `python tests/benchmarks/run.py` in an "
        "environment with the extra `bench` and torch 2.13.0. One group: its name behind that. The run writes this.",
        "",
        READING,
        "",
    ]


def processor() -> str:
    """The model, as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "is not installed"


def blas() -> str:
    """The library of NumPy's matrix products."""
    numpy = importlib.import_module("numpy")
    found = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{found['name']} {found['version']}"


def original() -> str:
    """The version of the micrograd in `.venv/original`, which is not imported here."""
    found = metadata.distributions(name="micrograd", path=[str(ROOT / ".venv" / "original")])
    return next((one.version for one in found), "is not installed")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell has it; the group's process got the signal as well
