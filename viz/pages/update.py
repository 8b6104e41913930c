"""What a step of training does to the leaves, for the page: the last phase of a run, under each engine's gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from numbers import Real
from typing import Any

import numpy as np

from micrograd.backprop import Node
from tensorgrad.optim import Optimizer
from viz.errors import UserError
from viz.graph import Graph
from viz.pages.data import leaves_worth_listing
from viz.pages.quantities import Quantities
from viz.text import short
from viz.trace import Trace


def update_data(
    update: Any,
    parameters: Iterable[Node] | None,
    order: Sequence[Node],
    graph: Graph,
    traces: Mapping[str, Trace] | None,
    quantities: Quantities | None,
) -> dict[str, Any]:
    """The update as data: which `nodes` it changes, in `words`, and by what.

    update      a learning rate, for `x.data -= rate * x.grad`, or an optimizer of tensorgrad.optim, of which a copy
                takes one step for each engine's gradients
    parameters  the leaves that a rate is for; by default those of the graph that take a gradient. Others than these
                are left out
    traces      of recorded passes by mode, None where the page computes: then `rate` is all that it needs, else it has
                `after`, the new data by mode

    Raises UserError for an update that is neither, for parameters that are not in the graph, or for an optimizer
    none of whose parameters are, or with `parameters` beside its own.
    """
    places = {node: i for i, node in enumerate(order)}
    if isinstance(update, Real) and not isinstance(update, bool):
        rate = _finite(update)
        nodes = _chosen(parameters, places, graph)
        data: dict[str, Any] = {"rate": rate, "nodes": nodes, "words": f"{{}}.data -= {short(rate)} * {{}}.grad"}
        if traces is not None:
            data["after"] = {
                mode: [quantities.of(array) for array in _moved(graph, nodes, passed, rate)]
                for mode, passed in traces.items()
            }
        return data
    if not isinstance(update, Optimizer):
        raise UserError(
            f"update: expected a learning rate or an optimizer of tensorgrad.optim, got a {type(update).__name__}"
        )
    if parameters is not None:
        raise UserError("parameters= is for a learning rate, and an optimizer has its own: leave it out")
    known = [p for group in update.param_groups for p in group["params"] if p in places]
    if not known or traces is None:
        raise UserError("update: none of the optimizer's parameters are in this graph")
    after = {
        mode: [quantities.of(array) for array in _stepped(update, known, places, passed)]
        for mode, passed in traces.items()
    }
    return {"nodes": [places[p] for p in known], "words": f"{type(update).__name__}.step() on {{}}", "after": after}


def _finite(rate: Real) -> float:
    try:
        found = float(rate)
    except OverflowError:  # a whole number that no float holds
        found = math.inf
    if not math.isfinite(found):
        raise UserError(f"the learning rate of an update must be finite, got {found}")
    return found


def _chosen(parameters: Iterable[Node] | None, places: Mapping[Node, int], graph: Graph) -> list[int]:
    if parameters is None:
        return [int(record.key[1:]) for record in leaves_worth_listing(graph)]
    if isinstance(parameters, Node) or not isinstance(parameters, Iterable):
        raise UserError(f"parameters= takes a list of leaves, got a {type(parameters).__name__}")
    given = list(parameters)
    others = [x for x in given if not isinstance(x, Node)]
    if others:
        raise UserError(f"parameters= takes a list of leaves, and in this one is a {type(others[0]).__name__}")
    nodes = dict.fromkeys(places[node] for node in given if node in places and not node._prev and node.requires_grad)
    if not nodes:
        raise UserError(
            "update: none of the parameters that were given are leaves of this graph that take a gradient"
            + ("" if given else " (there are none: a generator can be gone through only once)")
        )
    return list(nodes)


def _moved(graph: Graph, nodes: Sequence[int], passed: Trace, rate: float) -> list[Any]:
    """The data of the leaves after a step of gradient descent by a pass's gradients."""
    grads = passed.grads
    moved = []
    with np.errstate(all="ignore"):  # the page shows every inf and nan
        for i in nodes:
            data, grad = graph.nodes[i].data, grads.get(f"n{i}")
            moved.append(data if grad is None else data - rate * grad)
    return moved


def _stepped(optimizer: Any, known: Sequence[Node], places: Mapping[Node, int], passed: Trace) -> list[np.ndarray]:
    """The parameters after one step of a copy of the optimizer, which gets a pass's gradients."""
    memo: dict[int, Any] = {}
    copied = deepcopy(optimizer, memo)
    grads = passed.grads
    for group in copied.param_groups:
        for p in group["params"]:
            p.grad = None
    for node in known:
        grad = grads.get(f"n{places[node]}")
        memo[id(node)].grad = None if grad is None else np.array(grad)
    with np.errstate(all="ignore"):
        copied.step()
    return [memo[id(node)].data for node in known]
