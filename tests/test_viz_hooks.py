"""Hooks in a trace and in a comparison: what they did is said."""

from __future__ import annotations

import numpy as np

import viz
from tensorgrad import Tensor


def hooked(x: Tensor) -> Tensor:
    doubled = x * 3
    if doubled.requires_grad:
        doubled.register_hook(lambda g: g * 2)
    return (doubled * doubled).sum()


def test_the_step_after_a_hook_says_what_it_did() -> None:
    x = Tensor(2.0, requires_grad=True)
    steps = viz.trace(hooked(x), names={"x": x})
    last = list(steps)[-1]
    assert last.rule == "3 * a.grad, after the hook on a changed a.grad from 12 to 24"
    assert last.contribution == 72
    assert steps.grads == {"n4": 1, "n3": 1, "n2": 24, "n0": 72}
    assert not any("hook" in step.rule for step in list(steps)[:-1])


def test_a_hook_on_a_leaf_is_told_at_the_last_step_to_it() -> None:
    x = Tensor(2.0, requires_grad=True)
    x.register_hook(lambda g: g * 10)
    loss = x * x
    steps = viz.trace(loss, names={"x": x, "loss": loss})
    assert [step.rule for step in steps] == [
        "the seed",
        "x * loss.grad",
        "x * loss.grad, then the hook on x changed x.grad from 4 to 40",
    ]
    loss.backward()
    assert steps.grads["n0"] == x.grad == 40


def test_a_hook_that_only_looks_leaves_the_rule_as_it_is() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: None)
    steps = viz.trace(y.sum(), names={"x": x, "y": y})
    assert list(steps)[-1].rule == "3 * y.grad"


def test_a_comparison_that_agrees_does_not_mention_hooks() -> None:
    x = Tensor(np.ones(2), requires_grad=True)
    x.register_hook(lambda g: None)
    comparison = viz.compare(lambda x: (x * x).sum(), x)
    assert comparison.ok
    assert not comparison.notes


def test_a_comparison_that_differs_by_a_hook_names_it() -> None:
    comparison = viz.compare(hooked, np.ones(2), finite_differences=False)
    assert not comparison.ok
    assert any(note.startswith("a: a hook that changes the gradient") for note in comparison.notes)
