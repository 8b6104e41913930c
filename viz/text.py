"""Numbers, shapes and names as text: one way to write each, for pictures, pages and tables."""

from __future__ import annotations

import math

import numpy as np

from viz.graph import Quantity

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


def shape(q: Quantity) -> str:
    """The shape as Python writes it, e.g. (4, 3); of a scalar ()."""
    return str(np.shape(q))


def is_single(q: Quantity) -> bool:
    """Whether `q` is one number: a scalar node's, or an array's with a single element."""
    return np.size(q) == 1


def clip(text: str, most: int = 40) -> str:
    """`text` on one line of at most `most` characters, the rest as an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
