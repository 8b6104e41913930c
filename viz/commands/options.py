"""The arguments that draw, step and compare have in common."""

from __future__ import annotations

import argparse

from viz.commands.target import Target, read


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
    parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")


def target_of(args: argparse.Namespace) -> Target:
    """The target that the arguments name."""
    return read(args.target, args.values, args.engine)
