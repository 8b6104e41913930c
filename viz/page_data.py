"""What the stepper page shows, as JSON: every number and every rule already in words, each stored once.

The page itself computes nothing with numbers. So they read the same as in pictures and tables, and nan and inf,
which JSON lacks, need no special care.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from viz import text
from viz.graph import Graph, NodeRecord, Quantity
from viz.page_layout import DIRECTIONS, NODE_HEIGHT, Layout, lay_out
from viz.trace import Step, Trace

MOST_ELEMENTS = 64
"""Larger arrays go into the page as a summary."""

_MOST_INLINE = 4  # elements of an array that are written out in a node or on an edge
_MOST_INLINE_CHARACTERS = 26
_MOST_TITLE_CHARACTERS = 30
_CHIP_DIGITS = 4
_MOST_CHIP_WIDTH = 150

# The page's fonts, as step.css sets them: pixels a character, a little more than the widest common font needs.
_TITLE_CHARACTER = 8.2
_VALUE_CHARACTER = 7.6
_CHIP_CHARACTER = 7.6
_CHIP_HEIGHT = 22
_ROW_NAME_WIDTH = 44  # "data" and "grad" at the left of a node
_PADDING = 20
_CONSTANT = "constant"  # what step.js writes as the gradient of a node that takes none
_STEP_FIELDS = (
    "sender",
    "receiver",
    "slot",
    "contribution",
    "before",
    "after",
    "upstream",
    "local",
    "localText",
    "rule",
)


def page_data(accumulated: Trace, overwritten: Trace, title: str) -> dict[str, Any]:
    """Everything the page needs, for json.dumps.

    accumulated, overwritten  the same pass under `+=` and under `=`

    Nodes, quantities and texts are referred to by their index. Of a step, `local`, `before` and others are null
    where the trace has None.
    """
    quantities, words = Quantities(), Interned()
    graph = accumulated.graph
    passes = {
        "add": [_step_row(step, quantities, words) for step in accumulated.steps],
        "overwrite": [_step_row(step, quantities, words) for step in overwritten.steps],
    }
    nodes = [_node(node, quantities) for node in graph.nodes]
    widths = _node_widths(graph, nodes, passes, quantities.records)
    chip = _chip_width(passes, quantities.records), _CHIP_HEIGHT
    return {
        "title": title,
        "nodes": [node | {"width": width} for node, width in zip(nodes, widths, strict=True)],
        "nodeHeight": NODE_HEIGHT,
        "edges": [[_index(edge.parent), _index(edge.child), edge.slot] for edge in graph.edges],
        "layouts": {name: _layout(lay_out(graph, widths, chip, name)) for name in DIRECTIONS},
        "stepFields": list(_STEP_FIELDS),
        "passes": passes,
        "quantities": quantities.records,
        "words": words.records,
    }


def script_json(data: Any) -> str:
    """`data` as JSON that is safe between <script> tags: nothing in it can end the script or begin a comment."""
    raw = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return raw.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class Interned:
    """A list in which equal entries stand once."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self._index: dict[Any, int] = {}

    def index(self, key: Any, record: Any = None) -> int:
        """The place of `record` (by default the key itself), which is added if the key is new."""
        if key not in self._index:
            self._index[key] = len(self.records)
            self.records.append(key if record is None else record)
        return self._index[key]


