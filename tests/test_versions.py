"""Arrays changed in place between forward and backward: an error, or the right gradient; never a wrong one."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from ops_table import Case, Shapes, calls

import tensorgrad
from micrograd.backprop import topological_order
from tensorgrad import Tensor, debug, no_grad, optim, versions
from tensorgrad.autograd import gradcheck
from tensorgrad.node import record
from tensorgrad.versions import changed_since, clock, held_arrays, wrote
from viz import compare, trace

CHANGED = "changed in place"


def leaf(*numbers: float) -> Tensor:
    return Tensor(list(numbers), requires_grad=True)


# -- every way of changing an array ------------------------------------------------------------------------------------


def add_to_data(x: Tensor) -> None:
    x.data += 1


def through_a_view(x: Tensor) -> None:
    x[:1].add_(1)


def through_views_of_views(x: Tensor) -> None:
    x.reshape(2, 1).T[0, 1:].detach().fill_(9)


def through_data_of_a_view(x: Tensor) -> None:
    view = x[1:]
    view.data *= 2


def set_item(x: Tensor) -> None:
    x[0] = 9


def augmented_item(x: Tensor) -> None:
    x[0] += 9


def augmented(x: Tensor) -> None:
    x += 1


def out_of_optimizer(x: Tensor) -> None:
    x.grad = np.ones(2)
    optim.SGD([x], lr=0.5).step()
    x.grad = None


WAYS: list[Callable[[Tensor], object]] = [
    add_to_data,
    through_a_view,
    through_views_of_views,
    through_data_of_a_view,
    set_item,
    augmented_item,
    augmented,
    out_of_optimizer,
    lambda x: x.detach().zero_(),
    lambda x: x.copy_([5, 6]),
    lambda x: x.fill_(3),
    lambda x: x.zero_(),
    lambda x: x.add_(1),
    lambda x: x.sub_(1),
    lambda x: x.mul_(2),
    lambda x: x.div_(2),
    lambda x: x.pow_(2),
    lambda x: x.neg_(),
]


@pytest.mark.parametrize("change", WAYS)
def test_every_change_of_a_needed_operand_is_noticed(change: Callable[[Tensor], object]):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    loss = (x * y).sum()
    with no_grad():
        change(x)
    with pytest.raises(RuntimeError, match=r"backward: the result of '\*' of shape \(2,\).*changed in place"):
        loss.backward()


@pytest.mark.parametrize("change", WAYS)
def test_a_change_of_what_no_rule_needs_is_none_of_its_business(change: Callable[[Tensor], object]):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    loss = (x + y).sum()
    with no_grad():
        change(x)
    loss.backward()
    np.testing.assert_array_equal(y.grad, [1, 1])


@pytest.mark.parametrize("change", WAYS)
def test_a_change_before_the_operation_is_fine(change: Callable[[Tensor], object]):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with no_grad():
        change(x)
    (x * y).sum().backward()
    np.testing.assert_array_equal(y.grad, x.data)


# -- as torch ----------------------------------------------------------------------------------------------------------

PROGRAMS: dict[str, Callable] = {
    # what is computed from a leaf x and a constant or leaf c; then c or x is changed
    "x + c": lambda m, x, c: x + c,
    "x - c": lambda m, x, c: x - c,
    "x * c": lambda m, x, c: x * c,
    "x / c": lambda m, x, c: x / c,
    "c / x": lambda m, x, c: c / x,
    "x ** 2": lambda m, x, c: x**2,
    "exp": lambda m, x, c: x.exp(),
    "sin": lambda m, x, c: x.sin() + c,
    "x @ c": lambda m, x, c: x @ c,
    "sum": lambda m, x, c: x.sum() + c,
    "reshape": lambda m, x, c: x.reshape(2, 1) + c,
    "cat": lambda m, x, c: m.cat([x, c]),
    "stack": lambda m, x, c: m.stack([c, x]),
    "where": lambda m, x, c: m.where(x > 0, x, c),
    "index": lambda m, x, c: x[1:] + c,
    "squared twice": lambda m, x, c: (x * x) * c,
    "mean of a difference": lambda m, x, c: ((x - c) ** 2).mean(),
}


@pytest.mark.parametrize("changed", ["x", "c"])
@pytest.mark.parametrize("c_requires", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_raises_where_torch_does(name: str, changed: str, c_requires: bool, torch: ModuleType):
    def gradient(m: ModuleType, change: bool) -> list[float] | None:
        x = m.tensor([1.0, 2.0], requires_grad=True)
        c = m.tensor([3.0, 4.0], requires_grad=c_requires)
        loss = PROGRAMS[name](m, x, c).sum()
        with m.no_grad():
            (x if changed == "x" else c).add_(int(change))
        try:
            loss.backward()
        except RuntimeError as error:
            return [] if "in place" in str(error) or "inplace" in str(error) else None
        return np.asarray(x.grad).tolist()

    if change_is_harmless(name, changed):
        assert gradient(tensorgrad, True) == gradient(tensorgrad, False)
    else:
        np.testing.assert_allclose(gradient(tensorgrad, True), gradient(torch, True), rtol=1e-6)


def change_is_harmless(name: str, changed: str) -> bool:
    """Division keeps its result and not the numerator, so torch raises for that and this engine does not."""
    return (name, changed) in {("x / c", "x"), ("c / x", "c")}


def test_a_result_that_its_rule_needs_is_guarded(torch: ModuleType):
    for m in (tensorgrad, torch):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        loss = y.sum()
        y.detach().mul_(2)
        with pytest.raises(RuntimeError, match=r"in-?place| in place"):
            loss.backward()


def test_a_second_backward_after_a_step_raises_where_the_parameters_are_needed():
    w, x = leaf(1.0, 2.0), Tensor([3.0, 4.0])
    linear, square = (w * x).sum(), (w * w).sum()
    linear.backward()
    square.backward()
    with no_grad():
        w -= 0.1 * w.grad
    linear.backward()  # needs x alone
    with pytest.raises(RuntimeError, match=CHANGED):
        square.backward()


def test_the_error_leaves_no_pass_open_and_says_what_to_do():
    x = leaf(1.0, 2.0)
    y = x * x
    y.label = "energy"
    with no_grad():
        x += 1
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"backward: energy of shape \(2,\), float32 needs .* clone\(\)"):
            y.sum().backward()
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad, [4, 6])


# -- every operation of the table --------------------------------------------------------------------------------------


def gradients(out: Tensor, tensors: list[Tensor], seed: np.ndarray) -> list[np.ndarray | None]:
    for x in tensors:
        x.grad = None
    out.backward(seed)
    return [x._grad for x in tensors]


@pytest.mark.parametrize(("case", "shapes"), [pytest.param(case, shapes, id=name) for name, case, shapes in calls()])
def test_no_operation_gives_a_wrong_gradient(case: Case, shapes: Shapes):
    """After a change of any array of the graph in place, its gradients are what they were, or there is an error."""
    rng = np.random.default_rng(11)
    arrays = case.sample(rng, shapes)

    def run() -> tuple[list[Tensor], Tensor]:
        tensorgrad.manual_seed(3)
        operands = [Tensor(a, requires_grad=True) for a in arrays]
        return operands, case.function(tensorgrad, *operands)

    operands, out = run()
    seed = rng.standard_normal(out.shape)
    want = gradients(out, operands, seed)
    for i, node in enumerate(topological_order(out)):
        if not node.data.size or node.data.dtype.kind != "f":
            continue
        operands, out = run()
        changed = topological_order(out)[i]
        with no_grad():
            if not changed.data.flags.writeable or 0 in changed.data.strides:
                continue  # what was broadcast has no element of its own
            changed.mul_(1.25).add_(0.375)
        try:
            got = gradients(out, operands, seed)
        except RuntimeError as error:
            if CHANGED not in str(error):
                raise
            continue
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)


# -- no false alarms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.Adam(p, lr=0.1)])
def test_training_loops(make: Callable):
    w, b, x = leaf(1.0, 2.0), leaf(0.5, 0.5), Tensor([[1.0, 2.0], [3.0, 4.0]])
    optimizer = make([w, b])
    losses = []
    for _ in range(5):
        loss = ((x * w + b).tanh() ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_other_tensors_may_be_changed_while_a_graph_waits():
    x, counter, other = leaf(1.0, 2.0), Tensor([0.0]), Tensor([1.0, 2.0])
    loss = (x * x).sum()
    counter += 1
    other[0] = 7
    counter.zero_()
    loss.backward()
    np.testing.assert_array_equal(x.grad, [2, 4])


def test_in_place_arithmetic_on_gradients_is_no_change_of_data():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    loss.backward()
    x.grad *= 0.5
    loss.backward()
    np.testing.assert_array_equal(x.grad, [3, 6])


def test_replacing_the_data_is_not_a_change_in_place():
    """The gradient is of the numbers that the loss was computed with. (torch's is of the new ones: [4, 6].)"""
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    x.data = x.data + 1
    loss.backward()
    np.testing.assert_array_equal(x.grad, [2, 4])


def test_gradcheck_compare_and_trace_after_a_change_elsewhere():
    x = Tensor([0.5, 1.5], dtype=np.float64, requires_grad=True)

    def f(x: Tensor) -> Tensor:
        total = Tensor([0.0, 0.0], dtype=np.float64)
        with no_grad():
            total += x  # a buffer that the program itself changes
        return (x.exp() * x).sum()

    assert gradcheck(f, x)
    assert compare(f, x).ok
    assert len(trace(f(x))) == 5


def test_a_trace_notices_a_change():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    with no_grad():
        x += 1
    with pytest.raises(RuntimeError, match=CHANGED):
        list(trace(loss))


def test_a_new_array_at_the_address_of_a_changed_one_is_not_taken_for_it():
    x = leaf(1.0, 2.0)
    before = len(versions._writes)
    for _ in range(200):
        y = x * x
        Tensor([1.0, 2.0]).add_(1)  # gone at once; its address is used again
        y.sum().backward()
    gc.collect()
    assert len(versions._writes) <= before + 1


# -- the parts ---------------------------------------------------------------------------------------------------------


def test_the_clock_and_the_owner_of_the_memory():
    a = np.zeros((2, 3))
    view = a.T[::-1, 1:]
    now = clock.now
    assert not changed_since(a, now)
    assert not changed_since(view, now)
    wrote(view)
    assert changed_since(a, now)
    assert changed_since(view, now)
    assert changed_since(a[0], now)
    assert not changed_since(a, clock.now)
    assert not changed_since(a.copy(), now)


def test_held_arrays_finds_closures_partials_methods_containers_and_tensors():
    a, b, c, d, e, f = (np.full(2, float(i)) for i in range(6))
    tensor = Tensor(np.ones(2))

    class Holder:
        def __init__(self) -> None:
            self.array = c

        def method(self, g: np.ndarray) -> np.ndarray:
            return g

    def inner(g: np.ndarray) -> np.ndarray:
        return g * a

    options = {"key": [d, (e,)]}
    holder = Holder()

    def rule(g: np.ndarray) -> np.ndarray:
        return inner(g) + options["key"][0] + tensor.data

    found = list(held_arrays((rule, partial(np.multiply, b, out=f), holder.method, None)))
    for array in (a, b, c, d, e, f, tensor.data):
        assert sum(x is array for x in found) == 1
    assert len(found) == 7


def test_held_arrays_does_not_wander_into_history_or_modules():
    x = leaf(1.0, 2.0)
    y = x * x

    def rule(g: np.ndarray) -> np.ndarray:
        return g * y.data if np else tensorgrad

    assert [array is y.data for array in held_arrays(rule)] == [True]


def test_held_arrays_takes_an_empty_cell_and_a_cycle():
    def rule(g: np.ndarray) -> np.ndarray:
        return later if g is None else rule

    assert list(held_arrays(rule)) == []
    later = np.ones(2)
    assert [array is later for array in held_arrays(rule)] == [True]


def test_rules_of_a_users_own_record_are_guarded():
    x = leaf(1.0, 2.0)
    table = Tensor([3.0, 4.0])
    y = record("scaled", x.data * table.data, (x, lambda g: g * table.data))
    table.add_(1)
    with pytest.raises(RuntimeError, match="the result of 'scaled'"):
        y.sum().backward()


# -- the debug mode ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3), (), (4,)])
def test_debug_notices_writes_by_numpy(shape: tuple[int, ...]):
    x = Tensor(np.ones(shape), requires_grad=True)
    with debug():
        loss = (x * x).sum()
        loss.backward()
        x.data[...] = 5
        with pytest.raises(AssertionError, match=r"\*: the elements of an array .* were changed in place"):
            loss.backward()


def test_debug_lets_pass_what_is_not_needed_and_odd_arrays():
    with debug():
        x = Tensor(np.ones((0, 3)), requires_grad=True)
        (x * x).sum().backward()
        y = Tensor(np.ones((2, 3)), requires_grad=True)
        y.data = np.asfortranarray(np.arange(6.0).reshape(2, 3))[::-1]
        loss = (y.exp()[:, [0, 0]] * Tensor([True, False])).sum()
        y.data[...] = 0  # exp needs its result, not its operand
        loss.backward()
    assert y.grad.shape == (2, 3)


def test_without_debug_writes_by_numpy_go_unnoticed():
    """So the README says."""
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    x.data[0] = 5
    loss.backward()
