"""memory(loss): every array that a graph keeps alive, counted once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node, topological_order
from tensorgrad.lean import in_graph
from tensorgrad.node import ArrayNode
from tensorgrad.optim import Optimizer
from viz.errors import UserError
from viz.graph import check_node
from viz.memory.measure import Pieces, gradient_rows, optimizer_rows, rows
from viz.memory.paths import Paths
from viz.memory.peak import Released, added_by_backward
from viz.memory.result import NUMBER, Memory, Row, shape_text
from viz.memory.scalars import scalar_rows


def memory(
    loss: Node,
    *,
    model: Any = None,
    optimizer: Any = None,
    peak: bool = False,
    gradient: Any = None,
    keep_grads: bool | None = None,
    retain_graph: bool | None = None,
) -> Memory:
    """What the graph of `loss`, a Value or a Tensor, keeps alive for the backward pass, and beside it.

    model      its parameters are the weights, whether the loss depends on them or not, and its modules have the names
               that it has for them; without it the weights are the leaves that require gradients
    optimizer  what it remembers is counted, too
    peak       measure a backward pass, too, from empty gradients, which are put back; hooks run. `gradient`,
               `keep_grads` and `retain_graph` are what `Tensor.backward` takes: with retain_graph=False the graph
               cannot be walked again afterwards

    All is measured: of each node's data, and of what its rule holds, in closures, containers and objects. Memory is
    counted once, in bytes of the array that owns it: a view keeps all of that alive. What only hooks hold is not
    counted, nor is what the program holds beside the graph.

    In a lean graph constants have no data of their own: what rules hold of them is saved there. Of Values it is the
    size of Python's objects.

    Raises TypeError for what is no node; UserError for a leaf, a tensor that requires no gradient, what is no model,
    what is no optimizer, and for settings of a pass that is not asked for; with `peak` what `backward` would.
    """
    if not peak and (gradient is not None or keep_grads is not None or retain_graph is not None):
        raise UserError("gradient=, keep_grads= and retain_graph= are of the backward pass: add peak=True")
    root = _root(loss)
    order = topological_order(root)
    seed = loss._seed(gradient) if peak else None
    parameters = _parameters(model)
    paths = Paths(model)
    pieces = Pieces(order, parameters)
    nodes = list(pieces.nodes)
    found = rows(pieces, paths)
    found += gradient_rows(nodes, pieces, paths)
    found += scalar_rows(_values(nodes), paths)
    found += _remembered(optimizer)
    operations = _operations(order, paths)
    added = None
    if peak:
        released = Released(pieces)
        del pieces, nodes  # which keep all of it alive
        added = added_by_backward(
            root, seed, order, keep_grads=keep_grads, retain_graph=retain_graph, released=released
        )
    return Memory(tuple(found), operations, len(order), added)


def _values(nodes: Iterable[Node]) -> list[Value]:
    """The Values among these, and those that are elements of their arrays, with all that they depend on."""
    found: dict[Node, None] = {}
    for node in nodes:
        data = getattr(node, "_data", None)
        if isinstance(node, Value):
            found[node] = None
        elif isinstance(data, np.ndarray) and data.dtype == object:
            for element in data.flat:
                if isinstance(element, Value) and element not in found:
                    found |= dict.fromkeys(topological_order(element, found))
    return [node for node in found if isinstance(node, Value)]


def _remembered(optimizer: Any) -> list[Row]:
    if optimizer is None:
        return []
    if not isinstance(optimizer, Optimizer):
        raise UserError(f"optimizer= takes an optimizer of tensorgrad.optim, got a {type(optimizer).__name__}")
    return optimizer_rows(optimizer)


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
    root: Node = in_graph(loss) if isinstance(loss, ArrayNode) else loss
    return root


def _parameters(model: Any) -> list[Node] | None:
    if model is None:
        return None
    if isinstance(model, type):
        raise UserError(f"model= takes a Module, got the class {model.__name__} itself: give an object of it")
    if not callable(getattr(model, "parameters", None)):
        raise UserError(f"model= takes a Module, with parameters(), got a {type(model).__name__}")
    found = list(model.parameters())
    for each in found:
        if not isinstance(each, Node):
            kind = type(each)
            raise UserError(
                f"model= takes a Module of tensorgrad.nn or micrograd.nn, and among the parameters of this "
                f"{type(model).__name__} is a {kind.__module__}.{kind.__name__}"
            )
    return found


def _operations(order: Sequence[Node], paths: Paths) -> tuple[tuple[str, str, str], ...]:
    found = []
    for node in order:
        if node._prev:
            data = getattr(node, "_data", None)
            shape = shape_text(data.shape, str(data.dtype)) if isinstance(data, np.ndarray) else shape_text((), NUMBER)
            found.append((str(node._op), paths.of(node), shape))
    return tuple(found)
