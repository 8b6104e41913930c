"""Where the page draws each node and edge: Graphviz places boxes whose size is fixed, so that no number moves one.

Lengths are in CSS pixels, the origin is at the top left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from viz.errors import UserError
from viz.graph import Graph
from viz.render import find_dot, run_dot

DIRECTIONS = ("LR", "TB")
"""From left to right for a wide window, from top to bottom for a tall one; the page takes the one that fits."""

NODE_HEIGHT = 72
_INCH = 72  # Graphviz's inch, at one pixel a point
_MANY_RANKS_PASSED = 4_000  # 4,700, of 420 edges in 110 ranks, took a second, and 7,700 three
_ACROSS = 30  # between neighbours, with room for a line of text below a node
_BESIDE_CHIP = {"LR": 40, "TB": 50}  # of an edge, beside the number on it; below a node, room for a line of text


@dataclass(frozen=True)
class Layout:
    """One arrangement of a graph.

    width, height   of the whole
    nodes           the centre (x, y) of each node, in the graph's order
    edges           the control points x0, y0, x1, y1, ... of each edge's Bezier curves, in the order of Graph.edges
    """

    width: int
    height: int
    nodes: list[tuple[int, int]]
    edges: list[list[int]]


def layouts(graph: Graph, widths: Sequence[int], chip: tuple[int, int]) -> dict[str, Layout]:
    """An arrangement for each of DIRECTIONS. Only the first where edges pass so many ranks of nodes that it takes
    a second or more: the other would take as long again, and either has to be read part by part.

    Takes and raises what `lay_out` does.
    """
    first, *others = DIRECTIONS
    found = {first: lay_out(graph, widths, chip, first)}
    if _ranks_passed(graph, found[first]) < _MANY_RANKS_PASSED:
        found |= {name: lay_out(graph, widths, chip, name) for name in others}
    return found


def _ranks_passed(graph: Graph, layout: Layout) -> int:
    """How many ranks of nodes the edges of a layout from left to right pass without ending there, in all. For each
    Graphviz makes a node of its own to place; the time that it takes depends on those more than on anything else."""
    across = {node.key: x for node, (x, _) in zip(graph.nodes, layout.nodes, strict=True)}
    rank = {x: i for i, x in enumerate(sorted(set(across.values())))}
    return sum(rank[across[edge.child]] - rank[across[edge.parent]] - 1 for edge in graph.edges)


def lay_out(graph: Graph, widths: Sequence[int], chip: tuple[int, int], direction: str) -> Layout:
    """Place the nodes, `widths` pixels wide, so that a chip (width, height) fits on each edge.

    Raises NoDotError where there is no dot program, UserError where it does not place them all.
    """
    plain = run_dot(_dot_text(graph, widths, chip, direction), "plain").decode()
    try:
        return _read_plain(plain, graph)
    except (LookupError, ValueError, OverflowError) as error:  # numbers or names that are not there, nan, inf
        raise UserError(f"{find_dot()} did not place all nodes and edges, as a dot program would") from error


def _dot_text(graph: Graph, widths: Sequence[int], chip: tuple[int, int], direction: str) -> str:
    between_ranks = _BESIDE_CHIP[direction] + chip[DIRECTIONS.index(direction)]
    lines = [
        f"digraph {{ rankdir={direction} nodesep={_ACROSS / _INCH:.3f} ranksep={between_ranks / _INCH:.3f}",
        f'node [shape=box fixedsize=true label="" height={NODE_HEIGHT / _INCH}] edge [dir=none]',
        *(f"{node.key} [width={width / _INCH:.3f}]" for node, width in zip(graph.nodes, widths, strict=True)),
        *(f"{edge.parent} -> {edge.child}" for edge in graph.edges),
        "}",
    ]
    return "\n".join(lines)


def _read_plain(plain: str, graph: Graph) -> Layout:
    """Graphviz's plain format: `node name x y ...` and `edge tail head n x1 y1 ... xn yn ...`, in inches, y upwards."""
    size = (0.0, 0.0)
    centres: dict[str, tuple[int, int]] = {}
    curves: dict[tuple[str, str], list[list[int]]] = defaultdict(list)

    def pixels(x: str, y: str) -> tuple[int, int]:
        return round(float(x) * _INCH), round((size[1] - float(y)) * _INCH)

    for line in plain.splitlines():
        kind, *fields = line.split()
        if kind == "graph":
            size = float(fields[1]), float(fields[2])
        elif kind == "node":
            centres[fields[0]] = pixels(fields[1], fields[2])
        elif kind == "edge":
            tail, head, count = fields[0], fields[1], int(fields[2])
            numbers = fields[3 : 3 + 2 * count]
            points = [pixels(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
            curves[tail, head].append([coordinate for point in points for coordinate in point])
    return Layout(
        width=round(size[0] * _INCH),
        height=round(size[1] * _INCH),
        nodes=[centres[node.key] for node in graph.nodes],
        edges=[curves[edge.parent, edge.child].pop(0) for edge in graph.edges],
    )
