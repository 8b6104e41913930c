"""What the stepper page shows, as JSON: the graph, how its operations are written, its groups, and what the page
cannot work out for itself.

A graph of Values goes in as its numbers and local derivatives, and the page runs the passes; of Tensors, and of
Values with rules or hooks of the user's, the passes are recorded, each array stored once, as text and heat map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from micrograd.backprop import Node
from viz import text
from viz.graph import Graph, NodeRecord
from viz.pages.quantities import Quantities
from viz.pages.recipes import filled, recipe, recipe_key
from viz.pages.scripted import variables
from viz.trace import Trace

MOST_NAME_CHARACTERS = 200
"""Of a name or title on the page, which repeats them many times; longer ones end in an ellipsis."""

_MOST_RULE_CHARACTERS = 500
_MOST_COUNTED = 10**300  # a double still holds it


def graph_data(order: Sequence[Node], graph: Graph) -> dict[str, Any]:
    """The graph itself: names, operands, and recipes, see `recipes`.

    names      of each node; 0 where that is "n" and its place
    parents    of each node, by place
    recipes    how operations are written, `recipe` which one each node has, -1 for a leaf
    variables  what each node of a graph of Values is called in its script, 0 where that is its name; None for others
    constants  the nodes that take no gradient
    leaves     those that are worth listing in a graph too large to list all
    """
    recipes: dict[tuple[Any, ...], int] = {}
    written: list[dict[str, Any]] = []
    which: list[int] = []
    for node, record in zip(order, graph.nodes, strict=True):
        if record.is_leaf:
            which.append(-1)
            continue
        key = recipe_key(node, record, graph)
        if key not in recipes:
            recipes[key] = len(written)
            written.append(recipe(node, record, graph))
        which.append(recipes[key])
    called = variables(order, graph)
    return {
        "names": [
            0 if record.name == record.key else text.cut(_one_line(record.name), MOST_NAME_CHARACTERS)
            for record in graph.nodes
        ],
        "parents": [[_index(key) for key in record.parents] for record in graph.nodes],
        "recipes": written,
        "recipe": which,
        "variables": called
        and [0 if name == record.name else name for name, record in zip(called, graph.nodes, strict=True)],
        "constants": [i for i, record in enumerate(graph.nodes) if not record.requires_grad],
        "leaves": [_index(record.key) for record in leaves_worth_listing(graph)],
    }


def recorded_data(
    order: Sequence[Node], graph: Graph, traces: Mapping[str, Trace]
) -> tuple[dict[str, Any], Quantities]:
    """Passes that are recorded, by mode, and all the numbers and arrays that they show.

    A pass is columns, one entry a step: sender (-1 for the seed), receiver, slot, contribution, after; and, by step,
    what differs from what the page would say: `rules`, texts with a remark, and `upstreams`, gradients that a hook
    changed before they were sent.
    """
    quantities = Quantities()
    which = [quantities.of(record.data) for record in graph.nodes]
    passes = {mode: _recorded(order, graph, passed, quantities) for mode, passed in traces.items()}
    locals_: dict[int, int] = {}
    first = np.cumsum([0, *(len(record.parents) for record in graph.nodes)])
    for step in traces["add"].steps:
        if step.sender is not None and step.local is not None:
            locals_[int(first[_index(step.sender)]) + step.slot] = quantities.of(step.local)
    hooked = {
        mode: {_index(key): quantities.of(q) for key, q in passed.hooked.items()} for mode, passed in traces.items()
    }
    data = {"data": which, "passes": passes, "locals": locals_, "hooked": hooked}
    return data, quantities


def _recorded(order: Sequence[Node], graph: Graph, passed: Trace, quantities: Quantities) -> dict[str, Any]:
    held: dict[str, Any] = {}
    columns: dict[str, list[Any]] = {"sender": [], "receiver": [], "slot": [], "contribution": [], "after": []}
    rules: dict[int, str] = {}
    usual: dict[tuple[str, int], str] = {}
    upstreams: dict[int, int] = {}
    for i, step in enumerate(passed.steps):
        columns["sender"].append(-1 if step.sender is None else _index(step.sender))
        columns["receiver"].append(_index(step.receiver))
        columns["slot"].append(step.slot)
        columns["contribution"].append(quantities.of(step.contribution))
        after = quantities.of(step.after)
        columns["after"].append(after)
        if step.sender is not None:
            record = graph[step.sender]
            edge = step.sender, step.slot
            if edge not in usual:
                slots = recipe(order[_index(step.sender)], record, graph)["slots"]
                usual[edge] = filled(slots[step.slot][1], record, graph)
            if usual[edge] != step.rule:
                rules[i] = text.cut(step.rule, _MOST_RULE_CHARACTERS)
            upstream = quantities.of(step.upstream)
            if upstream != held.get(step.sender):
                upstreams[i] = upstream
        elif step.rule != "the seed":
            rules[i] = text.cut(step.rule, _MOST_RULE_CHARACTERS)
        held[step.receiver] = after
    return columns | {"rules": rules, "upstreams": upstreams, "cut": _cut(passed)}


def _cut(passed: Trace) -> int:
    """How many steps a recursion that was stopped would have taken in all, as far as the page can count; else 0."""
    return min(passed.needed, _MOST_COUNTED) if passed.needed > len(passed) else 0


def leaves_worth_listing(graph: Graph) -> list[NodeRecord]:
    """The leaves that take a gradient, without the numbers that a program of Values is written with; with them where
    there is nothing else."""
    leaves = [node for node in graph.nodes if node.is_leaf and node.requires_grad]
    return [node for node in leaves if node.named or np.shape(node.data)] or leaves


def _one_line(name: str) -> str:
    """A name without the control characters that stand for names in a recipe."""
    return name.replace("\x01", " ").replace("\x02", " ")


def _index(key: str) -> int:
    return int(key[1:])
