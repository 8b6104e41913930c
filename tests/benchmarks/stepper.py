"""What the stepper's pages cost, from 7 to 100,000 nodes: a Markdown table.

python tests/benchmarks/stepper.py              all of it; --json for a list of records
python tests/benchmarks/stepper.py gpt --no-browser   one program, and only what Python does

Written: seconds of processor time of `viz.step(root, path)`, and the file's size. With a Chromium on PATH and playwright also: seconds
until the page shows its first state; milliseconds of script a step (median and 90th percentile, drawing commands and
layout included), and from one frame to the next, first with the groups as the page begins, then with all of them open;
milliseconds from the start of the run to its end. Steps are taken in six places of the run, 25 in a row.
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


STEPS = """async ({ places, inARow }) => {
  const click = (id) => document.getElementById(id).click();
  const slider = document.getElementById("slider");
  const frame = () => new Promise(requestAnimationFrame);
  const scripts = [], frames = [];
  for (let place = 0; place < places; place += 1) {
    slider.value = Math.floor((place * Number(slider.max)) / places);
    slider.dispatchEvent(new Event("input"));
    await frame();
    let before = await frame();
    for (let i = 0; i < inARow && Number(slider.value) < Number(slider.max); i += 1) {
      const start = performance.now();
      click("forward");
      document.getElementById("stage").getBoundingClientRect();
      scripts.push(performance.now() - start);
      const now = await frame();
      frames.push(now - before);
      before = now;
    }
  }
  const at = (times, share) => [...times].sort((a, b) => a - b)[Math.floor(share * (times.length - 1))];
  return { median: at(scripts, 0.5), p90: at(scripts, 0.9), frame: at(frames, 0.5), taken: scripts.length };
}"""

CLICK = """async (id) => {
  const start = performance.now();
  document.getElementById(id).click();
  document.getElementById("stage").getBoundingClientRect();
  const took = performance.now() - start;
  await new Promise(requestAnimationFrame);
  return took;
}"""

SHOWN = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"


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


def in_browser(browser: Any, path: Path, nodes: int, repeats: int) -> dict[str, Any]:
    """What the page at `path` takes in the browser."""
    opened = []
    for _ in range(repeats):
        tab = browser.new_page(viewport=WINDOW, reduced_motion="reduce")
        tab.goto(path.as_uri(), wait_until="load", timeout=120_000)
        tab.wait_for_selector("#position:has-text('step')", timeout=120_000)
        opened.append(tab.evaluate(SHOWN) / 1e3)
        if len(opened) < repeats:
            tab.close()
    found = {"opened": min(opened), "length": int(tab.get_attribute("#slider", "max"))}
    found["boxes"] = tab.locator("#stage .node").count()
    how = {"places": PLACES, "inARow": IN_A_ROW}
    found["steps"] = tab.evaluate(STEPS, how)
    tab.evaluate(CLICK, "first")
    found["to_the_end"] = tab.evaluate(CLICK, "last")
    if nodes <= MOST_OPEN and tab.locator("#group-tools").is_visible():
        found["opening_all"] = tab.evaluate(CLICK, "expand")
        found["steps_all_open"] = tab.evaluate(STEPS, how)
        tab.evaluate(CLICK, "first")
        found["to_the_end_all_open"] = tab.evaluate(CLICK, "last")
    tab.close()
    return found


def measured(name: str, browser: Any, folder: Path) -> dict[str, Any]:
    """One program's record."""
    program, make = PROGRAMS[name]
    root = make()
    nodes = len(topological_order(root))
    path = folder / f"{name}.html"
    repeats = REPEATS if nodes < 20_000 else 1
    found = {"program": program, "nodes": nodes, "seconds": written(root, path, repeats), "bytes": path.stat().st_size}
    return found | (in_browser(browser, path, nodes, repeats) if browser else {})


# -- telling -----------------------------------------------------------------------------------------------------------

COLUMNS = {
    "": lambda r: r["program"],
    "nodes": lambda r: f"{r['nodes']:,}",
    "steps": lambda r: f"{r['length']:,}",
    "written": lambda r: f"{r['seconds']:.2g} s",
    "file": lambda r: f"{r['bytes'] / 1e6:.2f} MB",
    "opens in": lambda r: f"{r['opened']:.2g} s",
    "script a step: median, p90": lambda r: of_steps(r["steps"]),
    "frame": lambda r: f"{r['steps']['frame']:.0f} ms",
    "all open": lambda r: of_steps(r["steps_all_open"]),
    "all open, frame": lambda r: f"{r['steps_all_open']['frame']:.0f} ms",
    "opening all": lambda r: f"{r['opening_all'] / 1e3:.2g} s",
    "start to end": lambda r: f"{r['to_the_end']:.0f} ms",
}


def of_steps(steps: dict[str, float]) -> str:
    return f"{steps['median']:.1f}, {steps['p90']:.1f} ms"


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
