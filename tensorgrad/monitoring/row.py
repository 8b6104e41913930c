"""One step's numbers, of each parameter and of each block: a row of the log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorgrad.monitoring.change import Change
from tensorgrad.monitoring.measure import share_of_zeros
from tensorgrad.monitoring.parts import Parts
from tensorgrad.monitoring.seen import Pass, Step


@dataclass(eq=False)
class Row:
    """One step's numbers.

    loss        the sum of the losses of the step's passes
    norm        of the whole gradient, before clipping
    rates       the learning rates that there are
    parameters  for each, in a row: norm of its gradient, ratio of change to weights, share of zeros in the gradient,
                elements of it that are not finite; nan stands for what there is none of
    blocks      the same of each block
    outputs     norm of the gradient at each block's output
    """

    step: int
    passes: int
    loss: float
    norm: float
    rates: tuple[float, ...]
    parameters: np.ndarray
    blocks: np.ndarray
    outputs: np.ndarray


def measured(taken: Step, last: Pass, change: Change, loss: float) -> Row:
    """The row of a step whose last pass was `last`, on the way down of `loss`. A block's norms are those of all its
    elements together."""
    parts = taken.parts
    held = [p._grad for p in parts.parameters]
    sizes = np.array([p._data.size for p in parts.parameters], dtype=float)
    zeros = np.array([np.nan if g is None else share_of_zeros(g) for g in held])
    norms, odd = last.norms, last.nonfinite
    known = ~np.isnan(zeros)
    block_norms, ratio, share = (np.full(len(parts.blocks), np.nan) for _ in range(3))
    sent = _per_block(parts, known.astype(float)) > 0
    np.sqrt(_per_block(parts, norms**2, known), out=block_norms, where=sent)
    weights = np.sqrt(_per_block(parts, change.weights**2))
    np.divide(np.sqrt(_per_block(parts, change.norms**2)), weights, out=ratio, where=weights > 0)
    np.divide(_per_block(parts, zeros * sizes, known), _per_block(parts, sizes, known), out=share, where=sent)
    return Row(
        step=taken.number,
        passes=taken.passes,
        loss=loss,
        norm=float(np.sqrt(np.sum(norms[known] ** 2))),
        rates=tuple(dict.fromkeys(rate for rate in taken.rates.tolist() if rate == rate)),
        parameters=np.column_stack([norms, taken.ratios, zeros, odd]),
        blocks=np.column_stack([block_norms, ratio, share, _per_block(parts, odd)]),
        outputs=np.array([last.output_norm(name) for name in parts.blocks]),
    )


def _per_block(parts: Parts, values: np.ndarray, among: np.ndarray | None = None) -> np.ndarray:
    """The sum over each block's parameters, or those of them that are `among`."""
    places = np.array(parts.block_of, dtype=int)
    if among is not None:
        places, values = places[among], values[among]
    return np.bincount(places, values, minlength=len(parts.blocks))
