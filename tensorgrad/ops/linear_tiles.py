"""The result of a linear layer tile by tile, for a loss that needs all of it and must not hold it; and its gradients.

A tile is some rows at some outputs, which are classes here: that loss is `linear_cross_entropy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tensorgrad.node import ArrayNode
from tensorgrad.pieces import slices
from tensorgrad.sums import sum_over

_AT_ONCE = 2**22
"""How many scores are in memory at one time: 16.8 MB of float32; with a quarter of it, backward takes longer."""

_ROWS = 1024
"""How many rows a tile has at least, if there are so many: with 83 rows at all of 50,257 classes, which are as many
scores, the products take 1.4 times as long."""


class Layer(NamedTuple):
    """The linear layer: arrays as they are, and the dtype in which its scores are computed.

    rows, matrix, bias  (N, n), (C, n), (C,) or None
    tile                how many rows and classes are taken at one time
    """

    rows: np.ndarray
    matrix: np.ndarray
    bias: np.ndarray | None
    dtype: np.dtype
    tile: tuple[int, int]

    @property
    def arrays(self) -> tuple[np.ndarray | None, ...]:
        """In the order of the operands."""
        return self.rows, self.matrix, self.bias


class Tile(NamedTuple):
    """The scores (or what has become of them) of the rows `r` at the classes `c`, and what they are products of."""

    r: slice
    c: slice
    rows: np.ndarray
    matrix: np.ndarray
    scores: np.ndarray


def layer_of(operands: Sequence[ArrayNode], dtype: np.dtype, rows_at_once: int | None = None) -> Layer:
    """The layer of the operands (input, weight) or (input, weight, bias), by tiles of this many rows and all outputs;
    None for tiles of a good size."""
    x, w, *b = [x._data for x in operands]
    rows = x[None] if x.ndim == 1 else x
    count, classes = len(rows), len(w)
    if rows_at_once is not None:
        tile = rows_at_once, classes
    else:
        tile_rows = min(count, max(_ROWS, _AT_ONCE // max(classes, 1)))
        tile = tile_rows, _AT_ONCE // max(tile_rows, 1)
    return Layer(rows, w, b[0] if b else None, dtype, (max(tile[0], 1), max(tile[1], 1)))


def tiles(layer: Layer) -> Iterator[Tile]:
    """The scores tile by tile, all in one buffer: each may be overwritten, and is gone when the next one comes.

    float16 is widened one tile at a time.
    """
    count, classes = len(layer.rows), len(layer.matrix)
    high, wide = min(layer.tile[0], count), min(layer.tile[1], classes)
    buffer = np.empty(high * wide, layer.dtype)
    for r in slices(count, high):
        rows = layer.rows[r].astype(layer.dtype, copy=False)
        for c in slices(classes, wide):
            matrix = layer.matrix[c].astype(layer.dtype, copy=False)
            scores = buffer[: len(rows) * len(matrix)].reshape(len(rows), len(matrix))
            np.matmul(rows, matrix.T, out=scores)
            if layer.bias is not None:
                scores += layer.bias[c]
            yield Tile(r, c, rows, matrix, scores)


def add_parts(sent: list[np.ndarray | None], tile: Tile) -> None:
    """Add what a tile of the scores' gradient contributes to the gradients of rows, matrix and bias.

    Each of them is one product (or sum) over all rows or all classes, taken in parts: the += of the parts belongs to
    that product. It is not the += of the backward algorithm, which adds what different uses of a tensor send.
    """
    r, c, g = tile.r, tile.c, tile.scores
    if sent[0] is not None:
        _add_product(sent[0][r], g, tile.matrix, c.start == 0)
    if sent[1] is not None:
        _add_product(sent[1][c], g.T, tile.rows, r.start == 0)
    if len(sent) > 2 and sent[2] is not None:
        sent[2][c] += sum_over(g, 0)


def _add_product(out: np.ndarray, a: np.ndarray, b: np.ndarray, is_first: bool) -> None:
    if is_first:  # no array between
        np.matmul(a, b, out=out)
        return
    for part in slices(len(out), _AT_ONCE // max(out.shape[1], 1)):  # or the array between may be of the weight's size
        out[part] += a[part] @ b
