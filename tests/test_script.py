"""A graph as source code: the bits of a backward pass, names, guards, arrays, and what is refused."""

from __future__ import annotations

import copy
import gc
import importlib.util
import inspect
import linecache
import math
import operator
import pickle
import random
import struct
import threading
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import seven_nodes
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value, branches, script
from micrograd.backprop import add_hook
from micrograd.branches import BranchChanged
from micrograd.nn import MLP
from micrograd.scripting.rules import RULES, rule

HARD = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 1e-310, 1e200, -1e200, 710.0, math.inf, -math.inf, math.nan]
UNARY = [
    Value.relu,
    Value.tanh,
    Value.sigmoid,
    Value.exp,
    Value.log,
    Value.sqrt,
    Value.sin,
    Value.cos,
    abs,
    operator.neg,
]
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
EXPONENTS = [0, 1, 2, 3, -1, 0.5, -0.5, 2.5, math.inf]


def bits(x: float) -> bytes | str:
    return "nan" if x != x else struct.pack("d", x)


def replays(function: Callable[..., Value], leaves: list[Value], *others: tuple[float, ...]) -> None:
    """What the script gives is bit for bit what a backward pass gives: at the leaves' numbers, and at others."""
    replayed = script(lambda: function(*leaves), leaves)
    for numbers in others or [tuple(leaf.data for leaf in leaves)]:
        fresh = [Value(x) for x in numbers] if others else leaves
        root = function(*fresh)
        for leaf in fresh:
            leaf.grad = 0.0
        root.backward()
        loss, gradients = replayed(*numbers)
        assert bits(loss) == bits(root.data), numbers
        assert list(map(bits, gradients)) == [bits(leaf.grad) for leaf in fresh], numbers


def operations() -> set[str]:
    """The name of each operation that `Value` has, found by calling all of its methods."""
    found = set()
    for name, method in inspect.getmembers(Value, inspect.isfunction):
        takes = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty]
        is_public = not name.startswith("_") or name.endswith("__")
        if is_public and name != "__init__" and len(takes) in (1, 2):
            other = 0.5 if name.startswith("__r") else Value(0.5)  # of a Value nobody asks the reflected one
            made = method(Value(0.5), *[other][: len(takes) - 1])
            if isinstance(made, Value) and made._prev:
                found.add(made._op)
    return found


def test_every_operation_of_the_engine_has_its_line() -> None:
    found = operations()
    assert {"+", "**", "tanh", "ReLU", "neg"} <= found
    missing = sorted(found - set(RULES))
    assert not missing, f"write the lines of {missing} in micrograd/scripting/rules.py"
    assert set(RULES) == found
    assert rule("**2", ["x"]) is not None


def test_one_operand_at_hard_points() -> None:
    points = [(x,) for x in HARD]
    for op in UNARY:
        replays(lambda a, op=op: op(a) * -3.0, [Value(0.5)], *points)
    for n in EXPONENTS:
        replays(lambda a, n=n: a**n, [Value(0.5)], *points)


@pytest.mark.parametrize("op", BINARY)
def test_two_operands_at_hard_points(op: Callable[..., Value]) -> None:
    replays(op, [Value(0.5), Value(0.5)], *((x, y) for x in HARD for y in HARD))
    for y in HARD:  # as a number, which is baked in
        replays(lambda a, y=y: op(a, y), [Value(0.5)], *((x,) for x in HARD))
        replays(lambda b, y=y: op(y, b), [Value(0.5)], *((x,) for x in HARD))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(HARD) | st.floats(-3, 3), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(0, 15), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12),
)
def test_random_graphs_bit_for_bit(data: list[float], steps: list[tuple[int, int, int]]) -> None:
    leaves = [Value(x) for x in data]

    def build(*_: Value) -> Value:
        nodes = list(leaves)
        for op, i, j in steps:
            a, b = nodes[i % len(nodes)], nodes[j % len(nodes)]
            made = UNARY[op](a) if op < 10 else BINARY[op - 10](a, b) if op < 15 else a ** EXPONENTS[j % 9]
            nodes.append(made)
        return sum(nodes[3:], leaves[0])

    replays(build, leaves)
    replays(build, leaves[:1])


