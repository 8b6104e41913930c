"""Which part of its operand a tensor node is: `x[:, 2:4]` for a slice, and for one of the parts of a split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from micrograd.backprop import Node

_LARGEST = 1_000_000  # elements of the operand: over it the time counts
_OPERATIONS = {"index", "split", "chunk", "unbind", "output"}


def part(node: Node) -> str | None:
    """The part as Python writes it, without the operand: "[0]", "[:, 2:4]"; None where it is no block of neighbours,
    and for other operations.

    A node does not remember its arguments, but its rule puts a gradient back to where the elements were read.
    """
    rules = getattr(node, "_rules", None)
    if node._op not in _OPERATIONS or type(rules) is not tuple or len(rules) != 1 or rules[0] is None:
        return None
    whole = np.shape(node._prev[0].data)
    if not whole or np.size(node._prev[0].data) > _LARGEST:
        return None
    back = np.asarray(rules[0](np.ones(np.shape(node.data), dtype=np.float32)))
    if back.shape != whole or not back.any():
        return None
    spans = [(int(at.min()), int(at.max()) + 1) for at in np.nonzero(back)]
    block = back[tuple(slice(*span) for span in spans)]
    if block.size != np.size(node.data) or not (block == 1).all():
        return None
    flat = node._op == "output"  # a part of all results end to end, whatever its own shape is
    return _in_python(spans, whole, 0 if flat else len(whole) - np.ndim(node.data))


def _in_python(spans: Sequence[tuple[int, int]], whole: Sequence[int], dropped: int) -> str | None:
    """The key in brackets. `dropped` says how many axes the part has fewer; None where it cannot be told which."""
    single = [i for i, (start, stop) in enumerate(spans) if stop - start == 1]
    if dropped < 0 or len(single) < dropped:
        return None
    if dropped and len(single) > dropped:  # axes of length 1 that are left whole are the likelier ones to be kept
        single = [i for i in single if whole[i] > 1]
        if len(single) != dropped:
            return None
    keys = []
    for i, (start, stop) in enumerate(spans):
        if dropped and i in single:
            keys.append(str(start))
        elif (start, stop) == (0, whole[i]):
            keys.append(":")
        else:
            keys.append(f"{start or ''}:{stop if stop < whole[i] else ''}")
    while len(keys) > 1 and keys[-1] == ":":
        keys.pop()
    return f"[{', '.join(keys)}]"
