"""What a backward pass may release: gradients of results, rules, and, in a lean graph, the data of results."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from copy import copy, deepcopy
from pathlib import Path

import numpy as np
import pytest
from graphs import Two

import tensorgrad as tg
import tensorgrad.nn.functional as F
import viz
from micrograd.backprop import topological_order
from tensorgrad.errors import ChangedError
from tensorgrad.models import GPT, GPTConfig
from tensorgrad.utils.checkpoint import checkpoint
from tensorgrad.versions import owner
from viz.cli import main

CONFIG = GPTConfig(vocabulary=11, context=6, blocks=2, heads=2, width=8, dropout=0.2)


def gpt_loss(lean: bool) -> tuple[GPT, tg.Tensor]:
    tg.manual_seed(3)
    model = GPT(CONFIG)
    tokens = tg.tensor([[1, 2, 3, 4, 5], [5, 4, 10, 0, 0]])
    with tg.lean_graph() if lean else tg.enable_grad():
        return model, F.cross_entropy(model(tokens).flatten(0, 1), tg.tensor([2, 3, 4, 5, 6, 4, 10, 0, 0, 1]))


def gradients(model: GPT) -> list[np.ndarray]:
    return [p.grad for p in model.parameters()]


def same(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(f, w)


# -- gradients and rules are released ----------------------------------------------------------------------------------


def test_without_keep_grads_only_the_leaves_have_gradients() -> None:
    model, loss = gpt_loss(False)
    loss.backward()
    wanted = gradients(model)
    results = [x for x in topological_order(loss) if x._prev]
    assert all(x._grad is not None for x in results)
    model.zero_grad()
    loss.backward(keep_grads=False)
    same(gradients(model), wanted)
    assert all(x._grad is None for x in results)


def test_retain_grad_keeps_the_gradient_of_one_result() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y, z = x * 2, x * 3
    y.retain_grad()
    (y * z).sum().backward(keep_grads=False)
    assert y.grad.tolist() == [3, 6]
    with pytest.warns(UserWarning, match="released those of results as it went"):
        assert z.grad is None


@pytest.mark.parametrize("lean", [False, True])
def test_an_operation_with_several_results_knows_which_were_reached_though_their_gradients_are_released(
    lean: bool,
) -> None:
    seen = []

    class Two(tg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            seen.append((g is not None, h is not None))
            return g * 2

    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph() if lean else tg.enable_grad():
        loss = Two.apply(x)[0].sum()
    loss.backward(keep_grads=False)
    loss.backward(keep_grads=True)
    assert seen == [(True, False)] * 2
    assert x.grad.tolist() == [4, 4]


@pytest.mark.parametrize("no", [False, np.False_, 0])
def test_retain_graph_false_releases_the_rules(no: bool) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    factor = np.array([3.0, 4.0], dtype=np.float32)
    alive = weakref.ref(factor)
    loss = (x * tg.Tensor(factor)).exp().sum()
    held = weakref.ref(loss._prev[0])
    del factor
    loss.backward(retain_graph=no)
    assert held() is not None
    assert alive() is None
    first = x.grad.copy()
    with pytest.raises(RuntimeError, match="retain_graph=False"):
        loss.backward()
    np.testing.assert_array_equal(x.grad, first)


def test_a_graph_may_be_walked_again_by_default() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward(keep_grads=False)
    loss.backward(retain_graph=True, keep_grads=False)
    assert x.grad.tolist() == [4, 8]


def test_functions_of_autograd_release_too() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    loss = (y * y).sum()
    tg.autograd.backward(loss, keep_grads=False)
    assert x.grad.tolist() == [8, 16]
    assert y._grad is None
    assert [g.tolist() for g in tg.autograd.grad(loss, [x, y], retain_graph=False)] == [[8, 16], [4, 8]]
    with pytest.raises(RuntimeError, match="retain_graph=False"):
        tg.autograd.grad(loss, x)


# -- a lean graph ------------------------------------------------------------------------------------------------------


def test_a_lean_graph_gives_the_same_gradients_bit_for_bit() -> None:
    model, loss = gpt_loss(False)
    loss.backward()
    lean, lean_loss = gpt_loss(True)
    lean_loss.backward()
    assert loss.item() == lean_loss.item()
    same(gradients(lean), gradients(model))


def test_a_lean_graph_keeps_no_data_that_no_rule_needs() -> None:
    x = tg.tensor(np.ones(1000), requires_grad=True)
    with tg.lean_graph():
        y = x * 2
        kept = y.exp()
        alive = weakref.ref(y._data), weakref.ref(kept._data)
        loss = kept.sum()
    assert y.data[0] == 2  # the program holds the tensor, so its data is there
    del y, kept
    gc.collect()
    assert alive[0]() is None
    assert alive[1]() is not None  # exp's rule holds its result
    loss.backward()
    np.testing.assert_allclose(x.grad, 2 * np.exp(2))


def test_gradients_of_results_in_a_lean_graph_are_there_when_asked_for() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    with tg.lean_graph():
        y = x * 2
        y.retain_grad()
        z = y * y
        z.register_hook(lambda g: seen.append(g.tolist()))
        w = z * 3
        z.register_hook(lambda g: g * 2)  # after its use: on what stands for it in the graph
        loss = w.sum()
    loss.backward()
    assert seen == [[3, 3]]
    assert y.grad.tolist() == [24, 48]
    assert x.grad.tolist() == [48, 96]
    with pytest.warns(UserWarning, match="lean graph"):
        assert w.grad is None
    (found,) = tg.autograd.grad(loss, y)
    assert found.tolist() == [24, 48]


def test_the_gradient_is_kept_in_a_lean_graph_if_keep_grads_says_so() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        y = x * 2
        loss = (y * y).sum()
    loss.backward(keep_grads=True)
    assert y.grad.tolist() == [4, 8]


def test_a_tensor_used_in_a_lean_graph_and_outside() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with tg.lean_graph():
        first = (y * 3).sum()
    second = (y * 5).sum()
    first.backward()
    second.backward()
    assert x.grad.tolist() == [16, 16]
    x.grad = None
    tg.autograd.backward([first, second, y.sum()])
    assert x.grad.tolist() == [18, 18]


def test_a_constant_used_in_a_lean_graph_may_require_a_gradient_later() -> None:
    x, c = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([3.0, 4.0])
    with tg.lean_graph():
        (x * c).sum().backward()
        c.requires_grad_()
        (x * c).sum().backward()
    assert c.grad.tolist() == [1, 2]
    assert x.grad.tolist() == [6, 8]


def test_several_results_rules_of_the_user_and_functions_in_a_lean_graph() -> None:
    x = tg.tensor([1.0, 5.0, 3.0], requires_grad=True)
    with tg.lean_graph():
        values, _ = x.sort()
        a, b = Two.apply(values)
        del values
        own = tg.Tensor(a.data, _prev=(a,), _op="own")

        def rule() -> None:
            a.grad += own.grad

        own._backward = rule
        loss = (own * tg.tensor([1.0, 2.0, 3.0])).sum() + b.sum()
    loss.backward()
    assert x.grad.tolist() == [5, 9, 7]


def test_a_rule_of_the_user_in_the_place_of_another_holds_in_a_lean_graph() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        y = x * 2

        def fifth() -> None:
            x.grad += 5 * y.grad

        y._backward = fifth
        (y * 3).sum().backward()
    assert x.grad.tolist() == [15, 15]


def test_assignments_in_a_lean_graph() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        y = x * 2
        y[0] = x[1] * 10
        loss = (y * y).sum()
    loss.backward()
    assert x.grad.tolist() == [0, 400 + 16]


def test_assignments_of_what_was_computed_from_the_old_elements_in_a_lean_graph() -> None:
    found = []
    for lean in (False, True):
        x = tg.tensor([1.0, 2.0], requires_grad=True)
        seen: list[list[float]] = []
        with tg.lean_graph() if lean else tg.enable_grad():
            y = x * 2
            y.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
            y[0] += 1
            y[1] = y[0] * 10
            y.mul_(3.0)
            y[...] = y
            loss = (y * y).sum()
        loss.backward(keep_grads=True)
        found.append((x.grad.tolist(), y.grad.tolist(), seen))
    assert found[1] == found[0]


def test_an_assignment_in_a_lean_graph_is_refused_where_a_view_would_not_show_it() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        y = x * 2
        view = y[:1]
        with pytest.raises(RuntimeError, match="another tensor shows"):
            y[0] = view[0] * 3
        y[1] = view[0] * 3  # which the view does not show
        assert y.tolist() == [2, 6]
        del view
        y[0] = y[1] * 2
        loss = y.sum()
    loss.backward()
    assert x.grad.tolist() == [18, 0]


@pytest.mark.parametrize("outside", [False, True])
def test_checkpoints_in_a_lean_graph(outside: bool) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    w = tg.tensor([3.0, 4.0], requires_grad=True)
    with tg.lean_graph():
        y = x * 2
        z = checkpoint(lambda y: (y * w).exp().log() * y, y)
        loss = (z * y).sum()
        if not outside:
            loss.backward()
    if outside:
        loss.backward()
    np.testing.assert_allclose(x.grad, 3 * 8 * x.data**2 * w.data, rtol=1e-5)
    np.testing.assert_allclose(w.grad, (2 * x.data) ** 3, rtol=1e-5)


def test_looking_at_a_lean_graph_says_that_there_is_nothing() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        loss = (x * 2).sum()
    inside = loss._prev[0]
    assert repr(inside) == "Tensor(no data of shape (2,), dtype=float32, op='*', in a lean graph)"
    for look in ("data", "numpy()", "tolist()", "item()", "detach()", "clone()"):
        with pytest.raises(tg.errors.LeanGraphError, match="lean graph, which keeps no data"):
            eval(f"inside.{look}")
    for function in (np.asarray, list, float, bool, lambda x: x[0]):
        with pytest.raises(tg.errors.LeanGraphError, match="lean graph, which keeps no data"):
            function(inside)


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x * 2,
        lambda x: 2 - x,
        lambda x: x.exp(),
        lambda x: tg.where(x > 0, x, 1.0),
        lambda x: tg.stack([x, x]),
        lambda x: F.linear(x, tg.ones(1, 2)),
        lambda x: checkpoint(tg.exp, x),
        lambda x: tg.tensor([1.0, 2.0]).allclose(x),
        tg.nn.Parameter,
    ],
)
@pytest.mark.parametrize("place", [0, 1], ids=["a result", "a constant"])
def test_nothing_computes_with_what_a_lean_graph_has_not_kept(operation: Callable, place: int) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        loss = ((x * 3) * tg.tensor([1.0, 5.0])).sum()
    with pytest.raises(RuntimeError, match="lean graph, which keeps no data"):
        operation(loss._prev[0]._prev[place])


def test_a_copy_of_a_lean_graph_has_no_data_either() -> None:
    x = tg.tensor(np.ones(1000), requires_grad=True)
    with tg.lean_graph():
        loss = (x * 2).sum()
    twin = deepcopy(loss)._prev[0]
    assert owner(twin._data).nbytes == 8
    with pytest.raises(RuntimeError, match="lean graph, which keeps no data"):
        _ = twin * 2


def test_a_lean_graph_makes_no_reference_cycles() -> None:
    gc.collect()
    gc.disable()
    try:
        _, loss = gpt_loss(True)
        alive = [weakref.ref(node) for node in topological_order(loss) if node._prev]
        del _, loss
        assert not [ref for ref in alive if ref() is not None]
    finally:
        gc.enable()


def test_the_switch_is_put_back() -> None:
    @tg.lean_graph
    def lean(x: tg.Tensor) -> tg.Tensor:
        return (x * 2).sum()

    x = tg.tensor([1.0], requires_grad=True)
    assert type(lean(x)._prev[0]) is not tg.Tensor
    assert type((x * 2).sum()._prev[0]) is tg.Tensor
    with warnings.catch_warnings(), tg.lean_graph(), tg.no_grad():
        assert not (x * 2)._prev


def test_explain_knows_what_was_released() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        y = x * 2
        loss = (y * y).sum()
    loss.backward()
    assert tg.explain(y, loss).reason == "released"
    assert tg.explain(x, loss).reason == "reached"


def test_the_monitor_says_that_it_cannot_see_what_is_released() -> None:
    model = tg.nn.Linear(2, 1)
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    said = []
    tg.monitor(model, optimizer, say=said.append)
    for divisor in (1.0, 0.0):
        with tg.lean_graph():
            loss = (model(tg.ones(3, 2)) / divisor).mean()
        if divisor:
            with pytest.warns(UserWarning, match="dead units"):
                loss.backward()
            optimizer.step()
        else:
            loss.backward()  # said once
    assert ["its graph is lean" in str(finding).lower() for finding in said] == [True]


@pytest.mark.parametrize("command", ["draw", "step", "compare", "uses", "memory"])
def test_commands_say_in_one_line_that_a_lean_graph_cannot_be_shown(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "lean.py"
    program.write_text(
        "import tensorgrad as tg\nx = tg.tensor([1.0, 2.0], requires_grad=True)\n"
        "with tg.lean_graph():\n    loss = (x * x * 2).sum()\n"
    )
    status = main([command, f"{program}:loss"])
    found = capsys.readouterr()
    if command == "memory":
        assert status == 0
    else:
        assert status == 2
        assert found.err.count("\n") == 1
        assert "lean graph" in found.err


# -- one tensor is one node, used in a lean graph and outside ----------------------------------------------------------


@pytest.mark.parametrize("results", [Two.apply, lambda x: checkpoint(lambda x: (x * 2, x * 3), x)])
@pytest.mark.parametrize("inside", [False, True])
def test_several_results_that_are_used_changed_or_copied_elsewhere_send_their_gradients(
    results: Callable[[tg.Tensor], tuple[tg.Tensor, tg.Tensor]], inside: bool
) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph() if inside else tg.enable_grad():
        a, b = results(x)
    a[0] = 0.0
    with tg.lean_graph():
        loss = (a * 1).sum() + (b * 1).sum()
    del a, b
    loss.backward()
    assert x.grad.tolist() == [3, 5]
    twin = deepcopy(loss)
    twin.backward()
    (leaf,) = [node for node in topological_order(twin) if node.requires_grad and not node._prev]
    assert leaf.grad.tolist() == [3 * 2, 5 * 2]  # beside what was copied
    a, b = results(x)
    loss = (copy(a) * b).sum()
    x.grad = None
    loss.backward()
    assert x.grad.tolist() == [12, 24]


@pytest.mark.parametrize("lean_first", [False, True])
def test_a_result_used_in_both_has_one_gradient_and_its_hooks(lean_first: bool) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y, seen = x * 2, []
    y.register_hook(lambda g: seen.append(g.tolist()))
    uses = {}
    for lean in (lean_first, not lean_first):
        with tg.lean_graph() if lean else tg.enable_grad():
            uses[lean] = (y * 3).sum()
    loss = uses[True] + uses[False]
    loss.backward(keep_grads=True)
    assert y.grad.tolist() == [6, 6]
    assert seen == [[6, 6]]
    (found,) = tg.autograd.grad(loss, y)
    assert found.tolist() == [6, 6]
    for use in uses.values():
        use.backward()
    assert seen[2:] == [[3, 3], [3, 3]]
    y.grad = None
    assert y._grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert y.grad is None


def test_a_parameter_that_was_frozen_in_a_lean_graph_has_hooks_and_gradients_again() -> None:
    x, w = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([3.0, 4.0])
    seen = []
    with tg.lean_graph():
        (x * w).sum().backward()
        w.requires_grad_()
        w.register_hook(lambda g: seen.append(g.tolist()))
        loss = (x * w).sum()
    loss.backward()
    assert seen == [[1, 2]]
    assert tg.autograd.grad(loss, w)[0].tolist() == [1, 2]


def test_a_frozen_parameter_keeps_its_gradient_and_its_hooks() -> None:
    x, w = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([3.0, 4.0], requires_grad=True)
    seen = []
    w.register_hook(lambda g: seen.append(g.tolist()))
    with tg.lean_graph():
        (x * w).sum().backward()
        w.requires_grad_(False)
        (x * w).sum().backward()
        assert w.grad.tolist() == [1, 2]
        w.requires_grad_(True)
        (x * w).sum().backward()
    assert w.grad.tolist() == [2, 4]
    assert seen == [[1, 2], [1, 2]]


def test_rules_of_the_users_own_that_are_assigned_after_the_use() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        own = tg.Tensor(x.data * 2, _prev=(x,), _op="own")
        first = own * 3
        second = x * 2
        loss = first.sum() + second.sum()

    def of_own() -> None:
        x.grad += 2 * own.grad

    def of_second() -> None:
        x.grad += 100 * second.grad

    own._backward = of_own
    second._backward = of_second
    loss.backward()
    assert x.grad.tolist() == [106, 106]


def test_data_of_another_shape_is_refused_in_a_lean_graph_too() -> None:
    x = tg.tensor([[1.0, 2.0]], requires_grad=True)
    with tg.lean_graph():
        y = x * 2
        _ = y * 1
        y.data = np.ones((2, 2), np.float32)
        loss = (y * 3).sum()
    with pytest.raises(ChangedError, match="had another shape"):
        loss.backward()


def test_a_hook_gives_a_gradient_to_an_unselected_branch_of_a_lean_graph() -> None:
    x = tg.tensor([0.0, 4.0], requires_grad=True)
    with tg.lean_graph():
        y = x.sqrt() * 1
        y.register_hook(lambda g: tg.tensor([1.0, 1.0]))
        loss = tg.where(tg.tensor([False, True]), y * 1, y.detach()).sum()
    loss.backward()
    assert x.grad.tolist() == [np.inf, 0.25]  # without the hook, 0: see `selection`


def test_an_assignment_of_what_was_used_outside_of_the_lean_graph_counts_each_use_once() -> None:
    found = []
    for lean in (False, True):
        x = tg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        y = x * 1.5
        z = y * y
        with tg.lean_graph() if lean else tg.enable_grad():
            y[0] = z[1] * 2
        ((y * y).sum() + (z * z).sum()).backward()
        found.append(x.grad)
    np.testing.assert_array_equal(*found)


def test_rules_of_the_users_own_that_are_assigned_between_uses_in_lean_graphs() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.lean_graph():
        y = x * 2
        first = (y * 3).sum()
        own = tg.Tensor(y.data * 5, _prev=(y,), _op="own")

        def rule() -> None:
            y.grad += 5 * own.grad

        own._backward = rule
        loss = first + own.sum()
    loss.backward(keep_grads=True)
    assert y.grad.tolist() == [8, 8]
    assert x.grad.tolist() == [16, 16]


def test_a_graph_whose_root_was_used_in_a_lean_graph_is_shown_and_its_gradients_stay() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    loss = (y * y).sum()
    with tg.lean_graph():
        _ = loss * 2
    loss.backward()
    for _ in range(2):
        assert viz.trace(loss).grads["n4"] == 1
        assert viz.step(loss).html
        assert (loss.grad.tolist(), y.grad.tolist(), x.grad.tolist()) == (1, [4, 8], [8, 16])
    loss.backward()
    assert x.grad.tolist() == [16, 32]


def test_explain_finds_a_root_that_was_used_in_a_lean_graph() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    with tg.lean_graph():
        _ = loss * 2
    loss.backward()
    assert tg.explain(loss).reason == tg.explain(x).reason == "reached"
