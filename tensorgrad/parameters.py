"""Parameters and their gradients, for what changes these in place: optimizers, clipping, loss scaling."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from tensorgrad.node import ArrayNode


def parameter_list(op: str, parameters: ArrayNode | Iterable[ArrayNode]) -> list[ArrayNode]:
    """The Tensors in `parameters`, or the one Tensor that it is, each once. Raises TypeError for anything else."""
    if isinstance(parameters, ArrayNode):
        return [parameters]
    if not isinstance(parameters, Iterable):
        raise TypeError(f"{op}: takes a Tensor or an iterable of them, got a {type(parameters).__name__}")
    found = list(parameters)
    if not found and isinstance(parameters, Iterator):
        warnings.warn(
            f"{op}: there are no parameters: a generator, such as net.parameters(), can be gone through only once; "
            "make a list of it",
            UserWarning,
            stacklevel=3,
        )
    for p in found:
        if not isinstance(p, ArrayNode):
            raise TypeError(f"{op}: takes Tensors, and one of these is a {type(p).__name__}")
    return list(dict.fromkeys(found))


def own_gradient(p: ArrayNode) -> np.ndarray | None:
    """The gradient of `p`, in an array that may be changed in place; None if there is none.

    An intermediate gradient may share memory with others, and what a user assigned may be read-only (broadcast, say):
    these are copied first.
    """
    g = p._grad
    if g is not None and (p._prev or not g.flags.writeable):
        g = p._grad = g.copy()
    return g


def clear_gradients(parameters: Iterable[ArrayNode], set_to_none: bool = True) -> None:
    """Take the gradients away, or set those that there are to zeros."""
    for p in parameters:
        if set_to_none:
            p.grad = None
        else:
            g = own_gradient(p)
            if g is not None:
                g.fill(0)
