"""That the second run of a program built the graph of the first one, node for node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from micrograd import Value
from tensorgrad import Tensor
from viz.errors import UserError


def without_idle_casts(first: Sequence[Tensor], second: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], dict]:
    """The second run's nodes without the casts that changed nothing in the first, and what stands in their places.

    Scalar nodes have no dtype, so where a tensor of the right dtype is returned itself, a lifted one is cast; and so
    for `contiguous` and the layout in memory.
    """
    kept: list[Tensor] = []
    stands_for: dict[Tensor, Tensor] = {}
    for t in second:
        partner = first[len(kept)]._op if len(kept) < len(first) else ""
        idle = t._op == "contiguous" or (
            t._op.startswith("to ") and not (_is_to_lifted(t) and partner.startswith("to "))
        )
        if idle and t._op != partner:
            stands_for[t] = stands_for.get(t._prev[0], t._prev[0])
        else:
            kept.append(t)
    return tuple(kept), stands_for


def _is_to_lifted(t: Tensor) -> bool:
    """Whether it is a cast to the dtype of a lifted tensor, which may stand for any."""
    return t._op == "to object"


def check_same(first: Sequence[Tensor], second: Sequence[Tensor], stands_for: dict[Tensor, Tensor]) -> None:
    """Raise UserError unless both runs built the same graph: place by place the same operation, shape, operands."""
    descriptions = _described(first, {}), _described(second, stands_for)
    for i, (one, two) in enumerate(zip(*descriptions, strict=False)):
        if one != two:
            raise UserError(f"compare: {_ANOTHER_GRAPH}: its node {i} was {one} and then {two}")
    if len(first) != len(second):
        raise UserError(f"compare: {_ANOTHER_GRAPH}: of {len(first)} nodes and then of {len(second)}")
    for one, two in zip(first, second, strict=True):
        if one.requires_grad and not _all_values(two.data):
            raise UserError(
                f"compare: the program replaces the data of {one.label or 'a leaf'} while it runs, so it is not the "
                "same computation twice: do that outside of it"
            )


_ANOTHER_GRAPH = (
    "the program built another graph when it was run a second time (does it count its calls, or draw from a random "
    "generator of its own?)"
)


def _described(order: Sequence[Tensor], stands_for: dict[Tensor, Tensor]) -> list[str]:
    place = {t: i for i, t in enumerate(order)}
    return [_describe(t, [place[stands_for.get(parent, parent)] for parent in t._prev]) for t in order]


def _describe(t: Tensor, parents: Sequence[int]) -> str:
    if not parents:
        return f"a {'leaf' if t.requires_grad else 'constant'} of shape {t.shape}"
    op = "a cast" if t._op.startswith("to ") else repr(t._op)
    return f"{op} of the nodes {', '.join(map(str, parents))}, of shape {t.shape}"


def _all_values(elements: np.ndarray) -> bool:
    return elements.dtype == object and all(isinstance(x, Value) for x in elements.flat)
