"""What a step of training does to the leaves, for the page: the last phase of a run, under each engine's gradients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from numbers import Real
from typing import Any

import numpy as np

from micrograd.backprop import Node
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
    parameters  the leaves that a rate is for; by default those of the graph that take a gradient
    traces      of recorded passes by mode, None where the page computes: then `rate` is all that it needs, else it has
                `after`, the new data by mode

    Raises UserError for an update that is neither, for parameters that are not in the graph, or for an optimizer
    none of whose parameters are.
    """
    places = {node: i for i, node in enumerate(order)}
    if isinstance(update, Real) and not isinstance(update, bool):
        nodes = _chosen(parameters, places, graph)
        words = f"{{}}.data -= {short(float(update))} * {{}}.grad"
        data: dict[str, Any] = {"rate": float(update), "nodes": nodes, "words": words}
        if not np.isfinite(float(update)):
            raise UserError(f"the learning rate of an update must be finite, got {update}")
        if traces is not None:
            data["after"] = {
                mode: [quantities.of(_moved(graph, i, passed, float(update))) for i in nodes]
                for mode, passed in traces.items()
            }
        return data
    if not hasattr(update, "param_groups"):
        raise UserError(
            f"update: expected a learning rate or an optimizer of tensorgrad.optim, got a {type(update).__name__}"
        )
    known = [p for group in update.param_groups for p in group["params"] if p in places]
    if not known or traces is None:
        raise UserError("update: none of the optimizer's parameters are in this graph")
    after = {
        mode: [quantities.of(array) for array in _stepped(update, known, places, passed)]
        for mode, passed in traces.items()
    }
    return {"nodes": [places[p] for p in known], "words": f"{type(update).__name__}.step() on {{}}", "after": after}


def _chosen(parameters: Iterable[Node] | None, places: Mapping[Node, int], graph: Graph) -> list[int]:
    if parameters is None:
        return [int(record.key[1:]) for record in leaves_worth_listing(graph)]
    given = list(parameters)
    nodes = [places[node] for node in given if node in places and not node._prev]
    if not nodes:
        raise UserError("update: none of the parameters that were given are leaves of this graph")
    return nodes


def _moved(graph: Graph, i: int, passed: Trace, rate: float) -> Any:
    record = graph.nodes[i]
    grad = passed.grads.get(record.key)
    return record.data if grad is None else record.data - rate * grad


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
    copied.step()
    return [memo[id(node)].data for node in known]
