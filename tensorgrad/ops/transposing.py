"""Operations that put the axes into another order. Their results are views of the operand's data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, operand, record
from tensorgrad.ops.axes import integers, normalize_one, several

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def transpose(x: Any, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged, as in torch. (NumPy's transpose with a list of axes is `permute`.)"""
    return _exchanged("transpose", x, dim0, dim1)


def swapaxes(x: Any, axis0: int, axis1: int) -> Tensor:
    """`transpose` under its name in NumPy."""
    return _exchanged("swapaxes", x, axis0, axis1)


def swapdims(x: Any, dim0: int, dim1: int) -> Tensor:
    """`transpose` under another of torch's names."""
    return _exchanged("swapaxes", x, dim0, dim1)


def permute(x: Any, *order: Any, dims: Any = None) -> Tensor:
    """The axes in the order `dims`. Takes permute(2, 0, 1) and permute((2, 0, 1)).

    Raises ValueError unless each axis is named once.
    """
    x = operand(x, "permute")
    wanted = several("permute", order, "dims", dims)
    axes = tuple(normalize_one("permute", d, x._data.shape) for d in wanted)
    if sorted(axes) != list(range(x._data.ndim)):
        raise ValueError(f"permute: {wanted} must name each of the {x._data.ndim} axes of {x._data.shape} once")
    return _permuted("permute", x, axes)


def movedim(x: Any, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Tensor:
    """The axes `source` put at the places `destination`; the others keep their order."""
    return _moved("movedim", x, source, destination)


def moveaxis(x: Any, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Tensor:
    """`movedim` under its name in NumPy."""
    return _moved("moveaxis", x, source, destination)


def t(x: Any) -> Tensor:
    """The transpose of a matrix; a vector or a 0-d tensor as it is. Raises ShapeError for more axes."""
    x = operand(x, "t")
    if x._data.ndim > 2:
        raise ShapeError(f"t: of at most two axes, this tensor has shape {x._data.shape}: use transpose or mT")
    return record("T", x._data.T, (x, lambda g: g.T))


def T(x: Any) -> Tensor:
    """All axes in reverse order; of a matrix, its transpose."""
    x = operand(x, "T")
    return record("T", x._data.T, (x, lambda g: g.T))


def mT(x: Any) -> Tensor:
    """The last two axes exchanged: every matrix of a batch transposed. Raises ShapeError for fewer than two axes."""
    x = operand(x, "mT")
    if x._data.ndim < 2:
        raise ShapeError(f"mT: of matrices, with at least two axes; this tensor has shape {x._data.shape}")
    return record("mT", x._data.swapaxes(-1, -2), (x, lambda g: g.swapaxes(-1, -2)))


def H(x: Any) -> Tensor:
    """The transpose of a matrix, of a complex one the conjugate transpose. Raises ShapeError for other ranks."""
    x = operand(x, "H")
    a = x._data
    if a.ndim not in (0, 2):
        raise ShapeError(f"H: of a matrix, this tensor has shape {a.shape}: use mT for a batch of matrices")
    return record("H", a.T.conj() if a.dtype.kind == "c" else a.T, (x, lambda g: g.T))


def _exchanged(op: str, x: Any, dim0: int, dim1: int) -> Tensor:
    x = operand(x, op)
    i, j = (normalize_one(op, d, x._data.shape) for d in (dim0, dim1))
    if x._data.ndim == 0:
        return record(op, x._data[...], (x, lambda g: g))
    return record(op, x._data.swapaxes(i, j), (x, lambda g: g.swapaxes(i, j)))


def _moved(op: str, x: Any, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Tensor:
    x = operand(x, op)
    ends = []
    for name, given in (("source", source), ("destination", destination)):
        dims = integers(op, (given,))
        axes = [normalize_one(op, d, x._data.shape) for d in dims]
        if len(set(axes)) != len(axes):
            raise ValueError(f"{op}: {name} {given} names an axis twice")
        ends.append(axes)
    if len(ends[0]) != len(ends[1]):
        raise ValueError(f"{op}: source {source} and destination {destination} must name equally many axes")
    if not x._data.ndim:
        return record(op, x._data[...], (x, lambda g: g))
    places = dict(zip(ends[1], ends[0], strict=True))
    rest = iter(i for i in range(x._data.ndim) if i not in ends[0])
    return _permuted(op, x, tuple(places[i] if i in places else next(rest) for i in range(x._data.ndim)))


def _permuted(op: str, x: ArrayNode, axes: tuple[int, ...]) -> Tensor:
    back = tuple(int(i) for i in np.argsort(axes))
    return record(op, x._data.transpose(axes), (x, lambda g: g.transpose(back)))
