"""Programs to step through, and readers of what the stepper page shows, for the tests in a browser."""

from __future__ import annotations

import importlib
import json
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from conftest import missing

from micrograd import Value
from micrograd.backprop import Node, add, overwrite, topological_order
from micrograd.nn import MLP
from tensorgrad import Tensor
from viz import step
from viz.pages.quantities import Quantities
from viz.text import number
from viz.trace import Trace, trace

COMBINE = {"add": add, "overwrite": overwrite}
MODES = ("add", "overwrite", "recursion")
WIDE = {"width": 1400, "height": 720}
PHONE = {"width": 390, "height": 844}


# -- programs ----------------------------------------------------------------------------------------------------------


def seven(make: Callable[..., Node]) -> Node:
    """The seed document's graph: a is used twice and ends at -2, or at -6 under `=`."""
    a, b, c = make(2.0, label="a"), make(-3.0, label="b"), make(10.0, label="c")
    return (a * b + c).relu() * a


def tensor(data: Any, label: str) -> Tensor:
    return Tensor(data, requires_grad=True, label=label)


def square(make: Callable[..., Node]) -> Node:
    x = make(3.0, label="x")
    return x * x


def arrays() -> Node:
    x, w, b = tensor([[1, 2], [3, 4], [-1, 0.5]], "x"), tensor([[0.5, -1], [1, 0.25]], "w"), tensor([0.1, -0.2], "b")
    h = (x @ w + b).tanh()
    return (h * h).sum()


def shared() -> Node:
    """An array whose gradient takes in two more after the first."""
    x, w = tensor([[1, 2], [3, -1.25]], "x"), tensor([[0.5, -1], [1, 0.25]], "w")
    return ((x @ w).tanh() * x + x).sum()


def beside() -> Node:
    """An edge that passes close beside a node."""
    x = tensor(np.linspace(-1, 1, 24).reshape(6, 4), "x")
    return (x * x.tanh()).sum()


def odd() -> Node:
    """inf in the data of h, and from it nan in the gradient of z, which is 0 * inf; k and y stay finite."""
    x, k, z = Value(1.0, label="x"), Value(2.0, label="k"), Value(0.5, label="z")
    h = x * float("inf")
    y = k * x
    return h + (z * h) * 0.0 + y * y


def odd_arrays() -> Node:
    """An array that holds nan and inf among its elements, and a large one with a single inf."""
    x, w = tensor([[1, np.nan], [np.inf, 2]], "x"), tensor(np.ones((9, 9)), "w")
    big = np.ones((9, 9))
    big[3, 4] = -np.inf
    return (x * 2.0).sum() + (w * Tensor(big, label="big")).sum()


def odd_fan() -> Node:
    """Edges that pass close to the tags of the nodes that hold inf."""
    x = Value(float("inf"), label="x")
    y = x * 2.0
    z = y * x
    return (z * y + x) * z + y * x


def net() -> Node:
    """The 41 parameters on four examples of figures row 2: 394 nodes."""
    random.seed(1)
    model = MLP(3, [4, 4, 1])
    xs, ys = [[2, 3, -1], [3, -1, 0.5], [0.5, 1, 1], [1, 1, -1]], [1, -1, -1, 1]
    return sum((model(x) - y) ** 2 for x, y in zip(xs, ys, strict=True))


PROGRAMS = {
    "seven values": lambda: seven(Value),
    "seven tensors": lambda: seven(tensor),
    "arrays": arrays,
    "shared": shared,
    "beside": beside,
    "x*x": lambda: square(Value),
    "x*x on tensors": lambda: square(tensor),
    "odd": odd,
    "odd arrays": odd_arrays,
}


def load_axe() -> Any:
    """axe-core, or a skip that says that it is not installed."""
    try:
        return importlib.import_module("axe_playwright_python.sync_playwright").Axe()
    except ImportError:
        missing("axe-playwright-python is not installed")


# -- what a page holds -------------------------------------------------------------------------------------------------


