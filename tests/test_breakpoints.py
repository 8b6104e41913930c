"""Where a pass stops: conditions as text and as functions; and the first value that is not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest

import viz
from micrograd import Value
from tensorgrad import Tensor
from viz.errors import UserError
from viz.graph import snapshot


def seven() -> tuple[Value, dict[str, Value]]:
    """Contributions: L 1, f 2, a 4, e 2, d 2, c 2, a -6 (then -2), b 4."""
    a, b, c = Value(2, label="a"), Value(-3, label="b"), Value(10, label="c")
    return (a * b + c).relu() * a, {"a": a, "b": b, "c": c}


def stop(condition: object) -> int | None:
    """The number of the step at which the condition first holds."""
    step = viz.trace(seven()[0], names={}).run_until(condition)
    return None if step is None else step.number


@pytest.mark.parametrize(
    ("condition", "number"),
    [
        ("a", 3),
        (" a ", 3),
        ("n0", 3),
        ("c", 6),
        ("L", 1),
        ("|grad| > 2", 3),
        ("|grad|>2", 3),
        ("| grad | > 2", 3),
        ("abs(grad) >= 4", 3),
        ("|grad| ≥ 2", 2),
        ("|grad| >= 6", 7),
        ("|grad| > 5", 7),  # the contribution is -6, the gradient after it -2
        ("|grad| < 2", 1),
        ("|grad| <= 0.5", None),
        ("|grad| > 1e3", None),
        ("|a.grad| > 4", 7),
        ("|b.grad| > 0", 8),
        ("nan", None),
        ("inf", None),
        (lambda step: step.number == 5, 5),
        (lambda step: step.sender_name == "d", 7),
    ],
)
def test_the_pass_stops_at_the_first_step_where_a_condition_holds(condition, number) -> None:
    assert stop(condition) == number
    steps = viz.trace(seven()[0], names={}, until=condition)
    assert len(steps) == (number or 8)
    assert (steps.stopped is None) == (number is None)


def test_nan_and_inf_are_found_in_what_arrives_and_in_what_becomes_of_it() -> None:
    x = Tensor([0.0, 1.0], requires_grad=True)
    root = (x.sqrt() - x.sqrt()).sum()  # inf arrives in x, then -inf: nan
    steps = viz.trace(root)
    at_inf, at_nan = steps.run_until("INF"), steps.run_until("nan")
    assert at_inf.receiver_name == at_nan.receiver_name == "x"
    assert at_inf.number < at_nan.number
    assert not np.isnan(at_nan.contribution).any()
    assert np.isnan(at_nan.after).any()


def test_nan_has_no_size() -> None:
    x = Value(2.0)
    assert viz.trace(x * math.nan).run_until("|x.grad| > 0", "|x.grad| <= 0") is None


def test_the_gradients_stand_as_they_are_at_a_stop_and_the_search_goes_on_from_there() -> None:
    root, names = seven()
    with viz.trace(root, names={}) as steps:
        assert steps.run_until("a").number == 3
        assert names["a"].grad == 4.0
        assert steps.run_until("nan", "a").number == 7
        assert (names["a"].grad, names["b"].grad) == (-2.0, 0.0)
        assert steps.run_until("a") is None
    assert names["a"].grad == 0.0


def test_until_takes_several_and_says_which_held() -> None:
    root, names = seven()
    steps = viz.trace(root, names={}, until=["nan", "|grad| >= 6", "b"])
    assert steps[-1].number == 7
    assert steps.stopped == "|grad| >= 6"
    assert names["a"].grad == 0.0
    assert steps.grads["n0"] == -2.0
    assert "n1" not in steps.grads


def test_in_a_loop_the_gradients_stand_at_the_step_of_until() -> None:
    root, names = seven()
    seen = [(step.number, names["a"].grad) for step in viz.trace(root, names={}, until="a")]
    assert seen == [(1, 0.0), (2, 0.0), (3, 4.0)]
    assert names["a"].grad == 0.0


def test_a_parameter_of_a_net_is_called_as_in_pictures() -> None:
    class Net:
        def __init__(self) -> None:
            self.w = [Value(0.5), Value(0.25)]

        def parameters(self) -> list[Value]:
            return self.w

    net = Net()
    loss = net.w[0] * 2 + net.w[1] * 3
    step = viz.trace(loss, names={"net": net}).run_until("net.w[1]")
    assert (step.receiver_name, step.contribution) == ("net.w[1]", 3.0)


def test_a_node_named_as_a_condition_has_its_key() -> None:
    nan = Value(2.0, label="nan")
    root = nan * 3
    assert viz.trace(root, names={}).run_until("nan") is None
    assert viz.trace(root, names={}).run_until("n0").receiver_name == "nan"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot read the breakpoint ''"),
        ("grad > 3", "cannot read the breakpoint 'grad > 3'"),
        ("|grad| > many", "compares with 'many', which is no number"),
        ("|grad| > nan", "compares with 'nan', which is no number"),
        ("|grad| = 3", "cannot read"),
        ("|q.grad| > 3", "cannot read"),
        ("|a| > 3", "cannot read"),
        ("weight", "cannot read the breakpoint 'weight'"),
        ("a\nb" * 50, "cannot read"),
    ],
)
def test_a_condition_that_cannot_be_read_is_named_and_the_forms_listed(text: str, said: str) -> None:
    root, _ = seven()
    for ask in (lambda: viz.trace(root, names={}, until=text), lambda: viz.trace(root, names={}).run_until("a", text)):
        with pytest.raises(UserError) as refused:
            ask()
        assert said in str(refused.value)
        assert "number" in said or '"|grad| > 100"' in str(refused.value)
    root.backward()  # no pass is open


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    weight = Value(2.0, label="weight")
    with pytest.raises(UserError, match="did you mean the node weight"):
        viz.trace(weight * 2, names={}, until="wieght")


def test_what_is_neither_text_nor_a_function_is_refused() -> None:
    with pytest.raises(TypeError, match="text or a function of a step, got int"):
        viz.trace(seven()[0], until=[3])


def test_a_function_that_raises_ends_the_pass() -> None:
    root, names = seven()
    with pytest.raises(ZeroDivisionError):
        list(viz.trace(root, names={}, until=lambda step: step.number / 0))
    assert names["a"].grad == 0.0
    root.backward()


# -- the first value that is not finite --------------------------------------------------------------------------------


def found(root: object, **names: object) -> str:
    ones = np.ones(np.shape(root.data)) if np.ndim(root.data) else None
    return str(viz.trace(root, gradient=ones, names=names | {"h": root}).first_nonfinite)


def test_a_graph_of_finite_values_has_none() -> None:
    assert viz.trace(seven()[0]).first_nonfinite is None


def test_the_cause_is_named_with_its_operands_and_not_what_follows_from_it() -> None:
    x, k = Value(1e200), Value(1e200)
    h = x * k
    root = (h - h) * 2  # nan
    told = viz.trace(root, names={"x": x, "k": k, "h": h}).first_nonfinite
    assert (told.node.name, told.place, told.value) == ("h", (), math.inf)
    assert str(told) == "h = x*k is inf; x = 1e+200, k = 1e+200"


def test_an_element_has_its_place_and_the_operands_elements_there() -> None:
    x = np.ones((3, 4))
    x[2, 3] = 1e200
    x, k = Tensor(x, requires_grad=True), Tensor(np.full((3, 4), 1e300), requires_grad=True)
    assert found(x * k, x=x, k=k) == "h = x*k is inf at [2, 3]; x[2, 3] = 1e+200, k[2, 3] = 1e+300"


def test_operands_of_another_shape_are_told_as_a_whole() -> None:
    x, b = Tensor(np.full((2, 2), 1e308), requires_grad=True), Tensor(np.array([1e308, 0.0]), requires_grad=True)
    assert found(x + b, x=x, b=b).startswith("h = x + b is inf at [0, 0]; x[0, 0] = 1e+308, b = [1e+308, 0]")
    w = Tensor(np.full((2, 9), 1e308), requires_grad=True)
    assert found(x @ w, x=x, w=w).startswith("h = x @ w is inf at [0, 0]; x = [[1e+308, 1e+308], ")
    assert "w = (2, 9) norm" in found(x @ w, x=x, w=w)


def test_an_operand_that_is_used_twice_is_told_once() -> None:
    x = Value(1e200)
    assert found(x * x, x=x) == "h = x*x is inf; x = 1e+200"


def test_a_leaf_may_be_the_cause() -> None:
    x = Tensor([1.0, math.nan], requires_grad=True)
    assert found(x.sum(), x=x) == "x is nan at [1]"
    assert found(Value(2.0) * Value(-math.inf, label="low")) == "low is −inf"


def test_looking_for_it_takes_no_step() -> None:
    root, _ = seven()
    steps = viz.trace(root)
    assert steps.first_nonfinite is None
    assert steps.recorded == ()
    assert snapshot(root).root.grad is None


def test_an_infinite_constant_is_meant_and_what_becomes_nan_of_it_is_not():
    scores = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, label="scores")
    mask = Tensor([[0.0, -np.inf], [0.0, 0.0]], label="mask")
    assert viz.trace((scores + mask).softmax(-1).sum(), names={}).first_nonfinite is None
    all_masked = Tensor([[-np.inf, -np.inf], [0.0, 0.0]], label="mask")
    found = viz.trace((scores + all_masked).softmax(-1).sum(), names={}).first_nonfinite
    assert found.node.op == "softmax"
    assert np.isnan(found.value)
