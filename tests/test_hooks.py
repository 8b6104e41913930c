"""Hooks: functions of a tensor's whole gradient in one pass."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from micrograd import Value, backprop
from micrograd.backprop import add_hook, chain_rule, deliver, has_hooks, overwrite
from tensorgrad import Tensor, autograd, no_grad
from tensorgrad.utils.checkpoint import checkpoint
from viz import trace


def leaf(*numbers: float) -> Tensor:
    return Tensor(list(numbers), requires_grad=True)


@pytest.fixture(autouse=True)
def none_left():
    gc.freeze()  # so that only what the test made is looked through: torch alone has a million objects
    before = len(backprop._hooked)
    yield
    gc.collect()
    gc.unfreeze()
    assert len(backprop._hooked) == before
    assert not backprop._open_passes


# -- as torch ----------------------------------------------------------------------------------------------------------


def test_a_hook_sees_the_complete_gradient_before_the_node_sends(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        seen: list[Any] = []
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        for name, node in (("x", x), ("y", y)):
            node.register_hook(lambda g, name=name: seen.append((name, g.tolist())))
        (y * y + y).sum().backward()
        return [*seen, np.asarray(x.grad).tolist()]

    assert run(tensorgrad) == run(torch) == [("y", [5, 9]), ("x", [10, 18]), [10, 18]]


def test_what_a_hook_returns_takes_the_gradients_place(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        y.register_hook(lambda g: g * 10)
        x.register_hook(lambda g: g.clamp(-1, 35))
        (y * m.tensor([1.0, 2.0])).sum().backward()
        return np.asarray(x.grad).tolist()

    assert run(tensorgrad) == run(torch) == [30, 35]


def test_several_hooks_run_in_order_each_on_what_the_one_before_left(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        seen: list[Any] = []
        x = m.tensor([1.0], requires_grad=True)
        x.register_hook(lambda g: g + 1)
        x.register_hook(lambda g: seen.append(g.tolist()))
        x.register_hook(lambda g: g * 10)
        (x * 2).sum().backward()
        return [*seen, np.asarray(x.grad).tolist()]

    assert run(tensorgrad) == run(torch) == [[3], [30]]


def test_a_leaf_with_an_earlier_gradient(torch: ModuleType):
    """The hook sees this pass alone; what it returns is added to what was there."""

    def run(m: ModuleType) -> list[Any]:
        seen: list[Any] = []
        x = m.tensor([1.0, 2.0], requires_grad=True)
        x.sum().backward()
        x.register_hook(lambda g: (seen.append(g.tolist()), g * 10)[1])
        (x * 2 + x).sum().backward()
        return [*seen, np.asarray(x.grad).tolist()]

    assert run(tensorgrad) == run(torch) == [[3, 3], [31, 31]]


def test_handles(torch: ModuleType):
    def run(m: ModuleType) -> list[str]:
        seen: list[str] = []
        x = m.tensor([1.0], requires_grad=True)
        first = x.register_hook(lambda g: seen.append("first"))
        x.register_hook(lambda g: seen.append("second"))
        with x.register_hook(lambda g: seen.append("inside")):
            x.sum().backward()
        first.remove()
        first.remove()  # once more does nothing
        x.sum().backward()
        return seen

    assert run(tensorgrad) == run(torch) == ["first", "second", "inside", "second"]


def test_a_hook_may_remove_itself_and_add_others(torch: ModuleType):
    def run(m: ModuleType) -> list[str]:
        seen: list[str] = []
        x = m.tensor([1.0], requires_grad=True)

        def once(g: Any) -> None:
            seen.append("once")
            handle.remove()
            x.register_hook(lambda g: seen.append("later"))

        handle = x.register_hook(once)
        x.sum().backward()
        x.sum().backward()
        return seen

    assert run(tensorgrad) == run(torch) == ["once", "later"]


def test_a_hook_on_what_no_gradient_reaches_does_not_run(torch: ModuleType):
    def run(m: ModuleType) -> list[str]:
        seen: list[str] = []
        x, y = (m.tensor([1.0], requires_grad=True) for _ in range(2))
        y.register_hook(lambda g: seen.append("y"))
        (y * 2).register_hook(lambda g: seen.append("side branch"))
        x.sum().backward()
        return seen

    assert run(tensorgrad) == run(torch) == []


def test_a_hook_on_the_root(torch: ModuleType):
    for m in (tensorgrad, torch):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        loss = (x * x).sum()
        loss.register_hook(lambda g: g * 3)
        loss.backward()
        assert np.asarray(x.grad).tolist() == [6, 12]


def test_the_gradients_that_autograd_grad_returns_are_the_hooked_ones(torch: ModuleType):
    for m in (tensorgrad, torch):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g * 5)
        loss = y.sum()
        (dx,) = m.autograd.grad(loss, x, retain_graph=True)
        assert dx.tolist() == [10, 10]


def test_errors_of_torch_too(torch: ModuleType):
    for m in (tensorgrad, torch):
        with pytest.raises(RuntimeError, match=r"requires? (no|a) ?gradient|doesn't require gradient"):
            m.tensor([1.0]).register_hook(lambda g: g)
        x = m.tensor([1.0, 2.0], requires_grad=True)
        x.register_hook(lambda g: g.sum())
        with pytest.raises((RuntimeError, ValueError), match=r"shape|size"):
            (x * 2).sum().backward()


# -- here --------------------------------------------------------------------------------------------------------------


def test_texts_of_errors():
    with pytest.raises(RuntimeError, match=r"register_hook: a tensor of shape \(1,\), float32 requires no gradient"):
        Tensor([1.0]).register_hook(print)
    with pytest.raises(TypeError, match="register_hook: takes a function of the gradient, got a int"):
        leaf(1.0).register_hook(5)
    x = leaf(1.0, 2.0)
    with x.register_hook(lambda g: np.ones(3)), pytest.raises(ValueError, match=r"returned shape \(3,\) for .* \(2,\)"):
        x.sum().backward()
    with x.register_hook(lambda g: "text"), pytest.raises(TypeError, match="got a str"):
        x.sum().backward()
    assert x._grad is None


def test_a_hook_gets_a_constant_that_it_cannot_change():
    """A sum sends one and the same array to both operands: a change of one would be one of the other."""
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a, b = x * 2, y * 2

    def check(g: Tensor) -> None:
        assert (g.requires_grad, g.is_leaf, g.dtype) == (False, True, np.float32)
        assert not (g * x).requires_grad  # hooks run without recording
        with pytest.raises(RuntimeError, match="read-only"):
            g.mul_(10)

    a.register_hook(check)
    (a + b).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [2, 2]


def test_what_a_hook_returns_is_copied_and_cast():
    x, fixed = leaf(1.0, 2.0), np.array([7.0, 8.0])
    with x.register_hook(lambda g: fixed):
        x.sum().backward()
    assert x.grad.dtype == np.float32
    x.grad *= 2
    assert fixed.tolist() == [7, 8]
    x.grad = None
    with x.register_hook(lambda g: g):
        x.sum().backward()
    x.grad *= 2  # is the leaf's own to change
    assert x.grad.tolist() == [2, 2]


def test_a_hook_that_raises_leaves_earlier_gradients():
    x, y = leaf(1.0), leaf(1.0)
    x.grad = np.array([5.0], dtype=np.float32)

    def fails(g: Tensor) -> None:
        raise KeyError("boom")

    for node in (x, y):
        with node.register_hook(fails), pytest.raises(KeyError, match="boom"):
            (x * y).sum().backward()
    assert x.grad.tolist() in ([5.0], [6.0])  # x may have had its turn before y failed
    x.grad = y.grad = None
    (x * y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1], [1])


def test_a_pass_that_is_given_up_leaves_earlier_gradients():
    x = leaf(1.0)
    x.grad = np.array([5.0], dtype=np.float32)
    x.register_hook(lambda g: g)
    loss = (x * 2).sum()
    for steps in range(1, 4):
        walk = chain_rule(loss, loss._seed())
        for _ in range(steps):
            _, node, sent = next(walk)
            node.grad = sent if node.grad is None else node.grad + sent
        walk.close()
        assert x.grad.tolist() == [5]


def test_hooks_in_the_pass_with_the_bug():
    """With = in the place of +=, a hook sees what the bug left: the last contribution."""
    seen = []
    x = leaf(3.0)
    y = x * 1
    y.register_hook(lambda g: seen.append(g.tolist()))
    loss = (y * y).sum()
    deliver(chain_rule(loss, loss._seed()), overwrite)
    assert seen == [[3]]  # y, once, and not 2 y
    assert x.grad.tolist() == [3]


def test_hooks_run_in_a_trace_and_its_numbers_are_the_hooked_ones():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    steps = list(trace(y.sum()))
    np.testing.assert_array_equal(steps[-1].contribution, [20, 20])
    assert x._grad is None


def test_hooks_and_checkpoints():
    """Outside of the block a hook runs once; inside, in the second run, on what the block makes then."""
    seen: list[str] = []
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: seen.append(f"x {g.tolist()}"))
    before = x * 2
    before.register_hook(lambda g: seen.append(f"before {g.tolist()}"))

    def block(h: Tensor) -> Tensor:
        inner = h * h
        inner.register_hook(lambda g: seen.append(f"inner {g.tolist()}"))
        return inner * before

    out = checkpoint(block, before)
    out.register_hook(lambda g: seen.append(f"out {g.tolist()}"))
    out.sum().backward()
    assert seen == ["out [1.0, 1.0]", "inner [2.0, 4.0]", "before [12.0, 48.0]", "x [24.0, 96.0]"]
    assert x.grad.tolist() == [24, 96]


def test_a_hook_does_not_keep_its_tensor_alive():
    x = leaf(1.0)
    y = x * 2
    gone = weakref.ref(y)
    y.register_hook(lambda g: g)
    del y
    gc.collect()
    assert gone() is None


def test_a_hook_that_knows_its_tensor_does_not_keep_it_alive_either():
    for make in (lambda: leaf(1.0) * 2, lambda: Value(1.0) * 2):
        node = make()
        add_hook(node, lambda g, node=node: g * node.data)
        gone = weakref.ref(node)
        del node
        gc.collect()
        assert gone() is None


def test_copies_have_no_hooks():
    for node in (leaf(1.0), Value(1.0)):
        handle = add_hook(node, lambda g: g)
        for twin in (copy.copy(node), copy.deepcopy(node), pickle.loads(pickle.dumps(node))):
            assert has_hooks(node)
            assert not has_hooks(twin)
        handle()
        assert not has_hooks(node)


def test_a_hook_may_run_another_pass():
    x, other = leaf(1.0), leaf(3.0)

    def hook(g: Tensor) -> None:
        (other * other).sum().backward()

    x.register_hook(lambda g: None)
    with no_grad():
        pass

    def with_recording(g: Tensor) -> None:
        with tensorgrad.enable_grad():
            hook(g)

    x.register_hook(with_recording)
    (x * 2).sum().backward()
    assert (x.grad.tolist(), other.grad.tolist()) == ([2], [6])


def test_autograd_backward_from_several_roots_runs_a_hook_once():
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    autograd.backward([y.sum(), (y * y).sum()])
    assert seen == [[5, 9]]


# -- keeping gradients -------------------------------------------------------------------------------------------------


def test_retain_grad_is_not_needed_and_refused_where_torch_refuses(torch: ModuleType):
    for m in (tensorgrad, torch):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        assert y.retain_grad() is None
        x.retain_grad()
        (y * y).sum().backward()
        assert np.asarray(y.grad).tolist() == [4, 8]
        with pytest.raises(RuntimeError, match="grad"):
            m.tensor([1.0]).retain_grad()
    with pytest.raises(RuntimeError, match=r"retain_grad: w of shape \(1,\), float32 requires no gradient"):
        Tensor([1.0], label="w").retain_grad()


def test_requires_grad_(torch: ModuleType):
    for m in (tensorgrad, torch):
        x = m.tensor([1.0, 2.0])
        assert x.requires_grad_() is x
        assert x.requires_grad
        assert not x.requires_grad_(False).requires_grad
        y = x.requires_grad_(True) * 2
        assert y.requires_grad_() is y
        with pytest.raises(RuntimeError):
            y.requires_grad_(False)
        with pytest.raises((RuntimeError, TypeError), match="float"):
            m.tensor([1, 2]).requires_grad_()


# -- Values ------------------------------------------------------------------------------------------------------------


def test_hooks_on_values():
    seen = []
    x = Value(3.0)
    x.grad = 5.0
    y = x * x
    remove = add_hook(y, lambda g: seen.append(g) or g * 2)
    add_hook(x, lambda g: seen.append(g))
    (y + y).backward()
    assert seen == [2.0, 24.0]
    assert x.grad == 29.0
    remove()
    x.grad = 0.0
    (y + y).backward()
    assert seen[2:] == [12.0]