def data_of(text: str) -> dict[str, Any]:
    """The data that a page's text embeds."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def described(q: Any) -> Any:
    """A number or an array as a page stores it."""
    quantities = Quantities()
    return quantities.records[quantities.of(q)]


def size_beside(page_html: str) -> int:
    """How much longer a page is than one with hardly anything on it."""
    return len(page_html) - len(step(Value(1.0) * 2.0, names={}).html)


# -- readers -----------------------------------------------------------------------------------------------------------


def passed_in(root: Node, mode: str) -> Trace:
    """The trace that one of the page's engines should show."""
    return trace(root, COMBINE.get(mode, add), names={}, recursive=mode == "recursion")


def forward(root: Node) -> list[Node]:
    """The nodes that the forward pass computes, in order: a step each, before those of the backward pass."""
    return [node for node in topological_order(root) if node._prev]


def address(mode: str, at: int, root: Node | None = None) -> str:
    """Step `at` of a mode; with `root`, step `at` of its backward pass, where the seed is 1."""
    return f"#mode={mode}&step={at if root is None else at + len(forward(root))}"


def shown(tab: Any) -> list[str]:
    """What the graph shows as each node's gradient, in topological order."""
    return tab.evaluate(IN_ORDER, ".grad")


def values(tab: Any) -> list[str]:
    """What the graph shows as each node's data, in topological order."""
    return tab.evaluate(IN_ORDER, ".data")


def read(tab: Any, selector: str) -> list[str]:
    """The texts of such parts of the nodes, in topological order of these; "" where a node has none."""
    return tab.evaluate(IN_ORDER, selector)


IN_ORDER = """selector => {
  const place = (node) => Number(node.querySelector(".place").textContent);
  const nodes = [...document.querySelectorAll("#stage .node")].sort((a, b) => place(a) - place(b));
  return nodes.map((node) => node.querySelector(selector)?.textContent ?? "");
}"""
"""The drawing has its boxes in an order of its own, so they are read by the place that is written in them."""


def chips(tab: Any) -> list[str]:
    return tab.locator(".chip.shown:not(.lost) text").all_text_contents()


def lost(tab: Any) -> list[str]:
    return tab.locator(".chip.lost text").all_text_contents()


def expected(passed: Trace, at: int) -> list[str]:
    """What the graph should show as each node's gradient after `at` steps of the backward pass."""
    held = {taken.receiver: taken.after for taken in passed.steps[: max(at, 0)]}
    waiting = {node.key: "not yet" if node.requires_grad else "constant" for node in passed.graph.nodes}
    return [text_of(held[key]) if key in held else text for key, text in waiting.items()]


def text_of(q: Any) -> str:
    if np.size(q) == 1:
        return number(np.asarray(q).item())
    quantities = Quantities()
    record = quantities.records[quantities.of(q)]
    return record["text"].removeprefix(f"{record['shape']} ")  # the shape has a line of its own


def boxes(tab: Any, selector: str) -> list[dict[str, float]]:
    """Where the elements are, all asked at once: each question to the browser takes its time."""
    return tab.locator(selector).evaluate_all(
        "found => found.map(e => e.getBoundingClientRect()).map(({x, y, width, height}) => ({x, y, width, height}))"
    )


def position(tab: Any) -> str:
    return tab.locator("#position").text_content()


def said(tab: Any, selector: str = "#now") -> str:
    """The words of a part of the page, in one line."""
    return " ".join(tab.locator(selector).inner_text().split())


def node_box(tab: Any, name: str) -> Any:
    """The box of the node of that name, or with a title that begins with it."""
    return tab.locator(".node").filter(has=tab.locator(f".name:text-matches('^{name}( = |$)')"))


def sender(tab: Any) -> str:
    """The name of the node that sends, from its box."""
    return tab.locator(".node.sender .name").text_content().split(" = ")[0]


def overlap(a: dict[str, float], b: dict[str, float]) -> float:
    """The share of `a` that `b` covers, without a pixel at its rim."""
    across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"]) - 1
    down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"]) - 1
    return max(across, 0) * max(down, 0) / (a["width"] * a["height"])


def inside(tab: Any, found: list[dict[str, float]]) -> list[bool]:
    """Whether each of these boxes lies inside the stage, a pixel more or less. (That there are any is asserted.)"""
    assert found
    [stage] = boxes(tab, "#stage")
    return [
        all(
            stage[start] - 1 <= box[start] and box[start] + box[size] <= stage[start] + stage[size] + 1
            for start, size in (("x", "width"), ("y", "height"))
        )
        for box in found
    ]
