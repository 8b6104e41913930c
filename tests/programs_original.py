"""Programs in the manner of micrograd's users, which must run unchanged on the original and on this engine.

Nothing but `micrograd` and the standard library is imported, and nothing is used that the original's release 0.1.0
lacks. Each program returns a list of numbers. Run as a script, this prints them all as JSON; `test_original_code.py`
compares what ours gives with what the original gave (golden/original.json).
"""

import copy
import json
import math
import random

from micrograd.engine import Value
from micrograd.nn import MLP, Layer, Module, Neuron

POINTS = [(0.5, -1.2), (-0.3, 0.8), (1.4, 0.2), (-1.1, -0.6), (0.1, 0.9), (0.7, 0.7)]
SIGNS = [1, -1, 1, 1, -1, -1]


def expression():
    """Every operator of the original, numbers on either side."""
    a, b = Value(-4.0), Value(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g = g - 1
    g = 5 - g
    g.backward()
    return [g.data, a.grad, b.grad, c.grad, e.grad]


def training():
    """A classifier with a hinge loss, weight decay and a falling learning rate."""
    random.seed(1337)
    net = MLP(2, [8, 8, 1])
    losses = []
    for step in range(8):
        scores = [net([Value(x) for x in point]) for point in POINTS]
        hinge = [(1 + -sign * score).relu() for sign, score in zip(SIGNS, scores)]
        loss = sum(hinge) * (1.0 / len(hinge)) + 1e-4 * sum(p * p for p in net.parameters())
        net.zero_grad()
        loss.backward()
        rate = 1.0 - 0.9 * step / 100
        for p in net.parameters():
            p.data -= rate * p.grad
        losses.append(loss.data)
    return losses + [p.data for p in net.parameters()]


def weights_of_a_seed():
    random.seed(1337)
    parts = [Neuron(3), Layer(2, 2), MLP(3, [4, 4, 1])]
    return [p.data for part in parts for p in part.parameters()]


def network_outputs():
    """Layers bare and in lists, linear and not, and plain numbers as inputs."""
    random.seed(42)
    neuron, line, layer, net = Neuron(2), Neuron(2, nonlin=False), Layer(2, 3), MLP(2, [3, 2])
    outs = [neuron([1.0, -2.0]), line([3, 4]), *layer([0.5, Value(0.25)]), *net([1.0, 2.0])]
    return [out.data for out in outs]


def topological(root):
    """The usual recursive sort, as users write it."""
    order, visited = [], set()

    def visit(v):
        if v not in visited:
            visited.add(v)
            for child in v._prev:
                visit(child)
            order.append(v)

    visit(root)
    return order


def by_hand():
    """The lecture's first backward pass: the seed set by hand, each node's rule called by hand."""
    x1, x2, w1, w2, b = Value(2.0), Value(0.5), Value(-3.0), Value(1.0), Value(6.7)
    out = (x1 * w1 + x2 * w2 + b).relu() * x1
    out.grad = 1.0
    for node in reversed(topological(out)):
        node._backward()
    return [v.grad for v in (x1, x2, w1, w2, b, out)]


def in_slow_motion():
    """One rule after the other, without a sort."""
    a, b = Value(3.0), Value(-2.0)
    product = a * b
    total = product + a
    power = total**2
    power.grad = 1.0
    power._backward()
    grads = [total.grad]
    total._backward()
    grads += [product.grad, a.grad]
    product._backward()
    return [*grads, a.grad, b.grad]


def tanh(x):
    """An operation of the user's own: the value, then a closure that adds to the operand's gradient."""
    t = math.tanh(x.data)
    out = Value(t, (x,), "tanh")

    def _backward():
        x.grad += (1 - t**2) * out.grad

    out._backward = _backward
    return out


def hypot(x, y):
    """An operation on two operands."""
    out = Value(math.hypot(x.data, y.data), (x, y), "hypot")

    def _backward():
        x.grad += x.data / out.data * out.grad
        y.grad += y.data / out.data * out.grad

    out._backward = _backward
    return out


def own_operations():
    """Own operations among built-in ones, operands shared and repeated."""
    x, y = Value(0.6), Value(-0.8)
    root = tanh(x * y) * hypot(x, y) + tanh(x) * 2 + hypot(y, y)
    root.backward()
    return [root.data, x.grad, y.grad]


def own_operation_by_hand():
    """The rule of an own operation called by hand, among built-in ones."""
    x, w = Value(0.6), Value(-0.8)
    product = x * w
    out = tanh(product)
    out.grad = 1.0
    out._backward()
    product._backward()
    return [product.grad, x.grad, w.grad]


def wrapped_rule():
    """A built-in node's rule wrapped: here it is scaled, and counts its calls."""
    x = Value(3.0)
    square = x * x
    inner, calls = square._backward, []

    def wrapper():
        calls.append(square.grad)
        inner()

    square._backward = wrapper
    (square * 2).backward()
    return [len(calls), *calls, x.grad]


def gradient_stopped():
    x = Value(3.0)
    square = x * x
    square._backward = lambda: None
    (square * x).backward()
    return [x.grad]


def adam():
    """Fields of the user's own on the parameters."""
    random.seed(7)
    net = MLP(2, [4, 1])
    for p in net.parameters():
        p.m = 0
        p.v = 0
    for t in range(1, 6):
        loss = sum((net(point) - sign) ** 2 for point, sign in zip(POINTS, SIGNS))
        for p in net.parameters():
            p.grad = 0
        loss.backward()
        for p in net.parameters():
            p.m = 0.9 * p.m + 0.1 * p.grad
            p.v = 0.99 * p.v + 0.01 * p.grad**2
            p.data -= 0.05 * (p.m / (1 - 0.9**t)) / ((p.v / (1 - 0.99**t)) ** 0.5 + 1e-8)
    return [loss.data] + [p.data for p in net.parameters()]


class Named(Value):
    """A subclass with a constructor of its own."""

    def __init__(self, data, name):
        super().__init__(data)
        self.name = name


def subclass():
    a, b = Named(2.0, "a"), Named(5.0, "b")
    (a * b + a).backward()
    return [a.grad, b.grad, len(a.name)]


class Scale(Module):
    """A module of the user's own beside the library's."""

    def __init__(self):
        self.k = Value(0.5)

    def parameters(self):
        return [self.k]

    def __call__(self, x):
        return self.k * x


def own_module():
    scale = Scale()
    (scale(3.0) * scale(Value(2.0))).backward()
    before = scale.k.grad
    scale.zero_grad()
    return [before, scale.k.grad, len(Module().parameters())]


def collections():
    """Values in sets, dictionaries and sums."""
    a, b = Value(1.0), Value(1.0)
    seen = {a, b, a}
    weight = {a: 2, b: 3}
    total = sum(v * weight[v] for v in (a, b, a))
    total.backward()
    return [len(seen), total.data, a.grad, b.grad]


def copied_network():
    random.seed(3)
    net = MLP(2, [3, 1])
    twin = copy.deepcopy(net)
    net(POINTS[0]).backward()
    for p in net.parameters():
        p.data += 1.0
    return [twin(POINTS[0]).data, net(POINTS[0]).data] + [p.grad for p in twin.parameters()]


def walked_graph():
    """What a drawing recipe collects: nodes, edges and operations below a root."""
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    root = (a * b + c).relu() * a + a * a
    nodes, edges = set(), set()

    def build(v):
        if v not in nodes:
            nodes.add(v)
            for child in v._prev:
                edges.add((child, v))
                build(child)

    build(root)
    return [len(nodes), len(edges), *sorted(len(v._op) for v in nodes)]


PROGRAMS = [
    expression,
    training,
    weights_of_a_seed,
    network_outputs,
    by_hand,
    in_slow_motion,
    own_operations,
    own_operation_by_hand,
    wrapped_rule,
    gradient_stopped,
    adam,
    subclass,
    own_module,
    collections,
    copied_network,
    walked_graph,
]

if __name__ == "__main__":
    print(json.dumps({program.__name__: program() for program in PROGRAMS}, indent=1))