def net_and_loss() -> tuple[list[Value], Callable[[], Value]]:
    random.seed(1337)
    net = MLP(3, [4, 4, 1])
    xs, ys = [[2, 3, -1], [3, -1, 0.5], [0.5, 1, 1], [1, 1, -1]], [1, -1, -1, 1]
    return net.parameters(), lambda: sum((net(x) - y) ** 2 for x, y in zip(xs, ys))


def test_a_training_run_replays_without_a_graph() -> None:
    parameters, loss = net_and_loss()
    replayed = script(loss, parameters)
    values = [p.data for p in parameters]
    for _ in range(5):
        expected = loss()
        for p in parameters:
            p.grad = 0.0
        expected.backward()
        found, gradients = replayed(*values)
        assert found == expected.data
        assert gradients == [p.grad for p in parameters]
        values = [x - 0.01 * g for x, g in zip(values, gradients)]
        for p, x in zip(parameters, values):
            p.data = x


def test_the_source_is_read_as_it_would_be_written_by_hand() -> None:
    a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(10.0, label="c")
    text = script(lambda: (a * b + c).relu() * a, [a, b, c]).source
    assert "    v1 = a * b + c  # 4.0\n    v2 = 0.0 if v1 <= 0.0 else v1  # 4.0\n    loss = v2 * a  # 8.0\n" in text
    assert text.index("a_grad = 0.0\n") < text.index("a_grad += v2 * loss_grad") < text.index("a_grad += b * v1_grad")
    assert "    b_grad = a * v1_grad\n" in text


def test_terms_of_sums_have_no_lines_unless_they_have_names() -> None:
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")

    def function(label: str) -> Value:
        product = a * b
        product.label = label
        return a - (b + (a + product - 1.0) / 2.0) + 1.0

    text = script(lambda: function(""), [a, b]).source
    for line in ("v1 = a + a * b - 1.0", "v2 = b + v1 / 2.0", "loss = a - v2 + 1.0"):
        assert f"    {line}  # " in text
    assert "ab = a * b  # -6.0" in script(lambda: function("ab"), [a, b]).source


def test_no_line_leads_to_a_constant() -> None:
    w, x = Value(2.0, label="w"), Value(3.0, label="x")
    text = script(lambda: (w * x + 1.0) * (x * x), [w]).source
    assert "x = 3.0" in text
    assert "x_grad" not in text
    assert "1.0_grad" not in text


def test_an_input_that_is_not_used_has_the_gradient_0_and_one_that_is_the_result_1() -> None:
    a, b = Value(2.0), Value(3.0)
    assert script(lambda: a * 2, [a, b])(2.0, 3.0) == (4.0, [2.0, 0.0])
    assert script(lambda: a, [a])(5.0) == (5.0, [1.0])


EVIL = ["class", "1st", "a b", "loss", "loss", "loss_grad", "print", "größe", "→", "inf", "power", "ﬁ", "fi", "v1", "_"]


def test_labels_become_names() -> None:
    leaves = [Value(float(i + 1), label=label) for i, label in enumerate(EVIL)]
    replayed = script(lambda: sum(x * x for x in leaves), leaves)
    assert len(set(replayed.names)) == len(EVIL)
    assert "größe" in replayed.names
    assert replayed(*(x.data for x in leaves))[1] == [2 * x.data for x in leaves]


def test_a_dictionary_names_the_inputs() -> None:
    net, loss = net_and_loss()
    replayed = script(loss, {f"net.w[{i}]": p for i, p in enumerate(net)})
    assert replayed.names[:2] == ("net_w_0", "net_w_1")
    a, b = Value(2.0), Value(3.0)
    assert script(lambda: a / b, {"a": a, "b": b})(b=4.0, a=2.0) == (0.5, [0.25, -0.125])


# -- branches --------------------------------------------------------------------------------------------------------


def test_a_comparison_is_a_guard() -> None:
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    replayed = script(lambda: max(a, b) * a, [a, b])
    assert replayed(2.0, 5.0) == (10.0, [5.0, 2.0])
    with pytest.raises(BranchChanged, match=r"b > a was True when this was written"):
        replayed(5.0, 2.0)


