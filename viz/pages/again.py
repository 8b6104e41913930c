"""A graph done again on other leaves: what finite differences need. Nothing of the user's is changed by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import tensorgrad
from micrograd import Value
from micrograd.backprop import Node
from tensorgrad import Tensor
from viz.comparison.again import generators_kept, program_again, reason
from viz.comparison.operations import operation
from viz.errors import UserError

Again = Callable[[dict[Node, Any]], Any]
"""From the data of leaves, as floats or arrays of float64, to the root's data; other leaves keep their own."""

_NARROW = ("to float32", "to float16")


def again(root: Node, order: Sequence[Node]) -> Again:
    """How to do the graph of `root` again, in float64. `order` is its nodes, topologically.

    Raises UserError, with a reason for a reader of the page, where that is not known.
    """
    return _tensors(root, order) if isinstance(root, Tensor) else _values(order)


def _tensors(root: Tensor, order: Sequence[Node]) -> Again:
    if any(node._op in _NARROW for node in order):
        raise UserError("the graph casts to a narrower dtype, and differences need float64")
    own = next(
        (node for node in order if node._prev and (node._closure or getattr(node, "_rules", None) is None)), None
    )
    if own is not None:
        raise _of_the_users(own)
    try:
        program = program_again(root, _wide)
    except UserError as error:
        raise UserError(reason(error)) from None

    def run(given: dict[Node, Any]) -> Any:
        leaves = [_wide(np.asarray(given.get(leaf, leaf.data))) for leaf in program.leaves]
        return program(*(Tensor(data, dtype=data.dtype) for data in leaves)).data

    return run


def _wide(data: np.ndarray) -> np.ndarray:
    return data.astype(np.float64) if data.dtype.kind == "f" else data.copy()


def _values(order: Sequence[Node]) -> Again:
    place = {node: i for i, node in enumerate(order)}
    steps = [(_operation(node), [place[parent] for parent in node._prev]) if node._prev else None for node in order]

    def run(given: dict[Node, Any]) -> Any:
        results: list[Any] = []
        for node, step in zip(order, steps, strict=True):
            if step is None:
                results.append(Value(float(given.get(node, node.data))))
            else:
                do, operands = step
                results.append(do(*(results[i] for i in operands)))
        return results[-1].data

    return run


def _operation(node: Node) -> Callable[..., Any]:
    known = operation(str(node._op or ""), len(node._prev))
    if known is None or node._closure is not None or node._local is None:
        raise _of_the_users(node)
    return known


def _of_the_users(node: Node) -> UserError:
    return UserError(f"{node._op!r} is an operation of your own, which the page cannot do again")


# -- without a trace ---------------------------------------------------------------------------------------------------


@contextmanager
def undisturbed() -> Iterator[None]:
    """Inside the `with` nothing is recorded; afterwards the random numbers go on as if nothing had happened."""
    with generators_kept(), tensorgrad.no_grad(), np.errstate(all="ignore"):
        yield
