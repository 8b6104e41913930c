"""Numbers, names and counts as text: one way to write each, for pictures, pages and tables."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Container, Sequence

MINUS = "\N{MINUS SIGN}"


def number(x: float, digits: int = 4) -> str:
    """`x` with a fixed number of decimals where that reads well, else in powers of ten; a true minus sign.

    0 is "0.0000" and nothing else is: 1e-9 is "1.0e-09".
    """
    x = float(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else f"{MINUS}inf"
    size = abs(x)
    text = f"{size:.{digits}f}" if size == 0 or 0.5 * 10**-digits <= size < 1e6 else f"{size:.{max(digits - 3, 1)}e}"
    return f"{MINUS}{text}" if x < 0 else text


def short(x: float, digits: int = 6) -> str:
    """`x` in as few digits as show it (at most `digits`), for equations: −6, 0.25, 1.2e-07."""
    x = float(x) + 0.0  # -0.0 becomes 0.0
    return f"{MINUS}{-x:.{digits}g}" if x < 0 else f"{x:.{digits}g}"


def signed(x: float, digits: int = 6) -> str:
    """`short` with its sign shown, which 0 and nan have none of: +4, −6, 0."""
    return f"+{short(x, digits)}" if float(x) > 0 else short(x, digits)


def clip(text: str, most: int = 40) -> str:
    """`text` on one line of at most `most` characters, the rest as an ellipsis."""
    return cut(" ".join(text.split()), most)


def cut(text: str, most: int) -> str:
    """`text` as it is up to `most` characters, the rest as an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def visible(text: str) -> str:
    """`text` with U+FFFD for what no picture and no terminal can show: control characters but line breaks, halves of
    surrogate pairs."""
    if text.isprintable():
        return text
    return "".join(
        c if c == "\n" or not unicodedata.category(c).startswith("C") else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def count(n: int, thing: str) -> str:
    """How many there are: "1 node", "2,000 nodes"."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def aligned(cells: Sequence[Sequence[str]], words: Container[int] = (0,)) -> list[str]:
    """Rows as lines of aligned columns, those in `words` to the left, the others, which are numbers, to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if place in words else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