class Quantities(Interned):
    """The numbers and arrays of the page; two have the same index exactly when they are equal."""

    def of(self, q: Quantity | None) -> int | None:
        """The place of `q`, None for None."""
        if q is None:
            return None
        values = np.asarray(q, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
        is_array = isinstance(q, np.ndarray)
        key = (is_array, values.shape, values.tobytes())
        return self._index[key] if key in self._index else self.index(key, _describe(values, is_array))


def _describe(values: np.ndarray, is_array: bool) -> dict[str, Any]:
    """A quantity as the page shows it.

    text   with a fixed number of decimals, for nodes and tables
    short  for equations
    chip   for an edge: with its sign
    sign   1, 0 or -1; null where there is none to speak of; 0 of an array means that all of it is zero
    shape  of an array
    rows   the elements of a small array, a line of text for each row
    more   what stands for the elements of a large one
    """
    if text.is_single(values):
        x = values.item()
        sign = None if np.isnan(x) else int(np.sign(x))
        chip = text.short(x) if sign is None else text.signed(x, _CHIP_DIGITS)
        record: dict[str, Any] = {"text": text.number(x), "short": text.short(x), "chip": chip, "sign": sign}
    else:
        inline = _inline(values)
        named = f"{text.shape(values)} {inline}" if inline.startswith("norm") else inline
        record = {"text": named, "short": named, "chip": inline, "sign": None if values.any() else 0}
    if is_array:
        record["shape"] = text.shape(values)
        if values.size > MOST_ELEMENTS:
            record["more"] = _summary(values)
        elif values.size > 1:
            record["rows"] = _rows(values)
    return record


def _inline(values: np.ndarray) -> str:
    """The elements on one line where they are few, else their norm."""
    if values.size == 0:
        return "empty"
    if values.size <= _MOST_INLINE:
        line = _nested([text.short(x, _CHIP_DIGITS) for x in values.flat], values.shape)
        if len(line) <= _MOST_INLINE_CHARACTERS:
            return line
    return f"norm {text.short(_norm(values), _CHIP_DIGITS)}"


def _nested(elements: Sequence[str], shape: tuple[int, ...]) -> str:
    """`elements` as Python would write an array of that shape: [[1, 2], [3, 4]]."""
    if not shape:
        return elements[0]
    size = len(elements) // shape[0]
    return f"[{', '.join(_nested(elements[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0]))}]"


def _rows(values: np.ndarray) -> list[str]:
    """One line for each row, columns aligned; an empty line between the matrices of an array of more axes."""
    elements = [text.short(x, _CHIP_DIGITS) for x in values.flat]
    width = max(map(len, elements))
    columns = values.shape[-1]
    matrix = values.shape[-2] if values.ndim > 2 else 0
    lines = []
    for start in range(0, len(elements), columns):
        if matrix and start and (start // columns) % matrix == 0:
            lines.append("")
        lines.append("  ".join(element.rjust(width) for element in elements[start : start + columns]))
    return lines


def _summary(values: np.ndarray) -> str:
    with np.errstate(all="ignore"):  # inf - inf and overflow have their IEEE results
        parts = {"min": values.min(), "max": values.max(), "mean": values.mean(), "norm": _norm(values)}
    return ", ".join(f"{name} {text.short(x, _CHIP_DIGITS)}" for name, x in parts.items())


def _norm(values: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.square(values).sum()))


def _node(node: NodeRecord, quantities: Quantities) -> dict[str, Any]:
    return {
        "name": node.name,
        "title": node.title,
        "short": text.clip(node.title, _MOST_TITLE_CHARACTERS),
        "formula": node.formula,
        "parents": [_index(parent) for parent in node.parents],
        "named": not _is_number(node.name),
        "data": quantities.of(node.data),
        "constant": not node.requires_grad,
    }


def _is_number(name: str) -> bool:
    """Whether a node is called by its number because the program has no name for it."""
    try:
        float(name)
    except ValueError:
        return False
    return True


def _step_row(step: Step, quantities: Quantities, words: Interned) -> list[int | None]:
    """One step as a row of _STEP_FIELDS."""
    return [
        None if step.sender is None else _index(step.sender),
        _index(step.receiver),
        step.slot,
        quantities.of(step.contribution),
        quantities.of(step.before),
        quantities.of(step.after),
        quantities.of(step.upstream),
        quantities.of(step.local),
        None if step.local_text is None else words.index(step.local_text),
        words.index(step.rule),
    ]


def _index(key: str) -> int:
    return int(key[1:])


def _node_widths(graph: Graph, nodes: list[dict], passes: dict[str, list[list]], quantities: list[dict]) -> list[int]:
    """Wide enough for the title and for the widest number that any node shows at any step."""
    receiver, after = _STEP_FIELDS.index("receiver"), _STEP_FIELDS.index("after")
    longest = [len(quantities[node["data"]]["text"]) for node in nodes]
    for row in (row for steps in passes.values() for row in steps):
        longest[row[receiver]] = max(longest[row[receiver]], len(quantities[row[after]]["text"]))
    numbers = _ROW_NAME_WIDTH + max(len(_CONSTANT), *longest) * _VALUE_CHARACTER
    return [round(max(numbers, len(node["short"]) * _TITLE_CHARACTER) + _PADDING) for node in nodes]


def _chip_width(passes: dict[str, list[list]], quantities: list[dict]) -> int:
    sent = _STEP_FIELDS.index("contribution")
    longest = max(len(quantities[row[sent]]["chip"]) for steps in passes.values() for row in steps)
    return min(round(longest * _CHIP_CHARACTER) + 14, _MOST_CHIP_WIDTH)


def _layout(layout: Layout) -> dict[str, Any]:
    return {"width": layout.width, "height": layout.height, "nodes": layout.nodes, "edges": layout.edges}
