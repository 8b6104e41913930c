"""Putting a margin around a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, operand, record
from tensorgrad.ops.axes import integers
from tensorgrad.ops.keys import scattered
from tensorgrad.settings import real

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(x: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """x with more elements at the ends of its last axes; negative numbers cut off.

    pad    (before, after) for the last axis, then for the one before it, and so on
    mode   "constant" fills with `value`, by default 0; "reflect" mirrors at the first and the last element, without
           repeating these; "replicate" repeats them; "circular" goes on at the other end

    Raises ShapeError where `pad` does not fit the shape, NotImplementedError for other modes.
    """
    x = operand(x, "pad")
    shape = x._data.shape
    margins = _margins(integers("pad", (pad,)), shape)
    if not isinstance(mode, str) or mode not in ("constant", *_NUMPY_MODES):
        raise NotImplementedError(f"pad: mode {mode!r} is not known; constant, reflect, replicate and circular are")
    if mode == "constant":
        return _constant(x, margins, 0 if value is None else real("pad", "value", value))
    if value is not None:
        raise ValueError(f"pad: value is for mode 'constant', and mode is {mode!r}")
    sources = [_sources(mode, n, *margin, axis, shape) for axis, (n, margin) in enumerate(zip(shape, margins))]
    key = np.ix_(*sources)
    return record("pad", x._data[key], (x, lambda g: scattered(shape, key, g)))


def _constant(x: ArrayNode, margins: list[tuple[int, int]], value: float) -> Tensor:
    a = x._data
    wide = tuple(n + before + after for n, (before, after) in zip(a.shape, margins, strict=True))
    # where a negative margin cuts, the part of x that is left starts later, and the place for it at 0
    kept = tuple(slice(max(-i, 0), n - max(-j, 0)) for n, (i, j) in zip(a.shape, margins, strict=True))
    place = tuple(slice(max(i, 0), n - max(j, 0)) for n, (i, j) in zip(wide, margins, strict=True))
    out = np.full(wide, value, dtype=a.dtype)
    out[place] = a[kept]
    shape = a.shape

    def rule(g: np.ndarray) -> np.ndarray:
        sent = np.zeros(shape, dtype=g.dtype)
        sent[kept] = g[place]
        return sent

    return record("pad", out, (x, rule))


def _margins(pad: tuple[int, ...], shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """(before, after) for each axis of `shape`."""
    if len(pad) % 2 or len(pad) > 2 * len(shape):
        raise ShapeError(
            f"pad: {pad} for shape {shape}: give two numbers an axis, from the last one on, at most {2 * len(shape)}"
        )
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    margins = [(0, 0)] * (len(shape) - len(pairs)) + pairs[::-1]
    for axis, (n, (before, after)) in enumerate(zip(shape, margins, strict=True)):
        if n + before + after < 0 or before < -n or after < -n:
            raise ShapeError(f"pad: {(before, after)} cuts off more than there is in dim {axis} of shape {shape}")
    return margins


def _sources(mode: str, n: int, before: int, after: int, axis: int, shape: tuple[int, ...]) -> np.ndarray:
    """Where each element along an axis of length n comes from."""
    limit = {"reflect": n - 1, "replicate": max(before, after, 0) if n else 0, "circular": n}[mode]
    if max(before, after) > limit:
        raise ShapeError(
            f"pad: {(before, after)} in mode {mode!r} for dim {axis} of shape {shape}: at most {max(limit, 0)} a side"
        )
    if mode == "circular" and min(before, after) < 0:
        raise ShapeError(f"pad: {(before, after)} in mode 'circular': cut off first, by indexing")
    if not n:
        return np.zeros(0, dtype=np.intp)
    where = np.pad(np.arange(n), (max(before, 0), max(after, 0)), mode=_NUMPY_MODES[mode])
    return where[max(-before, 0) : len(where) - max(-after, 0)]
