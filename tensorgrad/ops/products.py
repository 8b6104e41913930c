"""Products and distances that are composed of other operations, which is what stands in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorgrad.errors import ShapeError
from tensorgrad.node import operand
from tensorgrad.ops.axes import either, normalize_one
from tensorgrad.ops.flipping import roll
from tensorgrad.ops.linalg import bmm
from tensorgrad.ops.norms import norm
from tensorgrad.ops.shape import reshape, unsqueeze
from tensorgrad.settings import real
from tensorgrad.shapes import broadcast, broadcasts_to

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), of (b, n, k) and (b, k, m); `input` is broadcast, and not read if beta
    is 0. Raises ShapeError for shapes that do not fit."""
    beta, alpha = real("baddbmm", "beta", beta), real("baddbmm", "alpha", alpha)
    product = bmm(batch1, batch2)
    product = product if alpha == 1 else product * alpha
    x = operand(input, "baddbmm", product)
    if not broadcasts_to(x._data.shape, product.shape):
        raise ShapeError(f"baddbmm: input of shape {x._data.shape} does not broadcast to the product's {product.shape}")
    return product if beta == 0 else product + (x if beta == 1 else x * beta)


def cross(input: Any, other: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """The cross product of vectors of length 3 along `dim`, by default the last axis; the rest broadcasts.

    Raises ShapeError for another length, and for operands of different numbers of axes.
    """
    x = operand(input, "cross")
    y = operand(other, "cross", x)
    shapes = x._data.shape, y._data.shape
    d = normalize_one("cross", either("cross", "dim", dim, "axis", axis, -1), shapes[0])
    if len(shapes[0]) != len(shapes[1]) or not shapes[0] or shapes[0][d] != 3 or shapes[1][d] != 3:
        raise ShapeError(f"cross: shapes {shapes[0]} and {shapes[1]}: both need as many axes, and length 3 in dim {d}")
    broadcast("cross", *shapes)
    before, after = (roll(x, -1, d), roll(y, -1, d)), (roll(x, -2, d), roll(y, -2, d))
    return before[0] * after[1] - after[0] * before[1]


def kron(input: Any, other: Any) -> Tensor:
    """The Kronecker product: every element of `input` times the whole of `other`, side by side."""
    x = operand(input, "kron")
    y = operand(other, "kron", x)
    n = max(x._data.ndim, y._data.ndim)
    a, b = ((1,) * (n - t._data.ndim) + t._data.shape for t in (x, y))
    wide = reshape(x, tuple(k for length in a for k in (length, 1)))
    tall = reshape(y, tuple(k for length in b for k in (1, length)))
    return reshape(wide * tall, tuple(i * j for i, j in zip(a, b, strict=True)))


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The distance (p-norm of the difference) of each of the rows (..., n, d) to each of (..., m, d): (..., n, m).

    Computed from the n * m differences, whatever `compute_mode` says; where a distance is 0 its gradient is 0.
    """
    x = operand(x1, "cdist")
    y = operand(x2, "cdist", x)
    a, b = x._data.shape, y._data.shape
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-1]:
        raise ShapeError(f"cdist: takes rows of equal length, (n, d) and (m, d), got {a} and {b}")
    broadcast("cdist", a[:-2], b[:-2])
    return norm(unsqueeze(x, -2) - unsqueeze(y, -3), p, dim=-1)
