"""Leaving elements out at random, for dropout and for attention that drops weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tensorgrad import random
from tensorgrad.settings import real


class Dropped(NamedTuple):
    """Which elements stay, and what they are multiplied with, so that the mean stays too."""

    keep: np.ndarray
    share: float

    def __call__(self, a: np.ndarray) -> np.ndarray:
        """`a` with elements left out, a new array."""
        if a.dtype == object:
            return a * (self.keep * self.share)
        out = np.asarray(a * self.keep)
        out *= self.share
        return out


def dropped(shape: tuple[int, ...], p: float, generator: np.random.Generator | None = None) -> Dropped:
    """Each element is left out with probability p, drawn from the package's generator, or from this one.

    Parts of an array that lie in memory one after the other, drawn in this order, get what the whole would.
    """
    generator = random.generator() if generator is None else generator
    keep = np.asarray(generator.random(shape, dtype=np.float32) >= p)
    return Dropped(keep, 1 / (1 - p) if p < 1 else 0.0)


Place = Callable[[], "np.random.Generator"]
"""Gives a generator of its own each time, which starts at one place of the random numbers."""


def place() -> Place:
    """Where the package's generator is now, for who must draw the same numbers once more."""
    source = random.generator().bit_generator
    kind, state = type(source), source.state

    def generator() -> np.random.Generator:
        own = kind(0)
        own.state = state
        return np.random.Generator(own)

    return generator


def go_on_from(generator: np.random.Generator) -> None:
    """Let the package's generator give the numbers that come next in this one, which started from a `place`."""
    random.generator().bit_generator.state = generator.bit_generator.state


def probability(op: str, p: float) -> float:
    """`p` as a number. Raises ValueError for one that is not from 0 to 1."""
    p = real(op, "the probability", p)
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: the probability must be from 0 to 1, got {p}")
    return p
