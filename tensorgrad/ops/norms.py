"""The length of a vector, in one norm or another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.errors import ShapeError
from tensorgrad.node import Rule, operand, quiet, record
from tensorgrad.ops.axes import Dims, either, normalize
from tensorgrad.ops.operands import widened
from tensorgrad.ops.reducing import cast, check_float, kept, reduction, root_of_nodes, total, without

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def norm(
    x: Any,
    p: float | str | None = "fro",
    dim: Dims = None,
    keepdim: bool | None = None,
    *,
    dtype: Any = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """`vector_norm` under its older name: of all elements, or over the axes in `dim`. "fro" is p = 2.

    Raises NotImplementedError for the nuclear norm.
    """
    return _norm("norm", x, _order("norm", p), dim, keepdim, dtype, axis, keepdims)


def vector_norm(
    x: Any,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool | None = None,
    *,
    dtype: Any = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The norm of the elements as one vector, or over the axes in `dim`: sum(|x|**ord) ** (1 / ord).

    inf is the largest |x|, -inf the smallest, 0 the number of elements that are not 0. The gradient is 0 where the
    norm is 0 and for ord = 0; elements tied for the largest or the smallest share it evenly. Raises DtypeError for
    integers, ShapeError where an order below 0 or inf has no element.
    """
    return _norm("vector_norm", x, _order("vector_norm", ord), dim, keepdim, dtype, axis, keepdims)


def matrix_or_vector_norm(
    x: Any,
    ord: float | str | None = None,
    dim: Dims = None,
    keepdim: bool | None = None,
    *,
    dtype: Any = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """`linalg.norm`: without `ord` of all elements or over `dim`; with `ord`, of a vector, or over one axis.

    Of matrices there is "fro" alone; others raise NotImplementedError.
    """
    x = operand(x, "norm")
    dims = either("norm", "dim", dim, "axis", axis, None)
    if ord is not None:
        n = len(normalize("norm", dims, x._data.shape))
        if n > 2:
            raise ShapeError(f"norm: with ord it is of one axis or of two, got {n} of shape {x._data.shape}: give dim")
        if n == 2 and ord != "fro":
            raise NotImplementedError(
                f"norm: of matrices there is only 'fro', not {ord!r}; use linalg.vector_norm for all elements as one "
                "vector"
            )
        if n < 2 and isinstance(ord, str):
            raise ShapeError(f"norm: {ord!r} is a norm of matrices, over two axes; this is over {n}: leave ord out")
    return _norm("norm", x, _order("norm", 2 if ord is None else ord), dims, keepdim, dtype, None, keepdims)


def _order(op: str, p: float | str | None) -> float:
    if p is None or p == "fro":
        return 2.0
    if isinstance(p, str):
        if p in ("inf", "-inf"):
            return float(p)
        raise NotImplementedError(f"{op}: no norm {p!r}; give a number, inf, -inf or 'fro'")
    try:
        return float(p)
    except (TypeError, ValueError):
        raise TypeError(f"{op}: the order is a number, got {p!r}") from None


@quiet
def _norm(
    op: str,
    x: Any,
    p: float,
    dim: Dims,
    keepdim: bool | None,
    dtype: Any,
    axis: Dims,
    keepdims: bool | None,
) -> Tensor:
    x, axes, keep = reduction(op, x, dim, keepdim, axis, keepdims)
    a = cast(op, x._data, dtype)
    check_float(op, a)
    if (p < 0 or p == np.inf) and 0 in (a.shape[axis] for axis in axes):
        raise ShapeError(f"{op}: of order {p:g} over no elements, of shape {a.shape}: there is none to choose")
    wide = kept(a.shape, axes)
    after = wide if keep else without(a.shape, axes)
    out = np.asarray((_norm_of_nodes if a.dtype == object else _norm_of_numbers)(a, p, axes))
    rule = _rule(a, out, p, axes)
    return record(op, out.astype(_real(a), copy=False).reshape(after), (x, lambda g: rule(g.reshape(wide))))


def _rule(a: np.ndarray, out: np.ndarray, p: float, axes: tuple[int, ...]) -> Rule:
    """What the norm `out` of `a` sends, from a gradient with all axes. It holds no more than its order needs."""
    if p == 0:
        shape = a.shape
        return lambda g: np.zeros(shape, g.dtype)
    if p == 1:
        return lambda g: g * np.sign(a)
    if p == 2:
        return lambda g: a * np.where(out == 0, 0, g / out)
    if np.isinf(p):

        def to_tied(g: np.ndarray) -> np.ndarray:
            tied = _tied(np.abs(a), out)
            return np.sign(a) * np.where(tied, g / tied.sum(axis=axes, keepdims=True), 0)

        return to_tied

    def rule(g: np.ndarray) -> np.ndarray:
        size = np.abs(widened(a))
        # of the ratio, which is at most 1 for p > 1: powers of the norm itself overflow
        slope = np.sign(a) * (size / out) ** (p - 1)
        return g * np.where((out == 0) | ((size == 0) & (p < 1)), 0, slope)

    return rule


def _tied(size: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Which of the sizes are the chosen one; a nan is chosen before all else."""
    return (size == out) | (np.isnan(size) & np.isnan(out))


def _real(a: np.ndarray) -> np.dtype:
    """The dtype of |a|."""
    return np.zeros((), a.dtype).real.dtype if a.dtype.kind == "c" else a.dtype


def _norm_of_numbers(a: np.ndarray, p: float, axes: tuple[int, ...]) -> np.ndarray:
    a = widened(a)
    if p == 2 and a.dtype.kind != "c":
        return np.sqrt(total(np.square(a), axes, True))
    size = np.abs(a)
    if p == np.inf:
        return np.max(size, axis=axes, keepdims=True, initial=0)
    if p == -np.inf:
        return np.min(size, axis=axes, keepdims=True)
    if p == 0:
        return np.asarray(np.count_nonzero(size, axis=axes, keepdims=True) if a.ndim else size != 0, dtype=size.dtype)
    if p == 1:
        return total(size, axes, True)
    return total(size**p, axes, True) ** (1 / p)


def _norm_of_nodes(a: np.ndarray, p: float, axes: tuple[int, ...]) -> np.ndarray:
    """The same on scalar nodes. What has the gradient 0 by convention is a constant there."""
    numbers = lift.numbers(a)
    if p == 0:
        return lift.nodes(_norm_of_numbers(numbers, p, axes))
    if p == 2:
        return root_of_nodes(total(np.square(a), axes, True))
    size = np.abs(a)
    if p == 1:
        return total(size, axes, True)
    if np.isinf(p):
        tied = _tied(np.abs(numbers), _norm_of_numbers(numbers, p, axes))
        return total(np.where(tied, size, 0), axes, True) / tied.sum(axis=axes, keepdims=True)
    powers = np.where((numbers == 0) & (0 < p < 1), 0, size**p)
    sums = total(powers, axes, True)
    return np.where(_norm_of_numbers(numbers, p, axes) == 0, 0.0, sums ** (1 / p))
