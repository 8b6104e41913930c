"""The arguments that commands have in common."""

from __future__ import annotations

import argparse
import math
from importlib.util import find_spec

from viz.commands.target import Target, read
from viz.errors import UserError
from viz.limits import MOST_IN_PICTURE


def add_target(parser: argparse.ArgumentParser) -> None:
    """What to look at, and how it is made into a graph."""
    parser.add_argument("target", metavar="TARGET", help="an expression, or file.py:name (a variable or a function)")
    parser.add_argument(
        "values", metavar="NAME=VALUE", nargs="*", help="a number (a=2) or an array ('w=[[1, 2], [3, 4]]')"
    )
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument(
        "--engine",
        choices=("scalar", "tensor"),
        help="what to make of the values: Values, or Tensors of float64; by default tensors where there are arrays",
    )
    engine.add_argument("--tensor", action="store_const", const="tensor", dest="engine", help="--engine tensor")
    parser.add_argument(
        "--gradient",
        metavar="SEED",
        help="the gradient to start with, for a result that is not one number: ones, or a literal of its shape",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON on stdout; what was written is told on stderr"
    )


def add_output(parser: argparse.ArgumentParser, help: str) -> None:
    """-o, where the file goes; `help` says which files there are."""
    parser.add_argument("-o", "--output", metavar="FILE", help=help)


def add_max_nodes(parser: argparse.ArgumentParser) -> None:
    """--max-nodes, for `most_nodes`."""
    parser.add_argument(
        "--max-nodes", type=node_count, metavar="N", help=f"the picture's limit (default: {MOST_IN_PICTURE:,})"
    )


def most_nodes(args: argparse.Namespace, output: str | None) -> int:
    """The limit of the picture that goes to `output`. Raises UserError for a limit without a picture."""
    if args.max_nodes is None:
        return MOST_IN_PICTURE
    check_for_picture("--max-nodes", output)
    return args.max_nodes


def check_for_picture(option: str, output: str | None) -> None:
    """Raise UserError for an option of the picture's where none is drawn."""
    if output is None:
        raise UserError(f"{option} is for the picture, and none is drawn: add -o FILE")


def tolerance(text: str) -> float:
    """The number of --rtol or --atol."""
    found = number(text)
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is no tolerance: write a number from 0 up, e.g. 1e-9")
    return found


def number(text: str) -> float:
    """The number that an argument is, nan for what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def torch_is_installed() -> bool:
    """Whether torch's gradients can be had."""
    return find_spec("torch") is not None


def node_count(text: str) -> int:
    """The number of --max-nodes."""
    try:
        nodes = int(text)
    except ValueError:
        nodes = 0
    if nodes < 1:
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is no number of nodes: write a whole number from 1 up")
    return nodes


def target_of(args: argparse.Namespace) -> Target:
    """The target that the arguments name."""
    return read(args.target, args.values, args.engine)
