"""plusequals demo: all three commands on two graphs, into a folder, with their figures checked."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from micrograd.backprop import add, overwrite, topological_order
from viz import files
from viz.commands.backward import ensure_backward
from viz.commands.demo_graphs import EXPRESSION, OPERANDS, Example, expression, network, torch_difference
from viz.comparison.result import Comparison
from viz.comparison.run import compare
from viz.drawing import draw
from viz.inputs.expression import parse
from viz.page import step
from viz.trace import trace

HELP = "do all three with two examples, and write the results into a folder"
EXAMPLES = """\
  plusequals demo
  plusequals demo some/folder"""
DESCRIPTION = f"""\
Draw, step through and compare {EXPRESSION} (7 nodes) and a network of 41 parameters on four examples (394 nodes),
write the results into a folder, and check the figures. Exits with 1 if one is not what it should be."""

_DEFAULT_FOLDER = "plusequals-demo"
_WIDTH = 46
_HAS_TORCH = find_spec("torch") is not None
_IN_FLOAT64 = 1e-12
_IN_FLOAT32 = 7e-6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals demo`."""
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=_DEFAULT_FOLDER, help=f"default: {_DEFAULT_FOLDER}"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files, print the figures, and return 1 where one is not what it should be."""
    checks = _Checks()
    folder = Path(args.folder)
    written = _expression(folder, checks) + _network(folder, checks)
    print("\nOpen")
    width = max(len(str(path)) for path, _ in written)
    for path, what in written:
        print(f"  {path!s:<{width}}  {what}")
    return 0 if checks.ok else 1


class _Checks:
    """Prints figures, marks those that are not what they should be, and remembers whether there was one."""

    def __init__(self) -> None:
        self.ok = True

    def figure(self, what: str, value: float, right: bool) -> None:
        self.ok = self.ok and right
        print(f"  {what:<{_WIDTH}} {value:.4g}{'' if right else '   WRONG'}")

    def difference(self, what: str, value: float, most: float) -> None:
        self.figure(f"{what} (at most {most:g})", value, value <= most)


def _expression(folder: Path, checks: _Checks) -> list[tuple[Path, str]]:
    example = expression()
    print(f"{EXPRESSION} at {', '.join(f'{name}={number:g}' for name, number in OPERANDS.items())}")
    comparison = compare(parse(EXPRESSION), *OPERANDS.values(), names={}, torch=_HAS_TORCH)
    written = _write(folder, "expression", EXPRESSION, example, comparison)
    picture = folder / "expression-compare.png"
    comparison.draw(picture)

    nodes = len(topological_order(example.root))
    checks.figure("nodes", nodes, nodes == 7)
    for what, combine, right in (("with +=", add, -2.0), ("with =, the bug", overwrite, -6.0)):
        passed = trace(example.root, combine, names={})
        key = next(record.key for record in passed.graph.nodes if record.name == "a")
        checks.figure(f"gradient of a, {what}", passed.grads[key], passed.grads[key] == right)
    checks.difference("Tensor from Value", comparison.largest_difference(), _IN_FLOAT64)
    return [*written, (picture, "both graphs side by side")]


def _network(folder: Path, checks: _Checks) -> list[tuple[Path, str]]:
    example = network()
    net = example.variables["net"]
    print(f"\na network of {len(net.parameters())} parameters, its squared error on four examples")
    comparison = compare(example.root, names=example.variables, torch=_HAS_TORCH)
    written = _write(folder, "network", "MLP(3, [4, 4, 1])", example, comparison)

    nodes = len(topological_order(example.root))
    checks.figure("nodes", nodes, nodes == 394)
    checks.difference("Tensor from Value", comparison.largest_difference(), _IN_FLOAT64)
    for dtype, most in (("float64", _IN_FLOAT64), ("float32", _IN_FLOAT32)):
        difference = torch_difference(net, dtype)
        if difference is None:
            print("  torch is not installed: not compared with it")
            break
        checks.difference(f"torch in {dtype} from Value", difference, most)
    return written


def _write(folder: Path, name: str, title: str, example: Example, comparison: Comparison) -> list[tuple[Path, str]]:
    """A picture, a page and a table of the example, with what each is."""
    ensure_backward(example.root, None)
    picture, page, table = folder / f"{name}.png", folder / f"{name}.html", folder / f"{name}-compare.txt"
    draw(example.root, picture, names=example.variables)
    step(example.root, page, names=example.variables, title=title)
    files.write(table, comparison.table(all=True, most=comparison.elements) + "\n")
    return [
        (picture, "the graph, with data, gradients and contributions"),
        (page, "step through the backward pass, with += and with ="),
        (table, "scalar gradients beside tensor gradients"),
    ]
