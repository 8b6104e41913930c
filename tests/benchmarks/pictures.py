"""What looking at a graph takes: trace, DOT text, layout, page, PNG for 7 to 100,000 nodes; a comparison, by scalars.

    python tests/benchmarks/pictures.py [--quick]

There is no peer that does the same, so the figures are seconds, and seconds a node. What a page takes in a browser is
measured by stepper.py, whose programs these are.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import racing

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import stepper

import viz
from micrograd.backprop import Node, topological_order
from tensorgrad import Tensor
from viz import render
from viz.errors import UserError

PROGRAMS = ("seven", "net", "thousands", "hundred-thousand")
REPEATS = 5
LARGE = 20_000
"""More nodes are measured once."""

PNG_SECONDS = 60
"""A dot program that takes longer is ended."""

COMPARED = (1, 2, 4, 8)
"""Times eight rows."""


def trace(root: Node, _: Path) -> None:
    """Every step of a backward pass, in words."""
    len(viz.trace(root, names={}))


def dot(root: Node, folder: Path) -> None:
    """The picture as DOT text, in a file; a graph over the limit of 1,000 as if that were raised."""
    viz.draw(root, folder / "graph.dot", names={}, max_nodes=10**6)


def layout(root: Node, _: Path) -> None:
    """The DOT text and from it, by the dot program, the place of everything in the picture."""
    render.run_dot(viz.draw(root, names={}, max_nodes=10**6).source, "plain")


def page(root: Node, folder: Path) -> None:
    """The stepper's page, in a file."""
    viz.step(root, folder / "graph.html", names={}, max_nodes=10**6)


def png(root: Node, folder: Path) -> None:
    """The picture as PNG, in a file."""
    viz.draw(root, folder / "graph.png", names={}, max_nodes=10**6)


THINGS: dict[str, Callable[[Node, Path], None]] = {
    "trace": trace,
    "DOT text": dot,
    "layout": layout,
    "page": page,
    "PNG": png,
}


BY_DOT = ("layout", "PNG")
"""What another program does, measured once."""


def seconds(does: Callable[[], object], repeats: int) -> float:
    """The median time of a call."""
    return median(racing.timed(does, 1, time.perf_counter) for _ in range(repeats))


def cell(thing: str, root: Node, nodes: int, folder: Path, quick: bool) -> str:
    """The time, and the time a node; or that it was given up."""
    does = THINGS[thing]
    try:
        took = seconds(lambda: does(root, folder), 1 if quick or nodes > LARGE or thing in BY_DOT else REPEATS)
    except UserError as error:
        if str(PNG_SECONDS) not in str(error):
            raise
        return f"not in {PNG_SECONDS} s"
    return f"{racing.duration(took)}, {racing.duration(took / nodes)} a node"


def pictures(quick: bool) -> list[str]:
    rows = []
    render._LONGEST = PNG_SECONDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for does in THINGS.values():
            does(stepper.seven(), folder)  # what is imported and read at first use is no picture's cost
        for program in PROGRAMS[: 2 if quick else None]:
            text, make = stepper.PROGRAMS[program]
            root = make()
            root.backward()
            nodes = len(topological_order(root))
            rows.append([text, f"{nodes:,}", *(cell(thing, root, nodes, folder, quick) for thing in THINGS)])
    return racing.grid(["graph", "nodes", *THINGS], rows)


# -- comparison --------------------------------------------------------------------------------------------------------


def layer(x: Tensor, w: Tensor) -> Tensor:
    return ((x @ w).tanh() ** 2).sum()


def operands(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((rows, 16)), rng.standard_normal((16, 16))


def compare(rows: int) -> viz.Comparison:
    """`viz.compare` of a layer of 16 neurons, without finite differences, which run the program for each leaf."""
    return viz.compare(layer, *operands(rows), names={}, finite_differences=False)


def comparisons(quick: bool) -> list[str]:
    rows = []
    for times in COMPARED[: 2 if quick else None]:
        scalars = len(topological_order(compare(8 * times).scalar_root))
        took = seconds(lambda times=times: compare(8 * times), 1 if quick else REPEATS)
        shape = f"({8 * times}, 16) @ (16, 16)"
        rows.append([shape, f"{scalars:,}", racing.duration(took), racing.duration(took / scalars)])
    return racing.grid(["`viz.compare` of a tanh layer", "scalar nodes", "time", "a scalar node"], rows)


def report(quick: bool) -> list[str]:
    return [
        "## Pictures, pages, comparisons",
        "",
        *pictures(quick),
        "",
        "A picture takes 1,000 nodes unless its limit is raised, as it was here. Layouts and PNGs, which begin",
        f"with the DOT text, are by {render.find_dot('png').name}, which was given {PNG_SECONDS} s.",
        "A page folds large graphs into groups, so the browser draws what is open; it takes 100,000 Values.",
        "",
        *comparisons(quick),
        "",
    ]


if __name__ == "__main__":
    racing.alone(report)
