"""Random numbers that a page can draw too.

NumPy's generators would take a page hundreds of lines. These are a hash of a counter (the finalizer `lowbias32`, in two
rounds with two keys) and the transform of Box and Muller (1958): a few lines here, and the same few in draws.js. The
page and the command so speak of the same stacks, weight for weight.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_STEP = np.uint32(0x9E3779B9)  # 2**32 over the golden ratio: counters that are near land far from each other


def uniform(seed: int, stream: int, count: int) -> np.ndarray:
    """`count` numbers between 0 and 1, both excluded, float64, of a stream of a seed: whole numbers,
    the stream below 2**31 and the seed below 2**32."""
    key = _mixed(np.array([seed], np.uint32) * _STEP + np.uint32(1))
    keys = _mixed(key + np.array([2 * stream, 2 * stream + 1], np.uint32) * _STEP)
    counters = np.arange(count, dtype=np.uint32)
    bits = _mixed(_mixed(counters * _STEP ^ keys[0]) + keys[1])
    return (bits + 0.5) / 2**32


@lru_cache(maxsize=128)  # those of a stack of 100 layers, 60 MB: stacks of a seed that differ in scale share them
def normal(seed: int, stream: int, count: int) -> np.ndarray:
    """`count` standard normal numbers, an even count: each pair of uniform numbers, of the two halves, gives two.

    The array cannot be written to.
    """
    radius, turn = uniform(seed, stream, count).reshape(2, -1)
    radius, turn = np.sqrt(-2 * np.log(radius)), 2 * np.pi * turn
    made = np.concatenate([radius * np.cos(turn), radius * np.sin(turn)])
    made.flags.writeable = False
    return made


def signs(seed: int, stream: int, count: int) -> np.ndarray:
    """`count` numbers that are 1 or -1."""
    return np.where(uniform(seed, stream, count) < 0.5, 1.0, -1.0)


def _mixed(bits: np.ndarray) -> np.ndarray:
    """uint32 in, uint32 out, one to one; products wrap around."""
    bits = (bits ^ (bits >> 16)) * np.uint32(0x7FEB352D)
    bits = (bits ^ (bits >> 15)) * np.uint32(0x846CA68B)
    return bits ^ (bits >> 16)
