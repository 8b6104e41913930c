"""What GPT-2's backward pass keeps in memory, what makes it small, and what that costs in time.

    python examples/gpt2_memory.py [--tokens 1024] [--batch 1] [--checkpoint [N|selective]] [--chunked-loss]
                                   [--accumulate] [--run] [--compare] [--json] [--picture FILE] [--theme light|dark]
                                   [--weights FOLDER]
                                   [--blocks 12] [--heads 12] [--width 768] [--vocabulary 50257] [--context 1024]

Without --run, an estimate from the shapes alone: nothing of that size is allocated. Always with a table of ways to need
less. --run runs forward and backward pass, --compare those of every row of the table, each in a process of its own.
FILE is a picture of memory over time, of many variants, measured; at smaller sizes where none are given. FOLDER has
GPT-2's weights as Hugging Face has them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any

from common.errors import Refused
from common.script import Parser, ended
from memory_lab import compare, limits, measured, printed, timing
from memory_lab.estimate import estimate
from memory_lab.picture import SMALL, draw
from memory_lab.table import described, side_by_side, variants
from memory_lab.variants import CURVE, Shape, Variant

from tensorgrad.models import GPT
from viz import plain
from viz.plots import paper

NAME = "gpt2_memory.py"
MOST = {"batch": 65_536, "blocks": 1_000, "heads": 4_096, "width": 2**17, "vocabulary": 2**24, "context": 2**20}
MOST_ROWS = 2**25
"""Of attention, in all heads and sequences: what is estimated in some seconds."""
_COMPARED = 4e8
"""Bytes: up to this peak the gradient of the whole batch is computed, too, to be compared with the accumulated one."""


def report(given: argparse.Namespace) -> None:
    """Estimate, run and print, and write the file. Raises Refused and UserError for input that cannot be used."""
    check(given)
    model = None if given.weights is None else _pretrained(given.weights)
    shape = asked(given, model)
    variant = Variant(given.checkpoint, given.chunked_loss, given.accumulate)
    check_sizes(shape, variant, has_weights=model is not None)
    small = shape if any(getattr(given, field.name) is not None for field in fields(Shape)) else SMALL
    curve = [each for each in CURVE if each.blocks_at_a_time <= small.blocks]
    if given.picture:
        check_some_room(small, curve)
    run = runs = None
    if given.run:
        check_room(shape, variant, has_weights=model is not None)
        run = _run(model, shape, variant)
    model = None
    if given.compare:
        runs = compare.measured(shape, variants(shape), told("measures "), weights=given.weights)
    data = {
        "shape": asdict(shape),
        "weights": 4 * shape.parameters,
        "plain_seconds": timing.seconds(timing.work(shape, Variant())),
        "estimate": described(shape, variant),
        "table": side_by_side(shape, runs, None if given.compare else variant),
        "measured": run,
    }
    print(plain.dumps(plain.plain(data)) if given.json else printed.report(data))
    if given.picture:
        found = compare.measured(small, curve, told("measures "), rounds=2)
        path = draw(small, found, given.picture, given.theme or paper.THEMES[0])
        if not given.json:
            print(f"\npicture: {path}")


def _run(model: GPT | None, shape: Shape, variant: Variant) -> dict[str, Any]:
    model = model or measured.new_model(shape)
    found = asdict(measured.run(model, shape, variant, told(f"{variant.name}, ")))
    if variant.accumulate and estimate(shape, Variant(variant.checkpoint, variant.chunked)).peak < _COMPARED:
        found["distance"] = measured.distance(model, shape, variant)
    return found


def told(before: str) -> Callable[[str], None]:
    """A function that says on stderr what is under way."""

    def tell(what: str) -> None:
        with suppress(OSError):  # a terminal that is gone must not end the work
            print(f"{NAME}: {before}{what}{compare.PROGRESS}", file=sys.stderr, flush=True)

    return tell


def _pretrained(folder: str) -> GPT:
    try:
        model = GPT.from_pretrained(folder)
    except (OSError, ImportError, ValueError, TypeError) as error:
        raise Refused(f"--weights {folder!r}: {error}") from None
    if not model.config.tied:
        raise Refused(
            f"--weights {folder!r}: its head is a table of its own, and what is counted here is GPT-2, where it "
            "is that of the tokens"
        )
    return model


def asked(given: argparse.Namespace, model: GPT | None) -> Shape:
    """The sizes that the options give, or those of the model; sequences as long as it reads, up to GPT-2's."""
    own = {} if model is None else {name: getattr(model.config, name) for name in MOST if name != "batch"}
    found = {field.name: getattr(given, field.name) for field in fields(Shape)}
    sizes = own | {name: value for name, value in found.items() if value is not None}
    if given.tokens is None:
        sizes["tokens"] = min(Shape.tokens, sizes.get("context", Shape.context))
    return Shape(**sizes)


def check(given: argparse.Namespace) -> None:
    """Raise Refused, or UserError, for options that do not go together and for what would fail after the work."""
    if given.accumulate and (given.batch is None or given.batch == 1):
        raise Refused("--accumulate takes the sequences of a batch one at a time: give --batch, 2 or more")
    if given.compare and (given.run or given.checkpoint or given.chunked_loss or given.accumulate):
        raise Refused("--compare runs every row of the table: leave out --run and what says which variant it is")
    if given.weights is not None:
        if not given.run and not given.compare:
            raise Refused("--weights are for what is run: add --run or --compare")
        if sizes := [f"--{name}" for name in MOST if name != "batch" and getattr(given, name) is not None]:
            raise Refused(f"{', '.join(sizes)}: with --weights the model's sizes are those of its config.json")
    if given.theme is not None and given.picture is None:
        raise Refused("--theme is for the picture: add --picture FILE")
    if given.picture is not None:
        paper.check_suffix(given.picture)


