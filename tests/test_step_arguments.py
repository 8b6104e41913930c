"""What `viz.step` is given: updates, parameters, limits, titles and names, and what it says of odd ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from command_line import SEVEN, run
from stepper import data_of, seven

from micrograd import Value
from micrograd.backprop import add_hook
from tensorgrad import Tensor, inference_mode, no_grad
from tensorgrad.optim import SGD, Adam, Optimizer
from viz import step
from viz.errors import UserError
from viz.trace import Trace


def product():
    a, b = Tensor([1.0, 2.0], requires_grad=True, label="a"), Tensor([3.0, 4.0], requires_grad=True, label="b")
    return a, b, (a * b).sum()


@pytest.mark.parametrize("rate", [0.5, Fraction(1, 2), np.float32(0.5), -1, 0])
def test_any_finite_number_is_a_rate(rate):
    assert data_of(step(seven(Value), names={}, update=rate).html)["update"]["rate"] == float(rate)


@pytest.mark.parametrize("rate", [10**400, 10**5000, -(10**400), -math.inf], ids=range(4))
def test_a_rate_that_no_float_holds_is_refused(rate):
    with pytest.raises(UserError, match="must be finite"):
        step(seven(Value), names={}, update=rate)


def test_an_update_may_overflow():
    a = Tensor([1e308, 1.0], requires_grad=True, dtype=np.float64)
    data = data_of(step((a * 1e300).sum(), names={}, update=1e300).html)
    [after] = data["update"]["after"]["add"]
    assert data["quantities"][after]["text"] == "[−inf, −inf]"


def test_what_only_looks_like_an_optimizer_is_refused():
    class Lookalike:
        param_groups = 3

    a, _, loss = product()
    for wrong in (Lookalike(), SGD, [SGD([a], lr=0.1)]):
        with pytest.raises(UserError, match="expected a learning rate or an optimizer"):
            step(loss, names={}, update=wrong)


def test_an_optimizer_of_ones_own_is_taken():
    class Halve(Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.data = p.data / 2

    a, _, loss = product()
    data = data_of(step(loss, names={}, update=Halve([a])).html)
    assert data["quantities"][data["update"]["after"]["add"][0]]["text"] == "[0.5, 1]"
    assert a.data.tolist() == [1.0, 2.0]


def test_what_an_optimizer_raises_is_raised_and_changes_nothing(tmp_path):
    class Broken(Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        def step(self, closure=None):
            self.param_groups[0]["params"][0].data += 1
            raise ZeroDivisionError("mine")

    a, b, loss = product()
    with pytest.raises(ZeroDivisionError, match="mine"):
        step(loss, tmp_path / "page.html", names={}, update=Broken([a, b]))
    assert a.data.tolist() == [1.0, 2.0]
    assert a.grad is None
    assert not list(tmp_path.iterdir())


def test_parameters_can_be_a_generator_and_hold_others():
    """A network has parameters that this loss does not use, frozen ones, and one twice where it is shared."""
    a, b, loss = product()
    frozen = Tensor([1.0, 1.0])
    given = [Tensor(1.0, requires_grad=True), b, frozen, b]
    update = data_of(step(loss + (frozen * a).sum(), names={}, update=0.1, parameters=iter(given)).html)["update"]
    assert len(update["nodes"]) == len(update["after"]["add"]) == 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda a, loss: a, "takes a list of leaves, got a Tensor"),
        (lambda a, loss: 3, "takes a list of leaves, got a int"),
        (lambda a, loss: {"a": a}, "in this one is a str"),
        (lambda a, loss: [[a]], "in this one is a list"),
        (lambda a, loss: [loss], "none of the parameters"),
        (lambda a, loss: [Tensor(1.0, requires_grad=True)], "none of the parameters"),
        (lambda a, loss: iter(()), "only once"),
    ],
)
def test_parameters_that_are_none_are_refused(wrong, told):
    a, _, loss = product()
    with pytest.raises(UserError, match=told):
        step(loss, names={}, update=0.1, parameters=wrong(a, loss))


def test_parameters_that_would_not_be_used_are_refused():
    a, _, loss = product()
    with pytest.raises(UserError, match="add update="):
        step(loss, names={}, parameters=[a])
    with pytest.raises(UserError, match="an optimizer has its own"):
        step(loss, names={}, parameters=[a], update=Adam([a]))


def test_an_update_of_many_recorded_leaves_takes_no_time_to_speak_of(monkeypatch):
    """Each leaf's gradient is looked up, and what the pass left is worked out once a pass."""
    asked = []
    found = Trace.grads.fget
    monkeypatch.setattr(Trace, "grads", property(lambda self: asked.append(self) or found(self)))
    leaves = [Value(float(i), label=f"x{i}") for i in range(50)]
    root = sum(leaves)
    add_hook(root, lambda grad: None)
    assert len(data_of(step(root, names={}, update=0.1).html)["update"]["nodes"]) == 50
    assert len(asked) < 10


@pytest.mark.parametrize("limit", [0, -1, 1.5, "9", True])
def test_a_limit_is_a_whole_number_from_1_up(limit):
    with pytest.raises(UserError, match="max_nodes= takes a whole number from 1 up"):
        step(seven(Value), names={}, max_nodes=limit)


def test_names_that_are_no_strings_name_nothing():
    a = Value(2.0)
    assert data_of(step(a * a, names={1: a, None: a, "x": a}).html)["names"][0] == "x"
    assert data_of(step(a * a, names={1: a, None: a}).html)["names"][0] != 1


def test_a_title_may_be_anything_that_can_be_printed():
    assert step(seven(Value), names={}, title=3).title == "3"


def test_a_path_with_a_zero_byte(tmp_path):
    with pytest.raises(UserError, match="zero byte"):
        step(seven(Value), f"{tmp_path}/a\0.html", names={})


@pytest.mark.parametrize("mode", [no_grad, inference_mode])
def test_a_page_that_is_made_where_nothing_is_recorded(mode):
    """An evaluation's loss, say: the graph is there, and the page has all of it."""
    _, _, loss = product()
    there = data_of(step(loss, names={}).html)
    with mode():
        here = data_of(step(loss, names={}).html)
    assert "graph" in here["unfolded"]
    assert here == there


# -- on the command line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-o", ""], "cannot write a page to a file without a name"),
        (["--frames", ""], "a folder without a name"),
        (["--gif", "new/"], r"should end in .gif"),
        (["-o", "a.html/"], "a.html/: it names a folder"),
        (["--frames", "a.html", "-o", "./a.html"], "-o and --frames both write to a.html"),
        (["--gif", "x/../a.gif", "--frames", "a.gif"], "--frames and --gif both write to x/../a.gif"),
    ],
)
def test_places_that_cannot_be_written(tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    status, out, err = run("step", *SEVEN, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert not list(tmp_path.iterdir())
