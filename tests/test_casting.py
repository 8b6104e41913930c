"""Copies and casts: values, dtypes and gradients as torch has them, and what leaves the graph."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from micrograd.backprop import topological_order
from tensorgrad import Tensor
from viz.words import contribution, formula

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "bool")

CASTS = (
    "x.half()", "x.float()", "x.double()", "x.to(torch.float16)", "x.to(torch.float64)", "x.to(dtype=torch.float32)",
    "x.to('cpu')", "x.to('cpu', torch.float64)", "x.to(device='cpu', dtype=torch.float16)", "x.to(torch.device('cpu'))",
    "x.to(torch.ones(1, dtype=torch.float64))", "x.to(torch.float64, True)", "x.to(torch.float64, copy=True)",
    "x.to(torch.float64, non_blocking=True)", "x.to('cpu', torch.float64, False, True)", "x.type(torch.float64)",
    "x.type('torch.DoubleTensor')", "x.type_as(torch.ones(1, dtype=torch.float16))", "x.cpu()", "x.clone()",
    "torch.clone(x)",
    "x.double().float().half()",
)  # fmt: skip
TO_INTEGERS = (
    "x.long()", "x.int()", "x.short()", "x.byte()", "x.char()", "x.bool()", "x.to(torch.int8)", "x.type(torch.int64)",
    "x.to(torch.tensor([1]))", "x.type('torch.IntTensor')",
)  # fmt: skip


def run(text: str, package: ModuleType, x: Any) -> Any:
    return eval(text, {"torch": package, "x": x})


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("text", CASTS)
def test_casts_between_floats_are_part_of_the_graph(text: str, dtype: str, torch: ModuleType):
    with np.errstate(over="ignore"):
        data = np.array([[1.5, -2.25, 1 / 3], [0.0, 7e4, 1e-6]], dtype=np.float32).astype(dtype)
    ours, theirs = Tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    out, want = run(text, tensorgrad, ours), run(text, torch, theirs)
    assert str(want.dtype) == f"torch.{out.dtype}"
    np.testing.assert_array_equal(out.data, want.detach().numpy())
    assert (out is ours) == (want is theirs)
    seed = np.array([[1.0, 2.0, 1 / 3], [-1.0, 0.5, 1e-3]]).astype(out.dtype)
    (out * 1).backward(seed)
    (want * 1).backward(torch.tensor(seed))
    assert ours.grad.dtype == dtype
    np.testing.assert_array_equal(ours.grad, theirs.grad.numpy())


@pytest.mark.parametrize("text", TO_INTEGERS)
def test_casts_to_integers_are_constants(text: str, torch: ModuleType):
    data = np.array([1.5, -1.5, 0.0, 100.7, -0.9], dtype=np.float32)
    ours, theirs = Tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    out, want = run(text, tensorgrad, ours), run(text, torch, theirs)
    assert not out.requires_grad
    assert not want.requires_grad
    assert str(want.dtype) == f"torch.{out.dtype}"
    np.testing.assert_array_equal(out.data, want.numpy())


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS])
def test_every_dtype_to_every_other(source: str, target: str, torch: ModuleType):
    data = np.array([0, 1, 3, 100]).astype(source)
    out = Tensor(data).to(getattr(tensorgrad, target))
    want = torch.tensor(data).to(getattr(torch, target))
    assert out.dtype == target
    np.testing.assert_array_equal(out.data, want.numpy())
    assert Tensor(data).type() == torch.tensor(data).type()


def test_a_cast_that_changes_nothing_is_the_tensor_itself():
    x = Tensor([1.0], requires_grad=True)
    for same in (
        x.float(),
        x.to("cpu"),
        x.to(None),
        x.to(),
        x.to(np.float32),
        x.type_as(x),
        x.astype("f4", copy=False),
    ):
        assert same is x
    for other in (x.clone(), x.to(np.float32, copy=True), x.astype(np.float32)):
        assert other is not x
        assert not np.shares_memory(other.data, x.data)
        assert other.requires_grad


def test_nan_and_large_numbers_cast_without_warnings():
    assert Tensor([1e5]).half().tolist() == [np.inf]
    assert Tensor([np.nan, np.inf]).long().dtype == np.int64
    assert Tensor(np.array([1e300])).float().tolist() == [np.inf]


def test_a_cast_keeps_the_layout_and_takes_views_and_empty_tensors():
    x = Tensor(np.zeros((3, 2)), requires_grad=True)
    x.data = np.arange(6.0).reshape(2, 3).T[::-1]
    np.testing.assert_array_equal(x.float().data, x.data)
    np.testing.assert_array_equal(x.clone().data, x.data)
    assert Tensor(np.zeros((0, 2))).float().shape == (0, 2)
    assert Tensor(np.array(2.0)).half().shape == ()


def test_a_clone_is_a_node_and_its_changes_are_its_own():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    assert (y._op, y._prev) == ("clone", (x,))
    y.data[0] = 9
    assert x.tolist() == [1, 2]
    with tensorgrad.no_grad():
        assert not x.clone().requires_grad


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.to("cuda"), RuntimeError, r"to: device 'cuda'"),
        (lambda x: x.to("float65"), RuntimeError, r"to: device 'float65'"),
        (lambda x: x.to([1]), TypeError, r"to: not a dtype: \[1\]"),
        (lambda x: x.to(np.float32, np.float64), TypeError, r"to: takes a dtype, a device, both, or a tensor"),
        (lambda x: x.to(1, 2, 3, 4), TypeError, r"to: takes a dtype"),
        (lambda x: x.type("torch.cuda.FloatTensor"), TypeError, r"type: not a dtype: 'torch.cuda.FloatTensor'"),
        (lambda x: x.astype("text"), TypeError, r"astype: not a dtype: 'text'"),
        (lambda x: x.to(object), TypeError, r"to: a Tensor holds numbers"),
        (lambda x: tensorgrad.clone("a"), TypeError, r"clone: .* got a str"),
    ],
)
def test_casts_that_make_no_sense(call, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call(Tensor([1.0]))


def test_a_cast_in_words():
    x = Tensor([1.0], requires_grad=True)
    out = x.double()
    assert out._op == "to float64"
    assert contribution(out._op, 0, ["x"], "out") == "out.grad"
    assert formula(out._op, ["x"]) == "x.to(float64)"


def test_mixed_precision_gives_each_leaf_its_own_gradient():
    w = Tensor(np.full((2, 2), 0.5, dtype=np.float32), requires_grad=True)
    loss = (w.half() @ tensorgrad.ones(2, dtype=np.float16)).float().sum()
    loss.backward()
    assert (loss.dtype, w.grad.dtype) == (np.float32, np.float32)
    assert {node.dtype.name for node in topological_order(loss)} == {"float16", "float32"}
    assert w.grad.tolist() == [[1, 1], [1, 1]]


def test_leaves_can_be_copied_and_pickled():
    x = Tensor([1.0, 2.0], requires_grad=True, label="x")
    x.grad = np.array([3.0, 4.0])
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (twin.tolist(), twin.requires_grad, twin.is_leaf, twin.label) == ([1, 2], True, True, "x")
        assert twin.grad.tolist() == [3, 4]
        assert not np.shares_memory(twin.data, x.data)
        (twin * 2).sum().backward()
        assert x.grad.tolist() == [3, 4]
