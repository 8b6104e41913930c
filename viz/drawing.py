"""Pictures of graphs: draw(loss, "loss.png")."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from micrograd.backprop import Node, topological_order
from viz import files
from viz.dot import to_dot
from viz.errors import UserError
from viz.graph import check_node, snapshot
from viz.labels import Direction
from viz.limits import MOST_IN_PICTURE, check_picture
from viz.names import caller_namespace
from viz.render import run_dot

_PICTURES = ("png", "svg", "pdf")
_DOT_TEXT = ("dot", "gv")

_WIDEST_FITTED = 2000  # pixels; a wider picture, scaled to a notebook's cell of about 1000, would be too small to read
_SVG_WIDTH = re.compile(r'<svg width="([\d.]+)pt"')
_PIXELS_PER_POINT = 96 / 72


class Drawing:
    """A picture as DOT text, laid out when it is asked for. A notebook shows it when it is a cell's last value.

    source  the DOT text, for which no dot program is needed
    """

    def __init__(self, source: str) -> None:
        self.source = source

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to `path`, whose suffix says as what: .png, .svg, .pdf, or .dot and .gv for DOT text.

        Raises UserError for another suffix, a path that cannot be written, and a dot program that is missing or
        cannot draw that.
        """
        suffix = suffix_of(path)
        return files.write(path, self.source if suffix in _DOT_TEXT else self.render(suffix))

    def render(self, format: str) -> bytes:
        """The picture as "png", "svg" or "pdf". Raises UserError as `save` does."""
        if format not in _PICTURES:
            raise UserError(f"cannot draw as {format!r}: the formats are {', '.join(_PICTURES)}")
        return run_dot(self.source, format)

    def __repr__(self) -> str:
        return f"<Drawing, {len(self.source)} characters of DOT text: save it with .save('picture.png')>"

    def _repr_svg_(self) -> str | None:
        return self._svg_or_trouble[0]

    def _repr_html_(self) -> str | None:
        """Only where no picture can be made: why, and the DOT text."""
        svg, trouble = self._svg_or_trouble
        if svg is not None:
            return None
        return f"<p>{html.escape(trouble)}</p><pre>{html.escape(self.source)}</pre>"

    @cached_property
    def _svg_or_trouble(self) -> tuple[str | None, str]:
        """The SVG, laid out once, or None and why there is none: a notebook's cell never ends in a traceback."""
        try:
            return _fitted(self.render("svg").decode()), ""
        except UserError as error:
            return None, str(error)


def _fitted(svg: str) -> str:
    """An SVG that becomes as narrow as what it stands in, so that the root at its right end is in sight; one that is
    very wide stays as it is, to be scrolled."""
    found = _SVG_WIDTH.search(svg)
    if found is None or float(found[1]) * _PIXELS_PER_POINT > _WIDEST_FITTED:
        return svg
    return svg.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)


def draw(
    root: Node,
    path: str | os.PathLike[str] | None = None,
    *,
    names: Mapping[str, Any] | None = None,
    contributions: bool = True,
    direction: Direction = "LR",
    max_nodes: int = MOST_IN_PICTURE,
) -> Drawing:
    """A picture of the graph below `root`, with data and gradient in each node; written to `path` if one is given.

    path           where to write it, as `Drawing.save` does
    names          a namespace to look node names up in; by default the caller's variables
    contributions  whether the edges carry what each operation sends back, once a backward pass has been run
    direction      where the graph grows to from its leaves: "LR" (left to right), "RL", "TB" or "BT"
    max_nodes      the limit over which a graph is refused

    Raises TypeError if `root` is no node, TooLargeError over the limit, and UserError as `Drawing.save` does.
    """
    check_node(root)
    if path is not None:
        suffix_of(path)
    check_picture(len(topological_order(root)), max_nodes)
    graph = snapshot(root, caller_namespace() if names is None else names, contributions=contributions)
    drawing = Drawing(to_dot(graph, direction))
    if path is not None:
        drawing.save(path)
    return drawing


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The format that a path's suffix names. Raises UserError if it names none that can be drawn."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in _PICTURES + _DOT_TEXT:
        known = ", ".join(f".{name}" for name in _PICTURES + _DOT_TEXT)
        raise UserError(f"cannot tell from {str(path)!r} what to draw: let it end in one of {known}")
    return suffix
