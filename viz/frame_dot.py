"""The moments of one pass as DOT texts that are all laid out the same way, so that nothing moves from one to the next.

A contribution is a node of its own on the edge that it comes along, there from the start and without text until it
arrives. Every box has the size of the largest text that it will hold, which a dot program is asked for first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import graphviz
import numpy as np

from viz.arrays import Quantity
from viz.dot import GREY, INK, add_node, edge_attributes, new_digraph
from viz.graph import Edge, Graph, NodeRecord
from viz.labels import html, node_label
from viz.moments import Arrival, Moment, Use, use_of
from viz.render import run_dot
from viz.text import clip, count
from viz.told import in_line

PURPLE = "#7A3E9D"
"""What the step at hand has to do with."""

RED = "#A30D3D"
"""A gradient that is wrong in the end."""

_LEGEND = "Dashed border: sends. Thick border: receives. On an edge: what has come back along it."
_LARGEST = "20,20"  # inches, of a slide
_POINTS = 72  # an inch
_SLACK = 0.02  # inches, for the rounding of what the dot program says
_CLIPPED = 100  # characters of a rule

Size = tuple[float, float]
"""Width and height, in inches."""


class Frames:
    """The pictures of one pass: `frames[i]` is the DOT text after `i` steps.

    graph     the graph before the pass
    operator  how contributions are combined: "+=", "=" or a name
    wrong     the gradients that are wrong in the end, by key, each with what it should be
    """

    def __init__(self, graph: Graph, moments: Sequence[Moment], operator: str, wrong: Mapping[str, Quantity]) -> None:
        self.graph = graph
        self.moments = moments
        self.operator = operator
        self.wrong = wrong
        self.uses = {use for moment in moments for use in moment.arrivals}
        self.rows = 3 if wrong else 2  # of the caption: the last frame says what is wrong
        self.sizes = self._sizes()

    def __len__(self) -> int:
        return len(self.moments)

    def __getitem__(self, number: int) -> str:
        moment = self.moments[number]
        dot = new_digraph(f"{clip(self.graph.root.title)}, {self._where(moment)}", len(self.graph))
        caption = _table(self._caption(moment), self.rows, self.sizes["caption"])
        dot.attr(label=caption, labelloc="b", outputorder="edgesfirst", size=_LARGEST)
        for record in self.graph.nodes:
            self._node(dot, record, moment)
        for edge in self.graph.edges:
            self._edge(dot, edge, moment)
        return dot.source

    def _node(self, dot: graphviz.Digraph, record: NodeRecord, moment: Moment) -> None:
        add_node(dot, self.graph, replace(record, grad=moment.grads.get(record.key)))
        dot.node(record.key, **_fixed(self.sizes[record.key]), **self._marks(record, moment))

    def _marks(self, record: NodeRecord, moment: Moment) -> dict[str, str]:
        """How a node is drawn that has a part in the step, or is wrong after the last one."""
        step = moment.step
        if step is not None and record.key == step.receiver:
            return {"color": PURPLE, "penwidth": "4", "fillcolor": "#F4EBFA"}
        if step is not None and record.key == step.sender:
            return {"color": PURPLE, "penwidth": "2.5", "style": "filled,dashed"}
        if self._is_last(moment) and record.key in self.wrong:
            return {"color": RED, "penwidth": "3"}
        return {"penwidth": "2"} if record is self.graph.root else {}

    def _edge(self, dot: graphviz.Digraph, edge: Edge, moment: Moment) -> None:
        """An edge in two parts that meet under its contribution: forward arrows until that arrives, then backward."""
        use = (edge.parent, edge.child, edge.slot)
        operation = f"{edge.child}op"
        if use not in self.uses:
            dot.edge(edge.parent, operation)
            return
        arrival = moment.arrivals.get(use)
        now = moment.step is not None and use_of(moment.step) == use
        line = {"color": PURPLE, "penwidth": "4"} if now else {"color": INK, "penwidth": "1.6"} if arrival else {}
        first = {"dir": "back"} if arrival else {"dir": "none"}
        dot.edge(edge.parent, _chip(use), headport="c", headclip="false", **first, **line)
        dot.edge(_chip(use), operation, tailport="c", tailclip="false", **({"dir": "none"} if arrival else {}), **line)
        dot.node(_chip(use), **_fixed(self.sizes[_chip(use)]), **_chip_attributes(edge, arrival, now=now))

    # -- words

    def _where(self, moment: Moment) -> str:
        return f"step {moment.number} of {len(self) - 1}"

    def _is_last(self, moment: Moment) -> bool:
        return moment.number == len(self) - 1

    def _caption(self, moment: Moment) -> list[str]:
        """Which step it is, what it does, and at the end what is wrong; as lines."""
        step = moment.step
        if step is None:
            return [f"Before the pass, {count(len(self) - 1, 'step')} with {self.operator}", "No gradient yet."]
        to = clip(self.graph[step.receiver].name)
        who = f"{clip(self.graph[step.sender].name)} → {to}" if step.sender else f"seed → {to}"
        lines = [f"{self._where(moment).capitalize()}: {who}", self._happens(moment)]
        return [*lines, self._verdict(moment)] if self._is_last(moment) and self.wrong else lines

    def _happens(self, moment: Moment) -> str:
        """`a.grad += b * d.grad = −6, from 4 to −2`."""
        step = moment.step
        grad = f"{clip(self.graph[step.receiver].name)}.grad"
        sign = "=" if self.operator == "=" else "+="
        said = f"{grad} {sign} {clip(step.rule, _CLIPPED)} = {in_line(step.contribution)}"
        if step.before is None:
            return f"{said}, the first to arrive"
        gone = ": what was there is lost" if sign == "=" and np.any(step.before) else ""
        return f"{said}, from {in_line(step.before)} to {in_line(step.after)}{gone}"

    def _verdict(self, moment: Moment) -> str:
        key, truth = next(iter(self.wrong.items()))
        name, held = clip(self.graph[key].name), moment.grads.get(key)
        return (
            f"Wrong in the end: {count(len(self.wrong), 'gradient')} of {len(moment.grads)}, "
            f"e.g. {name}.grad is {'missing' if held is None else in_line(held)}, not {in_line(truth)}"
        )

    # -- sizes

    def _sizes(self) -> dict[str, Size]:
        """The size of each node, of each edge's contribution and of the caption that holds all of its texts."""
        wanted: dict[str, set[str]] = defaultdict(set)
        for moment in self.moments:
            wanted["caption"].add(_table(self._caption(moment), self.rows))
            for record in self.graph.nodes:
                wanted[record.key].add(node_label(replace(record, grad=moment.grads.get(record.key))))
            for use, arrival in moment.arrivals.items():
                wanted[_chip(use)].add(_chip_label(Edge(*use, arrival.contribution), arrival))
        return {key: _largest(found) for key, found in _measured(wanted).items()}


