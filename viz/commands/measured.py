"""What `memory` and `profile` have in common: figures of a file's loss, as tables or JSON, and a picture of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import micrograd.nn
import tensorgrad.nn
from viz.commands.options import check_for_picture, target_of
from viz.commands.output import write
from viz.commands.target import Target
from viz.errors import UserError
from viz.inputs.source import split_target
from viz.plain import dumps
from viz.plots.paper import THEMES, check_suffix
from viz.text import MINUS, clip

_BY: Any = ("op", "module", "shape")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--by, -o and --theme."""
    parser.add_argument("--by", choices=_BY, help="one table, by this, instead of those by operation and by module")
    parser.add_argument(
        "-o",
        "--output",
        "--picture",
        metavar="FILE",
        help="draw it, too: .png, .svg or .pdf; that it was written is told on stderr, as the table is on stdout",
    )
    parser.add_argument("--theme", choices=THEMES, help=f"the picture's colours (default: {THEMES[0]})")


def checked_target(args: argparse.Namespace) -> Target:
    """The target that the arguments name; of a file without a name, its `loss`. Raises UserError, before any work is
    done, for options that do not fit together."""
    if args.theme is not None:
        check_for_picture("--theme", args.output)
    if args.json and args.by:
        raise UserError("--by is for the table, and --json has all three: leave one of them out")
    if args.output is not None:
        check_suffix(args.output)
    file = split_target(args.target)
    if file is not None and not file[1]:
        args.target = f"{file[0]}:loss"
    return target_of(args)


def tell(args: argparse.Namespace, found: Any, draw: Callable[..., object], title: str) -> None:
    """Print the tables of what was found, or JSON, and draw the picture if one is asked for."""
    if args.json:
        print(dumps(found.as_dict()), flush=True)
    else:
        print(found.table(*([args.by] if args.by else [])).replace(MINUS, "-"), flush=True)
    if args.output is not None:
        theme = args.theme or THEMES[0]
        print(write(args.output, lambda path: draw(found, path, theme=theme, title=title)), file=sys.stderr)


def model_of(target: Target, name: str | None) -> Any:
    """The model of that name, else the file's only one; None where it has none, or several."""
    kinds = (tensorgrad.nn.Module, micrograd.nn.Module)
    if name is None:
        return only(target, kinds)
    first, *rest = name.split(".")
    thing: Any = target.names.get(first)
    for part in rest:
        thing = getattr(thing, part, None)
    if not isinstance(thing, kinds):
        raise UserError(f"{target.title}: there is no model {clip(name)}: --model takes the name of one in the file")
    return thing


def only(target: Target, kinds: Any) -> Any:
    """The one thing of these kinds that the file has at its top level, under a name that is not private; else None."""
    things = {
        id(thing): thing
        for name, thing in target.names.items()
        if isinstance(thing, kinds) and not name.startswith("_")
    }
    return next(iter(things.values())) if len(things) == 1 else None
