"""The text of a script: forward lines, guards, backward lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from micrograd.backprop import Node, topological_order
from micrograd.branches import Comparison
from micrograd.engine import Value
from micrograd.scripting.checks import check_nodes
from micrograd.scripting.names import FUNCTIONS, gradient, identifiers
from micrograd.scripting.rules import Rule, number, rule

FUNCTION = "loss_and_gradients"

_FROM = {"math": {"inf", "nan", "tanh"}, "micrograd.branches": {"BranchChanged"}}  # all others: micrograd.ieee
_WORD = re.compile(r"[^\W\d]\w*")


class Listing:
    """What a script is written from: a graph in order, and the name or number that each node has in the text.

    order     the nodes that the root depends on, in the order in which they are computed
    aside     those that only comparisons depend on
    depends   the nodes that depend on an input
    names     of the nodes that have a variable

    Raises what `check_nodes` does.
    """

    def __init__(
        self, root: Value, inputs: Sequence[Value], given: Mapping[Node, str], seen: Sequence[Comparison] = ()
    ) -> None:
        self.root = root
        self.inputs = inputs
        self.order = topological_order(root)
        self.aside = _only_compared(self.order, seen)
        check_nodes((*self.order, *self.aside))
        self.depends = set(inputs)
        for node in (*self.order, *self.aside):
            if not self.depends.isdisjoint(node._prev):
                self.depends.add(node)
        baked = {n for n in (*self.order, *self.aside) if not n._prev and n not in self.depends}
        called = {n for n in baked if n.label or n in given or n is root}
        self.constants = [n for n in (*self.order, *self.aside) if n in called]
        chosen = dict.fromkeys((*inputs, *(n for n in (*self.order, *self.aside) if n not in baked or n in called)))
        self.names: dict[Node, str] = identifiers(root, chosen, given)
        self._numbers = {n: number(n.data) for n in baked if n not in called}
        self.seen = [c for c in seen if any(isinstance(x, Value) and x in self.depends for x in (c[0], c[2]))]

    def term(self, node: Node) -> str:
        """A node as an operand: its variable or its number."""
        return self.names.get(node) or self._numbers[node]

    def rule(self, node: Node) -> Rule:
        """The rule of a node's operation; that it has one has been checked."""
        found = rule(node._op, [p.data if p in self._numbers else self.term(p) for p in node._prev])
        assert found is not None
        return found

    def filled(self, text: str, node: Node) -> str:
        """A text of the node's rule with the names in it."""
        a, b = (*map(self.term, node._prev), "", "")[:2]
        name = self.names[node]
        return text.format(a=a, b=b, out=name, g=gradient(name))

    def sends(self, node: Node) -> Iterator[tuple[int, Node]]:
        """The operands that lead to an input, by place."""
        return ((slot, parent) for slot, parent in enumerate(node._prev) if parent in self.depends)


def _only_compared(order: Sequence[Node], seen: Sequence[Comparison]) -> list[Node]:
    known, found = set(order), []
    for left, _, right, _ in seen:
        for operand in (left, right):
            if isinstance(operand, Value):
                found += topological_order(operand, known)
                known.update(found)
    return found


def contribution_lines(listing: Listing, arrays: bool = False) -> dict[tuple[Node | None, int], str]:
    """The line of each contribution, by sender and place of the operand, in the order of the backward pass; the seed's
    sender is None. The first to arrive at a node is written with `=`, all others with `+=`."""
    root = listing.root
    lines: dict[tuple[Node | None, int], str] = {}
    if root in listing.depends:
        lines[None, 0] = f"{gradient(listing.names[root])} = 1.0"
    reached = {root}
    for node in reversed(listing.order):
        if node._prev and node in listing.depends:
            texts = _of(listing.rule(node), arrays)[1]
            for slot, parent in listing.sends(node):
                arriving = _arriving(gradient(listing.names[parent]), parent in reached, arrays)
                reached.add(parent)
                lines[node, slot] = arriving + listing.filled(texts[slot], node)
    return lines


def _arriving(grad: str, again: bool, arrays: bool) -> str:
    """The left of a contribution's line. Two gradients may be one array, so += would add to both."""
    if not again:
        return f"{grad} = "
    return f"{grad} = {grad} + " if arrays else f"{grad} += "


def _of(rule: Rule, arrays: bool) -> tuple[str, tuple[str, ...]]:
    return rule.of_arrays if arrays and rule.of_arrays is not None else (rule.value, rule.sent)


def source(listing: Listing, arrays: bool = False) -> str:
    """The whole script, for floats or for arrays of NumPy's."""
    body = [
        *_section("constants", _constants(listing)),
        *_section("forward", _forward(listing, arrays)),
        *_section("the comparisons, as they came out when this was written", _guards(listing, arrays)),
        *_section(
            "backward: a contribution a line; the first to arrive needs no +=",
            contribution_lines(listing, arrays).values(),
        ),
        *_section("a sum of nothing but -0.0 is 0.0", [_returned(listing)]),
    ]
    parameters = ", ".join(listing.names[n] for n in listing.inputs)
    lines = [f"def {FUNCTION}({parameters}):", *(f"    {line}" for line in body)]
    return "\n".join((*_imports(lines, arrays), "", "", *lines, ""))


def _section(title: str, lines: object) -> list[str]:
    lines = list(lines)
    return [f"# {title}", *lines] if lines else []


def _constants(listing: Listing) -> list[str]:
    return [f"{listing.names[n]} = {number(n.data)}" for n in listing.constants]


def _forward(listing: Listing, arrays: bool) -> list[str]:
    lines = []
    for node in (*listing.order, *listing.aside):
        if node._prev:
            line = f"{listing.names[node]} = {listing.filled(_of(listing.rule(node), arrays)[0], node)}"
            lines.append(line if arrays else f"{line}  # {number(node.data)}")
    return lines


def _guards(listing: Listing, arrays: bool) -> list[str]:
    """For each comparison an `if` that raises where it comes out otherwise."""
    lines: dict[tuple[str, str], None] = {}
    for left, sign, right, outcome in listing.seen:
        text = f"{_compared(listing, left)} {sign} {_compared(listing, right)}"
        agree = f"{'all' if outcome else 'any'}({text})" if arrays else text
        changed = f"not {agree}" if outcome else agree
        told = f"{text} was {outcome} when this was written, and other lines would follow: write the script again"
        lines[f"if {changed}:", f"    raise BranchChanged({told!r})"] = None
    return [line for pair in lines for line in pair]


def _compared(listing: Listing, operand: object) -> str:
    return listing.term(operand) if isinstance(operand, Value) else number(float(operand))


def _returned(listing: Listing) -> str:
    reached = {parent for node in listing.order for parent in node._prev} | {listing.root}
    gradients = (f"{gradient(listing.names[n])} + 0.0" if n in reached else "0.0" for n in listing.inputs)
    return f"return {listing.names[listing.root]}, [{', '.join(gradients)}]"


def _imports(lines: Sequence[str], arrays: bool) -> list[str]:
    """The import lines for the functions that the code calls."""
    used = {word for line in lines for word in _WORD.findall(line.partition("# ")[0])}
    used &= FUNCTIONS.union(*_FROM.values())
    groups: dict[str, list[str]] = {}
    for word in sorted(used):
        module = next((m for m, words in _FROM.items() if word in words), "micrograd.ieee")
        if arrays and module != "micrograd.branches":
            module = "numpy"
        groups.setdefault(module, []).append(word)
    return [f"from {module} import {', '.join(words)}" for module, words in sorted(groups.items())]
