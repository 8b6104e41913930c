"""--frames and --gif of `plusequals step`: the pass as pictures and as an animation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from micrograd.backprop import Node
from viz import animation
from viz.commands.options import number
from viz.commands.output import write
from viz.errors import UserError
from viz.frames import FORMATS, animate, check_folder, frames
from viz.text import count

SECONDS = 1.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments for pictures of the steps."""
    parser.add_argument("--frames", metavar="DIR", help="draw a picture of each step into a new or empty folder")
    parser.add_argument("--format", choices=FORMATS, help="of the pictures of --frames (default: png)")
    parser.add_argument("--gif", metavar="FILE", help="draw the steps as an animated GIF (needs Pillow)")
    parser.add_argument(
        "--seconds", type=_seconds, metavar="S", help=f"how long --gif shows a step (default: {SECONDS})"
    )


def wanted(args: argparse.Namespace) -> bool:
    """Whether pictures are asked for."""
    return args.frames is not None or args.gif is not None


def check(args: argparse.Namespace) -> None:
    """Refuse, before the work is done, what cannot be written and what would not be used."""
    if args.format is not None and args.frames is None:
        raise UserError("--format is for --frames: add --frames DIR")
    if args.seconds is not None and args.gif is None:
        raise UserError("--seconds is for --gif: add --gif FILE")
    if args.frames is not None:
        check_folder(args.frames)
    if args.gif is not None:
        animation.check(args.gif, args.seconds or SECONDS)


def draw(args: argparse.Namespace, root: Node, gradient: Any, names: Mapping[str, Any]) -> list[str]:
    """Draw what is asked for, and say what was written."""
    options: dict[str, Any] = {"mode": args.mode or "add", "gradient": gradient, "names": names}
    told = []
    if args.frames is not None:
        drawn = frames(root, args.frames, format=args.format or "png", **options)
        told.append(f"wrote {count(len(drawn), 'picture')} into {args.frames}, {drawn[0].name} to {drawn[-1].name}")
    if args.gif is not None:
        told.append(write(args.gif, lambda path: animate(root, path, seconds=args.seconds or SECONDS, **options)))
    return told


def _seconds(text: str) -> float:
    seconds = number(text)
    if not animation.can_show(seconds):
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is no time: write {animation.TIMES}")
    return seconds
