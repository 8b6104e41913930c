"""memory(loss): every array that a graph keeps alive, counted once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from micrograd.backprop import Node, topological_order
from viz.errors import UserError
from viz.graph import check_node
from viz.memory.measure import Pieces, gradient_rows, optimizer_rows, rows
from viz.memory.paths import Paths
from viz.memory.result import Memory, shape_text


def memory(loss: Node, *, model: Any = None, optimizer: Any = None) -> Memory:
    """What the graph of `loss`, a Value or a Tensor, keeps alive for the backward pass, and beside it.

    model      its parameters are the weights, whether the loss depends on them or not, and its modules have the names
               that it has for them; without it the weights are the leaves that require gradients
    optimizer  what it remembers is counted, too

    All is measured: of each node's data, and of what its rule holds, in closures, containers and objects. Memory is
    counted once, in bytes of the array that owns it: a view keeps all of that alive. What only hooks hold is not
    counted, nor is what the program holds beside the graph.

    Raises TypeError for what is no node; UserError for a leaf, a tensor that requires no gradient, what is no model and
    what is no optimizer.
    """
    root = _root(loss)
    order = topological_order(root)
    parameters = _parameters(model)
    paths = Paths(model)
    pieces = Pieces(order, parameters)
    in_graph = set(order)
    found = rows(pieces, paths)
    found += gradient_rows([*order, *(p for p in parameters or () if p not in in_graph)], pieces, paths)
    if optimizer is not None:
        if not hasattr(optimizer, "state"):
            raise UserError(f"optimizer= takes an optimizer of tensorgrad.optim, got a {type(optimizer).__name__}")
        found += optimizer_rows(optimizer)
    return Memory(tuple(found), _operations(order, paths), len(order))


def _root(loss: Any) -> Node:
    """The node that the graph begins with: of a tensor of a lean graph, its stand-in."""
    check_node(loss)
    if not loss.requires_grad:
        raise UserError(
            "this tensor requires no gradient, so no graph was recorded: make one of its leaves with "
            "requires_grad=True, and look for no_grad() and detach() on the way"
        )
    if not loss._prev:
        raise UserError("this is a leaf, which no operation made, so no graph is behind it: give the loss")
    return getattr(loss, "_core", None) or loss


def _parameters(model: Any) -> list[Node] | None:
    if model is None:
        return None
    if not callable(getattr(model, "parameters", None)):
        raise UserError(f"model= takes a Module, with parameters(), got a {type(model).__name__}")
    return list(model.parameters())


def _operations(order: Sequence[Node], paths: Paths) -> tuple[tuple[str, str, str], ...]:
    found = []
    for node in order:
        if node._prev:
            data = getattr(node, "_data", None)
            shape = shape_text(data.shape, str(data.dtype)) if isinstance(data, np.ndarray) else shape_text((), "float")
            found.append((str(node._op), paths.of(node), shape))
    return tuple(found)
