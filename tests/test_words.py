"""The rules in words are true: each text is evaluated as Python and compared with what the engine sends.

So what the stepper shows beside a contribution cannot drift from what is computed. Every operation of the operator
table needs words, and all words must belong to an operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ops_table import CASES, EACH, VALUES, Case, Shapes, calls

import tensorgrad
from micrograd import Value
from micrograd.backprop import Node, topological_order
from tensorgrad import Tensor
from tensorgrad.shapes import unbroadcast
from tensorgrad.utils.checkpoint import checkpoint
from viz.graph import sent_by_slot
from viz.words import EVERY, LOCAL, PROSE, WHOLE, contribution, entry, formula, local_derivative

NAMES = ["first", "second", "third", "fourth"]
NUMPY = "sign cos sin cosh sinh log exp sqrt floor isfinite pi outer broadcast_to".split()
NOT_IN_TABLE = ["output", "checkpoint"]

FUNCTIONS = {name: getattr(np, name) for name in NUMPY} | {
    "unbroadcast": unbroadcast,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


class Result(np.ndarray):
    """A node's data as an array, with its gradient beside it."""

    grad: Any

    @classmethod
    def of(cls, node: Node) -> Result:
        array = np.asarray(node.data).view(cls)
        array.grad = np.asarray(node.grad)
        return array


def evaluate(text: str, node: Node) -> np.ndarray:
    """A text in which the operands are called `first` and `second` and the node `result`."""
    operands = {name: np.asarray(parent.data) for name, parent in zip(NAMES, node._prev, strict=False)}
    return np.asarray(eval(text, FUNCTIONS | operands | {"result": Result.of(node)}))


def entry_of(node: Node) -> str:
    return entry(node._op, [np.ndim(parent.data) for parent in node._prev], np.ndim(node.data))


def check(root: Node) -> None:
    """Compare the words of every node below `root` with what it sends, to random gradients."""
    rng = np.random.default_rng(5)
    for node in topological_order(root):
        node.grad = rng.standard_normal(np.shape(node.data)) if isinstance(node, Tensor) else rng.standard_normal()
        op = entry_of(node) if node._prev else ""
        for slot, sent in enumerate(sent_by_slot(node)):
            text = contribution(op, slot, NAMES[: len(node._prev)], "result")
            assert text is not None, f"{op} has no words"
            if op in PROSE or sent is None:
                continue
            got = evaluate(text, node)
            if local_derivative(op, slot, NAMES[: len(node._prev)], "result") is not None and got.shape != np.shape(
                sent
            ):
                got = unbroadcast(got, np.shape(sent))  # as the trace says it
            np.testing.assert_allclose(got, sent, rtol=1e-12, atol=1e-12, err_msg=f"{op}, operand {slot}: {text}")


@pytest.mark.parametrize(("case", "shapes"), [pytest.param(case, shapes, id=name) for name, case, shapes in calls()])
def test_words_of_tensor_operations(case: Case, shapes: Shapes):
    operands = case.sample(np.random.default_rng(4), shapes)
    check(case.function(tensorgrad, *[Tensor(x, requires_grad=True) for x in operands]))


@pytest.mark.parametrize("case", EACH, ids=lambda case: case.name)
def test_words_of_scalar_operations(case: Case):
    check(case.function(VALUES, *[Value(float(x)) for x in case.sample(np.random.default_rng(4))]))


def test_all_words_belong_to_an_operation():
    met = set()
    for _, case, shapes in calls(CASES):
        operands = case.sample(np.random.default_rng(4), shapes)
        for node in topological_order(case.function(tensorgrad, *[Tensor(x, requires_grad=True) for x in operands])):
            if node._prev:
                met.add(entry_of(node))
    assert set(LOCAL) | set(WHOLE) | set(EVERY) <= met | set(NOT_IN_TABLE), "words that no operation has"


def test_words_of_several_results_and_of_checkpoints():
    x = Tensor([1.0, 2.0], requires_grad=True)
    one, two = checkpoint(lambda x: (x * x, x + 1), x)
    loss = one @ two
    check(loss)
    assert {node._op for node in topological_order(loss)} - {"", "@"} == set(NOT_IN_TABLE)


def test_an_operation_without_words_has_none():
    assert contribution("no such", 0, NAMES, "result") is None
    assert local_derivative("no such", 0, NAMES, "result") is None
    assert contribution("+", 2, NAMES, "result") is None
    assert contribution("@", 2, NAMES, "result") is None


@pytest.mark.parametrize(
    ("op", "operands", "text"),
    [
        ("*", ["a", "b"], "a*b"),
        ("+", ["a", "b"], "a + b"),
        ("@", ["x", "w"], "x @ w"),
        ("**", ["a", "b"], "a**b"),
        ("**2", ["a"], "a**2"),
        ("neg", ["a"], "-a"),
        ("ReLU", ["e"], "relu(e)"),
        ("relu", ["e"], "relu(e)"),
        ("sum", ["e"], "sum(e)"),
        ("T", ["e"], "e.T"),
        ("floor_divide", ["a", "b"], "a // b"),
        ("clamp_between", ["x", "a", "b"], "clamp(x, a, b)"),
        ("where", ["a", "b"], "where(…, a, b)"),
        ("index", ["x"], "x[…]"),
    ],
)
def test_formulas(op: str, operands: list[str], text: str):
    assert formula(op, operands) == text
