"""Saved tensors, gradients and peak of a configuration, from its shapes alone."""

from __future__ import annotations

from dataclasses import dataclass

from memory_lab.ghosts import Ghost, GhostNode, release
from memory_lab.program import Program
from memory_lab.variants import Shape, Variant
from micrograd.backprop import chain_rule, deliver, topological_order


@dataclass(frozen=True)
class Kept:
    """An array that a rule holds: what it is, where, its shape, and its bytes."""

    name: str
    where: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class Estimate:
    """In bytes.

    weights    the model's parameters
    saved      what rules hold after the forward pass, beside them
    gradients  of the parameters, after the backward pass
    peak       the most there is at one time beside the weights, in forward and backward pass
    peak_at    during which operation
    kept       each array of `saved`
    """

    weights: int
    saved: int
    gradients: int
    peak: int
    peak_at: str
    kept: tuple[Kept, ...]


def estimate(shape: Shape, variant: Variant) -> Estimate:
    """Of a forward and a backward pass in a lean graph, which releases what it has used.

    Nothing of such a size is allocated: see `ghosts`. With accumulation, `saved` is that of one sequence.
    """
    program = Program(shape, variant)
    memory = program.memory
    turns, batch = (min(shape.batch, 2), 1) if variant.accumulate else (1, shape.batch)  # the third is as the second
    kept: tuple[Kept, ...] = ()
    for _ in range(turns):
        loss = program.loss(batch)
        kept = kept or _held(loss.node)
        node = loss.node
        if variant.accumulate:  # loss / batch
            node = GhostNode(memory, "/", 1, (node,), (lambda g: memory.array(1),))
        memory.arrived.clear()
        deliver(chain_rule(node, memory.array(1), done=release))
        del loss, node
    gradients = sum(leaf.grad.bytes for leaf in program.leaves.values() if leaf.grad is not None)
    return Estimate(
        weights=4 * shape.parameters,
        saved=sum(each.bytes for each in kept),
        gradients=gradients,
        peak=memory.peak,
        peak_at=memory.peak_at,
        kept=kept,
    )


def _held(root: GhostNode) -> tuple[Kept, ...]:
    """Each array once, where it is held first."""
    found: dict[int, tuple[Ghost, str]] = {}
    for node in topological_order(root):
        for array in node.held:
            found.setdefault(id(array), (array, node._op))
    return tuple(Kept(array.name, op, array.shape, array.bytes) for array, op in found.values())
