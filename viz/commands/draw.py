"""plusequals draw: a picture of a graph."""

from __future__ import annotations

import argparse
import sys

from micrograd.backprop import Node, reached, topological_order
from viz import plain
from viz.commands.backward import clear_gradients, gradient_for, run_backward
from viz.commands.options import add_max_nodes, add_output, add_target, check_for_picture, most_nodes, target_of
from viz.commands.output import write
from viz.dot import to_dot
from viz.drawing import Drawing, suffix_of
from viz.errors import UserError
from viz.graph import snapshot
from viz.labels import DIRECTIONS
from viz.limits import ON_COMMAND_LINE, check_picture
from viz.text import count

HELP = "draw the graph, with data, gradients and contributions"
EXAMPLES = """\
  plusequals draw "relu(a*b + c)*a" a=2 b=-3 c=10
  plusequals draw "(tanh(x @ w)**2).sum()" "x=[[1, 2], [3, 4]]" "w=[[1], [-1]]" -o net.svg
  plusequals draw train.py:loss -o loss.png"""
DESCRIPTION = """\
Draw the graph of an expression, or of a variable or function in a Python file. A backward pass is run first, so that
each node shows its gradient and each edge its contribution; a file's variable that has its gradients keeps them."""

_DEFAULT_OUTPUT = "graph.png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals draw`."""
    add_target(parser)
    add_output(
        parser,
        f"where to write the picture: .png, .svg, .pdf or .dot (default: {_DEFAULT_OUTPUT}, none with --json)",
    )
    parser.add_argument(
        "--no-backward",
        dest="backward",
        action="store_false",
        help="draw the graph without gradients, as it is before a backward pass",
    )
    parser.add_argument("--direction", choices=DIRECTIONS, help=f"where it grows to (default: {DIRECTIONS[0]})")
    add_max_nodes(parser)


def run(args: argparse.Namespace) -> int:
    """Draw the picture and return 0."""
    output = args.output or (None if args.json else _DEFAULT_OUTPUT)
    most = most_nodes(args, output)
    if output is not None:
        suffix_of(output)  # before the work is done
    if args.direction is not None:
        check_for_picture("--direction", output)
    if args.gradient is not None and not args.backward:
        raise UserError("--gradient starts a backward pass, and --no-backward runs none: leave one out")
    target = target_of(args)
    with target.running():
        root = target.root()
        nodes = len(topological_order(root))
        if output is not None:
            check_picture(nodes, most, ON_COMMAND_LINE)
        _prepare(root, args, target.title)
        graph = snapshot(root, target.names)
    if output is not None:
        drawing = Drawing(to_dot(graph, args.direction or DIRECTIONS[0]))
        told = write(output, drawing.save)
        where = sys.stderr if args.json else sys.stdout
        print(f"{told}: {target.title}, {count(nodes, 'node')}", file=where)
    if args.json:
        print(plain.dumps(plain.graph(graph)))
    return 0


def _prepare(root: Node, args: argparse.Namespace, title: str) -> None:
    """Give the graph the gradients that it is to show; those that it has stay."""
    if not args.backward:
        clear_gradients(root)
    elif not reached(root):
        run_backward(root, gradient_for(root, args.gradient, title))
    elif args.gradient is not None:
        raise UserError(f"{title} has its gradients already, from a backward pass in the file: leave --gradient out")
