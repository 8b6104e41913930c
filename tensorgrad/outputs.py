"""Operations with several results.

A node of the graph is one array. So the results of one operation lie end to end in a node of their own, and each result
is a part of it: an operation "output". The rule of the operation then runs once, with all that came back.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from micrograd.backprop import reached
from tensorgrad.node import ArrayNode, record, record_joint

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

Rule = Callable[[list[np.ndarray | None]], Sequence[np.ndarray | None]]


def record_outputs(op: str, arrays: Sequence[np.ndarray], parents: tuple[ArrayNode, ...], rule: Rule) -> list[Tensor]:
    """The results `arrays` of one operation on `parents`, as Tensors.

    rule  from the gradient of each result, None where none arrived, to a contribution or None for each parent
    """
    kinds = [(array.shape, array.dtype) for array in arrays]
    if len(arrays) == 1:
        return [record_joint(op, arrays[0], parents, lambda g: rule([g]))]
    ends = np.cumsum([array.size for array in arrays]).tolist()
    spans = [slice(end - array.size, end) for array, end in zip(arrays, ends, strict=True)]
    results: list[list[weakref.ref[ArrayNode]]] = []

    def joint(g: np.ndarray) -> Sequence[np.ndarray | None]:
        return rule(
            [
                g[span].reshape(shape).astype(dtype, copy=False) if any(map(_reached, nodes)) else None
                for nodes, span, (shape, dtype) in zip(results, spans, kinds, strict=True)
            ]
        )

    together = record_joint(op, np.concatenate([array.reshape(-1) for array in arrays]), parents, joint)
    size = together._data.size
    found = [
        record("output", array, (together, _placed(span, size))) for array, span in zip(arrays, spans, strict=True)
    ]
    for x in found:
        x._receivers = [weakref.ref(x)]  # a copy, and what takes its place in the graph, join them
        results.append(x._receivers)
    return found


def _reached(result: weakref.ref[ArrayNode]) -> bool:
    node = result()
    return node is not None and (reached(node) or node._released)


def _placed(span: slice, size: int) -> Callable[[np.ndarray], np.ndarray]:
    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(size, dtype=g.dtype)
        sent[span] = g.reshape(-1)
        return sent

    return rule
