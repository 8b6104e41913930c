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
        list(trace(root))
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
    assert len(t) == 4
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
    t = trace(x * x, overwrite)
    assert repr(t) == "<Trace, not begun, with =, from L = x*x>"
    next(t)
    assert repr(t) == "<Trace, 1 step so far, with =, from L = x*x>"
    assert len(t) == 3
    assert repr(t) == "<Trace of 3 steps with =, from L = x*x>"


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


# -- a pass that goes on as its steps are asked for --------------------------------------------------------------------


def held(names):
    """The gradients, 0.0 where nothing has arrived."""
    return {name: float(0.0 if x.grad is None else x.grad) for name, x in names.items()}


NOTHING = {"a": 0.0, "b": 0.0, "c": 0.0}
AFTER_FIVE = {"a": 4.0, "b": 0.0, "c": 0.0}
AT_END = {"a": -2.0, "b": 4.0, "c": 2.0}


@ENGINES
def test_nothing_runs_before_a_step_is_asked_for(make):
    root, names = seven_nodes(make)
    t = trace(root, names=names)
    assert (t.recorded, t.finished, len(t.graph)) == ((), False, 7)
    root.backward()  # no pass is open
    assert held(names) == AT_END


@ENGINES
def test_gradients_hold_what_has_arrived_so_far(make):
    root, names = seven_nodes(make)
    seen = []
    for step in trace(root, names=names):
        assert float(step.after) == held(names).get(step.receiver_name, float(step.after))
        seen.append(held(names)["a"])
    assert seen == [0.0, 0.0, 4.0, 4.0, 4.0, 4.0, -2.0, -2.0]
    assert held(names) == NOTHING


@ENGINES
def test_next_has_a_place_of_its_own_and_a_loop_begins_with_the_first_step(make):
    root, names = seven_nodes(make)
    t = trace(root, names=names)
    first, second = next(t), next(t)
    assert (first.number, second.number) == (1, 2)
    assert next(iter(t)) is first
    assert [step.number for step in t] == [*range(1, 9)]
    assert next(t).number == 3
    assert [step.number for step in t] == [*range(1, 9)]
    assert [*t] == [*t.steps] == [*t.recorded]
    assert len([*iter(lambda: next(t, None), None)]) == 5
    with pytest.raises(StopIteration):
        next(t)


def _to_the_end(t):
    assert len([*t]) == 8


def _next_past_the_end(t):
    while next(t, None):
        pass


def _close(t):
    t.close()
    t.close()
    assert len(t) == 5
    assert next(t, None) is t.recorded[0]


def _leave_a_with(t):
    with t as steps:
        next(steps)


def _raise_in_a_with(t):
    with pytest.raises(ZeroDivisionError), t:
        raise ZeroDivisionError


def _whole(t):
    assert t.grads["n6"] == 1.0


@ENGINES
@pytest.mark.parametrize("before", [False, True], ids=["empty", "after backward"])
@pytest.mark.parametrize("end", [_to_the_end, _next_past_the_end, _close, _leave_a_with, _raise_in_a_with, _whole])
def test_all_gradients_are_put_back_however_it_ends(make, end, before):
    root, names = seven_nodes(make)
    if before:
        root.backward()
    t = trace(root, names=names)
    taken = iter(t)
    for _ in range(5):
        next(taken)
    assert held(names) == AFTER_FIVE
    end(t)
    assert held(names) == (AT_END if before else NOTHING)
    assert t.finished
    root.backward()  # no pass is open


@ENGINES
def test_a_trace_that_is_dropped_puts_all_gradients_back(make):
    root, names = seven_nodes(make)
    root.backward()
    for step in trace(root, names=names):
        if step.number == 5:
            break
    assert held(names) == AT_END
    t = trace(root, names=names)
    next(t)
    assert held(names) == NOTHING
    del t
    assert held(names) == AT_END


@ENGINES
def test_a_step_that_fails_puts_all_gradients_back_and_the_rest_is_refused(make):
    root, names = seven_nodes(make)
    root.backward()

    def broken():
        raise ZeroDivisionError("of mine")

    root._prev[0]._backward = broken
    t = trace(root, names=names)
    with pytest.raises(ZeroDivisionError):
        list(t)
    assert held(names) == AT_END
    assert len(t.recorded) == sum(1 for _ in t) == 3
    with pytest.raises(RuntimeError, match="failed after 3 steps: ZeroDivisionError: of mine"):
        len(t)


@ENGINES
def test_a_second_pass_is_refused_while_one_is_open(make):
    root, names = seven_nodes(make)
    t, second = trace(root, names=names), trace(root, overwrite, names=names)
    taken = iter(t)
    for _ in range(5):
        next(taken)
    for another in (root.backward, second.__len__, trace(root, names=names).__next__):
        with pytest.raises(RuntimeError, match=r"close\(\)"):
            another()
    assert held(names) == AFTER_FIVE
    assert float(trace(root, names=names).graph["n0"].data) == 2.0
    assert held(names) == AFTER_FIVE
    t.close()
    assert float(second.grads["n0"]) == -6.0  # as it should have been begun