def check_sizes(shape: Shape, variant: Variant, has_weights: bool = False) -> None:
    """Raise Refused for sizes that no model has, or that are out of reach."""
    for name in ("tokens", *MOST):
        value, most = getattr(shape, name), MOST.get(name, MOST["context"])
        if not 1 <= value <= most:
            raise Refused(f"--{name} is {_number(value)}; it must be from 1 to {most:,}")
    if shape.tokens > shape.context:
        or_longer = "" if has_weights else f", or a longer --context {shape.tokens}"
        raise Refused(
            f"--tokens is {shape.tokens:,}, and the model reads {shape.context:,} at most: take fewer{or_longer}"
        )
    if shape.width % shape.heads:
        raise Refused(f"{shape.heads:,} heads cannot share a width of {shape.width:,}: it must be a multiple")
    if (rows := shape.batch * shape.heads * shape.tokens) > MOST_ROWS:
        raise Refused(f"batch times heads times tokens is {rows:,}: up to {MOST_ROWS:,} is estimated")
    if variant.blocks_at_a_time > shape.blocks:
        raise Refused(f"--checkpoint {_number(variant.blocks_at_a_time)}: there are {shape.blocks:,} blocks")


def check_room(shape: Shape, variant: Variant, has_weights: bool = False) -> None:
    """Raise Refused where this run needs more memory than there is, and say what would fit."""
    there, why = limits.available()
    need = _needed(shape, variant, has_weights)
    if need <= there:
        return
    weights = 4 * shape.parameters
    fits = [each for each in variants(shape) if _needed(shape, each, has_weights) <= there]
    cheapest = min(fits, key=lambda each: timing.seconds(timing.work(shape, each)), default=None)
    if cheapest is None:
        way = "no row of the table fits: take fewer blocks, a smaller vocabulary, or fewer tokens"
    else:
        own = printed.megabytes(_needed(shape, cheapest, has_weights))
        way = f"{cheapest.name} would fit, with {own} MB: {' '.join(['--run', *cheapest.options])}"
    raise Refused(
        f"--run needs about {printed.megabytes(need)} MB (weights {printed.megabytes(weights)}, and beside them "
        f"{printed.megabytes(estimate(shape, variant).peak)} at the peak), and {printed.megabytes(there)} MB are there "
        f"({why}): {way}"
    )


def check_some_room(shape: Shape, variants: Sequence[Variant]) -> None:
    """Raise Refused where none of these fits."""
    there, why = limits.available()
    least = min(_needed(shape, each, has_weights=False) for each in variants)
    if least > there:
        raise Refused(
            f"--picture: each of its runs needs {printed.megabytes(least)} MB or more, and "
            f"{printed.megabytes(there)} MB are there ({why}): take a smaller --batch or fewer --tokens"
        )


def _needed(shape: Shape, variant: Variant, has_weights: bool) -> int:
    found = estimate(shape, variant)
    return found.peak + (0 if has_weights else found.weights)


def _number(n: int) -> str:
    return f"{n:,}" if abs(n) < 10**15 else f"{float(n):.0e}" if abs(n) < 10**300 else "far too large"


def main(given: Sequence[str] | None = None) -> int:
    """Report as the command line says. Returns the exit status: 0, or 2 for bad input."""
    return ended(NAME, lambda: report(parser().parse_args(given)))


def parser() -> argparse.ArgumentParser:
    usual = Shape()
    found = Parser(prog=NAME, description=(__doc__ or "").partition("\n")[0])
    add = found.add_argument
    add("--tokens", metavar="N", type=int, help=f"in each sequence ({usual.tokens:,})")
    add("--batch", metavar="N", type=int, help=f"sequences at one time ({usual.batch})")
    add(
        "--checkpoint",
        metavar="N|selective",
        nargs="?",
        const=True,
        default=False,
        type=_checkpoint,
        help="compute blocks again in the backward pass: each by itself, N at a time, or all but products of matrices",
    )
    add("--chunked-loss", action="store_true", help="never hold all scores: head and cross entropy in one, in parts")
    add("--accumulate", action="store_true", help="the batch's sequences one at a time")
    add("--run", action="store_true", help="run it, and measure")
    add("--compare", action="store_true", help="run every row of the table, each in a process of its own")
    add("--json", action="store_true", help="all of it as one JSON object on stdout")
    add("--picture", metavar="FILE", help="memory over time, measured (.png, .svg, .pdf)")
    add("--theme", choices=paper.THEMES, help=f"of the picture ({paper.THEMES[0]})")
    add("--weights", metavar="FOLDER", help="GPT-2's config.json and model.safetensors")
    for name in ("blocks", "heads", "width", "vocabulary", "context"):
        add(f"--{name}", metavar="N", type=int, help=f"of the model ({getattr(usual, name):,})")
    return found


def _checkpoint(text: str) -> bool | int | str:
    if text == "selective":
        return text
    try:
        n = int(text)
    except ValueError:
        n = 0
    if n < 1:
        raise argparse.ArgumentTypeError(f"it is a number of blocks, 1 or more, or selective, got {text!r}")
    return True if n == 1 else n


if __name__ == "__main__":
    sys.exit(main())
