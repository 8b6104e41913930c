"""What each node of an array keeps in memory for the backward pass, in a few words for the stepper's panel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from micrograd.backprop import Node
from viz.memory.measure import Piece, Pieces
from viz.memory.sizes import in_words

_MOST_NAMED = 3


def kept(order: Sequence[Node]) -> dict[str, Any]:
    """For the page's data: "kept" with the different "words", and "of", for each node which of them it has, -1 for
    none: leaves and single numbers. Empty where no node has any."""
    words: dict[str, int] = {}
    of = [-1] * len(order)
    if any(_is_result(node) for node in order):
        made, alone = _by_node(Pieces(order, None))
        for i, node in enumerate(order):
            if _is_result(node):
                of[i] = words.setdefault(_words(node, made.get(node, []), alone.get(node, [])), len(words))
    return {"kept": {"words": list(words), "of": of}} if words else {}


def _is_result(node: Any) -> bool:
    return bool(node._prev) and isinstance(getattr(node, "_data", None), np.ndarray)


def _by_node(pieces: Iterable[Piece]) -> tuple[dict[Node, list[Piece]], dict[Node, list[Piece]]]:
    """What is saved of the results of each node, and what only rules have, by the first that holds it."""
    made: dict[Node, list[Piece]] = {}
    alone: dict[Node, list[Piece]] = {}
    for piece in pieces:
        if piece.kind == "saved" and piece.bytes:
            where = made if piece.nodes else alone
            where.setdefault((piece.nodes or piece.holders)[0], []).append(piece)
    return made, alone


def _words(node: Node, made: Sequence[Piece], alone: Sequence[Piece]) -> str:
    """ "kept for backward: 64 KiB (also by matmul), 512 bytes in its rule alone"."""
    told = []
    if made:
        holders = [holder for piece in made for holder in piece.holders]
        others = list(dict.fromkeys(holder._op for holder in holders if holder is not node))
        also = "also " if any(holder is node for holder in holders) else ""
        named = ", ".join(others[:_MOST_NAMED]) + (" and others" if len(others) > _MOST_NAMED else "")
        told.append(in_words(sum(piece.bytes for piece in made)) + (f" ({also}by {named})" if others else ""))
    if alone:
        told.append(f"{in_words(sum(piece.bytes for piece in alone))} in its rule alone")
    return f"kept for backward: {', '.join(told) or 'nothing of its own'}"
