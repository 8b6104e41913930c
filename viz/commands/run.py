"""plusequals run: a training run from a monitor's log."""

from __future__ import annotations

import argparse
import sys

from viz.commands.options import add_output, check_for_picture
from viz.commands.output import write
from viz.plain import dumps
from viz.plots.paper import THEMES, check_suffix
from viz.text import count
from viz.training import report
from viz.training.log import QUANTITIES, read_run
from viz.training.picture import draw_run

HELP = "show a training run from the log of its monitor"
EXAMPLES = """\
  plusequals run run.jsonl
  plusequals run run.jsonl -o run.png
  plusequals run run.jsonl --parameters --quantity ratio --theme dark -o ratios.svg"""
DESCRIPTION = """\
Show what tensorgrad.monitor(model, optimizer, log="run.jsonl") has logged: gradients and updates of each block, at the
first step, the median and the last, and what the monitor found. With -o as a picture: the loss, the norm of all
gradients, a heat map over blocks and steps, and the updates."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `plusequals run`."""
    parser.add_argument("log", metavar="LOG", help="the file of JSON lines that the monitor wrote")
    add_output(parser, "draw a picture instead of the table: .png, .svg or .pdf")
    parser.add_argument(
        "--quantity",
        choices=tuple(QUANTITIES),
        help="what the picture's heat map shows (default: norm, that of the gradient)",
    )
    parser.add_argument("--parameters", action="store_true", help="a row for every parameter, not for every block")
    parser.add_argument("--theme", choices=THEMES, help=f"the picture's colours (default: {THEMES[0]})")
    parser.add_argument(
        "--json", action="store_true", help="print the table as JSON on stdout; what was written is told on stderr"
    )


def run(args: argparse.Namespace) -> int:
    """Print the table or JSON, or draw the picture, and return 0."""
    for option in ("quantity", "theme"):
        if getattr(args, option) is not None:
            check_for_picture(f"--{option}", args.output)
    if args.output is not None:
        check_suffix(args.output)  # before the work is done
    found = read_run(args.log)
    level = "parameters" if args.parameters else "blocks"
    if args.output is not None:
        options = {"quantity": args.quantity or "norm", "level": level, "theme": args.theme or THEMES[0]}
        told = write(args.output, lambda path: draw_run(found, path, **options))
        findings = count(len(found.findings), "finding") if found.findings else "no findings"
        print(f"{told}: {count(len(found.steps), 'step')}, {findings}", file=sys.stderr if args.json else sys.stdout)
    if args.json:
        print(dumps(report.data(found, level)))
    elif args.output is None:
        print(report.table(found, level))
    return 0
