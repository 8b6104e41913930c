"""The third wrong engine: backpropagation as one writes it without a topological order.

    def backward(node):
        node._backward()  # adds to the gradients of its operands
        for parent in node._prev:
            backward(parent)

It goes depth first, and a node sends whenever it is reached: along another path once more, and then not only what
this path has brought, but all of its gradient, of which the earlier part has been sent already. On a tree it is
right, and where leaves alone are used more than once; of an inner node that two paths reach it sends too much:

    a = Value(3.0); b = a * a; c = b + 1.0; L = b * c

    L sends 10 to b and 9 to c     b.grad is 10
    b sends 30 and 30 to a         a.grad is 60
    c sends 9 to b                 b.grad is 19, which is right
    b sends 57 and 57 to a         a.grad is 174; right is 2 * 57 = 114: the 60 has been counted twice

The number of its steps is the number of paths, which may double with every layer: `steps_needed` counts them and
`recursive_rule` stops early.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

from micrograd.backprop import Contribution, Node, chain_rule, gradients_kept, has_hooks, topological_order


def most_steps(uses: int) -> int:
    """After how many steps the recursion is stopped, in a graph with so many edges. The page's engine has the same."""
    return max(400, 4 * (uses + 1))


def recursive_rule(root: Node, seed: Any, most: int | None = None) -> Generator[Contribution, None, None]:
    """Yield (sender, parent, contribution) as `micrograd.backprop.chain_rule` does, in the order of the recursion.

    The first is the seed. A visit sends to all operands and then goes into each different one that it sent to, the
    first operand first. Combine each contribution into `parent.grad` before asking for the next. Gradients of nodes
    with operands are cleared at the start; those of leaves accumulate; putting them back is up to the caller. Hooks
    are not called: they want a whole gradient, and here nobody knows when it is.

    most  after how many steps it stops, the seed's included; by default `most_steps`
    """
    order = topological_order(root)
    left = most_steps(sum(len(node._prev) for node in order)) if most is None else most
    hooked = [node for node in order if has_hooks(node) and not node._prev]
    with closing(chain_rule(root, seed)) as opened:  # never run further: it clears the gradients and opens the pass
        start = next(opened)
        if left > 0:
            left -= 1
            yield start
        stack = [root]
        while stack and left > 0:
            node = stack.pop()
            sent_to: dict[Node, None] = {}
            for parent, sent in node._contributions() if node._prev else ():
                if left == 0:
                    break
                left -= 1
                sent_to[parent] = None
                yield node, parent, sent
            stack += reversed(sent_to)
        arrived = [node.grad for node in hooked]
    for node, grad in zip(hooked, arrived, strict=True):  # closing puts back what they had before
        node.grad = grad


def steps_needed(root: Node) -> int:
    """How many steps the recursion takes in all, the seed's included: each node sends once for each path to it."""
    order = topological_order(root)
    paths = dict.fromkeys(order, 0)
    paths[root] = 1
    steps = 1
    with gradients_kept(order):
        for node in reversed(order):
            if not node._prev or not paths[node]:
                continue
            node.grad = node._zeros()  # any: asked is only where it sends
            receivers = [parent for parent, _ in node._contributions()]
            steps += paths[node] * len(receivers)
            for parent in dict.fromkeys(receivers):
                paths[parent] += paths[node]
    return steps
