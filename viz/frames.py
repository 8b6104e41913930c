"""A backward pass as pictures, one a step, and as an animation: frames(loss, "folder"), animate(loss, "pass.gif").

Nothing moves from one picture to the next, so that slides can be flipped through.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from micrograd.backprop import Node, add, overwrite, topological_order
from viz import animation, files, folders
from viz.errors import TooLargeError, UserError
from viz.frame_dot import Frames
from viz.graph import check_node
from viz.moments import moments, wrong
from viz.names import caller_namespace
from viz.render import run_dot
from viz.trace import RECURSION, Trace, trace

Format = Literal["png", "svg"]

FORMATS: tuple[Format, ...] = ("png", "svg")

MOST_NODES = 60
"""Of more nodes a slide shows none well."""

MOST_FRAMES = 500

_MODES = {"add": add, "+=": add, "overwrite": overwrite, "=": overwrite}
_INSTEAD = "draw a smaller part, e.g. the loss of one example, or step through all of it on a page"
_OURS = re.compile(r"step-\d+\.(png|svg)")


def frames(
    root: Node,
    folder: str | os.PathLike[str],
    *,
    format: Format = "png",
    mode: str = "add",
    gradient: Any = None,
    names: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Draw one backward pass into `folder`, a picture a step, and return their paths in order.

    step-000 is the graph before the pass, step-001 after the seed, and so on. The folder is new or empty, or holds an
    earlier call's pictures, which are replaced; it is written whole or not at all.

    format    "png" or "svg"
    mode      what happens where a contribution arrives: "add" (+=) or "overwrite" (=, the bug); or "recursion", a pass
              without a topological order
    gradient  the seed, for a tensor of several elements
    names     a namespace to look node names up in; by default the caller's variables

    Raises TypeError if `root` is no node, TooLargeError over 60 nodes or 500 pictures, and UserError for another
    format or mode, a folder that holds other files or cannot be written, and a missing dot program.
    """
    check_format(format)
    check_folder(folder)
    drawn = film(root, mode, gradient, caller_namespace() if names is None else names)
    digits = max(3, len(str(len(drawn) - 1)))
    called = [f"step-{number:0{digits}}.{format}" for number in range(len(drawn))]
    with folders.replacing(folder, _OURS) as place:
        for number, name in enumerate(called):
            (place / name).write_bytes(run_dot(drawn[number], format))
    return [Path(folder, name) for name in called]


def animate(
    root: Node,
    path: str | os.PathLike[str],
    *,
    seconds: float = 1.2,
    mode: str = "add",
    gradient: Any = None,
    names: Mapping[str, Any] | None = None,
) -> Path:
    """Draw one backward pass as an animated GIF, which starts over after its end. It needs Pillow.

    path     where to write it; it ends in .gif
    seconds  how long a step is shown, the last one three times as long

    The others, and what is raised, are as of `frames`; UserError too where Pillow is not installed.
    """
    animation.check(path, seconds)
    drawn = film(root, mode, gradient, caller_namespace() if names is None else names)
    pictures = (run_dot(drawn[number], "png") for number in range(len(drawn)))
    return files.write(path, animation.gif(pictures, len(drawn), seconds))


def check_format(format: str) -> None:
    """Raise UserError for a format that frames are not drawn in."""
    if format not in FORMATS:
        raise UserError(f"cannot draw frames as {format!r}: the formats are {' and '.join(FORMATS)}")


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raise UserError for a folder that frames cannot be written into."""
    folders.check(folder, _OURS)


def check_mode(mode: str) -> None:
    """Raise UserError for what is no way to run a pass."""
    if mode not in (*_MODES, RECURSION):
        raise UserError(f"mode is {mode!r}; it can be add (+=), overwrite (=) or {RECURSION}")


def film(root: Node, mode: str, gradient: Any, names: Mapping[str, Any]) -> Frames:
    """The DOT text of each moment of a pass. Raises as `frames` does."""
    check_node(root)
    check_mode(mode)
    nodes = len(topological_order(root))
    if nodes > MOST_NODES:
        raise TooLargeError(f"the graph has {nodes:,} nodes, and frames take at most {MOST_NODES}: {_INSTEAD}")
    passed = _passed(root, mode, gradient, names)
    steps = max(len(passed), passed.needed)
    if steps >= MOST_FRAMES or steps > len(passed):
        raise TooLargeError(f"the pass takes {steps:,} steps, and frames show at most {MOST_FRAMES - 1}: {_INSTEAD}")
    right = passed if mode in ("add", "+=") else _passed(root, "add", gradient, names)
    return Frames(passed.graph, moments(passed), passed.operator, wrong(passed, right.steps))


def _passed(root: Node, mode: str, gradient: Any, names: Mapping[str, Any]) -> Trace:
    if mode == RECURSION:
        return trace(root, recursive=True, gradient=gradient, names=names)
    return trace(root, _MODES[mode], gradient=gradient, names=names)