def test_a_comparison_of_what_is_not_in_the_graph_is_a_guard_too() -> None:
    p = Value(2.0, label="p")

    def hinge() -> Value:
        margin = 1 - p * 3
        return margin if margin > 0 else Value(0.0)

    replayed = script(hinge, [p])
    assert replayed(3.0) == (0.0, [0.0])
    for x in (0.1, math.nan):
        expected = x != x  # nan is not > 0 either
        if expected:
            assert replayed(x)[0] == 0.0
        else:
            with pytest.raises(BranchChanged):
                replayed(x)


def test_comparisons_of_constants_are_no_guards() -> None:
    a, c = Value(2.0), Value(1.0)
    assert "if" not in script(lambda: a * 2 if c < 2 else a, [a]).source


def test_a_graph_alone_is_enough_where_nothing_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "_made", [])
    a = Value(2.0)
    assert script(a * 2, [a])(3.0) == (6.0, [2.0])
    kept = []
    script(lambda: kept.append(max(a * 2, a)) or kept[0], [a])
    with pytest.raises(ValueError, match="Values were compared"):  # for another script, which does not know of them
        script(kept[0], [a])


def test_comparisons_of_other_threads_are_not_the_functions() -> None:
    a = Value(2.0)

    def function() -> Value:
        other = threading.Thread(target=lambda: a < 3)
        other.start()
        other.join()
        return a * 2

    assert "if" not in script(function, [a]).source


def test_a_graph_alone_is_refused_once_values_were_compared() -> None:
    a = Value(2.0)
    loss = a * 2 if a > 1 else a
    with pytest.raises(ValueError, match="give script\\(\\) the function"):
        script(loss, [a])
    assert script(loss, [a], no_branches=True)(3.0) == (6.0, [2.0])


# -- arrays ----------------------------------------------------------------------------------------------------------


def test_a_batch_is_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    leaves = [Value(0.5), Value(1.5), Value(2.0)]
    a, b, c = leaves
    replayed = script(
        lambda: (a * b - c).relu() + abs(a) * a.tanh() + (b / c) ** 2 + b**c + a.sigmoid() + (a * 0.0 + a * 1.0) * c,
        leaves,
    )
    batch = rng.standard_normal((3, 7)) + np.array([[0.0], [2.0], [0.5]])
    batch[:, 0] = 0.0
    loss, gradients = replayed(*batch)
    one_by_one = [replayed(*map(float, row)) for row in batch.T]
    np.testing.assert_allclose(loss, [x for x, _ in one_by_one], rtol=1e-14)
    np.testing.assert_allclose(gradients, np.array([g for _, g in one_by_one]).T, rtol=1e-13)


def test_powers_of_arrays_are_those_of_floats_at_hard_points() -> None:
    for n in EXPONENTS:
        for function in (lambda a, n=n: a**n, lambda a, n=n: a ** Value(float(n))):
            a = Value(0.5)
            replayed = script(lambda a=a, function=function: function(a), [a])
            loss, (gradient,) = replayed(np.array(HARD))
            expected = [replayed(x) for x in HARD]
            for found, exact in zip((*loss, *gradient), [x for x, _ in expected] + [g for _, (g,) in expected]):
                np.testing.assert_allclose(found, exact, rtol=1e-14)
                assert np.signbit(found) == np.signbit(exact) or exact != exact, n


def test_a_batch_in_a_matrix_is_taken_by_element() -> None:
    a, b = Value(2.0), Value(3.0)
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
    assert script(lambda: a * b, [a, b])(matrix, matrix)[0].tolist() == [[1.0, 4.0], [9.0, 16.0]]


def test_gradients_have_the_shape_of_the_batch() -> None:
    w, x = Value(2.0), Value(3.0)
    replayed = script(lambda: (w * x).relu() + w, [w, x])
    loss, (of_w, of_x) = replayed(2.0, np.arange(-1.0, 3.0))
    assert loss.tolist() == [2.0, 2.0, 4.0, 6.0]
    assert of_w.tolist() == [1.0, 1.0, 2.0, 3.0]
    assert of_x.tolist() == [0.0, 0.0, 2.0, 2.0]
    assert replayed(np.ones((2, 1)), np.ones(3))[1][0].shape == (2, 3)


