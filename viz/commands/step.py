"""plusequals step: a page, or lines of text, that go through a backward pass contribution by contribution."""

from __future__ import annotations

import argparse
import sys

from micrograd.backprop import add, overwrite, topological_order
from viz import plain
from viz.commands.backward import gradient_for
from viz.commands.options import add_output, add_target, target_of
from viz.commands.output import write
from viz.commands.steps_text import steps_text
from viz.errors import UserError
from viz.limits import ON_COMMAND_LINE, check_page
from viz.page import check_suffix, step
from viz.trace import trace

HELP = "step through the backward pass, on a page or as text"
EXAMPLES = """\
  plusequals step "relu(a*b + c)*a" a=2 b=-3 c=10
  plusequals step "relu(a*b + c)*a" a=2 b=-3 c=10 --text --mode =
  plusequals step train.py:loss -o loss.html"""
DESCRIPTION = """\
Write a page that steps through the backward pass, with += and with = (the bug); or print the steps. The pass starts
from empty gradients."""

_DEFAULT_OUTPUT = "steps.html"
_MODES = {"+=": add, "=": overwrite, "add": add, "overwrite": overwrite}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals step`."""
    add_target(parser)
    add_output(
        parser,
        f"where to write the page (default: {_DEFAULT_OUTPUT}, none with --text or --json)",
    )
    parser.add_argument("--text", action="store_true", help="print the steps as lines of text")
    parser.add_argument(
        "--mode",
        choices=tuple(_MODES),
        help="what happens where a contribution arrives, for --text and --json: += or add (the default), "
        "= or overwrite (the bug); the page has both",
    )


def run(args: argparse.Namespace) -> int:
    """Write the page or print the steps, and return 0."""
    printed = args.text or args.json
    if args.text and args.json:
        raise UserError("--text and --json both print on stdout: leave one out")
    if args.mode and not printed:
        raise UserError("--mode is for --text and --json: the page has a switch for += and =")
    output = args.output or (None if printed else _DEFAULT_OUTPUT)
    if output is not None:
        check_suffix(output)  # before the work is done
    target = target_of(args)
    with target.running():
        root = target.root()
        if output is not None:
            check_page(len(topological_order(root)), ON_COMMAND_LINE)
        gradient = gradient_for(root, args.gradient, target.title)
        page = step(root, gradient=gradient, names=target.names, title=target.title) if output is not None else None
        passed = trace(root, _MODES[args.mode or "+="], gradient=gradient, names=target.names) if printed else None
    if page is not None:
        told = write(output, page.save)
        print(f"{told}: open it in a browser", file=sys.stderr if printed else sys.stdout)
    if passed is not None:
        print(plain.dumps(plain.trace(passed)) if args.json else steps_text(passed))
    return 0
