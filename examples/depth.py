"""How much gradient reaches the first layers of a deep stack, and how much the last.

    python examples/depth.py [--layers N] [--scale S] [--residual] [--norm] [--activation NAME] [--initialisation NAME]
                             [--seeds K] [--seed FIRST] [--clip LIMIT] [--json] [-o FILE]
                             [--at inputs|outputs|weights] [--theme light|dark]

Without an option that says what the stack is, a table of the stacks that the source measured, its figures beside ours.
With one, that stack, layer by layer. Both with what clipping does to the gradient: of one stack, where --clip is given.
FILE is a page with sliders (.html), or a picture (.png, .svg, .pdf) of the gradients' norms along the layers, with and
without residual connections; --at says which norms, and --theme on what ground.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from common.errors import Refused
from common.output import check_for_picture, check_output, is_page
from common.script import Parser, ended
from depth_lab import printed, summary
from depth_lab.curves import curves, title, twins, usual
from depth_lab.initialisation import WEIGHTS
from depth_lab.page.page import page
from depth_lab.seeds import PLACES, over_seeds
from depth_lab.source import SETTINGS
from depth_lab.stack import ACTIVATIONS, MOST_LAYERS, Stack, measured
from depth_lab.waiting import told

import viz
from viz import plain
from viz.plots import paper

NAME = "depth.py"
MOST_SEEDS = 1_000
USUAL_PLACE = "inputs"
STACK = ("layers", "scale", "residual", "norm", "activation", "initialisation")
"""The options that say what the stack is."""


def report(given: argparse.Namespace) -> None:
    """Measure, print, and write the file. Raises Refused and UserError for input that cannot be used."""
    stack = asked(given)
    check(given)
    seeds = range(given.seed, given.seed + given.seeds)
    stacks = [setting.stack for setting in SETTINGS] if stack is None else [stack]
    found = over_seeds(stacks, seeds, told(NAME, len(stacks) * len(seeds)))
    if stack is None:
        data = summary.of_settings(SETTINGS, found, seeds, given.clip)
        text = printed.settings
    else:
        data = summary.of_stack(stack, found[0], seeds, given.clip)
        text = printed.stack
    print(plain.dumps(plain.plain(data)) if given.json else text(data))
    for name in given.output:
        path = written(name, given, stack)
        if not given.json:
            print(f"\n{'page' if is_page(name) else 'picture'}: {path}")


def asked(given: argparse.Namespace) -> Stack | None:
    """The stack that the options describe, or None where none of them does. Raises Refused."""
    options: dict[str, Any] = {name: getattr(given, name) for name in STACK if getattr(given, name) is not None}
    try:
        stack = replace(Stack(seed=given.seed), **options)
    except ValueError as error:
        raise Refused(str(error)) from None
    return stack if options else None


def check(given: argparse.Namespace) -> None:
    """Raise Refused, or UserError, for what would fail only after the work is done."""
    if not 1 <= given.seeds <= MOST_SEEDS:
        raise Refused(f"--seeds is {given.seeds:,}; it must be from 1 to {MOST_SEEDS:,}")
    if given.seed + given.seeds > 2**32:
        raise Refused(f"--seed is {given.seed:,}: the last of {given.seeds:,} seeds must be below 2**32")
    if given.clip is not None and not given.clip > 0:
        raise Refused(f"--clip is {given.clip:g}; a limit is a number above 0")
    for path in given.output:
        check_output(path)
    for option in ("at", "theme"):
        if getattr(given, option) is not None:
            check_for_picture(f"--{option}", given.output)


def written(name: str, given: argparse.Namespace, stack: Stack | None) -> Path:
    """A file that was asked for, which is the page or the picture."""
    if is_page(name):
        return page(stack or Stack(seed=given.seed)).save(name)
    stacks = usual(given.seed) if stack is None else twins(stack)
    said = told(NAME, len(stacks))
    found = []
    for each in stacks:
        found.append(measured(each))
        said(len(found))
    drawn = curves(stacks, found)
    at, theme = given.at or USUAL_PLACE, given.theme or paper.THEMES[0]
    return viz.draw_depth(drawn, name, quantity=at, theme=theme, title=title(stacks[0]))


def main(given: Sequence[str] | None = None) -> int:
    """Report as the command line says. Returns the exit status: 0, or 2 for bad input."""
    return ended(NAME, lambda: report(parser().parse_args(given)))


def parser() -> argparse.ArgumentParser:
    usual_stack = Stack()
    found = Parser(prog=NAME, description=(__doc__ or "").partition("\n")[0])
    add = found.add_argument
    add("--layers", metavar="N", type=int, help=f"1 to {MOST_LAYERS:,} ({usual_stack.layers})")
    add("--scale", metavar="S", type=float, help=f"what the weights are multiplied by ({usual_stack.scale})")
    add("--residual", action="store_const", const=True, help="x + layer(x)")
    add("--norm", action="store_const", const=True, help="each layer's input is normalised first, as in GPT-2")
    add("--activation", metavar="NAME", help=f"{', '.join(ACTIVATIONS)} ({usual_stack.activation})")
    add("--initialisation", metavar="NAME", help=f"{', '.join(WEIGHTS)} ({usual_stack.initialisation})")
    add("--seeds", metavar="K", type=int, default=10, help=f"how many, up to {MOST_SEEDS:,} (10)")
    add("--seed", metavar="FIRST", type=int, default=0, help="the first of them (0)")
    add("--clip", metavar="LIMIT", type=float, help=f"for clip_grad_norm_ ({summary.LIMIT:g} in the table)")
    add("--json", action="store_true", help="the numbers as one JSON object on stdout")
    add(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        help="a page (.html) or picture (.png, .svg, .pdf)",
    )
    add("--at", choices=PLACES, help=f"what of the layers the picture shows ({USUAL_PLACE})")
    add("--theme", choices=paper.THEMES, help=f"of the picture ({paper.THEMES[0]})")
    return found


if __name__ == "__main__":
    sys.exit(main())
