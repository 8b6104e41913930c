"""Comparing graphs that exist already: Values built again on Tensors, recorded Tensors run again."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

import tensorgrad as tg
from micrograd import Value
from micrograd.backprop import topological_order
from micrograd.nn import MLP
from tensorgrad import Tensor
from viz import compare, recording, snapshot
from viz.comparison.recording import program_from
from viz.errors import TooLargeError, UserError

XS = [[2, 3, -1], [3, -1, 0.5], [0.5, 1, 1], [1, 1, -1]]
YS = [1, -1, -1, 1]


def network() -> tuple[MLP, Value]:
    """The net of 41 parameters on four examples, as a plain program."""
    random.seed(1337)
    net = MLP(3, [4, 4, 1])
    return net, sum((net(x) - y) ** 2 for x, y in zip(XS, YS, strict=True))


# -- graphs of Values --------------------------------------------------------------------------------------------------


def test_the_net_of_394_nodes_on_both_engines() -> None:
    net, loss = network()
    comparison = compare(loss)
    assert len(comparison.nodes) == 394
    assert comparison.ok
    assert comparison.worst.grad_difference <= 1e-12
    assert len([node for node in comparison.nodes if node.name.startswith("net.")]) == len(net.parameters()) == 41
    table = comparison.table().splitlines()
    assert len([line for line in table if line.startswith("net.layers")]) == 41
    assert all(p.grad is Value._zero for p in net.parameters())


def test_torch_agrees_about_the_net(torch: ModuleType) -> None:
    assert compare(network()[1], torch=True).largest_difference_from_torch() <= 1e-12


UNARY: dict[str, Callable[[Value], Value]] = {
    name: (lambda a, name=name: getattr(a, name)())
    for name in ("relu", "tanh", "sigmoid", "exp", "log", "sqrt", "sin", "cos", "abs")
}


@pytest.mark.parametrize(
    "make",
    [
        *UNARY.values(),
        lambda a: -a,
        lambda a: a + a * a - a / 3 + 2 / a - (1 - a),
        lambda a: a**2 + a**-1 + a**0.5 + a**0 + a**-0.25 + a**1e-3,
        lambda a: a**a + 2**a,
        lambda a: a ** Fraction(1, 3),
    ],
)
def test_every_operation_of_a_value_is_done_again(make: Callable[[Value], Value]) -> None:
    root = make(Value(1.7, label="a")) * 2
    comparison = compare(root)
    assert comparison.ok, comparison.table(all=True)
    assert len(comparison.nodes) == len(topological_order(root))
    a = next(node for node in comparison.nodes if node.name == "a")
    assert a.finite_difference == pytest.approx(float(a.scalar_grad), rel=1e-6)


def test_a_leaf_alone_and_a_leaf_used_twice() -> None:
    a = Value(3.0)
    assert compare(a).nodes[0].tensor_grad == 1.0
    assert compare(a + a).nodes[0].tensor_grad == 2.0
    assert compare(a * a, gradient=0.5).nodes[0].tensor_grad == 3.0


def test_a_constant_takes_no_gradient_in_either() -> None:
    a, k = Value(3.0, label="a"), Value(2.0, label="k")
    k.requires_grad = False
    comparison = compare(a * (k * k))
    assert comparison.ok
    assert {node.name for node in comparison.nodes if node.is_constant} >= {"k"}


def test_an_operation_of_the_users_is_named() -> None:
    x = Value(0.5)
    out = Value(x.data**3, (x,), "cube")

    def backward() -> None:
        x.grad += 3 * x.data**2 * out.grad

    out._backward = backward
    with pytest.raises(UserError, match=r"out was made by 'cube'.* cannot be done again"):
        compare(out * 2)
    replaced = x.tanh()
    replaced._backward = lambda: None
    with pytest.raises(UserError, match="replaced was made by 'tanh'"):
        compare(replaced * 2)


def test_a_value_without_a_rule_is_named() -> None:
    x = Value(0.5)
    for op, operands in (("tanh", (x,)), ("/", (x,)), ("tanh", (x, x))):
        bare = Value(0.25, operands, op)
        with pytest.raises(UserError, match=f"bare was made by '{op}'"):
            compare(bare)
    bare = Value(0.25, (x,), "/", local=(2.0,))
    with pytest.raises(UserError, match="bare was made by '/'"):
        compare(bare)


def test_data_changed_since_are_reported_with_the_likely_reason() -> None:
    a = Value(3.0)
    loss = a * a
    a.data = 4.0
    comparison = compare(loss)
    assert not comparison.ok
    assert "by a training step" in comparison.notes[0]


def test_what_is_no_node_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a function, a Value or a Tensor, got list"):
        compare([Value(1.0)])


def test_a_graph_takes_no_inputs_and_has_a_limit() -> None:
    a = Value(1.0)
    with pytest.raises(TypeError, match="a graph has its operands already"):
        compare(a * a, 2.0)
    with pytest.raises(TooLargeError, match="the graph has 394 nodes, more than 393"):
        compare(network()[1], max_scalars=393)
    assert compare(network()[1], max_scalars=394, finite_differences=False).ok
    x = Tensor(np.ones((10, 10)), requires_grad=True)
    with recording():
        root = (x @ x).sum()
    with pytest.raises(TooLargeError, match="about 2,200 scalar nodes, more than 1,000"):
        compare(root, max_scalars=1000)


def test_names_on_tensors_are_those_of_the_values_and_say_whether_they_are_the_users() -> None:
    a = Value(2.0)
    b = Value(3.0, label="b")
    product = a * b
    loss = product * 5 + 1
    comparison = compare(loss)
    assert [(node.name, node.named) for node in comparison.nodes] == [
        ("a", True), ("b", True), ("product", True), ("5", False), ("c", False), ("1", False), ("loss", True),
    ]  # fmt: skip
    assert [record.name for record in snapshot(loss).nodes] == [node.name for node in comparison.nodes]


# -- graphs of Tensors -------------------------------------------------------------------------------------------------

M = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]])
POSITIONS = np.array([2, 0, 2])

CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "operators": lambda x: ((x + 1) * 2 - x / 3 + 2 / x - (1 - x) + 2**x + x**2 - -x + abs(x)).sum(),
    "functions": lambda x: (tg.tanh(x) + tg.sigmoid(x) + tg.exp(x) + tg.sin(x) + tg.relu(x)).sum(),
    "axes by position and by name": lambda x: x.sum(0)[1] + x.sum(axis=1, keepdims=True)[0, 0] + x.mean(dim=(0, 1)),
    "the values of max": lambda x: (x.max(dim=1).values ** 2).sum() + x.max(1, True)[0].sum() + x.max(),
    "positions": lambda x: x[:, POSITIONS].sum() + x[0, 1] + x[[1, 1, 0]].sum() + x[x > 0].sum() + x[..., None].sum(),
    "shapes": lambda x: (x.reshape(3, 2) @ x).sum() + (x.T @ x).sum() + (x.transpose(0, 1) * x.permute(1, 0)).sum(),
    "constants": lambda x: (x * M + Tensor(M) * x.detach()).sum(),
    "iteration": lambda x: sum((row * row).sum() for row in x),
    "the leaf itself": lambda x: x[0, 0],
}


@pytest.mark.parametrize("name", CALLS)
def test_a_recorded_graph_is_run_again_with_the_same_arguments(name: str) -> None:
    x = Tensor(M, requires_grad=True)
    with recording():
        root = CALLS[name](x)
    comparison = compare(root)
    assert comparison.ok, comparison.table(all=True)
    again, original = topological_order(comparison.tensor_root), topological_order(root)
    assert [t._op for t in again] == [t._op for t in original]
    assert all(np.array_equal(a.data, b.data) for a, b in zip(again, original, strict=True))
    assert [node.name for node in comparison.nodes if node.is_leaf and not node.is_constant] == ["x"]


def test_torch_is_no_help_with_recorded_tensors() -> None:
    x = Tensor(M, requires_grad=True)
    with recording():
        root = x.sum()
    assert "no gradients by torch" in compare(root, torch=True).notes[0]


def test_names_of_variables_are_kept() -> None:
    w = Tensor(M, requires_grad=True)
    with recording():
        hidden = (w * 2).tanh()
        loss = hidden.sum()
    assert [node.name for node in compare(loss).nodes][-2:] == ["hidden", "loss"]


def test_a_training_loop_is_compared_at_its_last_step() -> None:
    w = Tensor(M, requires_grad=True)
    with recording():
        for _ in range(3):
            loss = ((w * w) @ M.T).mean()
            w.grad = None
            loss.backward()
            with tg.no_grad():
                w -= 0.1 * w.grad
    gradient = w.grad.copy()
    assert compare(loss).ok
    assert (w.grad == gradient).all()


def test_arrays_that_change_later_are_remembered_as_they_were() -> None:
    x, positions = Tensor(M, requires_grad=True), np.array([0, 0])
    with recording():
        root = x[positions].sum()
    positions[:] = 1
    comparison = compare(root)
    assert comparison.ok
    assert comparison.nodes[0].tensor_grad.tolist() == [[2.0] * 3, [0.0] * 3]


def test_an_operation_that_raises_ends_its_recording() -> None:
    x = Tensor(M, requires_grad=True)
    with recording():
        with pytest.raises(ValueError, match="matmul"):
            x @ x
        root = (x * x).sum()
    assert compare(root).ok


def test_recording_ends_with_its_block_and_puts_a_profiler_back() -> None:
    def profiler(*_: object) -> None:
        pass

    x = Tensor(M, requires_grad=True)
    before = sys.getprofile()
    try:
        sys.setprofile(profiler)
        with pytest.raises(KeyError), recording():
            raise KeyError
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(before)
    with pytest.raises(UserError, match=r"how the operation 'sum' was called is not known.*viz.recording"):
        compare((x * x).sum())


def test_an_operation_on_tensors_of_the_users_is_named() -> None:
    x = Tensor(M, requires_grad=True)
    with recording():
        mine = Tensor(x.data**3, _prev=(x,), _op="cube", label="mine")
        mine._backward = lambda: None
        root = mine.sum()
    with pytest.raises(UserError, match=r"mine was made by 'cube', an operation of your own"):
        compare(root)


def test_a_program_from_a_graph_runs_on_other_leaves() -> None:
    x = Tensor(M, requires_grad=True)
    with recording():
        root = (x * x).sum(dim=0)[1]
    program = program_from(root)
    assert program.leaves == (x,)
    assert program(Tensor(np.ones((2, 3)))).item() == 2.0
