"""The text of a script: forward lines, guards, backward lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from micrograd.backprop import Node, topological_order
from micrograd.branches import Comparison
from micrograd.engine import Value
from micrograd.scripting.checks import check_nodes
from micrograd.scripting.names import FUNCTIONS, gradient, identifiers
from micrograd.scripting.rules import Rule, number, rule

FUNCTION = "loss_and_gradients"

_FROM = {"math": {"inf", "nan", "tanh"}, "micrograd.branches": {"BranchChanged"}}  # all others: micrograd.ieee
_IN_NUMPY = {"power": "float_power as power"}  # its own `power` takes **0.5 for a square root: -0.0 of -0.0
_PASSED_ON = {"+": (0, 1), "-": (0,)}
"""The operations, with the places of the operands, that send their gradient on as it is."""

_MOST_IN_A_SUM = 16  # operations in one line, so that it can be read and compiled
_IN_ONE_LINE = 8  # names
_LONG = 100  # characters
_WORD = re.compile(r"[^\W\d]\w*")


class Listing:
    """What a script is written from: a graph in order, and what each node is called in the text.

    order     the nodes that the root depends on, in the order in which they are computed
    aside     those that only comparisons depend on
    depends   the nodes that depend on an input
    uses      how many contributions a node that depends on an input receives
    inside    the nodes without a line of their own, each with the sum in whose line it stands
    names     of the nodes that have a variable
    baked     the numbers of the leaves that are constants, of which `constants` have a name
    seen      the comparisons of which an operand depends on an input

    Raises what `check_nodes` does.
    """

    def __init__(
        self, root: Value, inputs: Sequence[Value], given: Mapping[Node, str], seen: Sequence[Comparison] = ()
    ) -> None:
        self.root = root
        self.inputs = inputs
        self.order = topological_order(root)
        self.aside = _only_compared(self.order, seen)
        nodes = (*self.order, *self.aside)
        check_nodes(nodes)
        self.depends: set[Node] = set(inputs)
        for node in nodes:
            if not self.depends.isdisjoint(node._prev):
                self.depends.add(node)
        self.seen = [c for c in seen if any(isinstance(x, Value) and x in self.depends for x in (c[0], c[2]))]
        self.uses: Counter[Node] = Counter(p for node in self.order for p in node._prev if p in self.depends)

        called = {node for node in nodes if node.label or node in given or node is root}
        leaves = [node for node in nodes if not node._prev and node not in self.depends]
        self.baked = {node: node.data for node in leaves}  # as it is now: the text for arrays may be written later
        self.constants = [node for node in leaves if node in called]
        self._numbers = {node: number(node.data) for node in leaves if node not in called}
        self.inside = self._fold(nodes, called.union(inputs, (x for c in self.seen for x in (c[0], c[2]))))
        hidden = self._numbers.keys() | self.inside.keys()
        chosen = dict.fromkeys((*inputs, *(node for node in nodes if node not in hidden)))
        self.names: dict[Node, str] = identifiers(root, chosen, given)

    def _fold(self, nodes: Sequence[Node], kept: AbstractSet[object]) -> dict[Node, Node]:
        """The terms of sums that nothing else reads: their gradient is the sum's, so neither needs a variable."""
        used = Counter(parent for node in nodes for parent in node._prev)
        terms: dict[Node, int] = {}
        inside: dict[Node, Node] = {}
        for node in nodes:
            terms[node] = 1
            for slot in _PASSED_ON.get(node._op, ()):
                term = node._prev[slot]
                if not term._prev or used[term] > 1 or term in kept or not self._may_stand_in_a_sum(term):
                    continue
                if terms[node] + terms[term] <= _MOST_IN_A_SUM:
                    terms[node] += terms[term]
                    inside[term] = node
        return inside

    def _may_stand_in_a_sum(self, node: Node) -> bool:
        found = self.rule(node)
        return " if " not in found.value and not any("{out}" in text for text in found.sent)

    def rule(self, node: Node) -> Rule:
        """The rule of a node's operation; that it has one has been checked."""
        found = rule(node._op, [self.baked[p] if p in self._numbers else "" for p in node._prev])
        assert found is not None
        return found

    def value(self, node: Node, arrays: bool) -> str:
        """The expression that computes a node, with the terms that stand inside it."""
        return _of(self.rule(node), arrays)[0].format(**self._operands(node, arrays))

    def sent(self, node: Node, slot: int, arrays: bool) -> str:
        """The expression of a contribution."""
        owner = node
        while owner in self.inside:
            owner = self.inside[owner]
        filled = {"out": self.names.get(node), "g": gradient(self.names[owner])}
        return _of(self.rule(node), arrays)[1][slot].format(**self._operands(node, arrays), **filled)

    def term(self, node: Node) -> str:
        """A node that stands in a line: its variable or its number."""
        return self.names.get(node) or self._numbers[node]

    def _operands(self, node: Node, arrays: bool) -> dict[str, str]:
        """{"a": the first operand, "b": the second}."""
        texts = {}
        for letter, parent in zip("ab", node._prev, strict=False):
            if parent not in self.inside:
                texts[letter] = self.term(parent)
            else:
                text = self.value(parent, arrays)
                texts[letter] = f"({text})" if letter == "b" and parent._op in _PASSED_ON else text
        return texts

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
    sender is None. A gradient of one contribution is that, written with `=`; one of several starts at 0.0."""
    lines: dict[tuple[Node | None, int], str] = {}
    if listing.root in listing.depends:
        lines[None, 0] = f"{gradient(listing.names[listing.root])} = 1.0"
    for node in reversed(listing.order):
        if node._prev and node in listing.depends:
            for slot, parent in listing.sends(node):
                if parent not in listing.inside:
                    text = listing.sent(node, slot, arrays)
                    lines[node, slot] = contribution_line(listing.names[parent], text, listing.uses[parent], arrays)
    return lines


def contribution_line(receiver: str, sent: str, uses: int, arrays: bool = False) -> str:
    """The line of a contribution to the variable `receiver`, one of `uses`; the stepper's running line, too.

    Two gradients may be one array, and += would add to both.
    """
    grad = gradient(receiver)
    if uses == 1:
        return f"{grad} = {sent}"
    return f"{grad} = {grad} + {sent}" if arrays else f"{grad} += {sent}"


def _of(rule: Rule, arrays: bool) -> tuple[str, tuple[str, ...]]:
    return rule.of_arrays if arrays and rule.of_arrays is not None else (rule.value, rule.sent)


def source(listing: Listing, arrays: bool = False) -> str:
    """The whole script, for floats or for arrays of NumPy's."""
    body = [
        *_section("constants", _constants(listing)),
        *_section("forward", _forward(listing, arrays)),
        *_section("the comparisons, as they came out when this was written", _guards(listing, arrays)),
        *_section("gradients that several contributions add up to", _sums(listing)),
        *_section("backward, a line for each contribution", contribution_lines(listing, arrays).values()),
        *_listed(f"return {listing.names[listing.root]}, [", _gradients(listing), "]"),
    ]
    head = _listed(f"def {FUNCTION}(", [listing.names[n] for n in listing.inputs], "):")
    lines = [*head, *(f"    {line}" for line in body)]
    imports = _imports(lines, arrays)
    return "\n".join((*imports, *([""] * 2 if imports else []), *lines, ""))


