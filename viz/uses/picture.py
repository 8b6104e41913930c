"""A gradient split by use as a picture: a node, who uses it at its left, and between them what each use sends."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import graphviz
import numpy as np

from viz.dot import BLUE, GREY, INK, VERMILION, YELLOW, new_digraph
from viz.drawing import Drawing, suffix_of
from viz.errors import UserError
from viz.labels import escape, tooltip
from viz.text import clip, count, short
from viz.uses.result import Split, Use, Uses
from viz.uses.table import share_text, size_text, sum_text

MOST_NODES = 6
"""Nodes in a picture: those with the largest gradients."""

MOST_DRAWN = 12
"""Uses of one node that have boxes of their own: the largest; all others have one together."""

_THINNEST, _THICKEST = 1.0, 6.0  # points
_ALIGNED = 0.1  # a cosine of less than this, either way, is told as sideways
_SPACE = "\N{NO-BREAK SPACE}"
_CAPTION = (
    "On an edge: what a use sends back in one backward pass, and its share of the squared norms, as thick as that."
)
_DARK_VERMILION = "#B34700"  # so that small text reads well on white

_OF_NUMBERS = {BLUE: "blue adds", VERMILION: "orange subtracts"}  # as in the pictures of graphs
_OF_ARRAYS = {
    BLUE: "blue goes with the sum",
    VERMILION: "orange goes against it",
    INK: "black goes sideways",
}
_OF_BOTH = {GREY: "dashed sends nothing", YELLOW: "thick is inf or nan"}


def draw_uses(uses: Uses, path: str | os.PathLike[str] | None = None) -> Drawing:
    """A picture of gradients split by use; written to `path` (.png, .svg, .pdf, .dot) if one is given.

    Of many nodes the six with the largest gradients are drawn; of a node with many uses the twelve that send most, and
    the others as one.

    Raises TypeError for what `viz.uses` did not return, and UserError where there is nothing to draw and as
    `Drawing.save` does.
    """
    if not isinstance(uses, Uses):
        raise TypeError(f"draw_uses: takes what viz.uses returns, got a {type(uses).__name__}")
    if path is not None:
        suffix_of(path)
    if not uses.splits:
        raise UserError(f"there is nothing to draw: no leaf below {clip(uses.root)} is used more than once")
    splits = uses.splits[:MOST_NODES]
    dot = new_digraph(f"{clip(uses.root)}, gradients by use", sum(1 + len(_shown(split)) for split in splits))
    dot.attr(label=escape(_caption(splits, len(uses))), labelloc="b", fontsize="11", fontcolor=GREY)
    dot.attr(nodesep="0.35")
    for place, split in reversed(list(enumerate(splits))):  # of separate graphs dot places the first at the bottom
        _add(dot, split, f"p{place}")
    drawing = Drawing(dot.source)
    if path is not None:
        drawing.save(path)
    return drawing


def _caption(splits: Sequence[Split], nodes: int) -> str:
    """What is drawn, and what the colours that are there say."""
    kinds = {(_kind(use), bool(split.shape)) for split in splits for use in _shown(split)}
    told = [words for kind, words in _OF_NUMBERS.items() if (kind, False) in kinds]
    told += [words for kind, words in _OF_ARRAYS.items() if (kind, True) in kinds]
    told += [words for kind, words in _OF_BOTH.items() if {(kind, False), (kind, True)} & kinds]
    chosen = f"\nOf {nodes:,} nodes the {len(splits)} with the largest gradients." if nodes > len(splits) else ""
    return f"{_CAPTION}\n{', '.join(told).capitalize()}.{chosen}"


def _add(dot: graphviz.Digraph, split: Split, key: str) -> None:
    shown = _shown(split)
    for use in shown:
        name = f"{key}{use.key}s{use.slot}"
        dot.node(name, **_use_box(use))
        dot.edge(name, key, **_edge(use))
    left_out = [use for use in split.uses if use not in shown]
    if left_out:
        share = sum(use.share for use in left_out)
        label = escape(count(len(left_out), "more use"))
        dot.node(f"{key}more", label=label, shape="box", style="rounded", color=GREY, fontcolor=GREY)
        dot.edge(f"{key}more", key, label=_label(share_text(share)), fontcolor=GREY, penwidth=_width(share))
    dot.node(key, **_node_box(split))


def _shown(split: Split) -> list[Use]:
    if len(split.uses) <= MOST_DRAWN + 1:
        return list(split.uses)
    largest: Sequence[Use] = sorted(split.uses, key=lambda use: use.norm, reverse=True)[:MOST_DRAWN]
    return [use for use in split.uses if use in largest]


def _use_box(use: Use) -> dict[str, str]:
    label = escape("\n".join(filter(None, (clip(use.formula), clip(use.place)))))
    box = {"label": label, "shape": "box", "style": "rounded", "tooltip": tooltip(f"{use.name} = {use.formula}")}
    return box | ({"style": "rounded,dashed", "color": GREY, "fontcolor": GREY} if use.number is None else {})


def _node_box(split: Split) -> dict[str, str]:
    """The node: name and shape, the sum, and what `=` would leave of it."""
    shape = f" {split.shape}" if split.shape else ""
    what = "norm " if split.shape else ""
    fields = [f"{clip(split.name)}{shape}", f"sum: {what}{sum_text(split)}".replace("norm nothing", "nothing")]
    if len(split.arrived) > 1:
        fields.append(f"= would leave {what}{size_text(split.arrived[-1])}")
    if split.part is not None:
        fields.append(f"{share_text(split.part)} of the whole squared norm")
    return {
        "label": "|".join(map(escape, fields)),
        "shape": "record",
        "style": "filled",
        "fillcolor": "#E3F0F9",
        "penwidth": "2",
        "tooltip": tooltip(split.name),
    }


def _edge(use: Use) -> dict[str, str]:
    kind = _kind(use)
    if kind == GREY:
        words = [size_text(use) if use.number is None else "0", *filter(None, [use.why])]
        return {"label": _label(", ".join(words)), "style": "dashed", "color": GREY, "fontcolor": GREY}
    if kind == YELLOW:
        return {"label": _label(_size(use)), "color": INK, "fontcolor": INK, "penwidth": "3"}
    return {
        "label": _label(f"{_size(use)}, {share_text(use.share)}"),
        "color": kind,
        "fontcolor": _DARK_VERMILION if kind == VERMILION else kind,
        "penwidth": _width(use.share),
    }


def _kind(use: Use) -> str:
    """The colour that says how a contribution lies to the sum; of a number, its sign."""
    if use.contribution is None or use.norm == 0:
        return GREY
    if not math.isfinite(use.norm):
        return YELLOW
    if not np.shape(use.contribution):
        return BLUE if use.contribution > 0 else VERMILION
    if use.cosine is None or abs(use.cosine) < _ALIGNED:
        return INK
    return BLUE if use.cosine > 0 else VERMILION


def _size(use: Use) -> str:
    text = size_text(use)
    return text if use.contribution is None or np.ndim(use.contribution) == 0 else f"norm {text}"


def _width(share: float) -> str:
    """How thick an edge is; the thinnest where a share is nan, as another use's contribution is not finite."""
    return short(_THINNEST + (_THICKEST - _THINNEST) * (share if math.isfinite(share) else 0), 3)


def _label(text: str) -> str:
    """Text on an edge; the spaces keep it off the line."""
    return f"{_SPACE}{escape(text)}{_SPACE}"
