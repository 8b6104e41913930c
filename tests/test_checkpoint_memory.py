"""What a checkpointed stack holds: what its blocks read, what a policy keeps, and one block's results at a time."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, lean_graph, manual_seed, no_grad
from tensorgrad.nn.functional import dropout, linear
from tensorgrad.remembering import remembered
from tensorgrad.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    noop_context_fn,
)
from tensorgrad.versions import held_arrays

UNIT = 4 * 256 * 256
"""Bytes of one result in the stacks below."""

SEED = Tensor(np.ones((256, 256), np.float32))


def block(h: Tensor) -> Tensor:
    """Six results, of which rules hold four: the operands of sin, exp and *, and tanh's result."""
    return (h.sin() * 0.5).exp().tanh() * h + 0.1


def stack(count: int, call: Callable[..., Tensor]) -> Tensor:
    h = Tensor(np.linspace(-1, 1, UNIT // 4, dtype=np.float32).reshape(256, 256), requires_grad=True)
    for _ in range(count):
        h = call(block, h)
    return h


@pytest.fixture
def traced() -> Iterator[None]:
    stack(1, checkpoint).sum().backward()  # what is imported at the first call is none of the stack's
    gc.collect()
    gc.disable()  # so that reference cycles would be seen
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.enable()


def plainly(function: Callable[..., Tensor], x: Tensor) -> Tensor:
    return function(x)


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("graph", [nullcontext, lean_graph])
def test_a_stack_holds_a_result_a_block_and_one_blocks_inside(graph: Any):
    def units(count: int, call: Callable[..., Tensor]) -> np.ndarray:
        """What is held after the forward pass, and the peaks of both passes."""
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with graph():
            out = stack(count, call)
        held, forward = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        out.backward(SEED, keep_grads=False, retain_graph=False)
        backward = tracemalloc.get_traced_memory()[1]
        return (np.array([held, forward, backward]) - before) / UNIT

    held, forward, backward = units(16, checkpoint)
    _, one_forward, one_backward = units(1, plainly)
    assert held == pytest.approx(17, abs=0.5)  # the leaf and the results
    assert forward < 15 + one_forward + 1
    assert backward < 15 + one_backward + 4  # the block's result, and gradients at its border, are there twice
    assert units(16, plainly)[2] > 1.9 * backward
    assert tracemalloc.get_traced_memory()[0] < 0.5 * UNIT


def test_the_rule_holds_what_the_block_read_and_what_was_kept():
    x, w = Tensor(np.ones((2, 3)), requires_grad=True), Tensor(np.ones((3, 3)), requires_grad=True)

    def program(x: Tensor) -> Tensor:
        return linear(linear(x, w).sin(), w).exp()

    for names, count in (([], 0), (["matmul"], 0), (["linear"], 2)):
        out = checkpoint(program, x, context_fn=partial(create_selective_checkpoint_contexts, names))
        held = {id(a) for a in held_arrays(out._rules)} - {id(x.data), id(w.data)}
        assert sum(a.shape == (2, 3) for a in held_arrays(out._rules) if id(a) in held) == count
        out.sum().backward(retain_graph=False)
        assert not [*held_arrays(out._rules)]


# -- a selective policy ------------------------------------------------------------------------------------------------


def run(policy: Any, change: Callable[[], Any] = lambda: None, **settings: Any) -> tuple[list[str], list[np.ndarray]]:
    """The products that are computed in each run of a block, and its gradients."""
    rng = np.random.default_rng(1)
    x, w, v = (Tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((3, 4), (5, 4), (5, 2)))
    calls: list[str] = []

    def program(h: Tensor) -> Tensor:
        before = len(calls)
        h = dropout(linear(h, w).tanh(), 0.5) @ v
        calls.append(f"run {before}")
        return h.sin() @ Tensor(np.ones((2, 2)))

    manual_seed(3)
    context = noop_context_fn if policy is None else partial(create_selective_checkpoint_contexts, policy, **settings)
    out = checkpoint(program, x, context_fn=context)
    change()
    for _ in range(2):  # what was kept is handed back in every pass
        out.sum().backward()
    return calls, [x.grad, w.grad, v.grad]


def saves_the_first_product(context: Any, op: str, *operands: Tensor) -> CheckpointPolicy:
    assert not context.is_recompute
    is_first = op == "matmul" and operands[1].shape == (5, 2)
    return CheckpointPolicy.PREFER_SAVE if is_first else CheckpointPolicy.MUST_RECOMPUTE


@pytest.mark.parametrize(
    "policy",
    [["linear"], ("matmul", "linear"), [], saves_the_first_product, lambda context, op, *operands: True],
    ids=["linear", "both", "none", "first", "all"],
)
def test_a_policy_changes_no_bit(policy: Any):
    for a, b in zip(run(policy)[1], run(None)[1], strict=True):
        np.testing.assert_array_equal(a, b)


def computed(names: list[str]) -> list[str]:
    """The operations that are computed, in both runs, of a block that says so itself."""
    found: list[str] = []

    def costly(op: str, x: Tensor) -> Tensor:
        def compute() -> np.ndarray:
            found.append(op)
            return x.data * 2

        return x * Tensor(remembered(op, compute, [x]))

    x = Tensor([1.0, 2.0], requires_grad=True)
    context = partial(create_selective_checkpoint_contexts, names)
    checkpoint(lambda x: costly("matmul", costly("linear", x)), x, context_fn=context).sum().backward()
    assert x.grad.tolist() == [8, 64]
    return found


def test_what_is_kept_is_not_computed_again():
    assert computed([]) == ["linear", "matmul", "linear", "matmul"]
    assert computed(["linear"]) == ["linear", "matmul", "matmul"]
    assert computed(["linear", "matmul"]) == ["linear", "matmul"]


def test_a_block_in_a_selective_block_decides_for_itself():
    x, w = Tensor(np.ones((2, 2)), requires_grad=True), Tensor(np.eye(2), requires_grad=True)
    keeps = partial(create_selective_checkpoint_contexts, ["linear"])

    def outer(h: Tensor) -> Tensor:
        return checkpoint(lambda h: linear(h, w).sin(), linear(h, w))

    out = checkpoint(outer, x, context_fn=keeps)
    kept = [a for a in held_arrays(out._rules) if a.shape == (2, 2) and a is not x.data and a is not w.data]
    assert len(kept) == 1
    out.sum().backward()
    plain = Tensor(np.ones((2, 2)), requires_grad=True)
    linear(linear(plain, w), w).sin().sum().backward()
    np.testing.assert_array_equal(x.grad, plain.grad)


def test_a_backward_pass_within_a_selective_block_asks_its_policy_nothing():
    asked: list[str] = []

    def policy(context: Any, op: str, *operands: Any) -> bool:
        asked.append(op)
        return True

    def outer(h: Tensor) -> Tensor:
        w = Tensor(np.ones((2, 2)), requires_grad=True)
        checkpoint(lambda w: w @ w, w).sum().backward()
        return linear(h, Tensor(w.grad))

    x = Tensor(np.ones((2, 2)), requires_grad=True)
    out = checkpoint(outer, x, context_fn=partial(create_selective_checkpoint_contexts, policy))
    assert asked == ["linear"]
    out.sum().backward()
    np.testing.assert_array_equal(x.grad, np.full((2, 2), 8))


def test_a_kept_result_that_is_changed_in_place():
    w, x = Tensor(np.eye(2), requires_grad=True), Tensor(np.ones((1, 2)), requires_grad=True)

    def program(x: Tensor) -> Tensor:
        with no_grad():
            scale = linear(x, w)
            scale.mul_(3)
        return x * scale

    out = checkpoint(program, x, context_fn=partial(create_selective_checkpoint_contexts, ["linear"]))
    with pytest.raises(
        CheckpointError, match=r"the kept result of 'linear', operation 1 .* was changed in place since"
    ):
        out.sum().backward()
    careless = partial(create_selective_checkpoint_contexts, ["linear"], allow_cache_entry_mutation=True)
    out = checkpoint(program, x, context_fn=careless)
    with pytest.raises(CheckpointError, match="gave other numbers"):
        out.sum().backward()


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda x, w: linear(x, w).sin(), "operation 2 .* was 'linear' .* no other operation that can be kept"),
        (lambda x, w: linear(x @ w, w), "operation 1 .* was 'linear' of operands .* the second has 'matmul'"),
        (
            lambda x, w: linear(linear(linear(x, w), w), w),
            "the first run had 2 operations .* and the second goes on with",
        ),
    ],
    ids=["fewer", "another", "more"],
)
def test_a_second_run_with_other_operations(second: Any, message: str):
    x, w = Tensor(np.ones((2, 2)), requires_grad=True), Tensor(np.ones((2, 2)), requires_grad=True)
    programs = iter([lambda x, w: linear(linear(x, w), w), second])
    keeps = partial(create_selective_checkpoint_contexts, ["linear"])
    out = checkpoint(lambda x: next(programs)(x, w), x, context_fn=keeps)
    with pytest.raises(CheckpointError, match=f"(?s){message}"):
        out.sum().backward()
    assert remembered("linear", lambda: 5, []) == 5  # nothing stays open