def _listed(before: str, items: Sequence[str], after: str) -> list[str]:
    """Items between brackets, in one line if that is short, else some in a line."""
    line = f"{before}{', '.join(items)}{after}"
    if len(line) <= _LONG:
        return [line]
    rows = [", ".join(items[i : i + _IN_ONE_LINE]) for i in range(0, len(items), _IN_ONE_LINE)]
    return [before, *(f"    {row}," for row in rows), after]


def _section(title: str, lines: Iterable[str]) -> list[str]:
    lines = list(lines)
    return [f"# {title}", *lines] if lines else []


def _constants(listing: Listing) -> list[str]:
    return [f"{listing.names[node]} = {number(listing.baked[node])}" for node in listing.constants]


def _forward(listing: Listing, arrays: bool) -> list[str]:
    lines = []
    for node in (*listing.order, *listing.aside):
        if node._prev and node not in listing.inside:
            line = f"{listing.names[node]} = {listing.value(node, arrays)}"
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
        if arrays:
            told = (
                f"{text} was {outcome} when this was written, and is not for every element: other lines would follow "
                "for those, so they need a script of their own"
            )
        lines[f"if {changed}:", f"    raise BranchChanged({told!r})"] = None
    return [line for pair in lines for line in pair]


def _compared(listing: Listing, operand: Any) -> str:
    return listing.term(operand) if isinstance(operand, Value) else number(float(operand))


def _sums(listing: Listing) -> list[str]:
    """`a_grad = b_grad = 0.0`, some in a line."""
    several = [gradient(name) for node, name in listing.names.items() if listing.uses[node] > 1]
    return [" = ".join((*several[i : i + _IN_ONE_LINE], "0.0")) for i in range(0, len(several), _IN_ONE_LINE)]


def _gradients(listing: Listing) -> list[str]:
    """The gradient of each input. One that was added to nothing can be -0.0, where the engine, which adds to 0.0, has
    0.0."""
    texts = []
    for node in listing.inputs:
        uses, name = listing.uses[node], gradient(listing.names[node])
        texts.append(name if uses > 1 or node is listing.root else f"{name} + 0.0" if uses else "0.0")
    return texts


def _imports(lines: Sequence[str], arrays: bool) -> list[str]:
    """The import lines for the functions that the code calls."""
    used = {word for line in lines for word in _WORD.findall(line.partition("# ")[0])}
    used &= FUNCTIONS.union(*_FROM.values())
    groups: dict[str, list[str]] = {}
    for word in sorted(used):
        module = next((m for m, words in _FROM.items() if word in words), "micrograd.ieee")
        if arrays and module != "micrograd.branches":
            module, word = "numpy", _IN_NUMPY.get(word, word)
        groups.setdefault(module, []).append(word)
    return [f"from {module} import {', '.join(words)}" for module, words in sorted(groups.items())]
