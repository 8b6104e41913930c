"""plusequals draw: a picture of a graph."""

from __future__ import annotations

import argparse
import sys

from micrograd.backprop import topological_order
from viz import plain
from viz.commands.backward import clear_gradients, ensure_backward, gradient_for
from viz.commands.options import add_target, target_of
from viz.drawing import MOST_NODES, draw, suffix_of
from viz.graph import snapshot
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
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"where to write the picture: .png, .svg, .pdf or .dot (default: {_DEFAULT_OUTPUT}, none with --json)",
    )
    parser.add_argument(
        "--no-backward",
        "--no-grad",
        dest="backward",
        action="store_false",
        help="draw the graph without gradients, as it is before a backward pass",
    )
    parser.add_argument("--direction", choices=("LR", "RL", "TB", "BT"), default="LR", help="where it grows to")
    parser.add_argument(
        "--max-nodes", type=int, metavar="N", default=MOST_NODES, help=f"the limit (default: {MOST_NODES:,})"
    )


def run(args: argparse.Namespace) -> int:
    """Draw the picture and return 0."""
    output = args.output or (None if args.json else _DEFAULT_OUTPUT)
    if output is not None:
        suffix_of(output)  # before the work is done
    target = target_of(args)
    with target.running():
        root = target.root()
        if args.backward:
            ensure_backward(root, gradient_for(root, args.gradient, target.title))
        else:
            clear_gradients(root)
        nodes = len(topological_order(root))
        if output is not None:
            draw(root, output, names=target.names, direction=args.direction, max_nodes=args.max_nodes)
        data = plain.dumps(plain.graph(snapshot(root, target.names))) if args.json else None
    if data is not None:
        print(data)
    if output is not None:
        print(
            f"wrote {output}: {target.title}, {count(nodes, 'node')}",
            file=sys.stderr if args.json else sys.stdout,
        )
    return 0
