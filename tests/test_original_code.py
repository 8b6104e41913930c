"""Code written for the original micrograd runs unchanged: drawing recipes, rules called by hand, own operations.

What the original gives for the programs in `programs_original.py` is recorded in golden/original.json. Where release
0.1.0 of PyPI's micrograd can be found (beside this package, or in the folder that MICROGRAD_ORIGINAL names, made with
`pip install --target FOLDER micrograd==0.1.0`), it runs them too, in a process of its own: it has our import name.
"""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import graphviz
import programs_original
import pytest
from conftest import missing
from programs_original import hypot, tanh

import viz
from micrograd import Value
from micrograd.backprop import reached, topological_order
from micrograd.nn import MLP

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "golden" / "original.json").read_text(encoding="utf-8"))


# -- the same numbers as the original ----------------------------------------------------------------------------------


@pytest.mark.parametrize("program", programs_original.PROGRAMS, ids=lambda p: p.__name__)
def test_program_gives_what_the_original_gave(program):
    assert program() == pytest.approx(RECORDED[program.__name__], rel=1e-12, abs=1e-12)


def test_every_program_is_recorded():
    assert RECORDED.keys() == {program.__name__ for program in programs_original.PROGRAMS}


def original_folder() -> str | None:
    if folder := os.environ.get("MICROGRAD_ORIGINAL"):
        return folder
    try:
        return str(distribution("micrograd").locate_file(""))
    except PackageNotFoundError:
        return None


