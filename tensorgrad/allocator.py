"""What becomes of freed memory: whether the next arrays get it, or the operating system does.

A training step frees its arrays and the next one asks for as many again. Memory that has gone back to the operating
system in between is handed out anew page by page, each cleared first, which can take longer than the arithmetic on it.
glibc decides by two thresholds (mallopt(3)): a block from M_MMAP_THRESHOLD on is mapped for itself and unmapped when it
is freed; and of the heap's free end everything is returned once it exceeds M_TRIM_THRESHOLD. Both start at 128 KiB, and
rise with the largest block that was freed so far, to 32 and 64 MiB at most.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any

import numpy as np

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_RAISED = 2**25  # as far as glibc goes by itself, on 64 bits
_MOST = 2**31 - 1  # an int


def raise_thresholds() -> None:
    """Bring glibc to where it would be after the first array of 32 MiB was freed: what is smaller is used again from
    then on, and up to 64 MiB of the heap's end stay. No page is touched. Other allocators take no notice, and nor does
    glibc where MALLOC_MMAP_THRESHOLD_ or MALLOC_TRIM_THRESHOLD_ is set: those are the user's. Where the process may not
    have 32 MiB more (`ulimit -v`), all stays as it is."""
    with suppress(MemoryError):
        np.empty(_RAISED - 8192, np.uint8)  # 8 KiB less, since the block has a header and ends with a page


def keep_freed_memory(keep: bool = True) -> bool:
    """Let the process keep the memory of all arrays that are freed, of any size, and use it again; or, with
    `keep=False`, give it back from 64 MiB on, as it is without a call, and what is free now at once.

    For training with arrays of more than 32 MB: pages are cleared once and not at each step. The process then stays as
    large as it was at its peak, and a little more, since free memory lies in pieces. This is for the whole process,
    other libraries too; but arrays of some 60 MB and more that are made in threads other than the main one are given
    back all the same, since glibc keeps each thread's memory in areas of 64 MiB. Returns whether the C library lets
    itself be told: glibc does (Linux); others are left alone.

    Raises TypeError if `keep` is not True or False.
    """
    if not isinstance(keep, (bool, np.bool_)):
        raise TypeError(f"keep_freed_memory: keep is True or False, got {keep!r}")
    libc = _glibc()
    if libc is None:
        return False
    block, trim = (_MOST, _MOST) if keep else (_RAISED, 2 * _RAISED)
    done = libc.mallopt(_M_MMAP_THRESHOLD, block) and libc.mallopt(_M_TRIM_THRESHOLD, trim)
    if not keep:
        libc.malloc_trim(0)
    return bool(done)


def _glibc() -> Any:
    """The C library, if it is one with mallopt and malloc_trim; else None."""
    if not sys.platform.startswith("linux"):
        return None
    libc = importlib.import_module("ctypes").CDLL(None)  # not at the top: most programs never need it
    return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
