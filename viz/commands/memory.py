"""plusequals memory: what a graph keeps alive for the backward pass."""

from __future__ import annotations

import argparse

from tensorgrad.optim import Optimizer
from viz.commands import measured
from viz.commands.backward import gradient_for
from viz.commands.options import add_target
from viz.errors import UserError
from viz.memory.picture import draw_memory
from viz.memory.run import memory

HELP = "count what a graph keeps in memory for the backward pass"
EXAMPLES = """\
  plusequals memory train.py:loss
  plusequals memory train.py:loss --peak --by module -o memory.png
  plusequals memory train.py:loss --model model --json"""
DESCRIPTION = """\
Print what the graph of file.py:NAME (a Value or Tensor, or a function that returns one; loss, if none is named) keeps
alive: weights, what the rules hold for the backward pass, gradients, and what the file's optimizer remembers; each
array once, by operation and by module. With -o draw it as bars. The file's only model and optimizer are found."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals memory`."""
    add_target(parser)
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="the model's variable, whose parameters are the weights; by default the only one",
    )
    parser.add_argument("--peak", action="store_true", help="run a backward pass, too, and measure its peak")
    measured.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table or JSON, draw the picture if one is asked for, and return 0."""
    if args.gradient is not None and not args.peak:
        raise UserError("--gradient is for the backward pass, and none is run: add --peak")
    target = measured.checked_target(args)
    with target.running():
        root = target.root()
        seed = gradient_for(root, args.gradient, target.title) if args.peak else None
        model, optimizer = measured.model_of(target, args.model), measured.only(target, Optimizer)
        found = memory(root, model=model, optimizer=optimizer, peak=args.peak, gradient=seed)
    measured.tell(args, found, draw_memory, target.title)
    return 0
