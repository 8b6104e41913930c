"""A backward pass as a list of steps, right and wrong, for both engines."""

from fractions import Fraction

import numpy as np
import pytest

from micrograd.backprop import add, overwrite
from micrograd.engine import Value
from tensorgrad import Tensor
from viz.trace import trace

ENGINES = pytest.mark.parametrize(
    "make", [Value, lambda x: Tensor(float(x), requires_grad=True)], ids=["Value", "Tensor"]
)


def seven_nodes(make):
    a, b, c = make(2), make(-3), make(10)
    return (a * b + c).relu() * a, {"a": a, "b": b, "c": c}


def lines(t):
    """sender -> receiver, contribution, before, after"""
    name = {n.key: n.name for n in t.graph.nodes} | {None: "seed"}
    return [
        (
            name[s.sender],
            name[s.receiver],
            float(s.contribution),
            None if s.before is None else float(s.before),
            float(s.after),
        )
        for s in t.steps
    ]


@ENGINES
def test_steps_of_the_seven_node_graph(make):
    """Figures row 1: a receives 4 and then -6."""
    t = trace(seven_nodes(make)[0])
    assert t.operator == "+="
    assert [line[2:] for line in lines(t)] == [
        (1.0, None, 1.0),
        (2.0, None, 2.0),
        (4.0, None, 4.0),
        (2.0, None, 2.0),
        (2.0, None, 2.0),
        (2.0, None, 2.0),
        (-6.0, 4.0, -2.0),
        (4.0, None, 4.0),
    ]


@ENGINES
def test_overwriting_loses_the_first_contribution(make):
    root, names = seven_nodes(make)
    t = trace(root, overwrite, names=names)
    assert t.operator == "="
    final = {t.graph[key].name: float(grad) for key, grad in t.grads.items()}
    assert final == {"a": -6.0, "b": 4.0, "c": 2.0, "d": 2.0, "e": 2.0, "f": 2.0, "L": 1.0}
    assert ("d", "a", -6.0, 4.0, -6.0) in lines(t)


@ENGINES
def test_each_step_says_its_rule(make):
    root, names = seven_nodes(make)
    steps = trace(root, names=names).steps
    assert [s.rule for s in steps] == [
        "the seed",
        "a * L.grad",
        "f * L.grad",
        "(e > 0) * f.grad",
        "e.grad",
        "e.grad",
        "b * d.grad",
        "a * d.grad",
    ]
    to_a = steps[6]
    assert (float(to_a.local), to_a.local_text, float(to_a.upstream)) == (-3.0, "b", 2.0)


@ENGINES
def test_local_times_upstream_is_the_contribution(make):
    root, names = seven_nodes(make)
    for step in trace(root, names=names).steps[1:]:
        assert step.local * step.upstream == step.contribution


@ENGINES
def test_a_trace_leaves_all_gradients_as_they_were(make):
    root, names = seven_nodes(make)
    trace(root)
    assert all(float(x.grad or 0.0) == 0.0 for x in names.values())
    root.backward()
    trace(root, overwrite)
    assert float(names["a"].grad) == -2.0


@ENGINES
def test_gradients_are_put_back_when_a_rule_raises(make):
    root, names = seven_nodes(make)
    root.backward()

    def broken():
        raise ZeroDivisionError

    root._prev[0]._backward = broken
    with pytest.raises(ZeroDivisionError):
        trace(root)
    assert float(names["a"].grad) == -2.0


@ENGINES
def test_a_node_used_twice_by_one_operation_gets_two_steps(make):
    x = make(3)
    steps = trace(x * x).steps
    assert [(s.slot, float(s.contribution)) for s in steps[1:]] == [(0, 3.0), (1, 3.0)]


@ENGINES
def test_a_users_rule_is_a_step_like_any_other(make):
    x = make(3)
    out = (
        type(x)(9.0, _prev=(x,), _op="square", requires_grad=True)
        if isinstance(x, Tensor)
        else Value(9.0, (x,), "square")
    )

    def rule():
        x.grad += 2 * x.data * out.grad

    out._backward = rule
    _, step = trace(out).steps
    assert (float(step.contribution), step.rule, step.local) == (6.0, "the rule assigned to _backward", None)


