"""Names of Python variables for the nodes of a graph, from their labels."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from itertools import count

from micrograd.backprop import Node

FUNCTIONS = frozenset("cos divide exp log power sigmoid sign sin sqrt tanh where all any".split())
"""The functions that scripts call."""

_RESERVED = FUNCTIONS | {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "inf", "nan", "BranchChanged"}
_NO_NAME = re.compile(r"\W+")
_LONGEST = 60


def gradient(name: str) -> str:
    """The variable that holds the gradient of the variable `name`."""
    return f"{name}_grad"


def identifiers(root: Node, nodes: Iterable[Node], given: Mapping[Node, str]) -> dict[Node, str]:
    """A variable for each node: from the name that is given, or its label, else `v1`, `v2`, ... in order.

    root   the node that is called `loss` if nothing else gives it a name
    nodes  in the order in which they choose; those with a name do so before those without

    No two are equal, none is one that Python or a script uses, and none is another one's gradient.
    """
    nodes = list(nodes)
    pick = _picker()
    texts = ((node, given.get(node) or str(node.label or "")) for node in nodes)
    names = {node: pick(base) for node, text in texts if text and (base := identifier(text))}
    if root not in names:
        names[root] = pick("loss")
    places = count(1)
    for node in nodes:
        if node not in names:
            names[node] = pick(f"v{next(places)}")
    return names


def identifier(text: str) -> str:
    """`text` with what a name may not have made `_`: `net.w[0]` is net_w_0. "" where nothing is left to call it by."""
    if text.isidentifier() and text.isascii() and text[0] != "_" and len(text) <= _LONGEST:
        return text
    found = _NO_NAME.sub("_", unicodedata.normalize("NFKC", text)).strip("_")[:_LONGEST]
    if found and not found.isidentifier():
        found = f"_{found}"  # begins with a digit
    return found if found.isidentifier() else ""


def _picker() -> Callable[[str], str]:
    """A function that makes a name of an identifier, each time one that is still free."""
    taken: set[str] = set(_RESERVED)
    tried: dict[str, int] = {}

    def pick(base: str) -> str:
        name, grad = base, gradient(base)
        while name in taken or grad in taken:
            tried[base] = tried.get(base, 1) + 1
            name = f"{base}_{tried[base]}"
            grad = gradient(name)
        taken.add(name)
        taken.add(grad)
        return name

    return pick
