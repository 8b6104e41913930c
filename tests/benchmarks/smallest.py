"""The limit of an eager scalar engine in Python: what is left when only the fields that a learner looks at are kept.

A node has data, gradient, operands, the operation's name, and the local derivatives. Its operands are in order, its
walk does not recurse, and a graph is no reference cycle, as in `micrograd`. There are no scopes, hooks, labels, rules
of the user's, IEEE arithmetic at hard points, readable steps, checks, or error messages: what those cost is the
distance from here.
"""

from __future__ import annotations

import random


class Value:
    __slots__ = ("data", "grad", "_prev", "_op", "_local", "__dict__", "__weakref__")

    def __init__(
        self, data: float, prev: tuple[Value, ...] = (), op: str = "", local: tuple[float, ...] | None = None
    ) -> None:
        self.data = data
        self.grad = 0.0
        self._prev = prev
        self._op = op
        self._local = local

    def __add__(self, other: Value | float) -> Value:
        if type(other) is not Value:
            other = Value(other)
        return Value(self.data + other.data, (self, other), "+", (1.0, 1.0))

    def __radd__(self, other: Value | float) -> Value:
        return Value(other) + self

    def __sub__(self, other: Value | float) -> Value:
        if type(other) is not Value:
            other = Value(other)
        return Value(self.data - other.data, (self, other), "-", (1.0, -1.0))

    def __mul__(self, other: Value | float) -> Value:
        if type(other) is not Value:
            other = Value(other)
        return Value(self.data * other.data, (self, other), "*", (other.data, self.data))

    def __rmul__(self, other: Value | float) -> Value:
        return Value(other) * self

    def __pow__(self, n: float) -> Value:
        return Value(self.data**n, (self,), "**", (n * self.data ** (n - 1),))

    def __neg__(self) -> Value:
        return Value(-self.data, (self,), "neg", (-1.0,))

    def relu(self) -> Value:
        x = self.data
        return Value(x, (self,), "ReLU", (1.0,)) if x > 0.0 else Value(0.0, (self,), "ReLU", (0.0,))

    def backward(self) -> None:
        order = topological_order(self)
        for node in order:
            if node._prev:
                node.grad = 0.0
        self.grad = 1.0
        for node in reversed(order):
            local = node._local
            if local is None:
                continue
            grad = node.grad
            if len(local) == 2:
                a, b = node._prev
                x, y = local
                a.grad += x * grad
                b.grad += y * grad
            else:
                node._prev[0].grad += local[0] * grad


def topological_order(root: Value) -> list[Value]:
    order, seen, stack = [], set(), [root]
    pop, append, add = stack.pop, order.append, seen.add
    while stack:
        node = pop()
        if node is None:
            append(pop())
        elif node not in seen:
            add(node)
            if node._prev:
                stack += (node, None)
                stack += node._prev[::-1]
            else:
                append(node)
    return order


class MLP:
    """As the original's, with its seeds; weights are lists, since objects for neurons and layers cost nothing much."""

    def __init__(self, nin: int, nouts: list[int]) -> None:
        sizes = [nin, *nouts]
        self.layers = [
            [([Value(random.uniform(-1, 1)) for _ in range(fan_in)], Value(0.0)) for _ in range(fan_out)]
            for fan_in, fan_out in zip(sizes, nouts)
        ]

    def __call__(self, x: list) -> list[Value] | Value:
        last = self.layers[-1]
        for layer in self.layers:
            out = []
            for weights, bias in layer:
                act = bias
                for weight, xi in zip(weights, x):
                    act = act + weight * xi
                out.append(act if layer is last else act.relu())
            x = out
        return x[0] if len(x) == 1 else x

    def zero_grad(self) -> None:
        for p in self.parameters():
            p.grad = 0.0

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for weights, bias in layer for p in (*weights, bias)]
