"""Checkpointing: the same gradients, bit for bit, and less memory."""

from __future__ import annotations

import gc
import importlib
import weakref
from collections import namedtuple
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from micrograd.backprop import chain_rule, deliver, overwrite, topological_order
from tensorgrad import Tensor, get_rng_state, lean_graph, manual_seed, no_grad, rand
from tensorgrad.autograd import Function, gradcheck
from tensorgrad.models.gpt import GPT, GPTConfig
from tensorgrad.nn.functional import cross_entropy, dropout
from tensorgrad.remembering import REMEMBERED
from tensorgrad.utils.checkpoint import checkpoint, checkpoint_sequential, create_selective_checkpoint_contexts
from viz import compare, trace

RNG = np.random.default_rng(3)
W1, W2, X = (RNG.standard_normal(shape).astype(np.float32) for shape in ((4, 8), (8, 4), (3, 4)))


def parameters(dtype: Any = np.float32) -> tuple[Tensor, Tensor, Tensor]:
    w1, w2, x = (Tensor(a.astype(dtype), requires_grad=True) for a in (W1, W2, X))
    return w1, w2, x


def plainly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


# -- programs that take the way of calling a block ---------------------------------------------------------------------


def closes_over_parameters(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def block(h: Tensor) -> Tensor:
        return ((h @ w1).tanh() @ w2 + h).sin()

    h = call(block, x)
    return (call(block, call(block, h)) * h).sum()


def closes_over_an_intermediate(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    """The design's own trap: a walk inside that empties what the block closed over."""
    outside = (x @ w1).tanh()
    h = call(lambda h: (h * outside).sin() + outside, outside * 2)
    return (h * outside).sum() + (outside @ w2).sum()


def several_results(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def block(h: Tensor) -> Any:
        a = (h @ w1).tanh()
        return a, {"out": a @ w2, "list": [h * 2, "text", 5]}, a.detach()

    a, rest, constant = call(block, x.sin())
    assert rest["list"][1:] == ["text", 5]
    assert not constant.requires_grad
    return (a * constant).sum() + (rest["out"] * rest["list"][0]).sum()


def unused_results(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    a, _, c = call(lambda h: (h @ w1, (h @ w1).exp(), (h * 2) @ w1), x)
    return (a * c).sum()


def keyword_arguments(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def block(h: Tensor, *, weight: Tensor, power: int = 1) -> Tensor:
        return (h @ weight) ** power

    return call(block, x, weight=w1, power=2).sum() + call(block, x, weight=w1).sum()


def nested(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def inner(h: Tensor) -> Tensor:
        return (h @ w1).tanh() @ w2

    def outer(h: Tensor) -> Tensor:
        return call(inner, call(inner, h) * h).sin() + call(inner, h)

    return call(outer, call(outer, x)).sum()


def an_operand_as_result(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    h = x * 2
    again, squared, leaf = call(lambda h: (h, h * h, x), h)
    return (again * squared).sum() + leaf.sum() + (h * 3).sum()


def one_result_twice(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def block(h: Tensor) -> tuple[Tensor, Tensor]:
        y = h.sin()
        return y, y

    a, b = call(block, x)
    return (a * b).sum()


def random_numbers(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def block(h: Tensor) -> Tensor:
        return dropout(h @ w1, 0.5) * rand(8)

    manual_seed(5)
    return (call(block, x) * call(block, x)).sum() + rand(()).item()


def assigns_inside(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def block(h: Tensor) -> Tensor:
        rows = tensorgrad.zeros(3, 8)
        for i in range(3):
            rows[i] = (h[i] @ w1).tanh()
        return rows

    return (call(block, x) ** 2).sum()


def makes_a_leaf_inside(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    return call(lambda h: h * Tensor(np.ones(4, np.float32), requires_grad=True), x).sum()


def results_used_in_another_order(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def block(h: Tensor) -> tuple[Tensor, Tensor]:
        s = h.sin()
        return (s * 1.1) * s, (s * 1.7).cos() * s * h

    a, b = call(block, x)
    return ((b * x) * a).sum()


def one_weight_many_times(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    """In a block, in several blocks, and outside of them."""

    def block(h: Tensor) -> Tensor:
        return ((h @ w1).tanh() @ w2 @ w1 * 0.3) @ w2 + h

    return ((call(block, call(block, x) @ w1 @ w2) @ w1) ** 2).sum()


def a_residual_stream(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    def block(h: Tensor) -> Tensor:
        h = h + (h @ w1).tanh() @ w2
        return h + (h * h @ w1).sin() @ w2

    return (call(block, call(block, call(block, x))) * x).sum()


def constants_and_containers_as_arguments(call: Any, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    """Weights in containers, some of them frozen, an operand that requires no gradient, things that are no tensors."""

    def block(h: Tensor, weights: dict[str, Any], factor: float, *rest: Any) -> dict[str, Any]:
        first, second = weights["both"]
        return {"out": ((h @ first).tanh() * factor) @ second, "rest": rest}

    found = call(block, x.detach(), {"both": (w1, w2.detach())}, 0.5, None, "text")
    assert found["rest"] == (None, "text")
    return found["out"].sum()


PROGRAMS = [
    closes_over_parameters,
    closes_over_an_intermediate,
    several_results,
    unused_results,
    keyword_arguments,
    nested,
    an_operand_as_result,
    one_result_twice,
    random_numbers,
    assigns_inside,
    makes_a_leaf_inside,
    results_used_in_another_order,
    one_weight_many_times,
    a_residual_stream,
    constants_and_containers_as_arguments,
]

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


@every_program
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("graph", [nullcontext, lean_graph])
def test_results_and_gradients_are_bit_equal(program: Any, dtype: Any, graph: Any):
    plain, kept = parameters(dtype), parameters(dtype)
    with graph():
        want, out = program(plainly, *plain), program(checkpoint, *kept)
    assert out.item() == want.item()
    for _ in range(2):  # also when the graph is walked again
        want.backward()
        out.backward()
        for a, b in zip(plain, kept, strict=True):
            np.testing.assert_array_equal(b._grad, a._grad)


@every_program
def test_in_a_trace(program: Any):
    plain, kept = parameters(), parameters()
    want, out = program(plainly, *plain), program(checkpoint, *kept)
    want.backward()
    found = trace(out)
    assert all(x._grad is None for x in kept)
    twin = dict(zip(kept, plain, strict=True))
    for record, node in zip(found.graph.nodes, topological_order(out), strict=True):
        if node in twin:
            np.testing.assert_array_equal(found.grads[record.key], twin[node].grad)


def test_where_the_walk_outside_lies_between_the_blocks_operations_the_last_digits_may_differ():
    """The block reads t, and o that was made of t: a plain pass comes to o before it is through with the block."""
    found = []
    for call in (plainly, checkpoint):
        t = Tensor(np.linspace(-2, 2, 300, dtype=np.float32), requires_grad=True)
        o = t.sin() * t * t
        call(lambda o, t=t: (t * 1.1) * (o * t) * t, o).sum().backward()
        found.append(t.grad)
    assert (found[0] != found[1]).any()
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dropout_p", [0.0, 0.1])
def test_a_gpt_gives_the_same_bits(dropout_p: float):
    """Attention, norms, dropout, a tied table; whole blocks, two blocks in one, selected results, lean."""
    model = GPT(GPTConfig(vocabulary=11, context=8, blocks=2, heads=2, width=16, dropout=dropout_p))
    tokens = tensorgrad.tensor(np.arange(16).reshape(2, 8) % 11)
    one, two = model.blocks

    def within(x: Tensor) -> Tensor:
        return checkpoint(two, checkpoint(one, x), context_fn=partial(create_selective_checkpoint_contexts, ["linear"]))

    def loss(through: Callable[[Tensor], Tensor]) -> list[np.ndarray]:
        manual_seed(4)
        x = through(model.drop(model.tokens(tokens) + model.positions(tensorgrad.arange(8))))
        cross_entropy(model.head(model.norm(x)).flatten(0, 1), tokens.flatten()).backward()
        found = [x.grad for x in model.parameters()]
        model.zero_grad()
        return found

    want = loss(lambda x: two(one(x)))
    assert all(np.any(g) for g in want)
    for through in (
        lambda x: checkpoint(two, checkpoint(one, x)),
        lambda x: checkpoint(lambda x: two(one(x)), x),
        lambda x: checkpoint(within, x),
        lambda x: checkpoint(two, one(x), context_fn=partial(create_selective_checkpoint_contexts, REMEMBERED)),
        lambda x: checkpoint_sequential(model.blocks, 2, x),
        lean_graph()(lambda x: checkpoint(within, x)),
    ):
        for a, b in zip(loss(through), want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_gradients_are_those_of_torchs_checkpoint(torch: ModuleType):
    found = []
    for m in (tensorgrad, torch):
        call = importlib.import_module(f"{m.__name__}.utils.checkpoint").checkpoint
        w, x = m.tensor(W1, requires_grad=True), m.tensor(X, requires_grad=True)
        out = call(lambda h, w=w, m=m: m.tanh(h @ w), x, use_reentrant=False)
        (out * out).sum().backward()
        found.append((np.asarray(w.grad), np.asarray(x.grad)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_gradcheck_and_compare():
    w1, w2, x = (Tensor(a, dtype=np.float64, requires_grad=True) for a in (W1[:2, :3], W2[:3, :2], X[:2, :2]))

    def f(x: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
        return closes_over_parameters(checkpoint, w1, w2, x)

    assert gradcheck(f, (x, w1, w2))
    assert compare(f, x, w1, w2).ok


def test_the_pass_with_the_bug_shows_it_as_without_checkpoints():
    """With = in the place of +=, of what comes from inside a block the last contribution is left."""
    found = []
    for call in (plainly, checkpoint):
        x = Tensor([3.0], requires_grad=True)
        loss = call(lambda h: h * h, x).sum()
        deliver(chain_rule(loss, loss._seed()), overwrite)
        found.append(x.grad.tolist())
    assert found == [[3], [3]]


def test_under_debug_and_anomaly_detection():
    plain, kept = parameters(), parameters()
    with tensorgrad.debug(), tensorgrad.autograd.set_detect_anomaly(True):
        a_residual_stream(plainly, *plain).backward()
        a_residual_stream(checkpoint, *kept).backward(retain_graph=False)
    for a, b in zip(plain, kept, strict=True):
        np.testing.assert_array_equal(b.grad, a.grad)


def test_a_mask_of_unselected_branches_ends_at_a_block():
    """A zero through which nothing passes is a plain zero inside: times the infinite slope of sqrt it is nan, as in
    torch."""
    found = []
    for call in (plainly, checkpoint):
        x = Tensor([0.0, 4.0], requires_grad=True)
        tensorgrad.where(x > 0, call(Tensor.sqrt, x), x).sum().backward()
        found.append(x.grad)
    np.testing.assert_array_equal(found[0], [1, 0.25])
    np.testing.assert_array_equal(found[1], [np.nan, 0.25])


def test_a_hook_on_what_a_block_reads_runs_once_with_all_of_it():
    w1, w2, x = parameters()
    seen: list[np.ndarray] = []
    h = x * 1
    h.register_hook(lambda g: seen.append(g.data))
    checkpoint(lambda h: h @ w1 @ w2 + h.sin() * h, h).sum().backward()
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], x.grad)


# -- in the graph ------------------------------------------------------------------------------------------------------


def test_the_block_is_one_node_whose_operands_are_what_it_read():
    w1, w2, x = parameters()
    outside = x * 2
    out = checkpoint(lambda h: (h @ w1).tanh() @ w2 + outside, x)
    assert (out._op, set(out._prev)) == ("checkpoint", {x, w1, w2, outside})


def test_memory_is_dropped_after_the_first_run_and_after_the_pass():
    w1, _, x = parameters()
    inner: list[weakref.ref[np.ndarray]] = []

    def block(h: Tensor) -> Tensor:
        a = (h @ w1).tanh()
        inner.append(weakref.ref(a.data))
        return (a * a).sin()

    gc.collect()
    gc.disable()
    try:
        loss = checkpoint(block, x).sum()
        assert [reference() for reference in inner] == [None]
        loss.backward()
        assert [reference() for reference in inner] == [None, None]
        plain = block(x)
        assert inner[2]() is not None
        del plain
    finally:
        gc.enable()


def test_in_a_lean_graph_the_second_run_is_lean_and_its_result_is_gone_once_it_is_in_the_graph():
    _, _, x = parameters()
    results: list[weakref.ref[np.ndarray]] = []
    seen = []

    class Probe(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            seen.append(results[-1]() is None)
            return g

    def block(h: Tensor) -> Tensor:
        inside = Probe.apply(h) * 2
        out = inside + 1  # a sum, whose rule holds nothing
        results.append(weakref.ref(out.data))
        seen.append(type(out._prev[0]) is not Tensor)
        return out

    with lean_graph():
        loss = checkpoint(block, x).sum()
    loss.backward()
    assert seen == [True, True, True]


def test_under_no_grad_it_is_a_call():
    w1, _, x = parameters()
    calls: list[bool] = []

    def block(h: Tensor) -> Tensor:
        calls.append(tensorgrad.is_grad_enabled())
        return h @ w1

    with no_grad():
        out = checkpoint(block, x)
    assert (out.requires_grad, calls) == (False, [False])


def test_nothing_to_differentiate_is_a_call():
    found = checkpoint(lambda h: (h * 2, 5), Tensor([1.0]))
    assert (found[0].tolist(), found[1]) == ([2], 5)
    assert checkpoint(lambda: None) is None


def test_named_tuples_and_other_containers_come_back_as_they_were():
    pair = namedtuple("pair", "left right")
    _, _, x = parameters()
    found = checkpoint(lambda h: pair(h * 2, [h * 3]), x)
    assert type(found) is pair
    assert type(found.right) is list
    assert found.right[0]._op == "output"


def test_the_random_generator_is_left_as_it_was_found():
    _, _, x = parameters()
    manual_seed(1)
    out = checkpoint(lambda h: dropout(h, 0.5), x)
    rand(3)  # the generator goes on before the second run
    before = get_rng_state()
    out.sum().backward()
    np.testing.assert_array_equal(np.asarray(get_rng_state()), np.asarray(before))
    np.testing.assert_array_equal(x.grad, np.where(out.data != 0, 2, 0))


def test_without_the_random_state_the_second_run_draws_other_numbers():
    x = Tensor(np.ones(1000), requires_grad=True)
    manual_seed(1)
    out = checkpoint(lambda h: dropout(h, 0.5), x, preserve_rng_state=False)
    out.sum().backward()
    assert (x.grad != out.data).any()


# -- failures ----------------------------------------------------------------------------------------------------------


def test_an_exception_in_either_run_leaves_everything_in_order():
    w1, _, x = parameters()
    fails: list[bool] = [True, False, True, False]

    def block(h: Tensor) -> Tensor:
        h = h @ w1
        if fails.pop(0):
            raise KeyError("boom")
        return h.sin()

    manual_seed(2)
    with pytest.raises(KeyError):
        checkpoint(block, x)
    middle = x * 1
    loss = checkpoint(block, middle).sum()
    middle.grad = None
    before = get_rng_state()
    with pytest.raises(KeyError):
        loss.backward()
    np.testing.assert_array_equal(np.asarray(get_rng_state()), np.asarray(before))
    assert x._grad is None
    loss.backward()
    want = (Tensor(X @ W1).cos().data) @ W1.T
    np.testing.assert_allclose(x.grad, want, rtol=1e-4, atol=1e-5)


def test_a_block_that_gives_other_shapes_the_second_time():
    _, _, x = parameters()
    n = [0]

    def block(h: Tensor) -> Tensor:
        n[0] += 1
        return h[: n[0]] * 2

    loss = checkpoint(block, x).sum()
    with pytest.raises(RuntimeError, match="checkpoint: block gave results of other shapes or dtypes"):
        loss.backward()


def test_a_block_that_gives_other_numbers_the_second_time():
    x, factors = Tensor([1.0, 2.0], requires_grad=True), iter([2.0, 3.0])
    out = checkpoint(lambda x: x * next(factors), x)
    with pytest.raises(RuntimeError, match=r"checkpoint: <lambda> gave other numbers when it was run again"):
        out.sum().backward()
    assert x.grad is None


def test_a_module_that_changes_its_mode_before_the_second_run():
    block = tensorgrad.nn.Dropout(0.5)
    x = Tensor(np.arange(1.0, 40.0), requires_grad=True)
    out = checkpoint(block, x)
    block.eval()
    with pytest.raises(RuntimeError, match="gave other numbers"):
        out.sum().backward()
    block.train()
    out.sum().backward()
    assert set(x.grad.tolist()) == {0, 2}


def test_a_block_whose_parameters_are_frozen_or_thawed_before_the_second_run():
    for before in (True, False):
        x, w = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], requires_grad=before)
        out = checkpoint(lambda x, w=w: x * w, x)
        w.requires_grad = not before
        with pytest.raises(RuntimeError, match="read other tensors that require gradients when"):
            out.sum().backward()
        w.requires_grad = before
        assert w.grad is None
        out.sum().backward()
        assert x.grad.tolist() == [3, 4]


def test_numbers_that_are_nan_or_inf_are_no_other_numbers():
    x = Tensor([-1.0, 0.0, 4.0], requires_grad=True)
    checkpoint(lambda x: x.log(), x).sum().backward()
    assert x.grad.tolist() == [-1, np.inf, 0.25]


def test_parameters_that_changed_before_the_second_run():
    w1, _, x = parameters()
    for change in (w1, x):
        loss = checkpoint(lambda h: h @ w1, x).sum()
        with no_grad():
            change += 1
        with pytest.raises(RuntimeError, match=r"the result of 'checkpoint'.*changed in place"):
            loss.backward()


def test_a_constant_that_the_block_closes_over_and_that_changed():
    _, _, x = parameters()
    scale = Tensor([2.0])
    loss = checkpoint(lambda h: h * scale, x).sum()
    scale.mul_(3)
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()


def test_the_gradients_of_the_surrounding_graph_are_complete():
    """Every node outside of the blocks has the gradient that it has without them."""
    plain, kept = parameters(), parameters()
    want, out = closes_over_an_intermediate(plainly, *plain), closes_over_an_intermediate(checkpoint, *kept)
    want.backward()
    out.backward()
    outer = {node._op: node for node in topological_order(out) if node._op in ("tanh", "@")}
    for node in topological_order(want):
        if node._op == "tanh":
            np.testing.assert_allclose(outer["tanh"].grad, node.grad, rtol=1e-5)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="checkpoint: takes a function and its arguments, got None for the function"):
        checkpoint(None, tensorgrad.ones(2), use_reentrant=False)