def _chip(use: Use) -> str:
    """The DOT name of the contribution on an edge."""
    parent, child, slot = use
    return f"{parent}{child}s{slot}"


def _chip_label(edge: Edge, arrival: Arrival) -> str:
    label = edge_attributes(edge)["label"]
    return f"{label}\\nlost" if arrival.lost else label


def _chip_attributes(edge: Edge, arrival: Arrival | None, *, now: bool) -> dict[str, str]:
    """How the contribution on an edge is drawn. Until it arrives a dot hides where the edge's two parts meet."""
    shape = {"shape": "box", "fontsize": "12"}
    if arrival is None:
        return {**shape, "style": "", "color": "transparent", "label": "•", "fontcolor": GREY}
    edge = replace(edge, contribution=arrival.contribution)
    color = GREY if arrival.lost else edge_attributes(edge)["fontcolor"]
    style = "rounded,filled,dashed" if arrival.lost else "rounded,filled"
    border = {"color": PURPLE, "penwidth": "3"} if now else {"color": GREY, "penwidth": "1"}
    label = _chip_label(edge, arrival)
    return {**shape, **border, "style": style, "fillcolor": "white", "label": label, "fontcolor": color}


def _fixed(size: Size) -> dict[str, str]:
    return {"fixedsize": "true", "width": f"{size[0]:.4f}", "height": f"{size[1]:.4f}"}


def _table(lines: Sequence[str], rows: int, size: Size | None = None) -> str:
    """Lines of a caption under each other, the first bold, the legend below them; in a box of one size if given."""
    of = "" if size is None else f' FIXEDSIZE="TRUE" WIDTH="{size[0] * _POINTS:.0f}" HEIGHT="{size[1] * _POINTS:.0f}"'
    texts = [f"<B>{html(lines[0])}</B>", *map(html, lines[1:])]
    texts += [" "] * (rows - len(texts))
    texts.append(f'<FONT POINT-SIZE="10" COLOR="{GREY}">{html(_LEGEND)}</FONT>')
    drawn = "".join(f'<TR><TD ALIGN="LEFT">{line}</TD></TR>' for line in texts)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1"{of}>{drawn}</TABLE>>'


def _measured(wanted: Mapping[str, Iterable[str]]) -> dict[str, list[Size]]:
    """How large the dot program draws each text: of nodes, of contributions and of captions."""
    dot = new_digraph("sizes", 0)
    owners: dict[str, str] = {}
    for key, labels in wanted.items():
        for label in sorted(labels):
            name = f"m{len(owners)}"
            owners[name] = key
            dot.node(name, label=label, **_measured_as(key))
    sizes = defaultdict(list)
    for line in run_dot(dot.source, "plain").decode().splitlines():
        fields = line.split(maxsplit=6)
        if fields[0] == "node":
            sizes[owners[fields[1]]].append((float(fields[4]) + _SLACK, float(fields[5]) + _SLACK))
    return sizes


def _measured_as(key: str) -> dict[str, str]:
    if key == "caption":
        return {"shape": "plain", "fontsize": "14"}
    if "s" in key:  # a contribution
        return {"shape": "box", "fontsize": "12", "margin": "0.02,0.02", "height": "0.25", "width": "0.3"}
    return {"shape": "record"}


def _largest(sizes: Sequence[Size]) -> Size:
    return max(width for width, _ in sizes), max(height for _, height in sizes)
