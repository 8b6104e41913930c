"""depth(model, loss): the norms of the gradient along a model's blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from micrograd.backprop import Node, chain_rule, deliver, reached, topological_order
from tensorgrad.nn import Module
from viz.arrays import norm
from viz.depth.blocks import Block, blocks_of, hidden_modules
from viz.depth.boundaries import Boundary, boundaries
from viz.depth.result import Depth
from viz.errors import UserError
from viz.graph import check_node
from viz.passes import empty_gradients


def depth(model: Any, loss: Node, *, gradient: Any = None) -> Depth:
    """The norm of the gradient at what each block of a model reads, at what it returns, and of its parameters.

    model     a `tensorgrad.nn.Module`: its blocks are those that are numbered in its containers, `blocks.0` to
              `blocks.11`, else its children; a `micrograd.nn.Module`, such as MLP with its layers; or blocks by name, a
              mapping (or pairs) of names to modules or to lists of parameters, of which only the last norm is known
    loss      what the model made, a Value or a Tensor
    gradient  the seed, for a tensor of several elements

    One backward pass is run, from empty gradients, and all gradients are put back; hooks run. The blocks are in the
    order in which they ran. A block reads what nodes inside its calls read from outside and is neither a parameter nor
    a buffer, and it returns what nodes outside read from inside: of several such tensors, and of several calls, the
    norm is that of all together. The gradient at a tensor is all of it, whoever else reads it. Parameters that several
    blocks share count in each of them. A checkpointed block is known by its parameters; of several in one checkpoint
    nothing else is. None is what there is no gradient of: a block that was not run, or without gradients; data that
    take none; frozen parameters. 0.0 is of parameters, inputs and outputs that no gradient reached.

    Raises what `loss.backward(gradient)` would, TypeError for a loss that is no node, and UserError for what is no
    model, where nothing of the model has gone into the loss, and where layers have that the model holds in a Python
    list, which a Module does not see.
    """
    check_node(loss)
    blocks = blocks_of(model)
    seed = loss._seed(gradient)
    order = topological_order(loss)
    _check_seen(model, order)
    parameters = {p for block in blocks for p in block.parameters}
    if hasattr(model, "parameters"):
        parameters.update(model.parameters())
    modules = [each for each in (model, *(block.module for block in blocks)) if isinstance(each, Module)]
    buffers = {b for module in modules for b in module.buffers()}
    found = boundaries(order, blocks, parameters | buffers)
    if all(boundary.first is None for boundary in found) and parameters.isdisjoint(order):
        raise UserError("nothing of this model has gone into this loss: give the loss that it made, with gradients")
    with empty_gradients(order):
        deliver(chain_rule(loss, seed))
        rows = [(block.name, *_norms(block, boundary)) for block, boundary in _in_order(blocks, found)]
    return Depth(*zip(*rows, strict=True))


def _check_seen(model: Any, order: Sequence[Node]) -> None:
    """Raise UserError where the loss depends on modules that the model does not see: what blocks read and return would
    be theirs, and no optimizer trains them."""
    for name, parameters in hidden_modules(model):
        if not set(parameters).isdisjoint(order):
            raise UserError(
                f"modules in {type(model).__name__}.{name}, a list, tuple or dict of Python, are no part of the model, "
                "and no optimizer trains them: make it an nn.ModuleList, or give depth the blocks themselves"
            )


def _in_order(blocks: Sequence[Block], found: Sequence[Boundary]) -> list[tuple[Block, Boundary]]:
    """The blocks as they ran; one that did not comes after the one that was defined before it."""
    places, last = [], -1
    for boundary in found:
        last = last if boundary.first is None else boundary.first
        places.append(last)
    pairs = list(zip(blocks, found, strict=True))
    return [pairs[i] for i in sorted(range(len(pairs)), key=places.__getitem__)]


def _norms(block: Block, boundary: Boundary) -> tuple[float | None, float | None, float | None]:
    trained = [p for p in block.parameters if p.requires_grad]
    return _norm(boundary.inputs), _norm(boundary.outputs), _norm(trained)


def _norm(nodes: Iterable[Node]) -> float | None:
    """The norm of the gradients of all these nodes together, in float64; None of none."""
    norms = [norm(np.asarray(node._grad)) if reached(node) else 0.0 for node in nodes]
    return norm(np.array(norms)) if norms else None
