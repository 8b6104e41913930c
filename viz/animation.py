"""Pictures one after the other as an animated GIF, with Pillow."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from viz.dot import BLUE, GREY, INK, YELLOW
from viz.errors import UserError
from viz.frame_dot import PURPLE, RED

_LINES = (INK, GREY, BLUE, "#B34700", PURPLE, RED)
_GROUNDS = ("#FFFFFF", "#E3F0F9", "#F4EBFA", "#F2F2F2", YELLOW)
_SHADES = 7  # from a line's colour to the ground's, which smooth edges have; 6 * 5 * 7 of the 256 colours of a GIF
TIMES = "a number of seconds from 0.02 to 60"
_LAST = 3  # times as long as the others


def check(path: str | os.PathLike[str], seconds: float) -> None:
    """Raise UserError where no GIF can be made of that name or speed, or Pillow is not installed."""
    if Path(path).suffix.lower() != ".gif":
        raise UserError(f"{str(path)!r} should end in .gif: that is what an animation is written as")
    if not can_show(seconds):
        raise UserError(f"{seconds} seconds a step cannot be shown: give {TIMES}")
    if find_spec("PIL") is None:
        raise UserError("an animated GIF is written by Pillow, which is not installed: pip install pillow")


def can_show(seconds: float) -> bool:
    """Whether a step can be shown for that long: a GIF counts in hundredths, and browsers slow the fastest down."""
    return 0.02 <= seconds <= 60


def gif(pictures: Iterable[bytes], number: int, seconds: float) -> bytes:
    """The animation of `number` PNG pictures of one size, `seconds` for each and longer for the last."""
    image = import_module("PIL.Image")
    palette = image.new("P", (1, 1))
    palette.putpalette(_colours())
    drawn = (_reduced(image, picture, palette) for picture in pictures)
    first = next(drawn)
    written = io.BytesIO()
    times = [round(1000 * seconds)] * (number - 1) + [round(1000 * seconds * _LAST)]
    first.save(written, format="GIF", save_all=True, append_images=drawn, duration=times, loop=0)
    return written.getvalue()


def _colours() -> list[int]:
    """The colours of all pictures, the same in each, so that none flickers: red, green, blue, one after another."""
    rgb = bytes.fromhex
    return [
        round(a + (b - a) * shade / (_SHADES - 1))
        for line in _LINES
        for ground in _GROUNDS
        for shade in range(_SHADES)
        for a, b in zip(rgb(line[1:]), rgb(ground[1:]), strict=True)
    ]


def _reduced(image: Any, picture: bytes, palette: Any) -> Any:
    """A picture in the few colours of a GIF."""
    with image.open(io.BytesIO(picture)) as opened:
        return opened.convert("RGB").quantize(palette=palette, dither=image.Dither.NONE)
