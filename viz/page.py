"""The stepper: one HTML file, complete in itself, that goes through a backward pass contribution by contribution."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from micrograd.backprop import Node, add, overwrite, topological_order
from viz import files, text
from viz.errors import UserError
from viz.graph import check_node
from viz.limits import check_page
from viz.names import caller_namespace
from viz.pages.data import MOST_NAME_CHARACTERS, page_data, script_json
from viz.trace import trace

_SUFFIXES = (".html", ".htm")
_SCRIPTS = ("dom.js", "run.js", "viewport.js", "graph.js", "now.js", "tables.js", "stepper.js", "controls.js")
_FRAME_HEIGHT = 640


@dataclass(frozen=True, repr=False)
class Page:
    """A page that needs no server, no network and no other file. `html` is its text."""

    html: str
    title: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to `path`, whole or not at all. Raises UserError for a suffix that is not .html or .htm."""
        check_suffix(path)
        return files.write(path, self.html)

    def __repr__(self) -> str:
        return f"<Page {text.clip(self.title)!r}: save it with .save('step.html')>"

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own, so that neither can disturb the other."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.title)}" sandbox="allow-scripts" '
            f'style="width:100%;height:{_FRAME_HEIGHT}px;border:0"></iframe>'
        )


def step(
    root: Node,
    path: str | os.PathLike[str] | None = None,
    *,
    gradient: Any = None,
    names: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Page:
    """A page that steps through the backward pass from `root`, a Value or a Tensor; written to `path` if given.

    The pass starts from empty gradients and is run twice, with `+=` and with `=`, for the switch between the two.
    The graph's own gradients stay as they are.

    gradient  the seed, for a tensor of several elements
    names     a namespace to look node names up in; by default the caller's variables
    title     the page's heading; by default the root's name and formula

    A graph in which many edges pass many nodes takes its time to lay out: 3 seconds where 280 nodes use each other at
    random, 25 where 400 do, but less than one for a network of 1,000. Above a second it gets one layout, from left to
    right, instead of two to choose from by the window's shape.

    Raises what `root.backward(gradient)` would; TooLargeError for more than 2,000 nodes; NoDotError where no dot
    program can lay the graph out; UserError for a path that cannot be written or does not end in .html or .htm, and
    for complex numbers.
    """
    check_node(root)
    if path is not None:
        check_suffix(path)
    check_page(len(topological_order(root)))
    names = caller_namespace() if names is None else names
    accumulated = trace(root, add, gradient=gradient, names=names)
    overwritten = trace(root, overwrite, gradient=gradient, names=names)
    heading = text.cut(_encodable(accumulated.graph.root.title if title is None else title), MOST_NAME_CHARACTERS)
    page = Page(_assemble(heading, script_json(page_data(accumulated, overwritten))), heading)
    if path is not None:
        page.save(path)
    return page


def _assemble(title: str, data: str) -> str:
    """The page from its parts in viz/pages: the template with style, data and scripts put in."""
    parts = resources.files("viz") / "pages"

    def read(name: str) -> str:
        return (parts / name).read_text(encoding="utf-8")

    return Template(read("step.html")).substitute(
        title=html.escape(title),
        style=read("step.css"),
        data=data,
        script="\n".join(read(name) for name in _SCRIPTS),
    )


def _encodable(title: str) -> str:
    """`title` without halves of surrogate pairs, which no file can hold."""
    return title.encode("utf-8", "replace").decode("utf-8")


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raise UserError if `path` does not end in .html or .htm."""
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise UserError(f"cannot write a page to {os.fspath(path)}: name a file that ends in .html")