def test_policies_that_are_none():
    with pytest.raises(ValueError, match="results of 'gelu' cannot be kept, those of 'linear', 'matmul', 'scaled_dot"):
        create_selective_checkpoint_contexts(["linear", "gelu"])
    for wrong in ("linear", 5):
        with pytest.raises(TypeError, match="takes a list of operations' names or a function, got"):
            create_selective_checkpoint_contexts(wrong)
    with pytest.raises(TypeError, match="the policy must return a CheckpointPolicy, got None for 'linear'"):
        run(lambda context, op, *operands: None)


# -- settings of checkpoint --------------------------------------------------------------------------------------------


def test_settings_that_are_refused():
    x = tensorgrad.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="context_fn must return two contexts, for the two runs, got 5"):
        checkpoint(lambda x: x, x, context_fn=lambda: 5)
    with pytest.raises(TypeError, match="context_fn is a function that returns two contexts, got None"):
        checkpoint(lambda x: x, x, context_fn=None)
    with pytest.raises(ValueError, match="determinism_check is 'default' or 'none', got 'all'"):
        checkpoint(lambda x: x, x, determinism_check="all")


def test_the_operation_that_was_another_one_is_named_under_debug():
    x, functions = tensorgrad.ones(2, requires_grad=True), iter([Tensor.sin, Tensor.cos])
    out = checkpoint(lambda x: next(functions)(x * 2), x, debug=True)
    with pytest.raises(
        CheckpointError, match=r"\(operation 2 was sin \(2,\) in the first run and is cos \(2,\) in the"
    ):
        out.sum().backward()


def test_numbers_are_not_compared_without_determinism_check():
    x, factors = tensorgrad.ones(2, requires_grad=True), iter([2.0, 3.0])
    checkpoint(lambda x: x * next(factors), x, determinism_check="none", early_stop=False).sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_a_sequence_in_segments(segments: int):
    layers = tensorgrad.nn.Sequential(*[tensorgrad.nn.Linear(3, 3) for _ in range(5)])
    found = []
    for run_layers in (layers, lambda x: checkpoint_sequential(layers, segments, x, use_reentrant=False)):
        x = tensorgrad.ones(2, 3, requires_grad=True)
        out = run_layers(x)
        out.sum().backward()
        found.append([x.grad, *[p.grad for p in layers.parameters()]])
        layers.zero_grad()
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_segments_that_there_cannot_be():
    for wrong in (0, 3):
        with pytest.raises(ValueError, match=f"{wrong} segments of 2 functions: give 1 to as many as functions"):
            checkpoint_sequential([Tensor.sin, Tensor.cos], wrong, tensorgrad.ones(2))