@ENGINES
def test_a_value_that_changes_before_the_pass_is_refused(make):
    root, names = seven_nodes(make)
    t = trace(root, names=names)
    names["a"].data = type(names["a"].data)(5.0) if make is Value else np.asarray(5.0, names["a"].data.dtype)
    with pytest.raises(RuntimeError, match="a has changed since this trace was made"):
        next(t)


@ENGINES
def test_a_step_is_a_line_of_text(make):
    root, names = seven_nodes(make)
    assert [str(step) for step in trace(root, names=names)] == [
        "1. the seed goes to L: not yet → 1",
        "2. L sends a * L.grad = 2 to f: not yet → 2",
        "3. L sends f * L.grad = 4 to a: not yet → 4",
        "4. f sends (e > 0) * f.grad = 2 to e: not yet → 2",
        "5. e sends e.grad = 2 to d: not yet → 2",
        "6. e sends e.grad = 2 to c: not yet → 2",
        "7. d sends b * d.grad = −6 to a: 4 → −2",
        "8. d sends a * d.grad = 4 to b: not yet → 4",
    ]


def test_a_step_is_its_line_in_a_notebook():
    class Printer:
        text = staticmethod(lambda text: printed.append(text))

    printed = []
    x = Value(2.0)
    trace(x * x)[2]._repr_pretty_(Printer(), False)
    assert printed == ["3. L sends x * L.grad = 2 to x: 2 → 4"]


def test_large_arrays_are_told_in_words():
    x = Tensor(np.ones((4, 5)), requires_grad=True)
    assert str(trace((x * 2).sum())[-1]).endswith("= (4, 5) norm 8.944 to x: not yet → (4, 5) norm 8.944")


def test_what_a_hook_did_stands_at_the_end_of_the_line():
    x = Tensor(2.0, requires_grad=True)
    x.register_hook(lambda grad: grad * 10)
    assert str(trace(x * 3, names={"x": x})[-1]) == (
        "2. L sends 3 * L.grad = 3 to x: not yet → 3, then the hook on x changed x.grad from 3 to 30"
    )


def test_a_hook_on_a_leaf_is_told_though_its_turn_comes_later():
    """Between the last step to a leaf and its turn stand the steps of others."""
    x, y = Tensor(2.0, requires_grad=True), Tensor(3.0, requires_grad=True)
    x.register_hook(lambda grad: grad * 10)
    loss = (y * y) * x
    t = trace(loss, names={"x": x, "y": y, "loss": loss})
    told = [step.rule for step in t if step.receiver_name == "x"]
    recorded = [step.rule for step in t.steps if step.receiver_name == "x"]
    assert recorded[0].endswith("then the hook on x changed x.grad from 9 to 90")
    assert recorded[0].count("the hook") == 1
    assert told[0] in (recorded[0], "a * loss.grad")
    assert x.grad is None


# -- the recursion, without a topological order ------------------------------------------------------------------------


@ENGINES
def test_the_recursion_sends_again_what_was_sent(make):
    a = make(3)
    b = a * a
    c = b + 1.0
    root = b * c
    t = trace(root, names={"a": a, "b": b, "c": c, "L": root}, recursive=True)
    assert (t.operator, t.needed) == ("recursion", len(t))
    steps = [s for s in t if s.receiver_name != "1"]
    sent = [(s.sender_name, s.receiver_name, s.slot, float(s.contribution), float(s.after)) for s in steps]
    assert sent == [
        (None, "L", 0, 1.0, 1.0),
        ("L", "b", 0, 10.0, 10.0),
        ("L", "c", 1, 9.0, 9.0),
        ("b", "a", 0, 30.0, 30.0),
        ("b", "a", 1, 30.0, 60.0),
        ("c", "b", 0, 9.0, 19.0),
        ("b", "a", 0, 57.0, 117.0),
        ("b", "a", 1, 57.0, 174.0),
    ]
    assert [float(s.upstream) for s in steps if s.sender_name == "b"] == [10.0, 10.0, 19.0, 19.0]
    assert steps[6].rule == "a * b.grad"
    assert float(a.grad or 0.0) == 0.0
    assert repr(t).endswith("steps with recursion, from L = b*c>")


def test_the_recursion_with_a_rule_of_the_users():
    x = Value(3.0)
    square = Value(9.0, (x, x), "square")

    def rule():
        x.grad += 2 * x.data * square.grad

    square._backward = rule
    t = trace(square * (square + 1.0), recursive=True)
    assert [(s.slot, s.contribution) for s in t if s.receiver_name == "x"] == [(0, 60.0), (0, 114.0)]


def test_a_recursion_that_is_too_long_is_stopped_and_says_how_long_it_would_be():
    x = Value(1.0)
    for _ in range(12):
        x = x + x * 0.5
    t = trace(x, recursive=True)
    assert len(t) < t.needed
    assert t.needed > 2**12


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
