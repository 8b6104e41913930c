"""plusequals compare: scalar gradients beside tensor gradients."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from micrograd import Value
from micrograd.backprop import topological_order
from viz.commands.backward import gradient_for
from viz.commands.options import (
    add_max_nodes,
    add_output,
    add_target,
    most_nodes,
    tolerance,
    torch_is_installed,
)
from viz.commands.output import write
from viz.commands.recorded import recorded_target
from viz.commands.target import Target
from viz.comparison.result import Comparison
from viz.comparison.run import compare
from viz.drawing import Drawing, suffix_of
from viz.errors import UserError
from viz.inputs.source import split_target
from viz.limits import ON_COMMAND_LINE, check_picture
from viz.plain import dumps
from viz.text import MINUS

HELP = "compare the gradients of the scalar and the tensor engine"
EXAMPLES = """\
  plusequals compare "relu(a*b + c)*a" a=2 b=-3 c=10
  plusequals compare "(tanh(x @ w)**2).sum()" "x=[[1, 2], [3, 4]]" "w=[[1], [-1]]" --all -o both.png
  plusequals compare train.py:loss"""
DESCRIPTION = """\
Run a program on Tensors and on Values, and compare every node's data and gradient element by element. Beside them
stand finite differences, torch's gradients where it is installed, and what = would leave. Exits with 1 if anything
differs. A file whose variable is a Tensor is run twice."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals compare`."""
    add_target(parser)
    add_output(
        parser,
        "draw both graphs side by side, too: .png, .svg, .pdf or .dot; that it was written is told on stderr, as "
        "the table is on stdout",
    )
    parser.add_argument("--all", action="store_true", help="a row for every element of every node, not of leaves only")
    parser.add_argument(
        "--torch",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="compute the gradients with torch too (default: where it is installed)",
    )
    parser.add_argument("--rtol", type=tolerance, metavar="R", help="the relative tolerance (default: by dtype)")
    parser.add_argument("--atol", type=tolerance, metavar="A", help="the absolute tolerance (default: by dtype)")
    add_max_nodes(parser)


def run(args: argparse.Namespace) -> int:
    """Compare, print the table or JSON, and return 1 where anything differs."""
    _check_options(args)
    target = recorded_target(args)
    with target.running():
        comparison = _compare(target, args)
    print(dumps(comparison.to_json()) if args.json else _table(comparison, every=args.all), flush=True)
    if args.output is not None:  # after the table, which a picture that cannot be drawn must not cost
        drawing = _drawing(comparison, target, args)
        print(write(args.output, drawing.save), file=sys.stderr)
    return 0 if comparison.ok else 1


def _check_options(args: argparse.Namespace) -> None:
    """Refuse, before the work is done, what cannot be written and what would not be used."""
    most_nodes(args, args.output)
    if args.output is not None:
        suffix_of(args.output)
    if args.all and args.json:
        raise UserError("--all is for the table: JSON has every element of every node, so leave --all out")
    if args.engine is not None and split_target(args.target) is None:
        raise UserError("an expression is compared on both engines: leave --engine and --tensor out")


def _drawing(comparison: Comparison, target: Target, args: argparse.Namespace) -> Drawing:
    most = most_nodes(args, args.output)
    nodes = len(comparison.nodes) + len(topological_order(comparison.scalar_root))
    check_picture(nodes, most, ON_COMMAND_LINE, subject="both graphs together have")
    with target.running():
        return comparison.draw(max_nodes=most)


def _compare(target: Target, args: argparse.Namespace) -> Comparison:
    if target.source is None:
        target = replace(target, engine="tensor")  # the scalar graph is made from the tensors' program
    root = target.root()
    options: dict[str, Any] = {
        "gradient": gradient_for(root, args.gradient, target.title),
        "rtol": args.rtol,
        "atol": args.atol,
        "names": target.names,
        "torch": torch_is_installed() if args.torch is None else args.torch,
    }
    if target.variable is not None or isinstance(root, Value):
        return compare(root, **options)
    return compare(target.program, *target.operands(), **options)


def _table(comparison: Comparison, *, every: bool) -> str:
    """As `Comparison.table`, with a hyphen for a minus sign: so that a number may be copied into a program."""
    text = comparison.table(all=True, most=comparison.elements) if every else comparison.table()
    return text.replace(MINUS, "-")
