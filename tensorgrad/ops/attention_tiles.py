"""Attention on arrays, a tile of its scores at a time, so that no matrix of all of them is ever held.

Forward keeps of each row of scores its largest and the sum of its exps; backward computes the weights again from these,
tile by tile. This is the idea of FlashAttention (Dao et al. 2022, algorithms 1 and 4; the formulas are in its appendix
B) and of Rabe and Staats, Self-attention Does Not Need O(n^2) Memory (2021). Theirs take the keys in tiles, too, and
must rescale what they have so far when a larger score comes. Here a tile has whole rows, and its softmax is the plain
one: a row is S numbers, and a tile a limited number of rows, so that memory is linear in L and S all the same.

Of a causal mask a tile leaves out the keys that none of its rows may see, which saves up to half of the work, and a
value there that is inf or nan does not reach them.

Shapes: L queries and S keys of E numbers, S values of F; the axes before the last two, the batch, are broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from tensorgrad.ops.chance import Dropped, Place, dropped
from tensorgrad.shapes import unbroadcast

TILE = 2**19
"""At most as many scores are in a tile, if a row has no more: 2 MB of float32, which stay in the cache."""

ROWS = 64
"""As many rows at least: gradients of keys and values are added up once a tile, whatever its height."""

KEPT = 1.0
"""The weights are kept where there are at most so many times as many as numbers in query, key and value together. There
they take little memory, and to compute them again would take a fifth of the time (more with dropout)."""


class Tile(NamedTuple):
    """Some rows of scores of some members of the batch, against all keys that any of these rows may see."""

    batch: tuple[slice, ...]
    rows: slice
    keys: slice
    is_all: bool = False

    def part(self, a: np.ndarray, *last: slice) -> np.ndarray:
        """The view of `a` that belongs to this tile: `last` are for its last two axes; an axis of length 1 is one that
        is broadcast, and belongs to every tile."""
        if self.is_all:
            return a
        ahead = self.batch[len(self.batch) - (a.ndim - 2) :]
        index = (*ahead, *last)
        return a[tuple(slice(None) if n == 1 else s for n, s in zip(a.shape, index, strict=True))]

    def by_rows(self, a: np.ndarray) -> np.ndarray:
        return self.part(a, self.rows, slice(None))

    def by_keys(self, a: np.ndarray) -> np.ndarray:
        return self.part(a, self.keys, slice(None))


def tiles(shape: tuple[int, ...], causal: bool, in_order: bool) -> Iterator[Tile]:
    """All tiles of scores of `shape` (..., L, S). Those of one member of the batch come from its first row to its last.

    causal    row i needs the keys 0 to i only: several tiles are then lower, so that there is more to leave out
    in_order  they come as the scores would lie in memory, one after the other
    """
    *batch, L, S = shape
    if 0 < prod(shape) <= TILE:
        keys = min(L, S) if causal else S
        yield Tile(tuple([slice(0, n) for n in batch]), slice(0, L), slice(0, keys), keys == S)
        return
    rows = min(L, max(ROWS, TILE // max(S, 1)))
    if causal and not in_order:
        rows = min(rows, max(ROWS, -(-L // 8)))
    steps, scores = [rows], rows * S
    for n in reversed(batch):  # where not all of an axis fits, only one of the next does
        steps.insert(0, max(1, min(n, TILE // max(scores, 1))))
        scores *= steps[0]
    cuts = [
        [slice(i, min(i + step, n)) for i in range(0, n, max(step, 1))]
        for n, step in zip((*batch, L), steps, strict=True)
    ]
    for *members, some in product(*cuts):
        yield Tile(tuple(members), some, slice(0, min(some.stop, S) if causal else S))


@dataclass(frozen=True)
class Attention:
    """What the weights are computed from, and computed from again on the way back.

    query, key, value  the operands' own arrays; a tile is cast and scaled where it is used
    shape              that of all scores, (..., L, S)
    dtype              in which a tile is computed
    look               booleans, False where a query must not look, or None; broadcast to `shape`
    added              numbers to add to the scores, or None; broadcast to `shape`
    place, p           where the random numbers start that weights are left out by, or None; and how often one is
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    shape: tuple[int, ...]
    dtype: np.dtype
    scale: float
    causal: bool
    look: np.ndarray | None
    added: np.ndarray | None
    place: Place | None
    p: float

    def tiles(self) -> Iterator[Tile]:
        return tiles(self.shape, self.causal, self.place is not None)

    def keeps(self) -> bool:
        return prod(self.shape) <= KEPT * (self.query.size + self.key.size + self.value.size)

    def queries(self, tile: Tile) -> np.ndarray:
        """Those of the tile, scaled: a copy."""
        return np.multiply(tile.by_rows(self.query), self.scale, dtype=self.dtype)

    def keys(self, tile: Tile) -> np.ndarray:
        return tile.by_keys(self.key).astype(self.dtype, copy=False)

    def values(self, tile: Tile) -> np.ndarray:
        return tile.by_keys(self.value).astype(self.dtype, copy=False)

    def scores(self, tile: Tile, queries: np.ndarray) -> np.ndarray:
        """The tile's scores, -inf where a query must not look."""
        scores = np.matmul(queries, self.keys(tile).swapaxes(-1, -2))
        batch = tuple(s.stop - s.start for s in tile.batch)
        if scores.shape[:-2] != batch:  # only the values are that many
            scores = np.array(np.broadcast_to(scores, (*batch, *scores.shape[-2:])))
        if self.added is not None:
            scores += tile.part(self.added, tile.rows, tile.keys)
        if self.look is not None:
            np.copyto(scores, -np.inf, where=~tile.part(self.look, tile.rows, tile.keys))
        if self.causal:
            first, (rows, columns) = tile.rows.start, scores.shape[-2:]
            late = scores[..., first:]  # the keys before the tile's first row are seen by all its rows
            np.copyto(late, -np.inf, where=~np.tri(rows, max(columns - first, 0), dtype=bool))
        return scores

    def dropped(self, tile: Tile, generator: np.random.Generator) -> Dropped:
        """Which of the tile's weights stay. Numbers are drawn for all keys, also those that no row may see."""
        rows = tuple(s.stop - s.start for s in (*tile.batch, tile.rows))
        keep, share = dropped((*rows, self.shape[-1]), self.p, generator)
        return Dropped(keep[..., tile.keys], share)


