"""Shares and paragraphs as text."""

from __future__ import annotations

import textwrap

_TOGETHER = "\N{NO-BREAK SPACE}%"


def percent(p: float) -> str:
    """A probability or share in three digits, and near 100 % in as many as tell it from that, at most nine."""
    hundredfold = 100 * p
    digits = 3
    while p < 1 and digits < 9 and float(f"{hundredfold:.{digits}g}") == 100:
        digits += 1
    return f"{hundredfold:.{digits}g} %"


def wrapped(text: str, width: int) -> str:
    """`text` in lines of at most that many characters; a share and its % stay together."""
    lines = textwrap.fill(text.replace(" %", _TOGETHER), width, break_on_hyphens=False)
    return lines.replace(_TOGETHER, " %")
