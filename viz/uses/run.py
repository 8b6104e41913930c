"""uses(loss): the gradient of a node that is used more than once, split by use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from micrograd.backprop import Node, topological_order
from viz.arrays import Quantity, norm
from viz.errors import UserError
from viz.graph import check_node
from viz.names import caller_namespace
from viz.pages.blocked import blocked
from viz.parts import part
from viz.uses.arrivals import Arrivals, arrivals
from viz.uses.called import Called
from viz.uses.edges import CutReadings, Reading, readings
from viz.uses.places import places
from viz.uses.result import Split, Use, Uses, cosine
from viz.words import formula


def uses(
    root: Node,
    parameter: Node | str | None = None,
    *,
    names: Mapping[str, Any] | None = None,
    parameters: Any = None,
    gradient: Any = None,
) -> Uses:
    """What each use of a node sends to its gradient in one backward pass from `root`, a Value or a Tensor.

    parameter   the node, a leaf or any other, or its name; by default every leaf that is used more than once
    names       a namespace to look node names up in; by default the caller's variables
    parameters  a module, a dictionary of leaves by name, or (name, leaf) pairs: only these leaves are looked at, by
                these names, and the norm of the whole gradient is theirs
    gradient    the seed, for a tensor of several elements

    A use is an operation that reads the node: a table that is read through its transpose is used by "T", and a
    checkpointed block, which adds up what comes from its inside, is one use. The pass starts from empty gradients, and
    all gradients are put back. One array of the node's size is held for each use.

    Raises what `root.backward(gradient)` would, TypeError for what is no node, and UserError for a name that no node
    has, a node that nothing in the graph reads, other `parameters`, and complex numbers.
    """
    check_node(root)
    seed = root._seed(gradient)
    order = topological_order(root)
    namespace = caller_namespace() if names is None else names
    called = Called(order, namespace, parameters)
    _check_real(order, called)
    chosen = _looked_at(parameter, order, called)
    passed = arrivals(root, seed, order, chosen, called.leaves)
    whole = norm(np.array([*passed.norms.values()]))
    split = _Splitter(order, namespace, called, passed, whole)
    splits = [split(node, found) for node, found in chosen.items()]
    splits.sort(key=lambda s: math.inf if math.isnan(s.norm) else s.norm, reverse=True)
    return Uses(called.of(root), tuple(splits), whole, len(passed.norms))


def _looked_at(parameter: Node | str | None, order: Sequence[Node], called: Called) -> dict[Node, list[Reading]]:
    """The nodes whose gradients are split, and who reads them."""
    read, cut = readings(order), CutReadings(order)
    if parameter is None:
        found = {leaf: read.get(leaf, []) + cut.of(leaf, direct=True) for leaf in called.leaves}
        return {leaf: readers for leaf, readers in found.items() if len(readers) > 1}
    node = called.node(parameter) if isinstance(parameter, str) else parameter
    check_node(node)
    readers = read.get(node, []) + cut.of(node, direct=False)
    if not readers:
        raise UserError(
            f"nothing below {called.of(order[-1])} reads {called.of(node)}: ask for a node that went into the root"
        )
    return {node: readers}


def _check_real(order: Sequence[Node], called: Called) -> None:
    for node in order:
        dtype = np.asarray(node.data).dtype
        if dtype.kind == "c":
            raise UserError(f"{called.of(node)} is {dtype}, and only the gradients of real numbers can be split")


class _Splitter:
    """Makes the records of one pass."""

    def __init__(
        self, order: Sequence[Node], namespace: Mapping[str, Any], called: Called, passed: Arrivals, whole: float
    ) -> None:
        self._places = places(order, namespace)
        self._index = {node: i for i, node in enumerate(order)}
        self._called = called
        self._passed = passed
        self._whole = whole

    def __call__(self, node: Node, readers: Sequence[Reading]) -> Split:
        arrived = self._passed.of[node]
        sum_ = _sum([a.sent for a in arrived])
        norms = [norm(np.asarray(a.sent)) for a in arrived]
        shares = _shares(norms)
        made = []
        for i, arrival in enumerate(arrived):
            reading = Reading(arrival.reader, arrival.slot)
            toward = None if sum_ is None else cosine(arrival.sent, sum_)
            why = _why(reading) if norms[i] == 0 else None
            made.append(self._use(reading, i + 1, arrival.sent, norms[i], shares[i], toward, why))
        sent = {(a.reader, a.slot) for a in arrived}
        silent = [r for r in readers if r.cut is not None or (r.reader, r.slot) not in sent]
        made += [self._use(r, None, None, 0.0, 0.0, None, self._silent(node, r)) for r in silent]
        size = 0.0 if sum_ is None else norm(np.asarray(sum_))
        own = self._passed.norms.get(node)
        return Split(
            key=f"n{self._index[node]}" if node in self._index else None,
            name=self._called.of(node),
            shape=np.shape(node.data),
            dtype=str(np.asarray(node.data).dtype),
            uses=tuple(made),
            sum=sum_,
            norm=size,
            grad=self._passed.held.get(node),
            hooked=node in self._passed.hooked,
            part=(own / self._whole) ** 2 if own is not None and 0 < self._whole < math.inf else None,
        )

    def _use(
        self,
        reading: Reading,
        number: int | None,
        contribution: Quantity | None,
        size: float,
        share: float,
        toward: float | None,
        why: str | None,
    ) -> Use:
        reader = reading.reader
        op = str(reader._op or "")
        operands = [self._called.of(parent) for parent in reader._prev]
        return Use(
            number=number,
            key=f"n{self._index[reader]}",
            name=self._called.of(reader),
            op=op,
            formula=formula(op, operands, part(reader)),
            slot=reading.slot,
            place=self._places[reader],
            contribution=contribution,
            norm=size,
            share=share,
            cosine=toward,
            why=why,
        )

    def _silent(self, node: Node, reading: Reading) -> str:
        """Why nothing came from a use."""
        if reading.cut is not None:
            return reading.cut
        if not node.requires_grad:
            return "requires no gradient"
        return _why(reading) or f"nothing reaches {self._called.of(reading.reader)}"


def _why(reading: Reading) -> str | None:
    """Why nothing passes along this edge, as far as the operation and its operands tell."""
    return blocked([reading.reader]).get(reading.slot)


def _sum(sent: Sequence[Quantity]) -> Quantity | None:
    """The sum, in float64."""
    if not sent:
        return None
    if not isinstance(sent[0], np.ndarray):
        return math.fsum(sent) if all(map(math.isfinite, sent)) else sum(sent)
    total = np.zeros(sent[0].shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for one in sent:
            total += one
    return total


def _shares(norms: Sequence[float]) -> list[float]:
    """The square of each over the sum of squares; 0 where all are 0, nan where one is not finite."""
    largest = max(norms, default=0.0)
    if largest == 0:
        return [0.0] * len(norms)
    if not all(map(math.isfinite, norms)):
        return [math.nan] * len(norms)
    squares = [(size / largest) ** 2 for size in norms]
    return [square / math.fsum(squares) for square in squares]
