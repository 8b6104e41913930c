"""Bytes in words: KiB and MiB of what is small, MB (10**6 bytes) of what is large, one kind in one table."""

from __future__ import annotations

from collections.abc import Callable
from math import floor

LARGE = 16 * 2**20
"""From here on sizes are told in MB, as those of models are: 124,439,808 weights of float32 are 497.8 MB."""


def unit_for(largest: int) -> Callable[[int], str]:
    """How sizes are written beside one of `largest` bytes."""
    return in_megabytes if largest >= LARGE else in_words


def in_megabytes(size: int) -> str:
    """MB, with one decimal: 497.8 MB, 0.1 MB; "0" of nothing, and "< 0.1 MB" of less."""
    if 0 < size < 50_000:
        return "< 0.1 MB"
    return f"{_decimal(size / 1e6)} MB" if size else "0"


def in_words(size: int) -> str:
    """Bytes, KiB or MiB, with one decimal where there is one: 64 KiB, 1.3 MiB; "0" of nothing."""
    if size < 1024:
        return f"{size:,} bytes" if size > 1 else f"{size} byte" if size else "0"
    return f"{_decimal(size / 2**10)} KiB" if size < 2**20 else f"{_decimal(size / 2**20)} MiB"


def _decimal(x: float) -> str:
    """One decimal, rounded up from a half; none where it is 0."""
    return f"{floor(x * 10 + 0.5) / 10:,.1f}".removesuffix(".0")