def test_the_recording_is_what_the_original_gives():
    folder = original_folder()
    if folder is None:
        missing("the original micrograd is not installed here: set MICROGRAD_ORIGINAL to its folder")
    run = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); import micrograd.engine as e; "
        "assert not hasattr(e, 'Node'), 'not the original'; runpy.run_path(sys.argv[2], run_name='__main__')"
    )
    program = HERE / "programs_original.py"
    done = subprocess.run(
        [sys.executable, "-I", "-c", run, folder, str(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    given = json.loads(done.stdout)
    assert given.keys() == RECORDED.keys()
    for name, numbers in given.items():  # its operands are a set, so the last digit changes from run to run
        assert numbers == pytest.approx(RECORDED[name], rel=1e-12, abs=1e-12), name


# -- operations that are the user's, in the stepper --------------------------------------------------------------------


def sent_to(trace: viz.Trace, receiver: str) -> list[float]:
    """The contributions to the node of this name, in the order in which they arrive."""
    return [step.contribution for step in trace.steps if trace.graph[step.receiver].name == receiver]


def test_own_operations_show_in_the_trace_with_what_they_send():
    x, y = Value(0.6), Value(-0.8)
    root = tanh(x) * y
    trace = viz.trace(root)
    slope = 1 - math.tanh(0.6) ** 2
    assert sent_to(trace, "x") == [pytest.approx(slope * -0.8)]
    (step,) = (s for s in trace.steps if trace.graph[s.receiver].name == "x")
    assert trace.graph[step.sender].op == "tanh"
    assert "_backward" in step.rule
    assert x.grad == 0.0
    assert not reached(x)


def test_an_own_operation_on_one_node_twice_sends_its_sum_once():
    y = Value(-0.8)
    root = hypot(y, y)
    trace = viz.trace(root)
    assert sent_to(trace, "y") == [pytest.approx(-math.sqrt(2))]
    root.backward()
    assert y.grad == pytest.approx(-math.sqrt(2))


def test_what_a_node_had_before_stays_out_of_what_its_consumer_is_said_to_send():
    x = Value(0.6)
    root = x * 5 + tanh(x)
    trace = viz.trace(root)
    assert sorted(sent_to(trace, "x")) == [pytest.approx(1 - math.tanh(0.6) ** 2), 5.0]


def test_a_gradient_that_is_nan_before_a_rule_runs_does_not_hide_what_it_sends():
    x = Value(0.6)
    out = tanh(x)
    x.grad = math.nan
    out.grad = 1.0
    ((parent, sent),) = out._contributions()
    assert parent is x
    assert sent == pytest.approx(1 - math.tanh(0.6) ** 2)
    assert math.isnan(x.grad)


def test_a_rule_that_writes_equals_loses_a_share_where_its_node_is_used_twice():
    """`=` in the user's own rule: seen where both operands are one node."""
    x = Value(3.0)

    def product(a, b):
        out = Value(a.data * b.data, (a, b), "product")

        def rule():
            a.grad = b.data * out.grad
            b.grad = a.data * out.grad

        out._backward = rule
        return out

    product(x, x).backward()
    assert x.grad == 3.0  # 6 with +=


def test_a_rule_that_writes_equals_is_measured_from_zero():
    """A difference from the original, where the 5 would be lost: what a rule leaves is what it sends."""
    x = Value(0.6)
    out = Value(x.data, (x,), "mine")

    def rule():
        x.grad = 2.0 * out.grad

    out._backward = rule
    (x * 5 + out).backward()
    assert x.grad == 7.0


def test_a_rule_that_gives_no_number_is_refused():
    x = Value(0.6)
    out = Value(x.data, (x,), "mine")

    def rule():
        x.grad = "2"

    out._backward = rule
    with pytest.raises(TypeError, match="the string '2'"):
        out.backward()
    assert x.grad == 0.0


def test_a_wrapped_rule_shows_in_the_trace():
    x, y = Value(3.0), Value(4.0)
    product = x * y
    inner = product._backward

    def tripled():
        for _ in range(3):
            inner()

    product._backward = tripled
    trace = viz.trace(product)
    assert (sent_to(trace, "x"), sent_to(trace, "y")) == ([12.0], [9.0])


def test_a_rule_may_run_a_backward_pass_of_its_own():
    """An operation whose derivative is found by building its graph again."""
    x = Value(3.0)
    out = Value(27.0, (x,), "cube")

    def rule():
        inner = Value(x.data)
        (inner * inner * inner).backward()
        x.grad += inner.grad * out.grad

    out._backward = rule
    (out * 2).backward()
    assert x.grad == 54.0


# -- drawing recipes ---------------------------------------------------------------------------------------------------


def recipe(root: Value) -> graphviz.Digraph:
    """A picture as users of the original make it: nodes by id, the operation as a node of its own."""
    seen, edges = set(), []
    waiting = [root]
    while waiting:
        v = waiting.pop()
        if v not in seen:
            seen.add(v)
            edges += [(child, v) for child in v._prev]
            waiting += v._prev
    dot = graphviz.Digraph(format="svg", graph_attr={"rankdir": "LR"})
    for v in seen:
        dot.node(str(id(v)), f"{{ {v.label} | data {v.data:.4f} | grad {v.grad:.4f} }}", shape="record")
        if v._op:
            dot.node(str(id(v)) + v._op, label=v._op)
            dot.edge(str(id(v)) + v._op, str(id(v)))
    for child, v in edges:
        dot.edge(str(id(child)), str(id(v)) + v._op)
    return dot


def test_drawing_recipe():
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    root = (a * b).relu() + a * a
    root.label = "L"
    root.backward()
    source = recipe(root).source
    assert source.count("shape=record") == 6
    assert source.count("->") == 4 + 7  # an edge from each operation, and one for each use
    assert "{ a | data 2.0000 | grad 4.0000 }" in source
    assert "{ L | data 4.0000 | grad 1.0000 }" in source


# -- the lecture's constructor, copies ---------------------------------------------------------------------------------


def test_the_label_is_the_fourth_argument():
    a = Value(2.0, (), "", "a")
    assert a.label == "a"
    assert Value(2.0).label == ""


def test_operands_may_come_as_a_set_or_a_generator():
    a, b = Value(1.0), Value(2.0)
    assert set(Value(3.0, {a, b}, "mine")._prev) == {a, b}
    assert Value(3.0, (v for v in (a, b)), "mine")._prev == (a, b)


def test_a_deep_copy_is_a_graph_of_its_own():
    a = Value(2.0, label="a")
    root = a * a + a.exp()
    twin = copy.deepcopy(root)
    twin.backward()
    assert not reached(a)
    (leaf,) = (v for v in topological_order(twin) if not v._prev)
    assert leaf is not a
    assert leaf.label == "a"
    assert leaf.grad == pytest.approx(4 + math.exp(2))
    root.backward()
    assert a.grad == leaf.grad


def test_a_pickled_graph_comes_back_whole():
    a, b = Value(2.0, label="a"), Value(-3.0)
    root = (a * b + a).tanh() ** 2 / b
    root.backward()
    twin = pickle.loads(pickle.dumps(root))
    before, after = topological_order(root), topological_order(twin)
    assert [(v.data, v.grad, v._op, v.label) for v in before] == [(v.data, v.grad, v._op, v.label) for v in after]
    twin.backward()
    assert after[0].grad == pytest.approx(2 * a.grad)


def test_a_pickled_network_has_the_same_parameters():
    net = MLP(2, [3, 1])
    twin = pickle.loads(pickle.dumps(net))
    assert twin([1.0, 2.0]).data == net([1.0, 2.0]).data