class Rows(NamedTuple):
    """Of each row of scores (..., L, 1): its largest, and the sum of what exp made of its distances to it."""

    largest: np.ndarray
    totals: np.ndarray


Kept = list[tuple[np.ndarray, Dropped | None]]
"""Of each tile its weights, and which of them stay."""


def forward(a: Attention, generator: np.random.Generator | None) -> tuple[np.ndarray, Rows, Kept | None]:
    """The result (..., L, F), in a.dtype, and what is needed to compute each weight again, or the weights.

    A result with several axes in its batch has the last of them, the heads, next to each other in memory.
    """
    rows = Rows(*(np.empty((*a.shape[:-1], 1), a.dtype) for _ in range(2)))
    kept: Kept | None = [] if a.keeps() else None
    out = _result((*a.shape[:-1], a.value.shape[-1]), a.dtype)
    for tile in a.tiles():
        weights = a.scores(tile, a.queries(tile))
        tile.by_rows(rows.largest)[...], tile.by_rows(rows.totals)[...] = _softmax(weights)
        drop = a.dropped(tile, generator) if generator is not None else None
        if kept is not None:
            kept.append((weights, drop))
        used = weights if drop is None else drop(weights)
        np.matmul(used, a.values(tile), out=tile.by_rows(out))
        del weights, drop, used  # before the next tile has its own
    return out, rows, kept


def backward(
    a: Attention, rows: Rows, kept: Kept | None, g: np.ndarray, wanted: Sequence[bool]
) -> list[np.ndarray | None]:
    """What is sent to query, key, value and `added`, as far as it is wanted, in a.dtype; `g` is that of the result.

    The weights of a tile are those in `kept`, or else computed again.
    """
    operands = [a.query, a.key, a.value, a.added]
    sent = [np.zeros_like(x, a.dtype) if w else None for x, w in zip(operands, wanted, strict=False)]
    to_query, to_key, to_value, to_added = (*sent, None)[:4]

    def owns(x: np.ndarray) -> bool:
        """Whether each member of the batch has a part of its own."""
        return x.shape[:-2] == a.shape[:-2]

    generator = a.place() if a.place is not None and kept is None else None
    for i, tile in enumerate(a.tiles()):
        weights = used = drop = slope = None  # none of the tile before lives beside this one's
        q, slopes = a.queries(tile), tile.by_rows(g).astype(a.dtype, copy=False)
        if kept is not None:
            weights, drop = kept[i]
        else:
            weights = a.scores(tile, q)
            weights -= tile.by_rows(rows.largest)
            np.exp(weights, out=weights)
            weights /= tile.by_rows(rows.totals)
            drop = a.dropped(tile, generator) if generator is not None else None
        first = tile.rows.start == 0
        if to_value is not None:
            used = weights if drop is None else drop(weights)
            _add_product(used.swapaxes(-1, -2), slopes, tile.by_keys(to_value), first and owns(to_value))
        if to_query is None and to_key is None and to_added is None:
            continue
        # of softmax: weights * (slope - the row's sum of weights * slope); the sum of g * out is the same and shorter,
        # but where one weight is 1 it leaves the rounding of a product, times keys, instead of 0
        slope = np.matmul(slopes, a.values(tile).swapaxes(-1, -2))
        if drop is not None:
            slope = drop(slope)
        slope -= np.einsum("...i,...i->...", weights, slope)[..., None]
        slope *= weights
        if to_added is not None:
            part = tile.part(to_added, tile.rows, tile.keys)
            part += unbroadcast(slope, part.shape)
        if to_key is not None:
            _add_product(slope.swapaxes(-1, -2), q, tile.by_keys(to_key), first and owns(to_key))
        if to_query is not None:
            _add_product(slope, a.keys(tile), tile.by_rows(to_query), owns(to_query))
    if to_query is not None:
        to_query *= a.scale
    return sent


def _add_product(x: np.ndarray, y: np.ndarray, total: np.ndarray, is_all: bool) -> None:
    """Add x @ y to `total`, summed over the axes that an operand was broadcast along; or put it there, if it is all
    that comes."""
    if is_all:
        np.matmul(x, y, out=total)
        return
    product = np.matmul(x, y)
    total += product if product.shape == total.shape else unbroadcast(product, total.shape)


def _result(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array; of (..., H, L, F) one that lies in memory as (..., L, H, F), so that its `transpose(1, 2)` is
    contiguous."""
    if len(shape) < 4:
        return np.empty(shape, dtype)
    *batch, H, L, F = shape
    return np.empty_like(np.empty((*batch, L, H, F), dtype).swapaxes(-2, -3))  # this order, and no view


def _softmax(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Softmax along the last axis, in place; of a row that is -inf throughout, zeros. Returns each row's largest score
    and total of exps; of such a row 0 and 1."""
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    nowhere = largest == -np.inf
    largest[nowhere] = 0
    scores -= largest
    np.exp(scores, out=scores)
    totals = scores.sum(axis=-1, keepdims=True)
    totals[nowhere] = 1
    scores /= totals
    return largest, totals
