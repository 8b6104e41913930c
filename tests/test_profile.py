"""viz.profile: what time is attributed to, on a clock that only the test moves, so that every figure is exact."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import tensorgrad
import viz
from micrograd import Value
from micrograd.backprop import topological_order
from micrograd.nn import MLP
from micrograd.observing import observers
from micrograd.scopes import open_scopes
from tensorgrad import Tensor, lean_graph, nn, no_grad
from tensorgrad.models import GPT, GPTConfig
from tensorgrad.utils.checkpoint import checkpoint
from viz.errors import UserError
from viz.profiling import record
from viz.profiling.bars import bars


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


clock = Clock()


@pytest.fixture(autouse=True)
def _on_this_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "clock", clock)


class Slow(tensorgrad.autograd.Function):
    """Takes 3 seconds forward and 5 backward."""

    @staticmethod
    def forward(ctx, x):
        out = x.clone()
        clock.passes(3)
        return out

    @staticmethod
    def backward(ctx, g):
        clock.passes(5)
        return g * 1


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Identity())
        self.weight = nn.Parameter(tensorgrad.ones(4))

    def forward(self, x):
        clock.passes(1)
        x = self.inner(x)
        return Slow.apply(x * self.weight)


class Net(nn.Module):
    def __init__(self, *, again=False):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.again = again

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x) if self.again else layer(x)
        return x


def times(profile, *names):
    """(calls, forward, backward, again) of the rows of these operations in these modules."""
    found = {(row.op, row.module): (row.calls, row.forward, row.backward, row.again) for row in profile.rows}
    return [found[name] for name in names]


OUTSIDE, TOP = "(outside of operations)", "(outside of modules)"


# -- attribution -------------------------------------------------------------------------------------------------------


def test_all_time_is_attributed_and_own_python_is_outside():
    w = tensorgrad.ones(4, requires_grad=True)

    def loss():
        clock.passes(2)
        y = Slow.apply(w)
        clock.passes(7)
        np.linalg.norm(w.data)
        y = Slow.apply(y).sum()
        clock.passes(1)
        return y

    found = viz.profile(loss, repeats=2)
    assert times(found, ("Slow", TOP), (OUTSIDE, TOP)) == [(2, 6, 10, 0), (0, 10, 0, 0)]
    assert found.total == found.wall == found.plain == 26
    assert (found.forward, found.backward, found.again, found.outside) == (16, 10, 0, 10)
    assert [(group.name, group.total) for group in found.by_op()][:2] == [("Slow", 16), (OUTSIDE, 10)]
    assert next((g.name, g.calls, g.total) for g in found.by_shape()) == ("Slow 4", 2, 16)


def test_modules_have_paths_and_hold_the_time_of_those_inside():
    model = Net()
    x = tensorgrad.ones(4)

    def loss():
        return Slow.apply(model(x)).sum()

    found = viz.profile(loss, repeats=1, model=model)
    assert times(found, ("Slow", "layers.0"), (OUTSIDE, "layers.1")) == [(1, 3, 5, 0), (0, 1, 0, 0)]
    groups = {group.name: (group.total, group.inside) for group in found.by_module()}
    assert groups["layers.0"] == groups["layers.1"] == (9, 9)
    assert groups["Net"] == (0, 18)
    assert groups[TOP] == (8, 26)
    alike = {group.name: group.inside for group in found.by_module(alike=True)}
    assert alike["layers.*"] == 18
    assert {row.stack for row in found.rows if row.op == "Slow"} == {(), ("Net", "layers.0"), ("Net", "layers.1")}
    named = viz.profile(loss, repeats=1)
    assert {row.module for row in named.rows if row.op == "Slow"} == {TOP, "Net.layers.0", "Net.layers.1"}


def test_what_a_checkpoint_computes_again_is_told_apart_and_in_its_module():
    plain, again = Net(), Net(again=True)
    x = tensorgrad.ones(4)
    one = viz.profile(lambda: plain(x).sum(), repeats=1)
    two = viz.profile(lambda: again(x).sum(), repeats=1)
    for i in (0, 1):
        name = ("Slow", f"Net.layers.{i}")
        assert times(one, name) == [(1, 3, 5, 0)]
        assert times(two, name) == [(1, 3, 5, 3)]
    assert (one.again, one.total) == (0, 18)
    assert (two.forward, two.total) == (8, two.wall)
    assert times(two, (OUTSIDE, "Net.layers.1")) == [(0, 1, 0, 1)]
    assert (two.again, two.backward) == (8, 18)
    assert {row.module for row in two.rows if row.again} == {"Net.layers.0", "Net.layers.1"}


def test_a_function_that_is_checkpointed_has_its_operations_too():
    w = tensorgrad.ones(4, requires_grad=True)
    found = viz.profile(lambda: checkpoint(lambda x: Slow.apply(x).exp(), w).sum(), repeats=1)
    assert times(found, ("Slow", TOP)) == [(1, 3, 5, 3)]
    assert found.total == found.wall == 11


def test_lean_graphs_and_operations_that_are_not_recorded_count():
    w = tensorgrad.ones(4, requires_grad=True)

    def loss():
        with no_grad():
            y = Slow.apply(w)
        with lean_graph():
            return (Slow.apply(w).exp() * y).sum()

    found = viz.profile(loss, repeats=1)
    assert times(found, ("Slow", TOP)) == [(2, 6, 5, 0)]
    assert found.total == found.wall == 11


def test_values_with_a_rule_of_the_users():
    a = Value(2.0)

    def loss():
        clock.passes(4)
        out = Value(a.data**2, (a,), "square")

        def rule():
            clock.passes(6)
            a.grad += 2 * a.data * out.grad

        out._backward = rule
        return out + 1

    found = viz.profile(loss, repeats=3)
    assert times(found, ("square", TOP), (OUTSIDE, TOP)) == [(1, 0, 6, 0), (0, 4, 0, 0)]
    assert found.total == found.wall == found.plain == 10
    assert (found.runs, found.averaged) == (3, 2)


@pytest.mark.parametrize("kind", ["GPT", "MLP"])
def test_it_counts_every_operation_of_the_graph(kind):
    model = GPT(GPTConfig(vocabulary=5, context=4, blocks=2, heads=2, width=4)) if kind == "GPT" else MLP(2, [3, 1])
    tokens = tensorgrad.tensor([[1, 2, 3, 4]])

    def loss():
        return model.loss(tokens, tokens) if kind == "GPT" else (model([1.0, 2.0]) - 1.0) ** 2

    counted = Counter()
    for row in viz.profile(loss, repeats=1, model=model).rows:
        counted[row.op] += row.calls if row.is_operation else 0
    if kind == "GPT":
        counted["flatten"] -= 1  # of the targets, which is not recorded
    assert +counted == Counter(node._op for node in topological_order(loss()) if node._prev)


def test_operations_of_other_threads_do_not_count():
    w = tensorgrad.ones(4, requires_grad=True)

    def elsewhere():
        with viz.scope("elsewhere"):
            Slow.apply(w)
        w.tanh()

    def loss():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return w.exp().sum()

    found = viz.profile(loss, repeats=1)
    assert {row.op for row in found.rows if row.is_operation} == {"exp", "sum"}
    assert found.total == found.wall == 3


def test_the_slower_half_of_the_runs_is_left_out():
    w = tensorgrad.ones(4, requires_grad=True)
    takes = iter([1, *[1, 100, 2, 3, 3, 4, 4, 1], 1])  # one run before all, then plain ones and looked at by turns

    def loss():
        clock.passes(next(takes))
        return w.sum()

    found = viz.profile(loss, repeats=4)
    assert (found.runs, found.averaged) == (4, 2)
    assert (found.wall, found.total, found.plain) == (2, 2, 1.5)  # of 100, 3, 4, 1 and of 1, 2, 3, 4


# -- what it leaves behind ---------------------------------------------------------------------------------------------


def test_gradients_and_the_random_generator_are_put_back():
    w = tensorgrad.ones(4, requires_grad=True)
    w.grad = np.full(4, 7.0, w.data.dtype)
    tensorgrad.manual_seed(1)
    first = tensorgrad.rand(2).tolist()
    tensorgrad.manual_seed(1)
    viz.profile(lambda: (w * tensorgrad.rand(4)).sum(), repeats=2)
    assert w.grad.tolist() == [7.0] * 4
    assert tensorgrad.rand(2).tolist() == first


@pytest.mark.parametrize("at", range(1, 5))
def test_nothing_stays_installed_when_a_run_fails(at):
    w = tensorgrad.ones(4, requires_grad=True)
    calls = []

    def loss():
        calls.append(None)
        if len(calls) == at:
            raise ZeroDivisionError
        return w.exp().sum()

    before = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        viz.profile(loss, repeats=1)
    assert (observers, open_scopes, sys.getprofile()) == ([], [], before)
    assert w.grad is None
    assert viz.profile(loss, repeats=1).total == 0


def test_a_rule_that_fails_leaves_nothing_either():
    a = Value(2.0)
    done = []

    def loss():
        out = a * 3.0
        done.append(None)
        if len(done) == 3:
            out._backward = lambda: 1 / 0
        return out

    with pytest.raises(ZeroDivisionError):
        viz.profile(loss, repeats=1)
    assert (observers, open_scopes, a.grad) == ([], [], 0.0)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "settings", "error", "told"),
    [
        (lambda: Value(1.0) * 2, {"repeats": 0}, UserError, "repeats= is a whole number from 1 to 1000, got 0"),
        (lambda: Value(1.0) * 2, {"repeats": 2.0}, UserError, "got 2.0"),
        (Value(1.0) * 2, {}, TypeError, "give a function that returns the loss, got a Value that has been made"),
        ("loss", {}, TypeError, "takes a function of no arguments that returns the loss, got a str"),
        (lambda: 3.0, {}, TypeError, "must return the loss, a Value or a Tensor, and it returned a float"),
        (lambda: None, {}, TypeError, "it returned a NoneType"),
        (lambda: tensorgrad.ones(3).sum(), {}, UserError, "requires no gradient, so there is no backward pass"),
        (lambda: Value(1.0), {}, UserError, "returned a leaf, which no operation made"),
        (lambda: Tensor([1.0, 2.0], requires_grad=True) * 2, {}, RuntimeError, "is not a scalar"),
    ],
)
def test_bad_input(given, settings, error, told):
    with pytest.raises(error, match=told.replace("(", r"\(")):
        viz.profile(given, **settings)


@pytest.mark.parametrize("kind", ["values", "tensors", "lean"])
def test_a_function_that_goes_backward_itself_is_refused(kind):
    a = Value(2.0) if kind == "values" else Tensor(2.0, requires_grad=True)

    def step():
        loss = a * a
        loss.backward()
        return loss

    def beside():
        (a * a).backward()
        return a * 3

    with tensorgrad.lean_graph() if kind == "lean" else nullcontext():
        with pytest.raises(UserError, match="leave backward"):
            viz.profile(step, repeats=1)
        assert sum(group.calls for group in viz.profile(beside, repeats=1).by_op())


def test_a_loss_of_several_elements_takes_its_seed():
    w = tensorgrad.ones(2, requires_grad=True)
    assert viz.profile(lambda: Slow.apply(w), repeats=1, gradient=[1.0, 2.0]).backward == 5


# -- table, JSON, bars -------------------------------------------------------------------------------------------------


def profiled():
    model = Net(again=True)
    x = tensorgrad.ones(4)
    return viz.profile(lambda: model(x).sum(), repeats=5, model=model)


def test_the_table():
    found = profiled()
    lines = str(found).splitlines()
    assert lines[:8] == [
        "mean of 3 runs, the faster half of 5",
        "                                s",
        "forward                      8.00   30.8%",
        "backward                    18.00   69.2%",
        "  of it computed again       8.00   30.8%",
        "in all                      26.00  100.0%",
        "measured by the wall clock  26.00  100.0%",
        "without the profile         26.00  100.0%",
    ]
    assert lines[9] == "by operation             calls  forward  backward  again  in all  share"
    assert lines[10] == "Slow                         2     6.00     10.00   6.00   22.00  84.6%"
    assert "layers.*                       6     8.00     10.00   8.00   26.00  100.0%      100.0%" in lines
    assert found.table("shape").splitlines()[9].startswith("by result")
    assert repr(found) == "<Profile of 9 operations: forward 8.00 s, backward 18.00 s: print it for the table>"
    told = []
    found._repr_pretty_(SimpleNamespace(text=told.append), False)
    assert told == [str(found)]
    with pytest.raises(UserError, match="by op, module or shape, got 'size'"):
        found.groups("size")


def test_as_plain_data():
    found = json.loads(json.dumps(profiled().as_dict(), allow_nan=False))
    assert found["total"] == found["wall"] == 26
    for table in ("rows", "by_op", "by_module", "by_shape"):
        assert sum(each["forward"] + each["backward"] + each["again"] for each in found[table]) == 26


def test_bars_lie_side_by_side_in_the_bar_above():
    found = profiled()
    placed = bars(found)
    assert [(bar.name, bar.start, bar.seconds) for bar in placed if bar.level == 0] == [
        ("forward", 0, 8),
        ("backward", 8, 18),
    ]
    layers = [(bar.name, bar.start, bar.seconds) for bar in placed if bar.name.startswith("layers")]
    assert layers == [("layers.0", 0, 4), ("layers.1", 4, 4), ("layers.1", 8, 9), ("layers.0", 17, 9)]
    for bar in placed:
        inside = [b for b in placed if b.level == bar.level + 1 and bar.start <= b.start < bar.start + bar.seconds]
        assert bar.kind in ("op", "again", "other") or sum(b.seconds for b in inside) == bar.seconds
    assert [bar.kind for bar in placed if bar.name == "Slow"].count("again") == 2
