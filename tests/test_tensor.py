"""A Tensor field by field, and its backward pass: figures rows 3, 7 and 8."""

from __future__ import annotations

import copy
import gc
import pickle
import tracemalloc
import weakref

import numpy as np
import pytest

from micrograd.backprop import topological_order
from tensorgrad import Tensor
from tensorgrad.errors import DtypeError, ShapeError


@pytest.fixture
def x() -> Tensor:
    return Tensor([1.0, 2.0, 3.0], requires_grad=True)


# -- fields ------------------------------------------------------------------------------------------------------------


def test_a_leaf(x: Tensor):
    assert type(x.data) is np.ndarray
    assert (x.grad, x._prev, x._op, x.label, x.requires_grad, x.is_leaf) == (None, (), "", "", True, True)
    assert (x.shape, x.ndim, x.dtype, x.numel(), len(x)) == ((3,), 1, np.float32, 3, 3)
    assert callable(x._backward)


def test_a_result(x: Tensor):
    out = x * 2
    assert (out._op, out.requires_grad, out.is_leaf, out.grad) == ("*", True, False, None)
    assert out._prev[0] is x
    assert (x * x)._prev == (x, x)


def test_the_constructors_arguments_stand_in_the_order_of_the_seed_document(x: Tensor):
    t = Tensor(np.zeros(3), True, (x,), "f")
    assert (t._prev, t._op, t.requires_grad) == ((x,), "f", True)
    assert Tensor([1.0], label="w").label == "w"


def test_data_is_copied_from_the_caller():
    array = np.ones(3)
    t = Tensor(array)
    array[0] = 5.0
    assert t.tolist() == [1.0, 1.0, 1.0]
    u = Tensor(t)
    u.data[0] = 7.0
    assert t.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("data", [2.0, [2.0], [[2.0]], np.float64(2.0), np.full((1, 1), 2.0)])
def test_one_element_as_a_number(data):
    t = Tensor(data)
    assert (t.item(), float(t), int(t), bool(t)) == (2.0, 2.0, 2, True)
    assert type(t.item()) is float


def test_repr_says_what_it_is(x: Tensor):
    assert repr(x) == "Tensor([1., 2., 3.], dtype=float32, requires_grad=True)"
    assert repr(x * 2) == "Tensor([2., 4., 6.], dtype=float32, op='*')"
    assert repr(Tensor(1.0)) == "Tensor(1., dtype=float32)"


def test_a_tensor_without_axes_is_formatted_as_its_number(x: Tensor):
    assert f"{x.mean():.2f}" == "2.00"
    assert f"{x.mean()}" == "2.0"
    assert f"{x}" == repr(x)
    with pytest.raises(ValueError, match="is for one number"):
        f"{x:.2f}"


def test_iteration_gives_rows_in_the_graph(x: Tensor):
    a, b, c = x
    (a * 2 + c).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 0.0, 1.0])
    assert sum(x).item() == 6.0
    assert b.item() == 2.0


# -- gradients ---------------------------------------------------------------------------------------------------------


def test_grad_is_none_until_backward_and_none_is_not_zero(x: Tensor):
    unused = Tensor([1.0], requires_grad=True)
    out = (x * 0).sum()
    out.backward()
    with pytest.warns(UserWarning, match="has no gradient: the last backward pass did not reach it"):
        assert unused.grad is None
    np.testing.assert_array_equal(x.grad, [0.0, 0.0, 0.0])


def test_gradients_are_allocated_only_by_backward():
    big = Tensor(np.zeros(1_000_000, np.float32), requires_grad=True)
    tracemalloc.start()
    try:
        out = big.sum()
        before = tracemalloc.get_traced_memory()[0]
        assert before < 100_000
        out.backward()
        assert tracemalloc.get_traced_memory()[0] - before >= 4_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (2, 0)])
def test_grad_has_the_shape_of_data_always(shape: tuple[int, ...]):
    a, b = Tensor(np.ones(shape), requires_grad=True), Tensor(np.ones((2, *shape)), requires_grad=True)
    out = ((a * b + a) * a).sum()
    for _ in range(3):
        out.backward()
    for node in topological_order(out):
        assert type(node.data) is type(node.grad) is np.ndarray
        assert node.grad.shape == node.data.shape
    np.testing.assert_array_equal(a.grad, np.full(shape, 3 * 8.0))


def test_a_gradient_that_is_set_is_brought_into_form(x: Tensor):
    for given in ([1, 2, 3], Tensor([1.0, 2.0, 3.0]), np.array([1, 2, 3])):
        x.grad = given
        assert type(x.grad) is np.ndarray
        assert (x.grad.tolist(), x.grad.dtype) == ([1.0, 2.0, 3.0], np.float32)
    x.grad = None
    assert x.grad is None


@pytest.mark.parametrize("wrong", [1.0, [1.0, 2.0], np.ones((3, 1)), np.ones((1, 3))])
def test_a_gradient_of_another_shape_is_refused(x: Tensor, wrong):
    with pytest.raises(ShapeError, match=r"\(3,\).*must be equal"):
        x.grad = wrong
    assert x.grad is None


def test_data_of_another_shape_is_refused_while_a_gradient_is_held(x: Tensor):
    x.data = np.ones(4, np.float32)
    assert x.shape == (4,)
    x.sum().backward()
    with pytest.raises(ShapeError, match=r"\(5,\) .*\(4,\).*set grad to None first"):
        x.data = np.ones(5)
    x.grad = None
    x.data = [1, 2]
    assert (x.tolist(), x.dtype) == ([1.0, 2.0], np.float32)


