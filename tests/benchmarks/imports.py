"""How long imports take: each in a fresh process, beyond what the bare interpreter has loaded, in turns.

python tests/benchmarks/imports.py [--quick]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import racing

ROOT = Path(__file__).parents[2]
IMPORTS = ("micrograd", "micrograd.nn", "numpy", "tensorgrad", "viz")
MICROGRAD_SECONDS = 0.02
TENSORGRAD_RATIO = 1.5
"""What "little over NumPy's" is taken for."""

COSTLIEST = 12


@contextmanager
def compiled() -> Iterator[None]:
    """Compiled files go into a folder of their own, where they are fresh, even if the environment forbids them."""
    with tempfile.TemporaryDirectory() as folder:
        before = dict(os.environ)
        os.environ.update(PYTHONPYCACHEPREFIX=folder, PYTHONDONTWRITEBYTECODE="")
        try:
            for name in IMPORTS:
                subprocess.run(command(name), capture_output=True, check=True)
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def command(name: str, *options: str) -> list[str]:
    """Print the seconds that an import takes in a new interpreter."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        f"from time import perf_counter; start = perf_counter()\nimport {name}\nprint(perf_counter() - start)"
    )
    return [sys.executable, *options, "-c", code]


def loaded(name: str) -> dict[str, float]:
    """Seconds that each module takes itself, without what it imports, in the import of `name`."""
    done = subprocess.run(command(name, "-X", "importtime"), capture_output=True, text=True, check=True)
    found = {}
    for line in done.stderr.splitlines():
        own, _, module = line.removeprefix("import time:").split("|")
        if own.strip().isdigit():  # not the heading
            found[module.strip()] = int(own) / 1e6
    return found


def costliest(name: str, beyond: str) -> str:
    """The modules that the import of `name` takes beyond those of `beyond`, the costliest first."""
    before, now = set(loaded(beyond)), loaded(name)
    own = {module: seconds for module, seconds in now.items() if module not in before}
    ranked = sorted(own, key=lambda module: -own[module])[:COSTLIEST]
    told = ", ".join(f"`{module}` {racing.duration(own[module])}" for module in ranked)
    return f"- `{name}` beyond `{beyond}`: {len(own)} modules, {racing.duration(sum(own.values()))}; {told}"


def report(quick: bool) -> list[str]:
    pairs = [("micrograd", "time"), ("tensorgrad", "numpy"), ("viz", "tensorgrad")]
    with compiled():
        found = racing.race_processes("import", {name: command(name) for name in IMPORTS}, 3 if quick else 21)
        modules = [costliest(name, beyond) for name, beyond in pairs]
    micrograd: Sequence[float] = [1e3 * seconds for seconds in found.times["micrograd"]]
    targets = [
        racing.Target("`import micrograd`, ms", racing.spread(micrograd), 1e3 * MICROGRAD_SECONDS, False),
        racing.Target(
            "`import tensorgrad`: its time over NumPy's", found.ratio("tensorgrad", "numpy"), TENSORGRAD_RATIO, False
        ),
    ]
    return [
        "## Imports",
        "",
        *racing.table([found], "numpy"),
        "",
        "Seconds within a new interpreter, compiled files being there. The costliest modules, each without what it",
        "imports, under `-X importtime`, which adds some of its own:",
        "",
        *modules,
        "",
        *map(racing.target_line, targets),
    ]


if __name__ == "__main__":
    racing.alone(report)
