"""What formats of 16 and 8 bits do to a model's gradients: what is rounded to 0, and what a loss scale saves.

    python examples/precision.py
    python examples/precision.py runs/char-gpt/checkpoint.npz -o precision.html -o precision.png
    python examples/precision.py my_gradients.npz --scale 1024 --json
    python examples/precision.py --train -o runs.png

FILE is a checkpoint of char_gpt.py, whose model's gradients are taken on a batch of its text, or any .npz of arrays,
each of which is a gradient. Without it the character model is trained for a few hundred steps first. A loss scale
multiplies the loss, and with it all gradients, before they are rounded. With --train small models are trained instead,
in formats of few bits, with and without a GradScaler.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace

from chars.settings import Settings
from chars.training import train
from common.errors import Refused
from common.output import check_for_picture, check_output, is_page
from common.script import Parser, ended
from precision_lab import training_picture, training_table
from precision_lab.formats import NAMES, NEEDS, Format, format_of, formats
from precision_lab.gradients import Gradients, gradients_of, gradients_of_result
from precision_lab.page.page import page
from precision_lab.picture import draw
from precision_lab.report import reported
from precision_lab.table import printed
from precision_lab.training import SETTINGS, as_dict, compare, plans

from viz import plain
from viz.plots import paper
from viz.text import count

NAME = "precision.py"
STEPS = 300
SCALE = 65_536.0
"""Where GradScaler starts."""

LONG = 20_000_000  # values that take so long that it is said


def main(given: Sequence[str] | None = None) -> int:
    """Report as the command line says. Returns the exit status: 0, or 2 for bad input."""

    def work() -> None:
        options = parser().parse_args(given)
        _check(options)
        (compared if options.train else report)(options)

    return ended(NAME, work)


def report(given: argparse.Namespace) -> None:
    """Print, and write the pages and pictures. Raises Refused and UserError for input that cannot be used."""
    kinds = chosen(given.formats)
    gradients = found(given)
    if given.divide is not None:
        gradients = gradients.divided(given.divide)
    values = sum(array.size for array in gradients.arrays.values())
    if values > LONG:
        print(f"{NAME}: rounding {values:,} values ...", file=sys.stderr)
    numbers = reported(gradients, kinds, SCALE if given.scale is None else given.scale)
    print(plain.dumps(numbers) if given.json else printed(numbers))
    for path in given.output:
        if is_page(path):
            start = 1.0 if given.scale is None else given.scale
            page(gradients.arrays, gradients.about, start, gradients.remarks).save(path)
        else:
            draw(numbers, path, theme=given.theme or paper.THEMES[0])
        if not given.json:
            print(f"\n{'page' if is_page(path) else 'picture'}: {path}")


def compared(given: argparse.Namespace) -> None:
    """Train in several precisions, print how the runs end, and draw them. Raises Refused and UserError."""
    names = [kind.name for kind in chosen(given.formats)]
    runs = [plan for plan in plans(fp8=given.formats is not None) if plan.kind is None or plan.kind in names]
    for name in names if given.formats is not None else []:
        if name not in [plan.kind for plan in runs]:
            raise Refused(f"--formats: --train makes no run in {name}")
    settings = SETTINGS if given.steps is None else replace(SETTINGS, steps=given.steps)
    print(f"{NAME}: {count(len(runs), 'run')} of {count(settings.steps, 'step')} each ...", file=sys.stderr)
    comparison = compare(settings, runs, progress=True)
    print(plain.dumps(plain.plain(as_dict(comparison))) if given.json else training_table.printed(comparison))
    for path in given.output:
        training_picture.picture(comparison, path, theme=given.theme or paper.THEMES[0])
        if not given.json:
            print(f"\npicture: {path}")


def found(given: argparse.Namespace) -> Gradients:
    """The gradients that the options name."""
    if given.file is not None:
        return gradients_of(given.file)
    steps = STEPS if given.steps is None else given.steps
    print(f"{NAME}: no FILE is given, so the character model is trained first, {count(steps, 'step')}", file=sys.stderr)
    return gradients_of_result(train(Settings(steps=steps), every=steps, monitor=False, progress=True))


def chosen(names: str | None) -> list[Format]:
    """The formats of names that commas divide; None for all that there are."""
    if names is None:
        kinds = formats()
        if len(kinds) < len(NAMES):
            print(f"{NAME}: only fp16 is shown: {NEEDS}", file=sys.stderr)
        return kinds
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",")))
    for name in wanted:
        if name not in NAMES:
            raise Refused(f"--formats: there is none of the name {name!r}; there are {', '.join(NAMES)}")
    try:
        return [format_of(name) for name in wanted]
    except ImportError:
        raise Refused(f"--formats {names}: {NEEDS}") from None


def _check(given: argparse.Namespace) -> None:
    """What can be said at once is said before anything takes time."""
    for name in ("scale", "divide"):
        value = getattr(given, name)
        if value is not None and not (math.isfinite(value) and 2.0**-126 <= value < 2.0**128):
            raise Refused(f"--{name} is {value:g}; it must be a number from 1.2e-38 to 3.4e+38")
    if given.steps is not None and given.steps < 1:
        raise Refused(f"--steps is {given.steps}; it must be 1 or more")
    if given.steps is not None and given.file is not None:
        raise Refused(f"--steps is for a model that is trained now: leave it out, or {given.file!r}")
    for option in ("file", "scale", "divide") if given.train else ():
        if getattr(given, option) is not None:
            name = "FILE" if option == "file" else f"--{option}"
            raise Refused(f"--train makes runs of its own: leave out {name}")
    for path in given.output:
        if given.train and is_page(path):
            raise Refused(f"-o {path}: --train draws pictures: name one, {', '.join(paper.SUFFIXES)}")
        check_output(path)
    if given.theme is not None:
        check_for_picture("--theme", given.output)


def parser() -> argparse.ArgumentParser:
    found = Parser(prog=NAME, description=(__doc__ or "").partition("\n")[0])
    found.add_argument("file", nargs="?", metavar="FILE", help="a checkpoint of char_gpt.py, or an .npz of gradients")
    found.add_argument("--steps", metavar="N", type=int, help=f"of training, where there is no FILE ({STEPS})")
    found.add_argument("--train", action="store_true", help="compare runs in these formats, with and without a scaler")
    found.add_argument("--scale", metavar="S", type=float, help=f"the loss scale ({SCALE:g})")
    found.add_argument("--divide", metavar="K", type=float, help="divide the loss by K first (1)")
    found.add_argument("--formats", metavar="NAMES", help=f"which, with commas between ({','.join(NAMES)})")
    found.add_argument("-o", "--output", metavar="FILE", action="append", default=[], help="a page or a picture")
    found.add_argument("--theme", choices=paper.THEMES, help=f"of the picture ({paper.THEMES[0]})")
    found.add_argument("--json", action="store_true", help="the numbers as one JSON object on stdout")
    return found


if __name__ == "__main__":
    sys.exit(main())