def test_data_that_could_have_no_gradient_is_refused(x: Tensor):
    with pytest.raises(DtypeError, match="int64"):
        x.data = np.array([1, 2, 3])
    with pytest.raises(TypeError, match="holds numbers, not <U1"):
        x.data = np.array(["a", "b", "c"])


def test_the_update_of_the_seed_document(x: Tensor):
    (x * x).sum().backward()
    array = x.data
    x.data -= 0.5 * x.grad
    assert x.tolist() == [0.0, 0.0, 0.0]
    assert x.data is array


# -- backward ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_the_seed_is_ones_like_the_root(shape: tuple[int, ...]):
    root = Tensor(np.full(shape, 3.0), requires_grad=True) * 2
    root.backward()
    assert type(root.grad) is np.ndarray
    np.testing.assert_array_equal(root.grad, np.ones(shape), strict=True)


def test_backward_on_several_elements_needs_a_gradient(x: Tensor):
    with pytest.raises(RuntimeError, match=r"result of '\*' of shape \(3,\), float32 is not a scalar.*gradient="):
        (x * 2).backward()
    (x * 2).backward(gradient=[1.0, 10.0, 100.0])
    np.testing.assert_array_equal(x.grad, [2.0, 20.0, 200.0])
    (x * 2).backward(Tensor([1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(x.grad, [4.0, 22.0, 202.0])


def test_backward_on_no_elements_needs_a_gradient():
    root = Tensor(np.ones((0, 3)), requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="not a scalar"):
        root.backward()
    root.backward(np.ones((0, 3)))
    assert root._prev[0].grad.shape == (0, 3)


def test_backward_on_a_constant_is_refused(x: Tensor):
    for root in (Tensor(1.0), (x * 2).detach().sum(), (x > 1).sum()):
        with pytest.raises(RuntimeError, match=r"requires no gradient.*requires_grad=True"):
            root.backward()


@pytest.mark.parametrize("wrong", [1.0, [1.0], np.ones((3, 1)), np.ones((3, 3))])
def test_a_seed_of_another_shape_is_refused(x: Tensor, wrong):
    with pytest.raises(ShapeError, match=r"backward: a gradient of shape .* they must be equal"):
        (x * 2).backward(wrong)
    assert x.grad is None


def test_what_backward_refuses_changes_nothing(x: Tensor):
    out = (x * 2).sum()
    out.backward()
    with pytest.raises(TypeError):
        out.backward("1")
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])


def test_opposite_infinities_meet_without_a_warning():
    x = Tensor(np.array([0.0]), requires_grad=True)
    (x.log() - x.log()).sum().backward()
    assert np.isnan(x.grad).all()


def test_positions_that_are_changed_later_do_not_move_the_gradient(x: Tensor):
    where, mask = np.array([0, 0, 2]), np.array([True, False, False])
    out = x[where].sum() + x[mask].sum()
    where[:], mask[:] = 1, True
    out.backward()
    np.testing.assert_array_equal(x.grad, [3.0, 0.0, 1.0])


# -- memory and copies -------------------------------------------------------------------------------------------------


def test_the_largest_of_one_element_is_a_copy():
    x = Tensor(1.0)
    assert not np.shares_memory(x.max(0).values.data, x.data)
    assert not np.shares_memory(x.max().data, x.data)


def test_graphs_make_no_reference_cycles():
    gc.collect()
    gc.disable()
    try:
        x = Tensor(np.ones((2, 3)), requires_grad=True)
        out = ((x @ x.T).exp() / 2 + x.max(1).values).tanh()[0].mean() ** 2
        out.backward()
        watched = [weakref.ref(node) for node in topological_order(out) if node is not x]
        del out
        assert [ref for ref in watched if ref() is not None] == []
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))], ids=["deepcopy", "pickle"]
)
def test_a_copy_of_a_leaf_is_a_leaf_of_its_own(duplicate, x: Tensor):
    x.sum().backward()
    x.label = "w"
    twin = duplicate(x)
    assert (twin.tolist(), twin.grad.tolist(), twin.label, twin.requires_grad) == (x.tolist(), [1.0] * 3, "w", True)
    assert not np.shares_memory(twin.data, x.data)
    (twin * 2).sum().backward()
    assert (twin.grad.tolist(), x.grad.tolist()) == ([3.0] * 3, [1.0] * 3)


def test_a_copy_of_a_deep_graph():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    twin, same = copy.deepcopy((y, y))
    assert twin is same
    assert twin is not y
    twin.sum().backward()
    (leaf,) = {node for node in topological_order(twin) if node.is_leaf and node.requires_grad}
    assert leaf.grad.tolist() == [1.0, 1.0]
    shallow = copy.copy(y)
    assert shallow.data is y.data
    assert shallow._prev == y._prev


def test_a_result_is_not_pickled_and_says_what_to_pickle(x: Tensor):
    with pytest.raises(TypeError, match=r"pickle: the result of '\*' of shape \(3,\), float32 .*pickle .detach\(\)"):
        pickle.dumps({"loss": x * 2})
    assert pickle.loads(pickle.dumps((x * 2).detach())).tolist() == (x * 2).tolist()


def test_a_copy_of_a_graph_has_leaves_of_its_own(x: Tensor):
    out = (x * x).sum()
    twin = copy.deepcopy(out)
    twin.backward()
    with pytest.warns(UserWarning, match="did not reach it"):
        assert x.grad is None
    (leaf,) = {node for node in topological_order(twin) if node.is_leaf}
    np.testing.assert_array_equal(leaf.grad, 2 * x.data)
