"""AdamW over one array of all parameters (Loshchilov and Hutter 2019, with torch's defaults), a tile at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from by_hand.tiles import shared, tiles


def clip(gradient: np.ndarray, longest: float) -> float:
    """Shorten the gradient in place to that length at most; the length that it had."""
    length = math.sqrt(float(np.dot(gradient, gradient)))
    if length > longest:
        gradient *= np.float32(longest / (length + 1e-6))
    return length


class AdamW:
    def __init__(
        self,
        flat: np.ndarray,
        gradient: np.ndarray,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        self.flat, self.gradient = flat, gradient
        self.mean, self.square = np.zeros((2, flat.size), flat.dtype)
        self.lr, self.betas, self.eps, self.decay = lr, betas, eps, weight_decay
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        one, two = self.betas
        size = self.lr / (1 - one**self.steps)
        root = math.sqrt(1 - two**self.steps)

        def work(pieces: Sequence[slice]) -> None:
            room = np.empty(max((s.stop - s.start for s in pieces), default=0), self.flat.dtype)
            for s in pieces:
                x, g, m, v = self.flat[s], self.gradient[s], self.mean[s], self.square[s]
                t = room[: len(x)]
                x *= 1 - self.lr * self.decay
                m *= one
                m += np.multiply(g, 1 - one, t)
                v *= two
                np.multiply(g, g, t)
                t *= 1 - two
                v += t
                np.sqrt(v, t)
                t += self.eps * root
                np.divide(m, t, t)
                t *= size * root  # m / (sqrt(v) / root + eps) * size
                x -= t

        shared(tiles(self.flat.size, 1), work)
