"""The text in a drawn graph's boxes and on its edges, escaped for Graphviz."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape as escape_html
from typing import Any, Literal, get_args

import graphviz
import numpy as np

from viz.arrays import (
    MOST_IN_BOX,
    MOST_ON_EDGE,
    Quantity,
    is_single,
    matrices,
    norm_in_words,
    oddities,
    shape,
    statistics,
)
from viz.graph import NodeRecord
from viz.text import clip, number, signed, visible

Direction = Literal["LR", "RL", "TB", "BT"]
"""Where a graph grows to from its leaves, as Graphviz names it: "LR" is from left to right."""

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

Sign = Literal["+", "-", "0", "mixed", "not finite"]

NO_GRAD = "grad not yet"
CONSTANT = "constant"

_LONGEST_BESIDE = 12  # characters of a name that stands beside its number, not above it
_MOST_COLUMNS = 6
_SPACE = "\N{NO-BREAK SPACE}"
_DIGIT = _SPACE * 2  # as wide as a digit in Helvetica and in the fonts that stand in for it
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\{}|<>"} | {"&": "&amp;", "\n": "\\n"})
_BACK = {"LR": "←", "RL": "→", "TB": "↑", "BT": "↓"}


def escape(text: str) -> str:
    """`text` as a Graphviz label, or a field of a record's, that shows exactly these characters.

    Here and in `html` text from users enters DOT, and nowhere else. A line break stays one; a character that no
    picture can show (control characters, lone surrogates) becomes U+FFFD.
    """
    return graphviz.nohtml(visible(text).translate(_SPECIAL))


def html(text: str) -> str:
    """`text` as a part of a Graphviz HTML-like label; like `escape` for all others."""
    return escape_html(visible(text))


def tooltip(text: str) -> str:
    """`text` as a Graphviz tooltip, which takes backslashes away twice."""
    return graphviz.nohtml(escape(text).replace("\\\\", "\\\\\\\\"))


def sign(q: Quantity) -> Sign:
    """Which way `q` points: one sign where all elements that are not 0 share it."""
    numbers = np.asarray(q, dtype=np.float64)
    if not np.isfinite(numbers).all():
        return "not finite"
    above, below = bool((numbers > 0).any()), bool((numbers < 0).any())
    if above and below:
        return "mixed"
    return "+" if above else "-" if below else "0"


def node_label(record: NodeRecord, direction: Direction = "LR") -> str:
    """The record label of a node: name, data and gradient; of an array also its shape and dtype.

    Graphviz turns the fields of a record with the graph, and braces turn them back. A graph that grows sideways has
    data above gradient, so that it takes less of its width.
    """
    name = escape(clip(record.name))
    values = [_field("data", record.data), _grad_field(record)]
    if not isinstance(record.data, np.ndarray):
        if direction in ("TB", "BT"):
            return "|".join([name, *values])
        return _nest([name, _nest(values)]) if len(name) <= _LONGEST_BESIDE else "|".join([name, *values])
    head = f"{name}{_DIGIT}{escape(f'{shape(record.data)} {record.data.dtype}')}"
    label = f"{head}|{_nest(values)}"
    return _nest([label]) if direction in ("TB", "BT") else label


def contribution_label(q: Quantity, direction: Direction = "LR") -> str:
    """What an edge says: an arrow back to the operand, and the signed number that goes there; of an array the
    elements where they are few, else its norm."""
    back = _BACK[direction]
    if is_single(q):
        lines = [f"{back} {_contribution(np.asarray(q).item())}"]
    elif 0 < np.size(q) <= MOST_ON_EDGE:
        lines = [f"{back} {shape(q)}", *_rows(q, _contribution)]
    else:
        lines = [f"{back} {shape(q)}", norm_in_words(np.asarray(q))]
    return "\\n".join(f"{_SPACE}{line}{_SPACE}" for line in lines)  # spaces keep the text off the line


def _nest(fields: Sequence[str]) -> str:
    """Fields in braces: along the other axis than what is around them."""
    return f"{{{'|'.join(fields)}}}"


def _grad_field(record: NodeRecord) -> str:
    if record.grad is not None:
        return _field("grad", record.grad)
    return NO_GRAD if record.requires_grad else CONSTANT


def _field(what: str, q: Quantity) -> str:
    """`what` and the number; of an array a line for each row, or a line for each statistic."""
    if is_single(q):
        return f"{what} {_element(np.asarray(q).item())}"
    if np.size(q) == 0:
        return f"{what}: no elements"
    lines = _rows(q, _element) if np.size(q) <= MOST_IN_BOX else _statistics(np.asarray(q))
    # The last line of a row that is broken into lines may be short: it starts where the others do.
    end = "\\l" if _MOST_COLUMNS < np.shape(q)[-1] <= MOST_IN_BOX else "\\r"
    return f"{what}\\l" + "".join(f"{line}{end}" for line in lines)


def _rows(array: Quantity, text_of: Callable[[Any], str]) -> list[str]:
    """The elements of a small array, a line for each row, its columns under each other."""
    array = np.asarray(array)
    texts = [text_of(x) for x in array.ravel().tolist()]
    width = max(map(len, texts))
    cells = [_DIGIT * (width - len(text)) + text for text in texts]
    columns = min(array.shape[-1], _MOST_COLUMNS)
    return matrices([_DIGIT.join(cells[i : i + columns]) for i in range(0, len(cells), columns)], array.shape)


def _statistics(array: np.ndarray) -> list[str]:
    """Least, greatest, mean and norm, a line each; then what else is notable."""
    return [f"{name} {number(x)}" for name, x in statistics(array).items()] + oddities(array)


def _element(x: float | int | bool) -> str:
    return number(x) if isinstance(x, float) else str(x)


def _contribution(x: float) -> str:
    return signed(x, digits=4)
