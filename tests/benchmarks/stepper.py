"""What the stepper's pages cost, from 7 to 100,000 nodes: a Markdown table.

python tests/benchmarks/stepper.py              all of it; --json for a list of records
python tests/benchmarks/stepper.py gpt --no-browser   one program, and only what Python does

All times are of the processor, so that a busy machine changes them little. Written: `viz.step(root, path)`, and the
file's size. With a Chromium on PATH and playwright also what its main thread takes: until the page shows its first
state; for a step, median and 90th percentile, of script and with style, layout and painting; from the start of the run
to its end in one go; and the same with all groups open. Steps are taken in six places of the run, 25 in a row.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(1, str(Path(__file__).parents[2] / "examples"))

from gpt_block import Block

import tensorgrad as torch
from micrograd import Value
from micrograd.backprop import Node, topological_order
from micrograd.nn import MLP
from tensorgrad import nn
from viz import step

PLACES, IN_A_ROW = 6, 25
REPEATS = 3
MOST_OPEN = 6_000
"""More nodes the page does not open all at once (MOST_EXPANDED in controls.js)."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
WINDOW = {"width": 1400, "height": 720}


# -- programs ----------------------------------------------------------------------------------------------------------


def seven() -> Node:
    """relu(a*b + c)*a"""
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    return (a * b + c).relu() * a


def mlp(hidden: list[int], samples: int) -> Node:
    """The squared error of a net of three inputs and one output on `samples` examples."""
    random.seed(1)
    net = MLP(3, [*hidden, 1])
    xs = [[random.uniform(-1, 1) for _ in range(3)] for _ in range(samples)]
    return sum(((net(x) - (-1) ** i) ** 2 for i, x in enumerate(xs)), start=Value(0.0))


def net() -> Node:
    """MLP(3, [4, 4, 1]) on its four examples."""
    random.seed(1)
    model = MLP(3, [4, 4, 1])
    xs, ys = [[2, 3, -1], [3, -1, 0.5], [0.5, 1, 1], [1, 1, -1]], [1, -1, -1, 1]
    return sum((model(x) - y) ** 2 for x, y in zip(xs, ys, strict=True))


