"""Numbers and characters of the report as text, the same in print and on the page."""

from __future__ import annotations

from viz.text import short


def visible(text: str) -> str:
    """`text` on one line: what cannot be seen as Python writes it (\\n, \\t, \\x00), a backslash as two."""
    return "".join(repr(character)[1:-1] for character in text)


def named(character: str) -> str:
    """One character, so that it can be told from its surroundings: 'a', ' ', '\\n'."""
    return f"'{visible(character)}'" if character != "'" else '"\'"'


def nats(x: float) -> str:
    """Two decimals, and for what these would show as nothing, a power of ten."""
    return f"{x:.2f}" if x == 0 or x >= 0.005 else short(x, 2)