def test_unbroadcasting_is_in_the_rule():
    x, b = Tensor(np.ones((4, 3)), requires_grad=True), Tensor(np.ones(3), requires_grad=True)
    step = next(s for s in trace((x + b).sum()).steps if s.contribution.shape == (3,))
    assert step.rule == "unbroadcast(a.grad, b.shape)"
    np.testing.assert_array_equal(step.contribution, [4.0, 4.0, 4.0])
    assert step.local is None


def test_steps_hold_copies():
    x = Tensor([1.0, 2.0], requires_grad=True)
    t = trace((x * x).sum())
    x.data[:] = 7.0
    np.testing.assert_array_equal(t.steps[-1].after, [2.0, 4.0])


def test_the_seed_of_several_elements():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="is not a scalar"):
        trace(x * 2)
    t = trace(x * 2, gradient=[1.0, 10.0])
    np.testing.assert_array_equal(t.steps[-1].after, [2.0, 20.0])


def test_a_root_that_requires_no_gradient_is_refused():
    with pytest.raises(RuntimeError, match="requires no gradient"):
        trace(Tensor(1.0) * 2)


def test_another_way_of_combining_has_its_name_as_operator():
    def halve(grad, sent):
        return sent / 2

    assert trace(Value(2.0) * 3, halve).operator == "halve"


def test_infinities_that_meet_in_a_gradient_do_not_warn():
    x = Tensor(0.0, requires_grad=True)
    t = trace(x.sqrt() - x.sqrt())  # inf - inf
    assert np.isnan(t.steps[-1].after)


def test_a_scalar_operation_made_with_its_slopes_has_them_in_its_steps():
    x = Value(3.0)
    out = Value(9.0, (x,), "my square", local=(6.0,))
    _, step = trace(out).steps
    assert (step.local, step.local_text, step.rule) == (6.0, "dout/dx", "dout/dx * out.grad")


def test_a_trace_is_a_sequence_of_its_steps():
    x = Value(2.0)
    t = trace(x * x)
    assert [*t] == [t[0], t[1], t[-1]] == [*t.steps]


def test_a_trace_is_short_at_the_prompt():
    x = Value(2.0)
    assert repr(trace(x * x, overwrite)) == "<Trace of 3 steps with =, from L = x*x>"


@pytest.mark.parametrize("exponent", [Fraction(1, 3), True, np.float32(0.5), 2])
def test_every_kind_of_exponent_has_its_slope_in_words(exponent):
    x = Value(2.0)
    step = trace(x**exponent).steps[-1]
    assert eval(step.local_text, {"x": 2.0}) == pytest.approx(step.local)


@pytest.mark.parametrize("op", ["**three", "*", None, ""])
def test_a_users_operation_may_be_called_anything(op):
    x = Value(2.0)
    step = trace(Value(8.0, (x,), op, local=(12.0,))).steps[-1]
    assert (step.local, float(step.contribution)) == (12.0, 12.0)
    assert step.rule == "dL/dx * L.grad"


# -- golden files ------------------------------------------------------------------------------------------------------


def small_net():
    x = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]]), label="x")
    w = Tensor(np.array([[0.5, -1.0], [0.25, 2.0]]), requires_grad=True, label="w")
    b = Tensor(np.array([0.5, -0.5]), requires_grad=True, label="b")
    return ((x @ w + b).relu() ** 2).sum()


def as_text(t):
    """A line for each field of each step, numbers with repr, arrays as nested lists."""
    lines = [f"{node.key} {node.title} = {np.asarray(node.data).tolist()}" for node in t.graph.nodes]
    for i, step in enumerate(t.steps, 1):
        lines.append(f"{i} {step.sender} -> {step.receiver} operand {step.slot}: {step.rule}")
        for field in ("local_text", "local", "upstream", "contribution", "before", "after"):
            value = getattr(step, field)
            lines.append(f"  {field} {value if value is None or field == 'local_text' else np.asarray(value).tolist()}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("combine", [add, overwrite])
@pytest.mark.parametrize("program", [lambda: seven_nodes(Value)[0], small_net], ids=["seven", "small_net"])
def test_golden(program, combine, golden, request):
    name = request.node.callspec.id.split("-")[0]
    golden(f"trace-{name}-{combine.__name__}.txt", as_text(trace(program(), combine, names={})))
