"""Every line of the operator table: on floats, Values, NumPy arrays, Tensors and torch's tensors."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from ops_table import ARRAYS, CASES, COMPARISONS, EACH, FLOATS, PLAIN, VALUES, Case, Shapes, calls

import tensorgrad
from micrograd.backprop import topological_order
from micrograd.engine import Value
from tensorgrad import Tensor, ops
from tensorgrad.autograd import gradcheck
from viz import compare

TOLERANCE = {"float32": {"rtol": 2e-5, "atol": 2e-6}, "float64": {"rtol": 1e-12, "atol": 1e-12}}

every_scalar_case = pytest.mark.parametrize("case", EACH, ids=lambda case: case.name)


def every_call(cases: tuple[Case, ...] = CASES) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("case", "shapes"), [pytest.param(case, shapes, id=name) for name, case, shapes in calls(cases)]
    )


def leaf(data: np.ndarray) -> Tensor:
    return Tensor(data, requires_grad=True)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


# -- the table is complete ---------------------------------------------------------------------------------------------


def test_every_public_operation_has_a_line():
    covered = {case.operation for case in (*CASES, *PLAIN)} | set(COMPARISONS) | {"equal", "allclose"}
    named_otherwise = {"getitem": "index", "composed_twin": "cross_entropy"}
    helpers = {"attention_tiles", "linear_tiles", "classes", "axes", "casting", "chance", "contraction", "equation"}
    helpers |= {"erf", "keys", "operands", "reducing", "targets"}
    names = {module.name for module in pkgutil.iter_modules(ops.__path__)} - helpers
    for module in (importlib.import_module(f"tensorgrad.ops.{name}") for name in sorted(names)):
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_"):
                name = function.__name__  # of an alias, the name of what it stands for
                assert named_otherwise.get(name, name) in covered, f"{module.__name__}.{name} is not in the table"


# -- floats and Values -------------------------------------------------------------------------------------------------


@every_scalar_case
def test_value_equals_float(case: Case, rng: np.random.Generator):
    for _ in range(5):
        numbers = [float(x) for x in case.sample(rng)]
        nodes = [Value(x) for x in numbers]
        out = case.function(VALUES, *nodes)
        assert out.data == pytest.approx(case.function(FLOATS, *numbers), rel=1e-14)
        out.backward()
        for i, node in enumerate(nodes):
            up, down = ([x + h * (i == j) for j, x in enumerate(numbers)] for h in (1e-6, -1e-6))
            slope = (case.function(FLOATS, *up) - case.function(FLOATS, *down)) / 2e-6
            assert node.grad == pytest.approx(slope, rel=1e-6, abs=1e-8)


@every_scalar_case
def test_tensor_equals_value(case: Case, rng: np.random.Generator):
    arrays = case.sample(rng)
    values, tensors = [Value(float(x)) for x in arrays], [leaf(x) for x in arrays]
    scalar, tensor = case.function(VALUES, *values), case.function(tensorgrad, *tensors)
    scalar.backward()
    tensor.backward()
    assert scalar.data == pytest.approx(tensor.item(), rel=1e-14)
    for v, t in zip(values, tensors, strict=True):
        assert v.grad == pytest.approx(float(t.grad), rel=1e-13, abs=1e-15)


# -- NumPy -------------------------------------------------------------------------------------------------------------


@every_call()
def test_forward_equals_numpy(case: Case, shapes: Shapes, rng: np.random.Generator):
    arrays = case.sample(rng, shapes)
    want = np.asarray(case.function(ARRAYS, *arrays))
    out = case.function(tensorgrad, *[Tensor(a) for a in arrays])
    assert out.shape == want.shape
    np.testing.assert_allclose(out.data, want, rtol=1e-14, atol=1e-14)


@every_call()
def test_data_and_gradients_are_arrays_of_the_operands_dtype(case: Case, shapes: Shapes, rng: np.random.Generator):
    arrays = case.sample(rng, shapes)
    for dtype in ("float16", "float32", "float64"):
        out = case.function(tensorgrad, *[leaf(a.astype(dtype)) for a in arrays])
        for _ in range(2):  # accumulation too: NumPy's sum of two 0-d arrays is no array
            out.backward(np.ones(out.shape))
        for node in topological_order(out):
            assert type(node.data) is np.ndarray
            assert node.dtype == dtype
            if node.requires_grad:
                assert type(node.grad) is np.ndarray
                assert (node.grad.shape, node.grad.dtype) == (node.shape, node.dtype)


# -- finite differences ------------------------------------------------------------------------------------------------


@every_call()
def test_gradcheck(case: Case, shapes: Shapes, rng: np.random.Generator):
    tensors = [leaf(a) for a in case.sample(rng, shapes)]
    assert gradcheck(lambda *operands: case.function(tensorgrad, *operands), tensors)


@pytest.mark.parametrize("case", [case for case in CASES if case.broadcasts], ids=lambda case: case.name)
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_gradcheck_for_random_broadcast_shapes(case: Case, data: st.DataObject):
    shapes = data.draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0)).input_shapes
    tensors = [leaf(a) for a in case.sample(np.random.default_rng(3), shapes)]
    assert gradcheck(lambda *operands: case.function(tensorgrad, *operands), tensors)


LAYOUTS = ("Fortran order", "negative strides", "transposed view", "every second")


def laid_out(a: np.ndarray, layout: str) -> np.ndarray:
    """The same elements, differently in memory."""
    if layout == "Fortran order":
        return np.array(a, order="F")
    if layout == "negative strides":
        turned = (slice(None, None, -1),) * a.ndim
        return a[turned].copy()[turned]
    if layout == "transposed view":
        return np.array(a.T, order="C").T
    if layout == "every second":
        wide = np.zeros((*a.shape, 2))
        wide[..., 1] = a
        return wide[..., 1]
    raise ValueError(layout)


@every_call()
def test_layout_in_memory_does_not_matter(case: Case, shapes: Shapes, rng: np.random.Generator):
    arrays = case.sample(rng, shapes)
    plain = [leaf(a) for a in arrays]
    want = case.function(tensorgrad, *plain)
    seed = np.asarray(rng.standard_normal(want.shape))
    want.backward(seed)
    for layout in LAYOUTS:
        odd = [leaf(a) for a in arrays]
        for tensor, a in zip(odd, arrays, strict=True):
            tensor.data = laid_out(a, layout)  # the constructor would copy it straight
        out = case.function(tensorgrad, *odd)
        out.backward(laid_out(seed, layout))
        np.testing.assert_allclose(out.data, want.data, rtol=1e-13, atol=1e-15, err_msg=layout)
        for a, b in zip(plain, odd, strict=True):
            np.testing.assert_allclose(b.grad, a.grad, rtol=1e-13, atol=1e-15, err_msg=layout)


# -- torch -------------------------------------------------------------------------------------------------------------


@every_call(tuple(case for case in CASES if case.torch))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forward_and_gradients_equal_torch(case: Case, shapes: Shapes, dtype: str, rng, torch: ModuleType):
    arrays = [a.astype(dtype) for a in case.sample(rng, shapes)]
    ours, theirs = [leaf(a) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    out, want = case.function(tensorgrad, *ours), case.function(torch, *theirs)
    seed = rng.standard_normal(out.shape).astype(dtype)
    out.backward(seed)
    want.backward(torch.tensor(seed))
    assert out.dtype == dtype
    assert out.shape == tuple(want.shape)
    np.testing.assert_allclose(out.data, want.detach().numpy(), **TOLERANCE[dtype])
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), **TOLERANCE[dtype])


# -- the scalar engine, through the lift -----------------------------------------------------------------------------


@every_call(tuple(case for case in CASES if case.lift and not case.scalar))
def test_lifted_onto_values(case: Case, shapes: Shapes, rng: np.random.Generator):
    """Every node's data and gradient, element by element, on Values: of all operands, and of each beside constants."""
    arrays = case.sample(rng, shapes)
    for lifted in [range(len(arrays)), *([i] for i in range(len(arrays)) if len(arrays) > 1)]:
        inputs = [Tensor(a, requires_grad=i in lifted) for i, a in enumerate(arrays)]
        if not case.function(tensorgrad, *inputs).requires_grad:
            continue
        found = compare(
            lambda *operands: case.function(tensorgrad, *operands), *inputs, gradient=1.0, finite_differences=False
        )
        assert found.ok, str(found)


