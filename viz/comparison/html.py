"""A comparison as HTML for a notebook: a table that takes the notebook's own colours, bright or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from viz.comparison.table import Table

_NAME = "text-align:left;padding:2px 8px;white-space:pre"
_NUMBER = "text-align:right;padding:2px 8px;white-space:pre;font-variant-numeric:tabular-nums"
_DIFFERS = "font-weight:bold;text-decoration:underline"


def comparison(table: Table, sentences: Sequence[str]) -> str:
    """The table with its notes, and the sentences below it."""
    head = _row("th", table.titles)
    body = [_row("td", row, _DIFFERS if differs else "") for row, differs in zip(table.rows, table.differ, strict=True)]
    below = "<br>".join(map(escape, [*table.more, *table.notes, *sentences]))
    return f"<div><table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table><p>{below}</p></div>"


def _row(tag: str, texts: Sequence[str], style: str = "") -> str:
    first, *rest = map(escape, texts)
    cells = [f'<{tag} style="{_NAME}">{first}</{tag}>', *(f'<{tag} style="{_NUMBER}">{t}</{tag}>' for t in rest)]
    return f'<tr style="{style}">{"".join(cells)}</tr>' if style else f"<tr>{''.join(cells)}</tr>"
