"""The stepper's running line is a line of the script."""

from __future__ import annotations

import re

import pytest
from graphs import seven_nodes
from stepper import data_of

from micrograd import Value, script
from micrograd.backprop import add_hook, topological_order
from micrograd.scripting.writing import Listing, contribution_lines
from viz import step

MARK = re.compile("\x01(\\w+)\x02")


def shown(root: Value) -> list[str]:
    """What the page shows as running for each contribution, put together as model.js and tables.js do."""
    data = data_of(step(root, names={}).html)
    names = [variable or name or f"n{i}" for i, (variable, name) in enumerate(zip(data["variables"], data["names"]))]
    uses = [sum(parents.count(i) for parents in data["parents"]) for i in range(len(names))]
    found = []
    for i, parents in enumerate(data["parents"]):
        for slot, parent in enumerate(parents):
            line = data["recipes"][data["recipe"][i]]["lines"][slot]
            if line is not None:
                marks = {"o": names[i]} | {str(k): names[p] for k, p in enumerate(parents)}
                line = MARK.sub(lambda mark, marks=marks: marks[mark[1]], line)
                found.append(line.replace("+=", "=") if uses[parent] == 1 else line)
    return found


def everything() -> tuple[Value, list[Value]]:
    """Each operation once, each node with a label that has to be changed or not."""
    leaves = [Value(0.5, label="a"), Value(1.5, label="net.w[0]"), Value(2.0, label="class")]
    a, b, c = leaves
    made = [a + b, a - b, a * c, b / c, a / 2.0, 2.0 / a, b / 0.0, a**b, a**2, a**0, a**1, b**3, 2.0**c, -a, abs(a)]
    made += [getattr(b, name)() for name in "relu tanh sigmoid exp log sqrt sin cos".split()]
    root = made[0]
    for other in made[1:]:
        root = root + other
    inner = [node for node in topological_order(root) if node._prev]
    for i, node in enumerate(inner):
        node.label = f"node {i}" if i % 2 else "x"
    return root, leaves


@pytest.mark.parametrize("make", [everything, seven_nodes])
def test_every_running_line_stands_in_the_source(make) -> None:
    root, leaves = make()
    leaves = list(leaves.values()) if isinstance(leaves, dict) else leaves
    for node, label in zip(topological_order(root), "abcdefg"):
        node.label = node.label or label
    source = script(root, leaves, no_branches=True).source.splitlines()
    lines = [f"    {line}" for line in shown(root)]
    assert len(lines) >= 7
    assert [line for line in lines if line not in source] == []
    assert len(lines) == len(contribution_lines(Listing(root, leaves, {}))) - 1  # the seed is no contribution


class OfASubclass(Value):
    def _vjp(self) -> list[tuple[Value, float]]:
        return [(self._prev[0], 5.0 * self.grad)]


def test_what_has_no_script_has_no_variables() -> None:
    a = Value(2.0, label="a")
    own = Value(2.0, (a,), "mine", local=(1.0,))
    assert data_of(step(own * 2.0, names={}).html)["variables"] is None
    other = OfASubclass(-2.0, (a,), "neg", local=(-1.0,))
    assert data_of(step(other * 2.0, names={}).html)["variables"] is None
    remove = add_hook(a, lambda g: g)
    assert data_of(step(a * 2.0, names={}).html)["variables"] is None
    remove()
    assert data_of(step(a * 2.0, names={}).html)["variables"] is not None
