"""plusequals uses: a gradient split by use."""

from __future__ import annotations

import argparse
import sys

from viz.commands.backward import gradient_for
from viz.commands.options import add_output, add_target, target_of
from viz.commands.output import write
from viz.drawing import suffix_of
from viz.errors import UserError
from viz.plain import dumps
from viz.text import MINUS
from viz.uses.picture import draw_uses
from viz.uses.run import uses

HELP = "split the gradient of what is used more than once by use"
EXAMPLES = """\
  plusequals uses "relu(a*b + c)*a" a=2 b=-3 c=10
  plusequals uses train.py:loss -o uses.png
  plusequals uses train.py:loss --of model.tokens.weight --json"""
DESCRIPTION = """\
Run a backward pass, and print for each leaf that is used more than once (a weight that is tied, a cell that is applied
again) what each of its uses sends: norm, share, how it lies to the sum, and what = in the place of += would leave."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals uses`."""
    add_target(parser)
    parser.add_argument("--of", metavar="NAME", help="of this node alone: a leaf or any other")
    add_output(
        parser,
        "draw it, too: .png, .svg, .pdf or .dot; that it was written is told on stderr, as the table is on stdout",
    )


def run(args: argparse.Namespace) -> int:
    """Print the table or JSON, write the picture if one is asked for, and return 0."""
    if args.output is not None:
        suffix_of(args.output)  # before the work is done
    target = target_of(args)
    with target.running():
        root = target.root()
        gradient = gradient_for(root, args.gradient, target.title)
        found = uses(root, args.of, names=target.names, gradient=gradient)
    if not found:
        raise UserError(f"{target.title} uses no leaf more than once: name what to look at, with --of NAME")
    print(dumps(found.to_json()) if args.json else str(found).replace(MINUS, "-"), flush=True)
    if args.output is not None:  # after the table, which a picture that cannot be drawn must not cost
        drawing = draw_uses(found)
        print(write(args.output, drawing.save), file=sys.stderr)
    return 0
