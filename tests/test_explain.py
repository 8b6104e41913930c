"""`explain`: why a tensor has the gradient that it has; and the warning for one that never came."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tensorgrad
from micrograd.backprop import chain_rule, deliver
from tensorgrad import Tensor, autograd, explain, inference_mode, no_grad, optim, where
from tensorgrad.autograd import gradcheck
from viz import compare, draw, trace


def leaf(*numbers: float, label: str = "") -> Tensor:
    return Tensor(list(numbers), requires_grad=True, label=label)


@pytest.fixture
def w() -> Tensor:
    return leaf(1.0, 2.0, label="w")


@pytest.fixture
def x() -> Tensor:
    return leaf(3.0, 4.0, label="x")


def check(tensor: Tensor, reason: str, *texts: str, loss: Tensor | None = None) -> None:
    found = explain(tensor, loss)
    assert found.reason == reason
    for text in texts:
        assert text in found.text
    assert str(found) == repr(found) == found.text
    assert "the result of the result" not in found.text
    assert "  " not in found.text
    assert found.text.endswith(".")
    assert found.text[0].isupper() or found.text.startswith(tensor.label)


# -- each reason -------------------------------------------------------------------------------------------------------


def test_all_is_well(w: Tensor, x: Tensor):
    loss = (w * x).sum()
    loss.backward()
    check(w, "reached", "w of shape (2,), float32 has a gradient: its norm is 5, no element is zero")
    w.grad = [0.0, 2.0]
    check(w, "reached", "1 of 2 elements are zero")


def test_before_any_pass():
    """In a fresh interpreter, since one pass has been run here before."""
    program = (
        "import tensorgrad as t; w = t.Tensor([1.0], requires_grad=True, label='w'); print(t.explain(w).reason, "
        "t.explain(w)); (w * 1).sum()"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == (
        "no pass yet No backward pass has been run yet, so w of shape (1,), float32 has no gradient.\n"
    )
    assert found.stderr == ""


def test_constants(w: Tensor):
    check(Tensor([1.0]), "constant", "A tensor of shape (1,), float32 is a constant", ".requires_grad_()")
    check(tensorgrad.tensor([1]), "constant", "only floating-point tensors have gradients")
    check(w.detach(), "detach", "detach() was called on w of shape (2,)", "Leave out the detach()")
    check((w * 2).detach() + 1, "detach", "detach() was called on the result of '*'")
    with no_grad():
        y = w * 2
    check(y, "no_grad", "the result of '*' of shape (2,) was computed inside no_grad()", "outside no_grad()")
    with inference_mode():  # remembers nothing
        check(w * 2, "constant")


def test_not_in_the_graph(w: Tensor, x: Tensor):
    loss = (x * 2).sum()
    loss.backward()
    check(w, "not in the graph", "w of shape (2,), float32 is not in the graph of the loss", "Was it used at all")
    loss = (x * Tensor(w.data)).sum()
    loss.backward()
    check(w, "not in the graph", "Tensor(...) remember nothing")


def test_detached_on_the_way(w: Tensor, x: Tensor):
    hidden = (w * 2).exp()
    hidden.label = "hidden"
    loss = (hidden.detach() * x).sum()
    loss.backward()
    check(
        w,
        "detach",
        "w of shape (2,), float32 went into a part of the computation that is cut off",
        "detach() was called on hidden of shape (2,), and became an operand of '*' of shape (2,)",
        "Leave out the detach()",
    )
    check(hidden, "detach", "hidden of shape (2,), float32 went into")
    other = leaf(1.0, label="other")
    check(other, "not in the graph", "The graph also ends where something was cut off: detach() was called on hidden")


def test_cut_off_by_no_grad_on_the_way(w: Tensor, x: Tensor):
    with no_grad():
        hidden = (w * 2).exp().tanh()
    loss = (hidden.reshape(1, 2) * x).sum()
    loss.backward()
    check(
        w, "no_grad", "w of shape (2,), float32 went into", "was computed inside no_grad()", "became an operand of '*'"
    )
    (x * 1).sum().backward()
    check(w, "no_grad", loss=loss)


def test_a_cut_keeps_nothing_alive(x: Tensor):
    w = leaf(1.0, 2.0)
    cut = (w * 2).detach()
    loss = (cut * x).sum()
    del w
    gc.collect()
    loss.backward()
    assert [source() for source in cut._cuts[0].sources] == [None] * len(cut._cuts[0].sources)


def test_an_operation_without_a_rule(w: Tensor):
    y = Tensor(w.data * 2, _prev=(w,), _op="mine")
    loss = y.sum()
    with pytest.warns(RuntimeWarning, match="'mine' has operands but no rule"):
        loss.backward()
    check(w, "no rule", "but the result of 'mine' of shape (2,), float32 sends no gradient", "_backward")


def test_cleared(w: Tensor):
    loss = (w * w).sum()
    loss.backward()
    w.grad = None
    check(w, "cleared", "w of shape (2,), float32 is in the graph of the loss", "zero_grad()")
    again = (w * w).sum()
    check(w, "cleared", "no backward pass has been run from this loss yet", loss=again)


def test_the_loss_is_gone(w: Tensor, x: Tensor):
    (x * 1).sum().backward()
    gc.collect()
    check(w, "loss is gone", "came to w of shape (2,), float32 is not known", "explain(tensor, loss)")


def test_zeros(w: Tensor, x: Tensor):
    programs = {
        "the result of 'relu' of shape (2,), float32 (no input is above 0)": lambda: (w - 5).relu() * x,
        "(the other factor is zero)": lambda: w * 0 * x,
        "(the other factor, mask, is zero)": lambda: w * Tensor([0.0, 0.0], label="mask") * x,
        "the result of 'tanh' of shape (2,), float32 (it is saturated)": lambda: (w * 1000).tanh() * x,
        "the result of 'where' of shape (2,), float32 (its local derivative is zero": lambda: where(w > 9, w, x),
        "the result of 'clamp": lambda: w.clamp(5, 6) * x,
    }
    for text, program in programs.items():
        w.grad = None
        loss = program().sum()
        loss.backward()
        check(w, "zero", "w of shape (2,), float32 has a gradient of zeros. It was blocked by a zero in", text)
    w.grad = None
    loss = (w * 3).sum()
    loss.backward(0.0)
    check(w, "zero", "Nothing but zeros came from above")


def test_many_blocks_are_counted(w: Tensor):
    loss = sum(((w - 5).relu() for _ in range(5)), Tensor([0.0])).sum()
    loss.backward()
    assert explain(w).text.count("relu") <= 3
    assert "and 2 more" in explain(w).text


def test_not_finite():
    z = leaf(0.0, 1.0, label="z")
    loss = z.sqrt().sum()
    loss.backward()
    check(
        z,
        "not finite",
        "z of shape (2,), float32: 1 of 2 elements of its gradient are inf or nan",
        "In the backward pass the first of them was sent by the result of 'sqrt' of shape (2,), float32.",
    )
    z.grad = None
    loss = (z.log() * z).sum()
    loss.backward()
    check(
        z, "not finite", "In the forward pass inf or nan first appeared in the result of 'log' of shape (2,), float32."
    )
    z.grad = None
    loss = z.sum()
    loss.backward(np.inf)
    check(z, "not finite", "The gradient of the loss was not finite to begin with")


def test_results_are_explained_too(w: Tensor):
    y = w * 2
    aside = w * 3
    loss = (y.detach() * w).sum()
    loss.backward()
    check(y, "detach", "The result of '*' of shape (2,), float32 went into")
    check(aside, "not in the graph", "The result of '*' of shape (2,), float32 is not in the graph")


def test_explaining_changes_nothing(w: Tensor):
    loss = where(w > 5, w, 0).sum()
    loss.backward()
    grads = [w.grad, loss.grad]
    for _ in range(3):
        explain(w)
    assert [w.grad, loss.grad][0] is grads[0]
    assert loss.grad is grads[1]
    w.grad = None
    loss.backward()
    assert w.grad.tolist() == [0, 0]


def test_wrong_arguments(w: Tensor):
    with pytest.raises(TypeError, match="explain: takes a Tensor, got a ndarray"):
        explain(w.data)
    with pytest.raises(TypeError, match="explain: takes a Tensor, got a int"):
        explain(w, 5)


# -- reading .grad -----------------------------------------------------------------------------------------------------

UNREACHED = r"w of shape \(2,\), float32 has no gradient: the last backward pass did not reach it; tensorgrad\.explain"


def test_it_warns_after_a_pass_that_did_not_come(w: Tensor, x: Tensor):
    assert w.grad is None
    (x * 2).sum().backward()
    for _ in range(2):
        with pytest.warns(UserWarning, match=UNREACHED) as found:
            assert w.grad is None
        assert Path(found[0].filename) == Path(__file__)
    (w * 2).sum().backward()
    assert w.grad is not None


def test_it_warns_for_a_result_too(w: Tensor, x: Tensor):
    y = w * 2
    (x * 2).sum().backward()
    with pytest.warns(UserWarning, match=r"the result of '\*' of shape \(2,\), float32 has no gradient"):
        assert y.grad is None


def test_a_pass_that_autograd_backward_runs_counts(w: Tensor, x: Tensor):
    autograd.backward((x * 2).sum())
    with pytest.warns(UserWarning, match=UNREACHED):
        assert w.grad is None


def test_it_does_not_warn_where_nothing_is_amiss(w: Tensor, x: Tensor):
    constant = Tensor([1.0])
    (x * 2).sum().backward()
    assert constant.grad is None
    assert leaf(1.0).grad is None  # made after the pass
    assert (x * 3).grad is None
    w.grad = None
    assert w.grad is None  # cleared after the pass
    optimizer = optim.SGD([w, x], lr=0.1)
    optimizer.zero_grad()
    assert w.grad is None
    assert x.grad is None


def test_it_warns_again_after_the_next_pass(w: Tensor, x: Tensor):
    optimizer = optim.SGD([w, x], lr=0.1)
    (w * x).sum().backward()
    optimizer.zero_grad()
    (x * x).sum().backward()
    with pytest.warns(UserWarning, match=UNREACHED):
        assert w.grad is None


def test_the_engine_and_the_tools_read_without_a_word(w: Tensor, x: Tensor):
    (x * 2).sum().backward()
    model_loss = (w * 2).sum()
    for optimizer in (optim.SGD([w, x], lr=0.1), optim.Adam([w, x], lr=0.1)):
        optimizer.step()
        optimizer.zero_grad()
    (x * 2).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace(model_loss)
        draw(model_loss)
        explain(w)
        autograd.grad(model_loss, w)
        deliver(chain_rule(model_loss, model_loss._seed()))
        y = Tensor([1.0, 2.0], dtype=np.float64, requires_grad=True)
        gradcheck(lambda y: y * y, y)
        compare(lambda y: (y * y).sum(), y)
        repr(w)
    w.grad = None


def test_rules_of_the_users_own_may_read_it(w: Tensor):
    """x.grad = x.grad + ... in a rule: during a pass it is no question of having been reached."""
    y = Tensor(w.data * 2, _prev=(w,), _op="mine")

    def backward() -> None:
        w.grad = w.grad + 2 * y.grad

    y._backward = backward
    (leaf(1.0) * 1).sum().backward()
    y.sum().backward()
    assert w.grad.tolist() == [2, 2]


def test_a_gradcheck_is_no_pass_of_the_users(w: Tensor, x: Tensor):
    loss = (w * x).sum()
    loss.backward()
    y = Tensor([1.0], dtype=np.float64, requires_grad=True)
    late = leaf(1.0)
    gradcheck(lambda y: y * y, y)
    assert late.grad is None
    check(w, "reached")