class GPT(nn.Module):
    """A transformer with a tied embedding, as in examples/gpt_block.py but of several blocks."""

    def __init__(self, symbols: int = 12, width: int = 16, context: int = 8, blocks: int = 4) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(symbols, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads=2) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, symbols, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        x = self.tokens(idx) + self.positions(torch.arange(idx.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def gpt() -> Node:
    """Four blocks of width 16 on eight symbols, as tensors."""
    torch.manual_seed(0)
    model, idx = GPT(), torch.arange(8)
    return nn.functional.cross_entropy(model(idx[None])[0], idx + 1)


PROGRAMS: dict[str, tuple[str, Callable[[], Node]]] = {
    "seven": ("relu(a*b + c)*a", seven),
    "net": ("MLP(3, [4, 4, 1]), 4 examples", net),
    "thousands": ("MLP(3, [16, 16, 1]), 6 examples", lambda: mlp([16, 16], 6)),
    "hundred-thousand": ("MLP(3, [16, 16, 1]), 125 examples", lambda: mlp([16, 16], 125)),
    "gpt": ("GPT of four blocks, tensors", gpt),
}


# -- measuring ---------------------------------------------------------------------------------------------------------


def written(root: Node, path: Path, repeats: int) -> float:
    """The least number of seconds of processor time that it takes to write the page."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        step(root, path, names={}, title=path.stem)
        times.append(time.process_time() - start)
    return min(times)


CLICK = """async (id) => {
  document.getElementById(id).click();
  await new Promise(requestAnimationFrame);
}"""

GO = """async (at) => {
  const slider = document.getElementById("slider");
  slider.value = at;
  slider.dispatchEvent(new Event("input"));
  await new Promise(requestAnimationFrame);
}"""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, or None where playwright or a Chromium is missing."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError:
        playwright = None
    if playwright is None or program is None:
        print("no playwright, or no Chromium on PATH: only what Python does is measured", file=sys.stderr)
        yield None
        return
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


class Tab:
    """A page in the browser, with the processor time that its main thread has used."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.tab = browser.new_page(viewport=WINDOW, reduced_motion="reduce")
        self.session = self.tab.context.new_cdp_session(self.tab)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.tab.goto(path.as_uri(), wait_until="load", timeout=120_000)
        self.tab.wait_for_selector("#position:has-text('step')", timeout=120_000)
        self.tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        self.opened = self.used()["all"]
        self.length = int(self.tab.get_attribute("#slider", "max"))

    def used(self) -> dict[str, float]:
        """Milliseconds so far: of script, and of all tasks, style, layout and painting among them."""
        metrics = {metric["name"]: metric["value"] for metric in self.session.send("Performance.getMetrics")["metrics"]}
        return {"script": metrics["ScriptDuration"] * 1e3, "all": metrics["TaskDuration"] * 1e3}

    def click(self, button: str) -> dict[str, float]:
        """What it takes until the frame after a click."""
        before = self.used()
        self.tab.evaluate(CLICK, button)
        return {what: now - before[what] for what, now in self.used().items()}

    def steps(self) -> dict[str, float]:
        """The median and the 90th percentile of what a step takes."""
        taken = []
        for place in range(PLACES):
            first = place * self.length // PLACES
            self.tab.evaluate(GO, first)
            taken += [self.click("forward") for _ in range(min(IN_A_ROW, self.length - first))]
        found = {}
        for what in ("script", "all"):
            times = sorted(step[what] for step in taken)
            found[what], found[f"{what}_p90"] = times[len(times) // 2], times[9 * (len(times) - 1) // 10]
        return found

    def to_the_end(self) -> float:
        """Milliseconds from the start of the run to its end in one go."""
        self.click("first")
        return self.click("last")["all"]


def in_browser(browser: Any, path: Path, nodes: int) -> dict[str, Any]:
    """What the page at `path` takes in the browser."""
    page = Tab(browser, path)
    boxes = page.tab.locator("#stage .node").count()
    found = {"opened": page.opened, "length": page.length, "boxes": boxes}
    found |= {"steps": page.steps(), "to_the_end": page.to_the_end()}
    if nodes <= MOST_OPEN and boxes < nodes:
        found["opening_all"] = page.click("expand")["all"]
        found |= {"steps_all_open": page.steps(), "to_the_end_all_open": page.to_the_end()}
    page.tab.close()
    return found


def measured(name: str, browser: Any, folder: Path) -> dict[str, Any]:
    """One program's record."""
    program, make = PROGRAMS[name]
    root = make()
    nodes = len(topological_order(root))
    path = folder / f"{name}.html"
    repeats = REPEATS if nodes < 20_000 else 1
    found = {"program": program, "nodes": nodes, "seconds": written(root, path, repeats), "bytes": path.stat().st_size}
    return found | (in_browser(browser, path, nodes) if browser else {})


# -- telling -----------------------------------------------------------------------------------------------------------

COLUMNS = {
    "": lambda r: r["program"],
    "nodes": lambda r: f"{r['nodes']:,}",
    "steps": lambda r: f"{r['length']:,}",
    "written": lambda r: seconds(r["seconds"]),
    "file": lambda r: f"{r['bytes'] / 1e6:.2f} MB",
    "opened": lambda r: seconds(r["opened"] / 1e3),
    "a step: script": lambda r: milliseconds(r["steps"], "script"),
    "and drawing": lambda r: milliseconds(r["steps"], "all"),
    "start to end": lambda r: seconds(r["to_the_end"] / 1e3),
    "opening all groups": lambda r: seconds(r["opening_all"] / 1e3),
    "a step then: script": lambda r: milliseconds(r["steps_all_open"], "script"),
    "and drawing then": lambda r: milliseconds(r["steps_all_open"], "all"),
}


def seconds(number: float) -> str:
    return f"{number * 1e3:.0f} ms" if number < 0.1 else f"{number:.2g} s"


def milliseconds(steps: dict[str, float], what: str) -> str:
    return f"{steps[what]:.0f}, {steps[f'{what}_p90']:.0f} ms"


def cell(column: str, record: dict[str, Any]) -> str:
    try:
        return COLUMNS[column](record)
    except KeyError:  # not measured
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; by default all")
    parser.add_argument("--json", action="store_true", help="a list of records instead of the table")
    parser.add_argument("--no-browser", action="store_true", help="only what Python does")
    args = parser.parse_args()
    unknown = [name for name in args.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program is called {unknown[0]!r}: they are {', '.join(PROGRAMS)}")
    names = args.programs or list(PROGRAMS)
    records = []
    with tempfile.TemporaryDirectory() as folder:
        written(seven(), Path(folder) / "first.html", 1)  # what is imported and read at first use is no page's cost
        if args.no_browser:
            records = [measured(name, None, Path(folder)) for name in names]
        else:
            with chromium() as browser:
                records = [measured(name, browser, Path(folder)) for name in names]
    if args.json:
        print(json.dumps(records, indent=1))
        return
    used = [column for column in COLUMNS if any(cell(column, record) for record in records)]
    print(f"| {' | '.join(used)} |\n|---|{'---:|' * (len(used) - 1)}")
    for record in records:
        print(f"| {' | '.join(cell(column, record) for column in used)} |")


if __name__ == "__main__":
    main()
