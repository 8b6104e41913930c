"""plusequals step: a page, or lines of text, that go through a backward pass contribution by contribution."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from micrograd.backprop import Node, add, overwrite
from viz import breakpoints, plain
from viz.commands import frames
from viz.commands.backward import gradient_for
from viz.commands.interactive import converse
from viz.commands.options import add_output, add_target, node_count, number, target_of
from viz.commands.output import write
from viz.commands.recorded import recorded_target
from viz.commands.steps_text import steps_text
from viz.commands.target import Target
from viz.comparison.recording import recording
from viz.errors import UserError
from viz.limits import MOST_ON_PAGE, MOST_RECORDED, ON_COMMAND_LINE
from viz.page import Page, check_suffix, step
from viz.trace import RECURSION, Trace, trace

HELP = "step through the backward pass, on a page or as text"
EXAMPLES = """\
  plusequals step "relu(a*b + c)*a" a=2 b=-3 c=10
  plusequals step "relu(a*b + c)*a" a=2 b=-3 c=10 --text --mode =
  plusequals step "relu(a*b + c)*a" a=2 b=-3 c=10 --frames slides
  plusequals step train.py:loss -o loss.html
  plusequals step train.py:loss --text --until "|grad| > 100"
  plusequals step train.py:loss --interactive"""
DESCRIPTION = """\
Write a page that steps through the backward pass, with += and with = (the bug); or print the steps; or draw them, a
picture each or an animated GIF; or go through them at a prompt. The pass starts from empty gradients."""

_DEFAULT_OUTPUT = "steps.html"
_MODES = {"+=": add, "=": overwrite, "add": add, "overwrite": overwrite, RECURSION: add}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals step`."""
    add_target(parser)
    add_output(
        parser,
        f"where to write the page (default: {_DEFAULT_OUTPUT}, none where the steps are printed or drawn)",
    )
    frames.add_arguments(parser)
    parser.add_argument("--text", action="store_true", help="print the steps as lines of text")
    parser.add_argument(
        "--interactive",
        action="store_true",
        help="step at a prompt: n(ext), p(revious), c(ontinue), b(reak), print; ? lists the commands",
    )
    parser.add_argument(
        "--until",
        metavar="COND",
        action="append",
        help="for --text and --json: end the pass at the first step where this holds; for --interactive: a breakpoint "
        f"to start with. {breakpoints.FORMS}; may be given more than once",
    )
    parser.add_argument(
        "--mode",
        choices=tuple(_MODES),
        help="what happens where a contribution arrives, where the steps are printed, drawn or gone through: += or add "
        "(the default), = or overwrite (the bug); or recursion, += without a topological order; the page has all",
    )

    parser.add_argument(
        "--update",
        type=_rate,
        metavar="RATE",
        help="on the page, let a step of gradient descent with this learning rate follow the pass",
    )
    parser.add_argument(
        "--max-nodes",
        type=node_count,
        metavar="N",
        help=f"the page's limit (default: {MOST_ON_PAGE:,} Values, {MOST_RECORDED:,} Tensors)",
    )


def _rate(text: str) -> float:
    rate = number(text)
    if not math.isfinite(rate):
        raise argparse.ArgumentTypeError(f"{text!r} is no learning rate: give a finite number, as 0.1")
    return rate


def run(args: argparse.Namespace) -> int:
    """Write the page, print the steps or go through them, and return 0."""
    _check_stdout(args)
    printed = args.text or args.json or args.interactive
    drawn = frames.wanted(args)
    if args.mode and not printed and not drawn:
        raise UserError(
            "--mode is for --text, --json, --interactive, --frames and --gif: the page has a switch for += and ="
        )
    frames.check(args)
    output = args.output if args.output is not None else None if printed or drawn else _DEFAULT_OUTPUT
    if output is not None:
        check_suffix(output)  # before the work is done
    elif args.update is not None or args.max_nodes is not None:
        option = "--max-nodes" if args.update is None else "--update"
        raise UserError(f"{option} is for the page: name one with -o")
    _check_apart({"-o": output, "--frames": args.frames, "--gif": args.gif})
    # A page wants to know how operations were called, for its scalars and its checks by differences.
    target = target_of(args) if output is None else recorded_target(args)
    with target.running():
        with nullcontext() if output is None else recording():
            root = target.root()
        gradient = gradient_for(root, args.gradient, target.title)
        page = _page(args, root, gradient, target) if output is not None else None
        passed = _passed(args, root, gradient, target.names) if printed else None
        pictures = frames.draw(args, root, gradient, target.names) if drawn else []
    for told in pictures:
        print(told, file=sys.stderr if printed else sys.stdout)
    if page is not None:
        told = write(output, page.save)
        print(f"{told}: open it in a browser", file=sys.stderr if printed else sys.stdout)
    if passed is not None and args.interactive:
        converse(passed, target.title, args.until or ())
    elif passed is not None:
        print(plain.dumps(plain.trace(passed)) if args.json else steps_text(passed))
    return 0


def _page(args: argparse.Namespace, root: Node, gradient: Any, target: Target) -> Page:
    return step(
        root,
        gradient=gradient,
        names=target.names,
        title=target.title,
        update=args.update,
        max_nodes=args.max_nodes,
        spelling=ON_COMMAND_LINE,
    )


def _check_stdout(args: argparse.Namespace) -> None:
    """Raise UserError where two options print on stdout, and for --until where nothing does."""
    asked = [option for option in ("text", "json", "interactive") if getattr(args, option)]
    if len(asked) > 1:
        raise UserError(f"--{asked[0]} and --{asked[1]} both print on stdout: leave one out")
    if args.until and not asked:
        raise UserError("--until is for --text, --json and --interactive: add one of them")


def _check_apart(places: Mapping[str, str | None]) -> None:
    """Raise UserError where two options write to one place."""
    taken: dict[str, str] = {}
    for option, place in places.items():
        if place is None:
            continue
        found = os.path.realpath(place)
        if found in taken:
            raise UserError(f"{taken[found]} and {option} both write to {place}: name two places")
        taken[found] = option


def _passed(args: argparse.Namespace, root: Node, gradient: Any, names: Mapping[str, Any]) -> Trace:
    """The pass, run: here, where what the user's code raises is told as an error of theirs."""
    mode = args.mode or "+="
    until = None if args.interactive else args.until
    passed = trace(root, _MODES[mode], gradient=gradient, names=names, until=until, recursive=mode == RECURSION)
    breakpoints.breakpoints(args.until, passed.graph)  # what cannot be read is said before anything is written
    len(passed)
    return passed
