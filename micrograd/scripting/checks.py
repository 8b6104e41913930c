"""What a script can be written of; everything else is refused before a line is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from micrograd.backprop import Node, has_hooks
from micrograd.engine import Value
from micrograd.scripting.rules import rule


def checked_inputs(inputs: Iterable[Value] | Mapping[str, Value]) -> tuple[list[Value], dict[Node, str]]:
    """The inputs in order, and the names that a mapping gives them.

    Raises TypeError for what is no leaf, ValueError for one that stands there twice.
    """
    if isinstance(inputs, Value):
        raise TypeError("inputs is a list of Values (or a dictionary of names and Values), got one Value: write [it]")
    names: dict[Node, str] = {}
    if isinstance(inputs, Mapping):
        found = list(inputs.values())
        if not all(isinstance(name, str) for name in inputs):
            raise TypeError("the keys of inputs are names: strings")
        names = {x: name for name, x in inputs.items() if isinstance(x, Value)}
    else:
        found = list(inputs)
    for place, x in enumerate(found):
        if not isinstance(x, Value):
            raise TypeError(f"inputs are Values, got {type(x).__name__} {x!r} at place {place}")
        if x._prev:
            raise ValueError(
                f"inputs are leaves, and at place {place} stands {_called(x)}, which is computed from others: give "
                "these as inputs"
            )
    if len(set(found)) < len(found):
        twice = next(x for i, x in enumerate(found) if x in found[:i])
        raise ValueError(f"the same Value stands twice in inputs: {_called(twice)}")
    return found, names


def check_root(root: Any) -> Value:
    """`root`, if it is a Value."""
    if not isinstance(root, Value):
        raise TypeError(
            f"script() takes a Value, or a function of no arguments that returns one, got {type(root).__name__}"
        )
    return root


def check_nodes(order: Iterable[Node]) -> None:
    """Raise TypeError for a node that is no Value, ValueError for one that an operation or a rule of the user's has
    made, or that has a hook.

    Every node is computed again and compared: so a user's operation is found that has the name of one of the engine's.
    """
    for node in order:
        if not isinstance(node, Value):
            raise TypeError(f"script() writes graphs of Values, and this one has a {type(node).__name__} in it")
        if has_hooks(node):
            raise ValueError(f"{_called(node)} has a hook, which a script cannot call: take it away first")
        if not node._prev:
            if node._closure is not None:
                raise ValueError(f"{_called(node)} has a _backward of its own, which a script cannot call")
            continue
        if node._local is None or has_own_rule(node):
            raise ValueError(f"script() knows no line for {_called(node)}: its rule is a function of your own")
        found = rule(node._op, [parent.data for parent in node._prev])
        if found is None:
            raise ValueError(f"script() knows no line for {_called(node)}: it is an operation of your own")
        again = found.again(*(Value(parent.data) for parent in node._prev))
        ours, theirs = (again.data, *(again._local or ())), (node.data, *node._local)
        if not (len(ours) == len(theirs) and all(map(_same, ours, theirs))):
            raise ValueError(
                f"{_called(node)} is not what its operation makes of its operands: either data was changed after the "
                "graph was built (build it again, or give script() the function that does), or it is an operation of "
                f"your own called {node._op!r}"
            )


def has_own_rule(node: Node) -> bool:
    """Whether the user's code computes what a node sends: a closure, or a subclass."""
    return node._closure is not None or type(node)._vjp is not Value._vjp


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def _called(node: Node) -> str:
    name = f"{node.label!r} = " if node.label else ""
    return f"{name}the {node._op!r} of {node.data!r}" if node._op else f"{name}the leaf {node.data!r}"
