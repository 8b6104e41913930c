"""plusequals profile: where the time of a forward and backward pass goes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from viz.commands import measured
from viz.commands.backward import gradient_for
from viz.commands.options import add_target
from viz.commands.target import Target
from viz.errors import UserError
from viz.inputs.source import split_target
from viz.profiling.picture import draw_profile
from viz.profiling.run import MOST_RUNS, profile

HELP = "measure where the time of a forward and backward pass goes"
EXAMPLES = """\
  plusequals profile train.py:loss
  plusequals profile train.py:loss --by module -o profile.svg
  plusequals profile train.py:loss --model model --repeats 20 --json"""
DESCRIPTION = """\
Run file.py:NAME, a function that returns a Value or Tensor (loss, if none is named), and the backward pass of that
several times, and print where the time goes, by operation and by module. With -o draw it as nested bars, as wide as
their times. The file's only model is found, and its modules have the names that it has for them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals profile`."""
    add_target(parser)
    parser.add_argument(
        "--model", metavar="NAME", help="the model's variable, which modules are named by; by default the only one"
    )
    parser.add_argument("--repeats", type=_runs, default=5, metavar="N", help="how many runs are measured (default: 5)")
    measured.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table or JSON, draw the picture if one is asked for, and return 0."""
    target = measured.checked_target(args)
    if target.variable is not None:
        raise UserError(
            f"{target.title} is a variable, which has been made already: name a function that makes it, as the forward "
            "pass is run, too"
        )
    with target.running():
        seed = gradient_for(target.root(), args.gradient, target.title)
        model = measured.model_of(target, args.model)
        found = profile(_loss_fn(target, args.target), repeats=args.repeats, model=model, gradient=seed)
    measured.tell(args, found, draw_profile, target.title)
    return 0


def _loss_fn(target: Target, text: str) -> Callable[[], Any]:
    """The function itself where it takes no arguments: what `root` does around it would be measured, too."""
    file = split_target(text)
    function: Any = target.root
    if file is not None and target.source is not None and not target.values:
        function = target.source.find(file[1])
    return function


def _runs(text: str) -> int:
    try:
        runs = int(text)
    except ValueError:
        runs = 0
    if not 1 <= runs <= MOST_RUNS:
        raise argparse.ArgumentTypeError(
            f"{text.strip()!r} is no number of runs: write a whole number from 1 to {MOST_RUNS}"
        )
    return runs