def test_arrays_are_not_added_to_in_place() -> None:
    a, b = Value(2.0), Value(3.0)
    _, gradients = script(lambda: (a + b) + (a + b) * a, [a, b])(np.array([2.0, 1.0]), np.array([3.0, 5.0]))
    assert [g.tolist() for g in gradients] == [[8.0, 8.0], [3.0, 2.0]]


def test_constants_are_those_of_the_moment_of_writing() -> None:
    a, c, d = Value(2.0), Value(3.0, label="c"), Value(4.0)
    replayed = script(lambda: a * c / d, [a])
    c.data, d.data = 5.0, 0.0
    assert replayed(np.array([2.0]))[0].tolist() == [1.5]
    assert replayed(2.0)[0] == 1.5


def test_guards_hold_for_all_elements() -> None:
    a, b = Value(2.0), Value(3.0)
    replayed = script(lambda: max(a, b) * a, {"a": a, "b": b})
    assert replayed(np.array([1.0, 2.0]), 3.0)[0].tolist() == [3.0, 6.0]
    with pytest.raises(BranchChanged, match=r"b > a was True .* for those, so they need a script of their own"):
        replayed(np.array([1.0, 4.0]), 3.0)


# -- what a person does with it --------------------------------------------------------------------------------------


def test_tracebacks_and_debuggers_show_the_lines() -> None:
    a = Value(2.0, label="a")
    replayed = script(lambda: a.exp() * 2.0, [a])
    name = replayed.function.__code__.co_filename
    assert "v1 = exp(a)" in "".join(linecache.getlines(name))
    linecache.checkcache()
    with pytest.raises(TypeError) as caught:
        replayed.function("two")
    assert "v1 = exp(a)" in "".join(traceback.format_exception(caught.value))
    del caught, replayed
    assert linecache.getlines(name) == []


def test_the_source_runs_from_a_file(tmp_path: Path) -> None:
    root, leaves = seven_nodes()
    replayed = script(root, leaves, no_branches=True)
    path = tmp_path / "saved.py"
    path.write_text(str(replayed))
    spec = importlib.util.spec_from_file_location("saved", path)
    saved = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(saved)
    assert saved.loss_and_gradients(a=2.0, b=-3.0, c=10.0) == (8.0, [-2.0, 4.0, 2.0])


def test_numbers_of_other_kinds_are_floats() -> None:
    a, b = Value(2.0), Value(3.0)
    replayed = script(lambda: a * b, [a, b])
    assert replayed(2, np.float32(3)) == (6.0, [3.0, 2.0])
    assert type(replayed(2, 3)[0]) is float
    assert replayed(a, b)[0] == 6.0


def test_data_of_another_kind_is_a_float_to_a_script() -> None:
    a, c = Value(2.0), Value(1.0)
    for number in (np.float64(3.0), 3, np.float32(3.0)):
        c.data = number
        replayed = script(lambda: a * c + c / c + abs(c), [a])
        assert replayed(a) == (10.0, [3.0])
        loss, gradients = script(lambda: a * c, [a, c])(a, c)
        assert [type(x) for x in (loss, *gradients)] == [float] * 3


def test_a_script_of_many_inputs_is_shown_in_one_line() -> None:
    leaves = [Value(1.0, label=f"p{i}") for i in range(100)]
    assert repr(script(lambda: sum(leaves), leaves)).startswith("<Script of p0, p1, p2, ..., p99: ")


def test_any_label_can_be_given_by_name() -> None:
    leaves = [Value(2.0, label=label) for label in ("self", "inputs", "named", "x", "name")]
    replayed = script(lambda: sum(leaves), leaves)
    assert replayed(self=1.0, inputs=2.0, named=3.0, x=4.0, name=np.float32(5.0))[0] == 15.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        replayed(self=1.0, inputs=2.0, named=3.0, x=4.0, y=5.0)
    with pytest.raises(TypeError, match="multiple values for argument 'self'"):
        replayed(1.0, self=1.0, inputs=2.0, named=3.0, x=4.0)


def test_inputs_by_name_are_put_in_order_in_linear_time() -> None:
    leaves = {f"p{i}": Value(1.0) for i in range(5)}
    replayed = script(lambda: sum(leaves.values()), leaves)
    assert repr(replayed) == "<Script of p0, p1, p2, p3, p4: 11 lines>"
    replayed.function = lambda *inputs: inputs  # one that took them by name would look for each among all
    assert replayed(0.0, p4=4.0, p3=3.0, p2=2.0, p1=1.0) == (0.0, 1.0, 2.0, 3.0, 4.0)


