"""x[key] = value, copy_, fill_, zero_ and the operators in place: outside of the graph, as part of it, and refused."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from micrograd.backprop import topological_order
from tensorgrad import Tensor, no_grad, tensor, zeros
from tensorgrad.autograd import gradcheck
from viz import compare, snapshot, trace
from viz.dot import to_dot

KEYS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    # a key for shape (3, 4), and shapes of values that fit
    "integer": (1, [(4,), (), (1,), (1, 4)]),
    "negative integer": (-1, [(4,)]),
    "both integers": ((0, -2), [(), (1,)]),
    "slice": (slice(1, None), [(2, 4), (4,), (), (2, 1)]),
    "step": ((slice(None), slice(None, None, 2)), [(3, 2), (3, 1)]),
    "empty slice": (slice(3, None), [(0, 4), (4,), ()]),
    "ellipsis": (..., [(3, 4), (4,), (3, 1), ()]),
    "ellipsis and integer": ((..., 2), [(3,), ()]),
    "new axis": ((None, 1), [(1, 4), (4,)]),
    "mask": (np.arange(12).reshape(3, 4) % 3 == 0, [(4,), (), (1,)]),
    "mask of rows": (np.array([True, False, True]), [(2, 4), (4,), (2, 1)]),
    "empty mask": (np.zeros((3, 4), dtype=bool), [(0,), ()]),
    "integer array": (np.array([2, 0]), [(2, 4), (4,), ()]),
    "list": ([2, 0], [(2, 4)]),
    "pairs": ((np.array([0, 1]), np.array([3, 3])), [(2,), ()]),
    "array and slice": ((slice(1, None), np.array([3, 0])), [(2, 2), (2,)]),
    "table": (np.array([[0, 1]]), [(1, 2, 4), (4,)]),
}

every_key = pytest.mark.parametrize(
    ("key", "shape"),
    [pytest.param(key, shape, id=f"{name} {shape}") for name, (key, shapes) in KEYS.items() for shape in shapes],
)


def for_torch(key: Any, torch: ModuleType) -> Any:
    if isinstance(key, tuple):
        return tuple(for_torch(part, torch) for part in key)
    return torch.tensor(key) if isinstance(key, np.ndarray) else key


def leaf(*numbers: float) -> Tensor:
    return Tensor(list(numbers), requires_grad=True)


# -- outside of the graph ----------------------------------------------------------------------------------------------


@every_key
def test_constants_are_changed_where_they_stand(key: Any, shape: tuple[int, ...]):
    array = np.arange(12.0).reshape(3, 4)
    value = -1.0 - np.arange(np.prod(shape, dtype=int)).reshape(shape)
    for given in (value, Tensor(value), Tensor(value, dtype=np.float64)):
        x, want = Tensor(array), array.copy()
        data = x.data
        want[key] = value.reshape(value.shape[max(value.ndim - want[key].ndim, 0) :])
        x[key] = given
        assert x.data is data
        np.testing.assert_array_equal(x.data, want)
        assert (x.is_leaf, x.requires_grad, x.dtype) == (True, False, np.float64)


def test_a_key_may_hold_tensors_and_a_value_may_be_a_list_or_a_number():
    x = zeros(2, 3)
    x[tensor([1])] = [1, 2, 3]
    x[x > 2] = 9
    x[0, tensor(1)] = True
    assert x.tolist() == [[0, 1, 0], [1, 2, 9]]


@pytest.mark.parametrize(
    ("dtype", "value", "want"),
    [
        ("int64", 2.7, 2),
        ("int64", True, 1),
        ("float32", 3, 3.0),
        ("float16", 1e6, np.inf),
        ("bool", 2.5, True),
        ("float64", np.float32(0.1), float(np.float32(0.1))),
    ],
)
def test_values_are_converted_to_the_dtype(dtype: str, value: Any, want: Any, torch: ModuleType):
    x, theirs = zeros(2, dtype=dtype), torch.zeros(2, dtype=getattr(torch, dtype))
    x[1] = value
    theirs[1] = float(value) if isinstance(value, np.floating) else value
    assert x.dtype == dtype
    assert x.tolist() == [0, want] == theirs.tolist()


def test_views_detached_tensors_and_the_array_see_the_change():
    x = zeros(2, 2)
    row, detached, array = x[0], x.detach(), x.data
    x[0, 1] = 5
    assert row.tolist() == [0, 5]
    row.fill_(7)
    assert x.tolist() == detached.tolist() == array.tolist() == [[7, 7], [0, 0]]


def test_overlapping_memory():
    x = tensor([1, 2, 3, 4])
    x[1:] = x[:-1]
    assert x.tolist() == [1, 1, 2, 3]
    x[[0, 1, 2]] = x[1:]
    assert x.tolist() == [1, 2, 3, 3]


def test_the_methods(torch: ModuleType):
    def run(m: ModuleType) -> list[list[float]]:
        x, out = m.tensor([[1.0, -2.0], [3.0, 4.0]]), []
        for change in (
            lambda: x.add_(m.tensor([1.0, 2.0])),
            lambda: x.sub_(1),
            lambda: x.mul_(3),
            lambda: x.div_(2),
            lambda: x.pow_(2),
            lambda: x.neg_(),
            lambda: x.copy_(m.tensor([5.0, 6.0])),
            lambda: x.fill_(2.5),
            lambda: x.zero_(),
        ):
            assert change() is x
            out.append(x.tolist())
        return out

    assert run(tensorgrad) == run(torch)


def test_the_operators_keep_the_tensor():
    x = y = tensor([4.0, 6.0])
    x += 2
    x -= tensor([1.0, 2.0])
    x *= 4
    x /= 2
    assert x is y
    assert x.tolist() == [10, 12]


def test_under_no_grad_leaves_and_results_are_changed_and_keep_their_place():
    w = leaf(1.0, 2.0)
    y = w + 1
    with no_grad():
        w[0] = 5
        w *= 2
        y[1] = 0
        assert w.copy_(y) is w
    assert w.is_leaf
    assert w.requires_grad
    assert w.tolist() == y.tolist() == [2, 0]
    y.sum().backward()
    assert w.grad.tolist() == [1, 1]


# -- as part of the graph ----------------------------------------------------------------------------------------------


@every_key
@pytest.mark.parametrize("requires", [(True, True), (True, False), (False, True)])
def test_gradients_equal_torch(key: Any, shape: tuple[int, ...], requires: tuple[bool, bool], torch: ModuleType):
    rng = np.random.default_rng(2)
    arrays = rng.standard_normal((3, 4)), rng.standard_normal(shape)
    weights = rng.standard_normal((3, 4))
    found = []
    for m in (tensorgrad, torch):
        make = m.tensor
        x, v = (make(a, requires_grad=r) for a, r in zip(arrays, requires, strict=True))
        y = x * 1.0
        y[for_torch(key, torch) if m is torch else key] = v * 2.0
        (y * y * make(weights)).sum().backward()
        found.append((y.detach(), x, v))
    (y, x, v), (ty, tx, tv) = found
    np.testing.assert_array_equal(y.data, ty.numpy())
    for ours, theirs in ((x, tx), (v, tv)):
        if ours.requires_grad:
            np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=1e-14)


def test_of_repeated_positions_the_last_one_counts():
    x, v = zeros(3), leaf(1.0, 2.0, 3.0)
    x[[1, 1, 0]] = v
    assert x.tolist() == [3, 2, 0]
    (x * tensor([10.0, 20.0, 30.0])).sum().backward()
    assert v.grad.tolist() == [0, 20, 10]


def test_a_constant_becomes_a_result():
    buffer, v = zeros(2, 2), leaf(1.0, 2.0)
    buffer[0] = v
    assert (buffer.requires_grad, buffer.is_leaf, buffer._op) == (True, False, "setitem")
    assert len(buffer._prev) == 2
    buffer[1] = 3 * v
    buffer.sum().backward()
    assert v.grad.tolist() == [4, 4]


def test_a_buffer_filled_step_by_step(torch: ModuleType):
    def run(m: ModuleType) -> tuple[Any, Any]:
        w, h = m.tensor([[0.5, -0.25], [1.0, 0.75]], requires_grad=True), m.zeros(2)
        states = m.zeros(5, 2)
        for t in range(5):
            h = m.tanh(h @ w + t)
            states[t] = h
        (states**2).mean().backward()
        return np.asarray(states.detach()), np.asarray(w.grad)

    for a, b in zip(run(tensorgrad), run(torch), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


def reads_before_it_writes(x: Tensor, w: Tensor) -> Tensor:
    """torch needs a clone() at each of the reads."""
    y = x * 2
    y[0] += w[0]
    y[1:] *= w
    y[0] = y[1].sin() * y[2] + y[0] * y[0]
    y[:2] = y[1:] + y[1:]
    buffer = zeros(4, dtype=np.float64)
    for t in range(1, 4):
        buffer[t] = (buffer[t - 1] * w[0]).tanh() + y[t - 1]
    return (buffer * y.sum()).sum()


def test_what_the_value_was_computed_from():
    x = Tensor([0.1, 0.2, 0.3], dtype=np.float64, requires_grad=True)
    w = Tensor([2.0, 4.0], dtype=np.float64, requires_grad=True)
    assert gradcheck(reads_before_it_writes, (x, w))
    assert compare(reads_before_it_writes, x, w).ok


def test_reading_and_writing_one_element_as_in_torch(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        x, w = m.tensor([1.0, 2.0, 3.0], requires_grad=True), m.tensor([2.0, 4.0], requires_grad=True)
        y = x * 2
        y[0] += w[0]
        y[1:] -= w
        y[2] = y[0] + y[1]
        (y * m.tensor([1.0, 10.0, 100.0])).sum().backward()
        return [np.asarray(t) for t in (y.detach(), x.grad, w.grad)]

    for a, b in zip(run(tensorgrad), run(torch), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_long_loop_over_a_buffer():
    w, buffer = leaf(0.5), zeros(2000)
    buffer[0] = w[0]
    for t in range(1, 2000):
        buffer[t] = buffer[t - 1] * w[0]
    buffer.sum().backward()
    assert w.grad.tolist() == pytest.approx([4.0])


def test_an_assignment_of_a_tensor_to_itself():
    x = leaf(1.0, 2.0)
    y = x * 2
    y[:] = y
    y[0] = y[1]
    assert all(node is not y for node in topological_order(y)[:-1])
    y.sum().backward()
    assert x.grad.tolist() == [0, 4]


def test_methods_are_recorded_too(torch: ModuleType):
    """Also where torch, which keeps no copy of what its rules need, takes only the form without _."""

    def run(m: ModuleType, ending: str) -> list[Any]:
        x, w = m.tensor([0.5, -2.0], requires_grad=True), m.tensor([3.0, 4.0], requires_grad=True)
        mask = m.tensor([True, False])
        chains = [
            [("mul", w), ("sub", 1), ("div", w), ("neg",), ("abs",), ("pow", 2), ("add", w)],
            [("clamp", -1, 3), ("exp",), ("tanh",), ("sigmoid",), ("sqrt",), ("relu",), ("lerp", w, 0.25)],
            [("masked_fill", mask, 7.0)],
        ]
        loss, found = m.tensor(0.0), []
        for chain in chains:
            y = x * 2
            for name, *arguments in chain:
                result = getattr(y, name + ending)(*arguments)
                assert (result is y) == (ending == "_")
                y = result
            found.append(y.detach())
            loss = loss + (y * w).sum()
        loss.backward()
        return [np.asarray(t) for t in (*found, x.grad, w.grad)]

    for a, b in zip(run(tensorgrad, "_"), run(torch, ""), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_constant_that_something_is_added_to(torch: ModuleType):
    for m in (tensorgrad, torch):
        w, total = m.tensor([3.0, 4.0], requires_grad=True), m.zeros(2)
        assert total.add_(w) is total
        total.add_(2 * w)
        total.sum().backward()
        assert np.asarray(w.grad).tolist() == [3, 3]


def test_operators_that_torch_does_in_place(torch: ModuleType):
    """None of them may come to mean x = x op y, which would turn a leaf into a result without a word."""

    def run(m: ModuleType) -> list[Any]:
        x, n, b = m.tensor([5.0, -3.5]), m.tensor([6, 3]), m.tensor([True, False])
        same = x, n, b
        x //= 2
        x **= 2
        x %= 3
        n &= 2
        n |= m.tensor([1, 4])
        n ^= 1
        b |= m.tensor([False, True])
        b &= m.tensor([False, True])
        b ^= True
        assert x is same[0]
        assert n is same[1]
        assert b is same[2]
        return [x.tolist(), n.tolist(), b.tolist()]

    assert run(tensorgrad) == run(torch)
    w = leaf(1.0)
    for op in ("ifloordiv", "imod", "ipow"):
        with pytest.raises(RuntimeError, match="a leaf that requires a gradient"):
            getattr(w, f"__{op}__")(2)


def test_copy_fill_and_zero_are_recorded_too(torch: ModuleType):
    def run(m: ModuleType) -> list[Any]:
        x, s = m.tensor([1.0, 2.0], requires_grad=True), m.tensor(3.0, requires_grad=True)
        filled, copied, emptied = m.zeros(2), x * 2, x * 3
        assert filled.fill_(s) is filled
        copied.copy_(x * s)
        emptied.zero_()
        (filled + copied * m.tensor([1.0, 10.0]) + emptied).sum().backward()
        return [np.asarray(filled.detach()), np.asarray(x.grad), np.asarray(s.grad)]

    for a, b in zip(run(tensorgrad), run(torch), strict=True):
        np.testing.assert_array_equal(a, b)


def test_gradients_are_cast_on_the_way_back():
    x, v = zeros(2, dtype=np.float64), leaf(1.0)
    x[0] = v
    (x * 3).sum().backward()
    assert (v.grad.dtype, v.grad.tolist()) == (np.float32, [3])


def test_finite_differences_confirm_a_chain_of_assignments():
    def f(x: Tensor, v: Tensor) -> Tensor:
        before = x.exp()
        y = before.clone()
        y[1:] = before[:-1] * v
        y[[0, 2]] = v[0] * x[1]
        y[x.detach() > 100] = 0
        return y

    x, v = (Tensor(a, dtype=np.float64, requires_grad=True) for a in ([0.5, 1.0, 1.5], [2.0, 3.0]))
    assert gradcheck(f, (x, v))
    f(x, v).backward(np.array([1.0, 10.0, 100.0]))
    np.testing.assert_allclose(v.grad, [101 * 1.0 + 10 * np.exp(0.5), 0])  # what had v[1] was overwritten
    np.testing.assert_allclose(x.grad, [10 * 2 * np.exp(0.5), 101 * 2.0, 0])


def test_the_rule_of_a_result_that_was_overwritten_still_has_its_array(torch: ModuleType):
    """exp needs its result. torch raises; here the assignment makes an array of its own."""
    x = leaf(1.0, 2.0)
    y = x.exp()
    y[0] = 5
    y.sum().backward()
    np.testing.assert_allclose(x.grad, [0, np.exp(2)], rtol=1e-6)


def test_what_was_overwritten_poisons_nothing():
    """log and its slope are infinite at 0: that element is not in the result."""
    x = leaf(0.0, 2.0)
    y = x.log()
    y[x.detach() == 0] = 0
    y.sum().backward()
    assert x.grad.tolist() == [0, 0.5]


def test_an_assignment_keeps_label_and_identity_and_may_be_copied():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.label = "state"
    members = {y}
    y[0] = 7
    assert y.label == "state"
    assert y in members
    twin = copy.deepcopy(y)
    twin.sum().backward()
    y.sum().backward()
    assert x.grad.tolist() == [0, 2]
    assert pickle.loads(pickle.dumps(y.detach())).tolist() == [7, 4]


def test_hooks_stay_with_what_the_tensor_was(torch: ModuleType):
    for m in (tensorgrad, torch):
        x, seen = m.tensor([1.0, 2.0], requires_grad=True), []
        y = x * 2
        handle = y.register_hook(lambda g, seen=seen: seen.append(("before", g.tolist())))
        y[0] = 7
        y.register_hook(lambda g, seen=seen: seen.append(("after", g.tolist())))
        y.sum().backward(retain_graph=True)
        assert seen == [("after", [1, 1]), ("before", [0, 1])]
        handle.remove()
        y.sum().backward()
        assert seen[2:] == [("after", [1, 1])]


def test_no_grad_lies_on_the_way_of_nothing_that_was_recorded():
    v = leaf(1.0, 2.0)
    x = zeros(2)
    with no_grad():
        x[0] = v[0]
    assert x.is_leaf
    x[1] = v[1]
    x.sum().backward()
    assert v.grad.tolist() == [0, 1]


# -- drawn, stepped, compared ------------------------------------------------------------------------------------------


def assigned(x: Tensor) -> Tensor:
    y = zeros(3, dtype=np.float64)
    y[0] = x[1] * x[0]
    y[1:] = x.exp()
    y[x.detach().sum() > 0] = 2 * x[0]
    z = y * 1
    z[[0, 2]] = x
    return (z * y).sum()


def test_the_tools_take_a_graph_with_assignments():
    x = Tensor([0.5, -1.5], dtype=np.float64, requires_grad=True)
    steps = trace(assigned(x))
    rules = [step.rule for step in steps if "written" in step.rule]
    assert any(text.endswith("at the positions that were written") for text in rules)
    assert any("where nothing was written, 0 elsewhere" in text for text in rules)
    assert "setitem" in to_dot(snapshot(assigned(x)))
    found = compare(assigned, x)
    assert found.ok, found
    assert gradcheck(assigned, x)


# -- refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "op"),
    [
        (lambda x: x.__setitem__(0, 1.0), r"x\[\.\.\.\] ="),
        (lambda x: x.zero_(), "zero_"),
        (lambda x: x.fill_(1), "fill_"),
        (lambda x: x.copy_(x.detach()), "copy_"),
        (lambda x: x.add_(1), "add_"),
        (lambda x: x.__iadd__(1), r"\+="),
        (lambda x: x.__isub__(1), "-="),
        (lambda x: x.__imul__(1), r"\*="),
        (lambda x: x.__itruediv__(1), "/="),
    ],
)
def test_a_leaf_that_requires_a_gradient(change: Any, op: str, torch: ModuleType):
    x = leaf(1.0, 2.0)
    x.label = "w"
    with pytest.raises(RuntimeError, match=rf"^{op} on w of shape \(2,\), float32, a leaf.*no_grad"):
        change(x)
    assert x.tolist() == [1, 2]
    with pytest.raises(RuntimeError):
        change(torch.tensor([1.0, 2.0], requires_grad=True))


def test_a_tensor_that_was_used():
    x = leaf(1.0, 2.0)
    y = x * 2
    loss = y.sum()
    with pytest.raises(RuntimeError, match=r"x\[\.\.\.\] = on the result of '\*'.* has used already.*clone"):
        y[0] = 1
    loss.backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="has used already"):
        y[0] = y[1] * 2  # the sum has used it too
    with pytest.raises(RuntimeError, match=r"add_ on .*has used already"):
        y.add_(1)
    buffer = zeros(2)
    (buffer * x).sum()
    with pytest.raises(RuntimeError, match="stack or cat"):
        buffer[0] = x[0]
    buffer[0] = 4  # no part of the graph


def test_a_result_with_a_rule_of_the_users_own():
    x = leaf(1.0, 2.0)
    y = Tensor(x.data * 2, _prev=(x,), _op="double")

    def backward() -> None:
        x.grad += 2 * y.grad

    y._backward = backward
    with pytest.raises(RuntimeError, match=r"the result of 'double'.*assigned to its _backward.*clone"):
        y[0] = 0
    own = x * 2
    with pytest.raises(RuntimeError, match="has used already"):
        own[0] = Tensor(own.data * 2, _prev=(own,), _op="double")[0]
    z = y.clone()
    z[0] = 0
    z.sum().backward()
    assert x.grad.tolist() == [0, 2]


def test_a_view_of_a_tensor_that_is_still_there():
    x, base = leaf(1.0, 2.0), zeros(2, 2)
    row = base[0]
    with pytest.raises(RuntimeError, match=r"it is a view.*clone"):
        row[0] = x[0]
    row[0] = 3
    assert base.tolist() == [[3, 0], [0, 0]]


def test_what_was_only_reshaped_after_it_was_made_is_no_view():
    x = leaf(1.0, 2.0)
    grid = tensorgrad.arange(4.0).reshape(2, 2).T
    assert grid.data.base is not None
    grid[0] = x
    assert grid.tolist() == [[1, 2], [1, 3]]
    turned = (x * 2)[::-1]
    with pytest.raises(RuntimeError, match="it is a view"):
        turned[0] = 0  # the product still holds the memory


@pytest.mark.parametrize(
    ("key", "value", "error", "text"),
    [
        (5, 1.0, IndexError, r"5 is out of bounds .* size 2.*\(2, 3\)"),
        ((0, 0, 0), 1.0, IndexError, r"too many indices.*\(2, 3\)"),
        ("a", 1.0, IndexError, r"x\[\.\.\.\] =: positions are whole numbers or booleans.*\(2, 3\)"),
        (1.5, 1.0, IndexError, "whole numbers"),
        ([[0], [0, 1]], 1.0, IndexError, "ragged"),
        (np.ones(3, bool), 1.0, IndexError, r"\(2, 3\)"),
        (0, [1.0, 2.0], ValueError, r"values of shape \(2,\) do not fit into the place of shape \(3,\)"),
        (..., np.ones((3, 2)), ValueError, r"\(3, 2\) do not fit into the place of shape \(2, 3\)"),
        (np.array([True, False]), np.ones((2, 3)), ValueError, r"\(2, 3\) do not fit into the place of shape \(1, 3\)"),
        (0, None, TypeError, r"x\[\.\.\.\] =: .*None"),
        (0, "text", TypeError, "float"),
        (0, [[1], [2, 3]], TypeError, "ragged"),
        (0, 1j, TypeError, "complex"),
        (slice(None, None, 0), 1.0, ValueError, "step"),
        (slice(0, 1.5), 1.0, TypeError, "slice"),
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_bad_keys_and_values(key: Any, value: Any, error: type, text: str, recorded: bool):
    x = zeros(2, 3)
    if recorded:
        x = x + Tensor([0.0], requires_grad=True)
    before = x._op
    with pytest.raises(error, match=text) as caught:
        x[key] = value
    assert "x[...] =" in str(caught.value)
    assert x.tolist() == [[0] * 3] * 2
    assert x._op == before


def test_other_refusals():
    frozen = zeros(2)
    frozen.data.flags.writeable = False
    for change in (lambda: frozen.__setitem__(0, 1), lambda: frozen.zero_(), lambda: frozen.add_(1)):
        with pytest.raises(RuntimeError, match=r"the array of a tensor of shape \(2,\), float32 is read-only.*clone"):
            change()
    with pytest.raises(TypeError, match=r"requires a gradient.*integers have no gradients"):
        tensor([1, 2])[0] = leaf(1.0)
    with pytest.raises(ValueError, match="fill_: takes one number"):
        zeros(2).fill_([1, 2])
    with pytest.raises(ValueError, match=r"add_: a result of shape \(2, 2\) does not fit into a tensor of shape"):
        zeros(2).add_(zeros(2, 2))
    with pytest.raises(TypeError, match=r"add_: a result of float32 does not fit into a tensor of shape .2,., int64"):
        tensor([1, 2]).add_(0.5)
    with pytest.raises(ValueError, match="copy_: values of shape"):
        zeros(2).copy_([1, 2, 3])
    with pytest.raises(TypeError):
        zeros(2).add_(None)


def test_augmented_operators_on_results_and_with_them_make_new_nodes():
    x = leaf(1.0, 2.0)
    y = before = x * 2
    y += 1
    assert y is not before
    total = tensor(0.0)
    for number in x:
        total += number
    (y.sum() + total).backward()
    assert x.grad.tolist() == [3, 3]
    assert len(topological_order(total)) > 3
