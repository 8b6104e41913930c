"""Backward passes that leave no trace: run from empty gradients, and everything put back after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from micrograd.backprop import Node, add, chain_rule, deliver, gradients_kept, reached
from viz.arrays import Quantity
from viz.graph import keep


@contextmanager
def empty_gradients(order: Sequence[Node]) -> Iterator[None]:
    """No gradients on these nodes inside the `with`; afterwards those that they had. Infinities may meet silently."""
    with gradients_kept(order), np.errstate(over="ignore", invalid="ignore"):
        yield


def gradients(
    root: Node, seed: Any, order: Sequence[Node], combine: Callable[[Any, Any], Any] = add
) -> list[Quantity | None]:
    """The gradient of each node after one pass, None where no contribution arrived. `order` is the whole graph."""
    with empty_gradients(order):
        deliver(chain_rule(root, seed), combine)
        return [keep(node.grad) if reached(node) else None for node in order]
