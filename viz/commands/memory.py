"""plusequals memory: what a graph keeps alive for the backward pass."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import micrograd.nn
import tensorgrad.nn
from tensorgrad.optim import Optimizer
from viz.commands.backward import gradient_for
from viz.commands.options import add_target, check_for_picture, target_of
from viz.commands.output import write
from viz.commands.target import Target
from viz.errors import UserError
from viz.inputs.source import split_target
from viz.memory.picture import draw_memory
from viz.memory.run import memory
from viz.plain import dumps
from viz.plots.paper import THEMES, check_suffix
from viz.text import MINUS, clip

HELP = "count what a graph keeps in memory for the backward pass"
EXAMPLES = """\
  plusequals memory train.py:loss
  plusequals memory train.py:loss --peak --by module -o memory.png
  plusequals memory train.py:loss --model model --json"""
DESCRIPTION = """\
Print what the graph of file.py:NAME (a Value or Tensor, or a function that returns one; loss, if none is named) keeps
alive: weights, what the rules hold for the backward pass, gradients, and what the file's optimizer remembers; each
array once, by operation and by module. With -o draw it as bars. The file's only model and optimizer are found."""

_BY: Any = ("op", "module", "shape")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals memory`."""
    add_target(parser)
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="the model's variable, whose parameters are the weights; by default the only one",
    )
    parser.add_argument("--peak", action="store_true", help="run a backward pass, too, and measure its peak")
    parser.add_argument("--by", choices=_BY, help="one table, by this, instead of those by operation and by module")
    parser.add_argument(
        "-o",
        "--output",
        "--picture",
        metavar="FILE",
        help="draw it, too: .png, .svg or .pdf; that it was written is told on stderr, as the table is on stdout",
    )
    parser.add_argument("--theme", choices=THEMES, help=f"the picture's colours (default: {THEMES[0]})")


def run(args: argparse.Namespace) -> int:
    """Print the table or JSON, draw the picture if one is asked for, and return 0."""
    if args.theme is not None:
        check_for_picture("--theme", args.output)
    if args.json and args.by:
        raise UserError("--by is for the table, and --json has all three: leave one of them out")
    if args.gradient is not None and not args.peak:
        raise UserError("--gradient is for the backward pass, and none is run: add --peak")
    if args.output is not None:
        check_suffix(args.output)  # before the work is done
    file = split_target(args.target)
    if file is not None and not file[1]:
        args.target = f"{file[0]}:loss"
    target = target_of(args)
    with target.running():
        root = target.root()
        seed = gradient_for(root, args.gradient, target.title) if args.peak else None
        given = {"model": model_of(target, args.model), "optimizer": _only(target, Optimizer)}
        found = memory(root, **given, peak=args.peak, gradient=seed)
    if args.json:
        print(dumps(found.as_dict()), flush=True)
    else:
        print(found.table(*([args.by] if args.by else [])).replace(MINUS, "-"), flush=True)
    if args.output is not None:
        theme: Any = args.theme or THEMES[0]

        def save(path: str) -> None:
            draw_memory(found, path, theme=theme, title=target.title)

        print(write(args.output, save), file=sys.stderr)
    return 0


def model_of(target: Target, name: str | None) -> Any:
    """The model of that name, else the file's only one; None where it has none, or several."""
    kinds = (tensorgrad.nn.Module, micrograd.nn.Module)
    if name is None:
        return _only(target, kinds)
    first, *rest = name.split(".")
    thing: Any = target.names.get(first)
    for part in rest:
        thing = getattr(thing, part, None)
    if not isinstance(thing, kinds):
        raise UserError(f"{target.title}: there is no model {clip(name)}: --model takes the name of one in the file")
    return thing


def _only(target: Target, kinds: Any) -> Any:
    """The one thing of these kinds that the file has at its top level, under a name that is not private."""
    things = {
        id(thing): thing
        for name, thing in target.names.items()
        if isinstance(thing, kinds) and not name.startswith("_")
    }
    return next(iter(things.values())) if len(things) == 1 else None
