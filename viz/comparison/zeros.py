"""Gradients that are nan because a zero was sent: 0 times inf, through an element that the result does not depend on.

An array's gradient has a number for every element, so the tensor engine, as torch, also sends the zeros of elements
that nothing read; where the local derivative is infinite or nan that makes nan. The scalar engine sends nothing there.
Both are as designed. To tell this nan from a fault, the scalar graph is walked as the tensor engine walks its own.
"""

from __future__ import annotations

from micrograd import Value
from micrograd.backprop import topological_order
from viz.comparison.lifted import Pair


def gradients_with_zeros(pair: Pair) -> dict[Value, float]:
    """The gradient of each scalar node when all elements send, those with a zero that nothing reached too."""
    elements = [node for array in pair.elements for node in array.flat if isinstance(node, Value)]
    everything = Value(0.0, (*elements, pair.scalar_root), local=(0.0,) * (len(elements) + 1))
    order = topological_order(everything)[:-1]
    found = dict.fromkeys(order, 0.0)
    found[pair.scalar_root] = pair.scalar_seed
    for node in reversed(order):
        for parent, slope in zip(node._prev, node._local or (), strict=False):
            found[parent] += slope * found[node]
    return found
