"""plusequals demo: all three commands on two graphs, into a folder, with their figures checked."""

from __future__ import annotations

import argparse
from pathlib import Path

from micrograd.backprop import Node, add, overwrite, topological_order
from viz import files
from viz.commands.backward import run_backward
from viz.commands.demo_graphs import (
    EXPRESSION,
    OPERANDS,
    Example,
    expression,
    furthest,
    gradients,
    network,
    tensor_leaf,
    torch_gradients,
)
from viz.commands.demo_report import Report, as_json, as_text
from viz.commands.options import torch_is_installed
from viz.comparison.result import Comparison
from viz.comparison.run import compare
from viz.drawing import draw
from viz.inputs.expression import parse
from viz.page import step
from viz.plain import dumps
from viz.trace import Combine, trace

HELP = "do all three with two examples, and write the results into a folder"
EXAMPLES = """\
  plusequals demo
  plusequals demo some/folder"""
DESCRIPTION = f"""\
Draw, step through and compare {EXPRESSION} (7 nodes) and a network of 41 parameters on four examples (394 nodes),
write the results into a folder, and check the figures. Exits with 1 if one is not what it should be."""

_DEFAULT_FOLDER = "plusequals-demo"
_IN_FLOAT64 = 1e-12
_IN_FLOAT32 = 7e-6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals demo`."""
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=_DEFAULT_FOLDER, help=f"default: {_DEFAULT_FOLDER}"
    )
    parser.add_argument("--json", action="store_true", help="print the figures and the files' names as JSON on stdout")


def run(args: argparse.Namespace) -> int:
    """Write the files, print the figures, and return 1 where one is not what it should be."""
    folder = Path(args.folder)
    reports = [_expression(folder), _network(folder)]
    print(dumps(as_json(reports)) if args.json else as_text(reports))
    return 0 if all(report.ok for report in reports) else 1


def _expression(folder: Path) -> Report:
    example = expression()
    report = Report(f"{EXPRESSION} at {', '.join(f'{name}={number:g}' for name, number in OPERANDS.items())}")
    comparison = compare(parse(EXPRESSION), *OPERANDS.values(), names={}, torch=torch_is_installed())
    report.files = _write(folder, "expression", EXPRESSION, example, comparison)
    picture = folder / "expression-compare.png"
    comparison.draw(picture)
    report.files.append((picture, "both graphs side by side"))

    for engine, root in (("Values", example.root), ("Tensors", comparison.tensor_root)):
        report.exactly(f"nodes, {engine}", len(topological_order(root)), 7)
        report.exactly(f"gradient of a with +=, {engine}", _gradient_of_a(root, add), -2)
        report.exactly(f"gradient of a with =, the bug, {engine}", _gradient_of_a(root, overwrite), -6)
    _differences(report, comparison)
    return report


def _gradient_of_a(root: Node, combine: Combine) -> float:
    passed = trace(root, combine, names={})
    return float(passed.grads[next(record.key for record in passed.graph.nodes if record.name == "a")])


def _network(folder: Path) -> Report:
    example = network()
    net = example.variables["net"]
    report = Report(f"a network of {len(net.parameters())} parameters, its squared error on four examples")
    comparison = compare(example.root, names=example.variables, torch=torch_is_installed())
    report.files = _write(folder, "network", "MLP(3, [4, 4, 1])", example, comparison)

    on_tensors = network(tensor_leaf("float64")).root  # the same program, not a copy of the graph
    for engine, root in (("Values", example.root), ("Tensors", on_tensors)):
        report.exactly(f"nodes, {engine}", len(topological_order(root)), 394)
    _differences(report, comparison)
    if torch_is_installed():
        report.at_most("Value from torch, float64", _from_torch(example, "float64"), _IN_FLOAT64)
        report.at_most("Value from torch, float32", _from_torch(example, "float32"), _IN_FLOAT32)
        in_float32 = network(tensor_leaf("float32"))
        in_float32.root.backward()
        report.at_most("Tensor from torch, both float32", _from_torch(in_float32, "float32"), _IN_FLOAT32)
    return report


def _differences(report: Report, comparison: Comparison) -> None:
    """How far the engines are apart in the comparison, and Tensors from torch."""
    report.at_most("Tensor from Value, float64", comparison.largest_difference(), _IN_FLOAT64)
    from_torch = comparison.largest_difference_from_torch()
    if from_torch is None:
        report.notes.append("torch is not installed: not compared with it")
    else:
        report.at_most("Tensor from torch, float64", from_torch, _IN_FLOAT64)


def _from_torch(example: Example, dtype: str) -> float:
    """How far the network's gradients are at most from torch's."""
    net = example.variables["net"]
    return furthest(gradients(net), torch_gradients(net, dtype))


def _write(folder: Path, name: str, title: str, example: Example, comparison: Comparison) -> list[tuple[Path, str]]:
    """A picture, a page and a table of the example, with what each is."""
    run_backward(example.root, None)
    picture, page, table = folder / f"{name}.png", folder / f"{name}.html", folder / f"{name}-compare.txt"
    draw(example.root, picture, names=example.variables)
    step(example.root, page, names=example.variables, title=title)
    files.write(table, comparison.table(all=True, most=comparison.elements) + "\n")
    return [
        (picture, "the graph, with data, gradients and contributions"),
        (page, "step through the backward pass, with += and with ="),
        (table, "scalar gradients beside tensor gradients"),
    ]