# -- constants: what has no gradient -----------------------------------------------------------------------------------


@every_call(PLAIN)
def test_constants_equal_numpy(case: Case, shapes: Shapes, rng: np.random.Generator):
    arrays = case.sample(rng, shapes)
    out = case.function(tensorgrad, *[leaf(a) for a in arrays])
    assert not out.requires_grad
    want = np.asarray(case.function(ARRAYS, *arrays))
    assert (out.shape, out.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(out.data, want)


@every_call(tuple(case for case in PLAIN if case.torch))
def test_constants_equal_torch(case: Case, shapes: Shapes, rng: np.random.Generator, torch: ModuleType):
    arrays = case.sample(rng, shapes)
    out = case.function(tensorgrad, *[Tensor(a) for a in arrays])
    want = case.function(torch, *[torch.tensor(a) for a in arrays]).numpy()
    assert (out.shape, out.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(out.data, want)


# -- memory ------------------------------------------------------------------------------------------------------------


@every_call()
def test_a_leafs_gradient_shares_no_memory(case: Case, shapes: Shapes, rng: np.random.Generator):
    tensors = [leaf(a) for a in case.sample(rng, shapes)]
    out = case.function(tensorgrad, *tensors)
    seed = np.ones(out.shape)
    out.backward(seed)
    graph = topological_order(out)
    assert not np.shares_memory(out.grad, seed)
    others = [seed, *(node.data for node in graph)]
    for node in graph:
        if node.is_leaf and node.requires_grad:
            rest = others + [other.grad for other in graph if other is not node and other.grad is not None]
            assert not any(np.shares_memory(node.grad, array) for array in rest)
            assert node.grad.flags.writeable


@every_call()
def test_rules_change_nothing(case: Case, shapes: Shapes, rng: np.random.Generator):
    """Every array that a rule can see is locked: one that writes to it raises."""
    tensors = [leaf(a) for a in case.sample(rng, shapes)]
    out = case.function(tensorgrad, *tensors)
    for node in topological_order(out):
        node.data.flags.writeable = False
        node.grad = np.ones(node.shape)
        node.grad.flags.writeable = False
        first, second = node._vjp(), node._vjp()
        for (_, a), (_, b) in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


# -- comparisons -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str):
    compare, scalar = COMPARISONS[name]
    left, right = np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 2.0, 2.0, 2.0])
    want = compare(left, right)
    out = getattr(tensorgrad, name)(leaf(left), leaf(right))
    assert (out.dtype, out.requires_grad, out._prev) == (np.bool_, False, ())
    np.testing.assert_array_equal(out.data, want)
    np.testing.assert_array_equal(compare(Tensor(left), right).data, want)
    np.testing.assert_array_equal(compare(left, Tensor(right)).data, want)
    np.testing.assert_array_equal(compare(Tensor(left), 2.0).data, want)
    if scalar:
        assert [compare(Value(a), Value(b)) for a, b in zip(left, right, strict=True)] == want.tolist()
        assert [compare(Value(a), b) for a, b in zip(left, right, strict=True)] == want.tolist()
        assert [compare(float(a), Value(b)) for a, b in zip(left, right, strict=True)] == want.tolist()


def test_equal_compares_shape_and_values():
    x = Tensor([1.0, 2.0])
    assert x.equal(Tensor([1.0, 2.0]))
    assert tensorgrad.equal(x, np.array([1.0, 2.0]))
    assert not x.equal(Tensor([1.0, 3.0]))
    assert not x.equal(Tensor([[1.0, 2.0]]))  # would broadcast
    assert not x.equal(Tensor([1.0, np.nan]))
    assert Tensor([]).equal(Tensor([]))
