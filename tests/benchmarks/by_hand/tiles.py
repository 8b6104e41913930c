"""Work on rows, a tile that stays in the cache at a time, by as many threads as NumPy's matrix products have: it
releases the lock inside a call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")

THREADS = int(os.environ.get("OPENBLAS_NUM_THREADS", "2"))
TILE = 2**15
"""Numbers in a tile: 128 KB of float32, so that it and a few arrays beside it stay in a core's own cache."""

_helpers = ThreadPoolExecutor(THREADS)


def tiles(rows: int, width: int) -> list[slice]:
    """Slices of rows that are `width` numbers each."""
    height = max(1, TILE // width)
    return [slice(start, min(start + height, rows)) for start in range(0, rows, height)]


def shared(pieces: Sequence[slice], work: Callable[[Sequence[slice]], Result]) -> list[Result]:
    """What `work` gives for the pieces of each thread; this thread is one of them."""
    threads = min(THREADS, len(pieces))
    if threads < 2:
        return [work(pieces)]
    cuts = [len(pieces) * i // threads for i in range(threads + 1)]
    others = [_helpers.submit(work, pieces[a:b]) for a, b in pairwise(cuts[1:])]
    return [work(pieces[: cuts[1]]), *(other.result() for other in others)]