def test_a_script_is_copied_and_pickled_as_its_text_and_keeps_no_graph() -> None:
    a = Value(2.0, label="a")
    root = a
    for _ in range(1000):  # more than pickle goes down
        root = root * 1.0 + 1.0
    node = weakref.ref(root)
    replayed = script(root, [a], no_branches=True)
    del root
    gc.collect()
    assert node() is None
    for again in (pickle.loads(pickle.dumps(replayed)), copy.deepcopy(replayed)):
        assert again(2.0) == replayed(2.0) == (1002.0, [1.0])
        assert again(np.array([1.0]))[0].tolist() == [1001.0]
        assert again.names == ("a",)


# -- refusals --------------------------------------------------------------------------------------------------------


def of_ones_own(x: Value) -> Value:
    out = Value(x.data, (x,), "mine")
    out._backward = lambda: None
    return out


class OfOnesOwn(Value):
    def _vjp(self) -> list[Any]:
        return [(self._prev[0], 5.0 * self.grad)]


A = Value(2.0, label="a")


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (lambda: of_ones_own(A), [A], "no line for the 'mine' of 2.0: its rule is a function of your own"),
        (lambda: Value(1.0, (A,), "erf", local=(1.0,)), [A], "no line for the 'erf' of 1.0: it is an operation"),
        (lambda: Value(1.0, (A,), "tanh", local=(1.0,)), [A], "operation of your own called 'tanh'"),
        (lambda: Value(1.0, (A, A), "tanh", local=(1.0, 1.0)), [A], "no line for the 'tanh'"),
        (lambda: Value(4.0, (A, A), "+", local=(1.0,)), [A], "operation of your own called '\\+'"),
        (lambda: OfOnesOwn(-2.0, (A,), "neg", local=(-1.0,)), [A], "its rule is a function of your own"),
        (lambda: Value(2.0) * 3, [A], "depends on none of the inputs"),
        (lambda: A * 3, [A * 2], "inputs are leaves, and at place 0 stands the '\\*' of 4.0"),
        (lambda: A * 3, [A, A], "stands twice in inputs: 'a' = the leaf 2.0"),
        (lambda: A * 3, [2.0], "inputs are Values, got float 2.0 at place 0"),
        (lambda: A * 3, A, "inputs is a list of Values"),
        (lambda: 3.0, [A], "a function of no arguments that returns one, got float"),
    ],
)
def test_what_is_refused(function: Callable[[], Any], inputs: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        script(function, inputs)


def test_a_hook_is_refused() -> None:
    a = Value(2.0)
    remove = add_hook(a, lambda g: g)
    with pytest.raises(ValueError, match="has a hook, which a script cannot call"):
        script(lambda: a * 2, [a])
    remove()
    script(lambda: a * 2, [a])


def test_data_changed_since_is_refused() -> None:
    a, b = Value(2.0), Value(3.0)
    loss = a * b
    a.data = 5.0
    with pytest.raises(ValueError, match="data was changed after the graph was built"):
        script(loss, [a, b], no_branches=True)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((1.0,), "missing 1 required positional argument: 'b'"),
        ((1.0, "2"), "input b: .*the string '2'"),
        ((1.0, [2.0]), "input b: .*a list: numpy.array of it is a batch"),
        ((np.ones(2), (2.0, 3.0)), "input b: .*a tuple: numpy.array of it is a batch"),
        ((1.0, 10**400), "input b: .*too large"),
        ((1.0, np.ma.array([1.0, 2.0], mask=[0, 1])), "input b: got a masked array"),
        ((np.ones(2), np.ones(3)), r"do not broadcast to one: \(2,\), \(3,\)"),
        ((np.ones(2), np.array(["x"])), "input b: an array of numbers is wanted"),
    ],
)
def test_a_call_says_what_it_takes(inputs: tuple[Any, ...], message: str) -> None:
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    with pytest.raises((TypeError, ValueError, OverflowError), match=message):
        script(lambda: a * b, [a, b])(*inputs)
