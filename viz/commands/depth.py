"""plusequals depth: the gradient along a model's blocks."""

from __future__ import annotations

import argparse
import sys
from typing import Any, TypeGuard

import micrograd.nn
import tensorgrad.nn
from viz.commands.backward import gradient_for
from viz.commands.options import add_output, add_target, check_for_picture, target_of
from viz.commands.output import write
from viz.commands.target import Target
from viz.depth.picture import QUANTITIES, draw_depth
from viz.depth.run import depth
from viz.errors import UserError
from viz.plain import dumps
from viz.plots.paper import THEMES, check_suffix
from viz.text import MINUS, clip

HELP = "measure how the gradient changes along the blocks of a model"
EXAMPLES = """\
  plusequals depth train.py:loss
  plusequals depth train.py:loss --model model -o depth.png
  plusequals depth train.py:loss --quantity weights --theme dark -o weights.svg"""
DESCRIPTION = """\
Run a backward pass from file.py:NAME, a Value or Tensor or a function that returns one, and print for each block of the
file's model the norm of the gradient at what it reads, at what it returns, and of its parameters; with -o draw it on a
logarithmic axis."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals depth`."""
    add_target(parser)
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="the model's variable, a part of it (model.encoder) or a list of modules; by default the only one",
    )
    add_output(
        parser,
        "draw it, too: .png, .svg or .pdf; that it was written is told on stderr, as the table is on stdout",
    )
    parser.add_argument("--quantity", choices=tuple(QUANTITIES), help="what the picture shows (default: inputs)")
    parser.add_argument("--theme", choices=THEMES, help=f"the picture's colours (default: {THEMES[0]})")


def run(args: argparse.Namespace) -> int:
    """Print the table or JSON, write the picture if one is asked for, and return 0."""
    for option in ("quantity", "theme"):
        if getattr(args, option) is not None:
            check_for_picture(f"--{option}", args.output)
    if args.output is not None:
        check_suffix(args.output)  # before the work is done
    target = target_of(args)
    with target.running():
        model = _model(target, args.model)
        root = target.root()
        found = depth(model, root, gradient=gradient_for(root, args.gradient, target.title))
    print(dumps(found.to_json()) if args.json else str(found).replace(MINUS, "-"), flush=True)
    if args.output is not None:
        quantity: Any = args.quantity or "inputs"
        theme: Any = args.theme or THEMES[0]

        def save(path: str) -> None:
            draw_depth(found, path, quantity=quantity, theme=theme, title=target.title)

        print(write(args.output, save), file=sys.stderr)
    return 0


def _model(target: Target, name: str | None) -> Any:
    """The model, or a list of modules in it, which `depth` takes for the blocks."""
    if target.source is None:
        raise UserError("depth takes the loss of a file with a model in it: write file.py:NAME")
    path = target.source.path
    models = {key: thing for key, thing in target.names.items() if _is_model(thing) and not key.startswith("_")}
    offer = f"the file has {', '.join(list(models)[:6])}" if models else "the file has no model at its top level"
    if name is None:
        if len(set(map(id, models.values()))) != 1:
            raise UserError(f"{path}: which model? name it with --model NAME; {offer}")
        return next(iter(models.values()))
    first, *rest = name.split(".")
    thing: Any = target.names.get(first)
    for part in rest:
        if isinstance(thing, (list, tuple)):
            thing = thing[int(part)] if part.isdigit() and int(part) < len(thing) else None
        else:
            thing = getattr(thing, part, None)
    if not _is_model(thing) and not _are_blocks(thing):
        raise UserError(f"{path} has no model {clip(name)}; {offer}")
    return thing


def _is_model(thing: object) -> TypeGuard[tensorgrad.nn.Module | micrograd.nn.Module]:
    return isinstance(thing, (tensorgrad.nn.Module, micrograd.nn.Module))


def _are_blocks(thing: object) -> bool:
    return isinstance(thing, (list, tuple)) and bool(thing) and all(map(_is_model, thing))
