"""How many scalar nodes a program would make, before it makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorgrad import Tensor
from viz.errors import TooLargeError

_EACH = {
    "lerp": 3,
    "softmax": 3,
    "log_softmax": 3,
    "logsumexp": 3,
    "var": 4,
    "std": 4,
    "atan2": 4,
    "cosine_similarity": 6,
    "binary_cross_entropy": 4,
    "binary_cross_entropy_with_logits": 6,
    "logaddexp": 7,
    "gelu": 10,
}
"""For functions that are several operations of scalars: about how many, for each element."""


def check_size(tensors: Sequence[Tensor], most: int) -> None:
    """Raise TooLargeError before memory is full of scalar nodes: a product of matrices has many for each element."""
    expected = sum(_scalar_nodes(t) for t in tensors)
    if expected > most:
        raise TooLargeError(
            f"compare: the program would make about {expected:,} scalar nodes, more than {most:,}: give it smaller "
            "arrays (a few rows of the batch show the same), or raise max_scalars"
        )


def _scalar_nodes(t: Tensor) -> int:
    """About how many scalar nodes stand for one tensor node."""
    sizes = [parent.data.size for parent in t._prev]
    if t._op in ("@", "addmm"):
        return 2 * t.data.size * t._prev[-2].shape[-1]
    if t._op in ("einsum", "tensordot", "inner"):
        # of two operands, every axis of a product is in two of the three arrays; of more, as in a chain of matrices
        n = len(sizes)
        return max(2 * (n - 1), 1) * max(int(math.prod([t.data.size, *sizes]) ** (1.5 / (n + 1))), *sizes)
    if t._op == "linear":
        return 2 * t.data.size * t._prev[1].shape[-1]
    if t._op == "linear_cross_entropy":
        return (2 * t._prev[0].shape[-1] + 8) * math.prod(t._prev[0].shape[:-1]) * t._prev[1].shape[0]
    if t._op == "scaled_dot_product_attention":  # for each score two products of vectors and a softmax
        query, key, value = t._prev[:3]
        return (2 * query.shape[-1] + 2 * value.shape[-1] + 6) * t.data.size // max(value.shape[-1], 1) * key.shape[-2]
    if t._op in ("layer_norm", "rms_norm", "cross_entropy"):
        return 8 * sizes[0]
    if t._op in _EACH:
        return _EACH[t._op] * max([t.data.size, *sizes])
    return t.data.size if t._op in ("index", "embedding") else max([t.data.size, *sizes])
