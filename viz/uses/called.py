"""What to call the nodes that are looked at, and which one a name means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

import numpy as np

from micrograd.backprop import Node
from viz.errors import UserError
from viz.names import name_all, names_for
from viz.text import clip

_MOST_SUGGESTED = 3
_TAKES = "parameters= takes a module, a dictionary of leaves by name, or pairs of a name and a leaf"


class Called:
    """The names of a graph's nodes.

    order       the graph, its root last
    namespace   to look names up in
    parameters  as `viz.uses` takes them: the only leaves that count, by the names that they are to have

    Raises UserError for parameters that are none of what it takes.
    """

    def __init__(self, order: Sequence[Node], namespace: Mapping[str, Any], parameters: Any = None) -> None:
        chosen = None if parameters is None else _by_name(parameters)
        self._known = {**names_for(order, namespace), **{node: name for name, node in (chosen or {}).items()}}
        self._order = order
        self._names = dict(zip(order, name_all(order, self._known, namespace), strict=True))
        self._names |= {node: name for name, node in (chosen or {}).items()}
        self._chosen = chosen
        self.leaves = self._leaves()

    def of(self, node: Node) -> str:
        """What to call a node, whether it is in the graph or not."""
        return self._names.get(node) or str(node.label or "") or self._known.get(node) or "this node"

    def node(self, name: str) -> Node:
        """The node of that name: a leaf before all others. Raises UserError if there is none, or are several."""
        candidates = [*self.leaves, *(node for node in self._order if node not in self.leaves), *self._known]
        found = list(dict.fromkeys(node for node in candidates if self.of(node) == name))
        leaves = [node for node in found if not node._prev]
        if len(leaves) > 1:
            raise UserError(f"{len(leaves)} leaves are called {name}: give them labels that differ")
        if found:
            return (leaves or found)[0]
        known = dict.fromkeys(map(self.of, candidates))
        close = get_close_matches(name, known, n=_MOST_SUGGESTED)
        hint = f"did you mean {' or '.join(map(clip, close))}?" if close else self._some()
        raise UserError(f"no node is called {clip(name)}: {hint}")

    def _some(self) -> str:
        names = [clip(self.of(leaf)) for leaf in islice(self.leaves, _MOST_SUGGESTED)]
        return f"there is {', '.join(names)}, for example" if names else "there is no leaf that takes a gradient"

    def _leaves(self) -> dict[Node, None]:
        """The leaves that take gradients: those that were given; by default all, without the numbers that a program of
        Values is written with, unless there is nothing else."""
        if self._chosen is not None:
            return dict.fromkeys(node for node in self._chosen.values() if node.requires_grad)
        leaves = [node for node in self._order if not node._prev and node.requires_grad]
        worth = [node for node in leaves if node.label or node in self._known or np.shape(node.data)]
        return dict.fromkeys(worth or leaves)


def _by_name(parameters: Any) -> dict[str, Node]:
    """The leaves by name that a module, a dictionary or pairs stand for. One with several names has the first."""
    given = parameters.named_parameters() if hasattr(parameters, "named_parameters") else parameters
    if not isinstance(given, Iterable):
        raise UserError(f"{_TAKES}, got a {type(given).__name__}")
    found: dict[Node, str] = {}
    for pair in given.items() if isinstance(given, Mapping) else given:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], Node)):
            raise UserError(f"{_TAKES}, and among these is {clip(repr(pair))}")
        found.setdefault(pair[1], pair[0])
    return {name: node for node, name in found.items()}
