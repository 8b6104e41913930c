"""Products of tensors in Einstein's notation, and those that are short for one of them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import common_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, Rule, operand, quiet, record
from tensorgrad.ops.arithmetic import mul
from tensorgrad.ops.axes import normalize
from tensorgrad.ops.contraction import Names, contract, rule
from tensorgrad.ops.equation import parse

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def einsum(equation: str, *operands: Any) -> Tensor:
    """The sum of products that `equation` names, e.g. "ij,jk->ik" for a product of matrices.

    A letter names an axis. One that stands twice in an operand is its diagonal; one that is not in the result is
    summed over; without "->" the result has, in alphabetic order, the letters that stand once. "..." are the axes
    without letters, broadcast. Where a letter has length 1 in one operand and another length elsewhere, the 1 is
    broadcast, as in torch. Any number of operands, multiplied two at a time in the order that needs little room.

    Raises ShapeError, naming the equation and the shapes, where they do not fit.
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum: the equation is a string such as 'ij,jk->ik' and comes first, got {equation!r}")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    tensors = [operand(x, "einsum") for x in operands]
    names, out = parse(equation, [x._data.shape for x in tensors])
    return _contraction("einsum", tensors, names, out)


@quiet
def tensordot(a: Any, b: Any, dims: Any = 2) -> Tensor:
    """The sum of products over axes of `a` and of `b`: the last `dims` of `a` with the first of `b`, or dims = (axes of
    a, axes of b), paired in order. The result has the other axes of `a`, then those of `b`. Lengths of 1 are broadcast.

    Raises ShapeError where the lengths of a pair differ.
    """
    x, y = operand(a, "tensordot"), operand(b, "tensordot")
    of_x, of_y = x._data.shape, y._data.shape
    first, second = _pairs(dims, of_x, of_y)
    for i, j in zip(first, second, strict=True):
        if of_x[i] != of_y[j] and 1 not in (of_x[i], of_y[j]):
            raise ShapeError(
                f"tensordot: shapes {of_x} and {of_y}: axis {i} of the first ({of_x[i]}) and axis {j} of the second "
                f"({of_y[j]}) are summed over together and must be equal"
            )
    names_x = list(range(len(of_x)))
    names_y = [len(of_x) + j for j in range(len(of_y))]
    out = [n for i, n in enumerate(names_x) if i not in first] + [n for j, n in enumerate(names_y) if j not in second]
    for i, j in zip(first, second, strict=True):
        names_y[j] = names_x[i]
    return _contraction("tensordot", [x, y], [names_x, names_y], out)


@quiet
def inner(x: Any, y: Any) -> Tensor:
    """The sum of products over the last axis of both; with a 0-d operand, the product.

    Raises ShapeError where the last axes differ.
    """
    x, y = operand(x, "inner"), operand(y, "inner")
    a, b = x._data.shape, y._data.shape
    if not a or not b:
        return mul(x, y)
    if a[-1] != b[-1]:
        raise ShapeError(f"inner: shapes {a} and {b}: the last axes ({a[-1]} and {b[-1]}) must be equal")
    names_x = [*range(len(a) - 1), "k"]
    names_y = [*range(len(a), len(a) + len(b) - 1), "k"]
    return _contraction("inner", [x, y], [names_x, names_y], [*names_x[:-1], *names_y[:-1]])


def _pairs(dims: Any, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of each that tensordot sums over."""
    if isinstance(dims, (tuple, list)):
        if len(dims) != 2:
            raise ValueError(f"tensordot: dims is a number, or the axes of each of the two operands, got {dims}")
        lists = [d if isinstance(d, (tuple, list)) else (d,) for d in dims]
        if len(lists[0]) != len(lists[1]):
            raise ShapeError(f"tensordot: dims pairs axes, got {lists[0]} and {lists[1]}")
        first, second = (normalize("tensordot", d, s) if d else () for d, s in zip(lists, (a, b), strict=True))
        return first, second
    try:
        n = index(dims)
    except TypeError:
        raise TypeError(f"tensordot: dims is a number, or the axes of each operand, got {dims!r}") from None
    if not 0 <= n <= min(len(a), len(b)):
        raise ShapeError(f"tensordot: dims={n} for the shapes {a} and {b}: it is from 0 to the number of their axes")
    return tuple(range(len(a) - n, len(a))), tuple(range(n))


# -- how all three are recorded ----------------------------------------------------------------------------------------


def _contraction(op: str, operands: Sequence[ArrayNode], names: Sequence[Names], out: Names) -> Tensor:
    """The contraction of the operands, recorded with its rules."""
    dtype = common_dtype([x._data for x in operands])
    arrays = [x._data.astype(dtype, copy=False) for x in operands]
    lengths: dict[str | int, int] = {}
    for a, of_a in zip(arrays, names, strict=True):
        for name, length in zip(of_a, a.shape, strict=True):
            if lengths.get(name, 1) == 1:
                lengths[name] = length
    plain = [_plain(a, n, lengths) for a, n in zip(arrays, names, strict=True)]
    views, short = [a for a, _ in plain], [n for _, n in plain]
    data = contract(views, short, out)
    if dtype.kind == "O":
        data = lift.nodes(data)
    edges = [(x, _back(rule(i, views, short, out), short[i], names[i], x._data.shape)) for i, x in enumerate(operands)]
    return record(op, data, *edges)


def _plain(a: np.ndarray, names: Names, lengths: dict[str | int, int]) -> tuple[np.ndarray, Names]:
    """A view of `a` in which no name stands twice (a diagonal) and no length of 1 is to be broadcast (it is left out:
    the product broadcasts it)."""
    names = tuple(names)
    stretched = tuple(i for i, name in enumerate(names) if a.shape[i] == 1 and lengths[name] != 1)
    short = tuple(name for i, name in enumerate(names) if i not in stretched)
    return _diagonal(a.squeeze(stretched), short), tuple(dict.fromkeys(short))


def _back(of_view: Rule, short: Names, names: Names, shape: tuple[int, ...]) -> Rule:
    """The rule for an operand from the rule for the view that `_plain` made of it."""
    inside = tuple(length for length, name in zip(shape, names, strict=True) if name in short)
    if len(inside) == len(short):  # no name twice: lengths of 1 come back by reshaping
        return of_view if inside == shape else lambda g: of_view(g).reshape(shape)
    repeated = tuple(name for name in names if name in short)

    def embed(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(inside, g.dtype)
        _diagonal(sent, repeated)[...] = of_view(g)
        return sent.reshape(shape)

    return embed


def _diagonal(a: np.ndarray, names: Names) -> np.ndarray:
    """A view of the elements of `a` whose positions agree wherever a name stands twice, an axis for each name."""
    if len(set(names)) == len(names):
        return a
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.einsum(a, [number[name] for name in names], list(number.values()))
