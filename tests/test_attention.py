"""scaled_dot_product_attention: the fast path against its composed twin and against torch, masks, and bad input."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.nn import functional as F
from tensorgrad.ops import attention
from viz import compare

TOLERANCE = {"float32": {"rtol": 5e-5, "atol": 5e-6}, "float64": {"rtol": 1e-12, "atol": 1e-12}}
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
SHAPES = pytest.mark.parametrize(
    "shapes",
    [
        ((5, 4), (5, 4), (5, 4)),
        ((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 2)),
        ((3, 7, 2), (3, 1, 2), (3, 1, 4)),
        ((2, 0, 3), (2, 4, 3), (2, 4, 3)),
        ((2, 4, 1), (2, 3, 1), (2, 3, 0)),
    ],
    ids=str,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(17)


def leaf(data: Any, dtype: str = "float64") -> Tensor:
    return Tensor(np.array(data, dtype=dtype), requires_grad=True)


def masks(rng: np.random.Generator, shapes: Any, dtype: str) -> list[dict[str, Any]]:
    """Options: no mask; causal; booleans, also with a row that may look nowhere; numbers, also -inf; broadcast."""
    rows, columns = shapes[0][-2], shapes[1][-2]
    batch = shapes[0][:-2]
    look = rng.random((rows, columns)) < 0.6
    nowhere = look.copy()
    nowhere[:1] = False
    added = rng.standard_normal((*batch, rows, columns)).astype(dtype)
    return [
        {},
        {"scale": 0.3},
        {"is_causal": True},
        {"attn_mask": look},
        {"attn_mask": nowhere},
        {"attn_mask": rng.random((*batch, rows, columns)) < 0.7},
        {"attn_mask": np.ones((1, columns), bool)},
        {"attn_mask": np.where(nowhere, 0, -np.inf).astype(dtype)},
        {"attn_mask": added, "scale": 2.0},
    ]


@SHAPES
@DTYPES
def test_as_torch(shapes: Any, dtype: str, rng: np.random.Generator, torch: ModuleType):
    for options in masks(rng, shapes, dtype):
        arrays = [rng.standard_normal(s).astype(dtype) for s in shapes]
        ours, theirs = [leaf(a, dtype) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
        mask = {k: torch.tensor(v) for k, v in options.items() if k == "attn_mask"}
        out = F.scaled_dot_product_attention(*ours, **options)
        want = torch.nn.functional.scaled_dot_product_attention(*theirs, **options | mask)
        seed = rng.standard_normal(out.shape).astype(dtype)
        out.backward(seed)
        want.backward(torch.tensor(seed))
        assert (out.dtype, out.shape) == (dtype, tuple(want.shape))
        np.testing.assert_allclose(out.data, want.detach().numpy(), **TOLERANCE[dtype])
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a.grad, b.grad.numpy(), **TOLERANCE[dtype])


@SHAPES
@DTYPES
@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
def test_equals_its_twin(shapes: Any, dtype: str, p: float, rng: np.random.Generator, monkeypatch):
    """The twin is what the operation runs on scalar nodes; here it runs on numbers, with the same random ones."""
    for options in masks(rng, shapes, dtype):
        arrays = [rng.standard_normal(s).astype(dtype) for s in shapes]
        fast, plain = [leaf(a, dtype) for a in arrays], [leaf(a, dtype) for a in arrays]
        tensorgrad.manual_seed(4)
        out = F.scaled_dot_product_attention(*fast, dropout_p=p, **options)
        tensorgrad.manual_seed(4)
        with monkeypatch.context() as patch:
            patch.setattr(attention, "is_lifted", lambda *operands: True)
            patch.setattr(attention, "composed", lambda op, program, *operands: program(*operands))
            want = F.scaled_dot_product_attention(*plain, dropout_p=p, **options)
        assert want._op == "@"
        seed = rng.standard_normal(out.shape).astype(dtype)
        out.backward(seed)
        want.backward(seed)
        np.testing.assert_allclose(out.data, want.data, **TOLERANCE[dtype])
        for a, b in zip(fast, plain, strict=True):
            np.testing.assert_allclose(a.grad, b.grad, **TOLERANCE[dtype])


@DTYPES
def test_gradient_of_a_mask_that_is_added(dtype: str, rng: np.random.Generator, torch: ModuleType):
    arrays = [rng.standard_normal(s).astype(dtype) for s in ((2, 3, 4), (2, 5, 4), (2, 5, 3), (3, 5))]
    ours, theirs = [leaf(a, dtype) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    F.scaled_dot_product_attention(*ours).sum().backward()
    torch.nn.functional.scaled_dot_product_attention(*theirs).sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), **TOLERANCE[dtype])


def test_only_what_is_wanted_gets_a_gradient(rng: np.random.Generator):
    arrays = [rng.standard_normal(s) for s in ((3, 4), (5, 4), (5, 2), (3, 5))]
    every = [leaf(a) for a in arrays]
    F.scaled_dot_product_attention(*every).sum().backward()
    for i in range(4):
        operands = [Tensor(a, requires_grad=i == j) for j, a in enumerate(arrays)]
        F.scaled_dot_product_attention(*operands).sum().backward()
        np.testing.assert_array_equal(operands[i].grad, every[i].grad)
        assert all(x._grad is None for j, x in enumerate(operands) if j != i)


def test_no_overflow_at_large_scores():
    q = leaf([[1e4, 0.0]])
    out = F.scaled_dot_product_attention(q, np.array([[1e4, 0.0], [-1e4, 0.0]]), np.array([[1.0], [2.0]]))
    out.sum().backward()
    assert out.item() == 1
    np.testing.assert_array_equal(q.grad, [[0, 0]])


@pytest.mark.parametrize("hidden", [np.nan, np.inf, 1e300])
def test_a_key_that_is_hidden_has_no_effect_on_the_result(hidden: float):
    k = np.array([[1.0], [hidden]])
    out = F.scaled_dot_product_attention(np.ones((1, 1)), k, np.array([[3.0], [4.0]]), np.array([[True, False]]))
    assert out.item() == 3


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_on_values(p: float, rng: np.random.Generator):
    operands = [leaf(rng.standard_normal(s)) for s in ((2, 3), (4, 3), (4, 2))]
    look = np.array([[True, False, True, True], [False] * 4])
    found = compare(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, look, p),
        *operands,
        gradient=1.0,
        finite_differences=False,
    )
    assert found.ok, str(found)


def test_dropout_leaves_out_weights():
    tensorgrad.manual_seed(0)
    out = F.scaled_dot_product_attention(np.zeros((500, 1)), np.zeros((4, 1)), np.eye(4), dropout_p=0.25)
    assert set(np.unique(out.data)) == {0.0, 0.25 / 0.75}
    assert np.mean(out.data == 0) == pytest.approx(0.25, abs=0.04)


Q, K, V = Tensor(np.ones((2, 3))), Tensor(np.ones((4, 3))), Tensor(np.ones((4, 5)))


def call(*operands: Any, **options: Any) -> Any:
    return lambda: F.scaled_dot_product_attention(*operands, **options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (call(Q, V, V), ShapeError, r"query \(2, 3\), key \(4, 5\), value \(4, 5\): the last axes of query and key"),
        (call(Q, K, np.ones((3, 5))), ShapeError, "as many keys as values"),
        (call(np.ones(3), K, V), ShapeError, r"each needs the axes"),
        (call(np.ones((2, 2, 3)), np.ones((3, 4, 3)), V), ShapeError, "do not broadcast"),
        (call(Q, K, V, np.ones((2, 3))), ShapeError, r"attn_mask of shape \(2, 3\).*\(2, 4\)"),
        (call(Q, K, V, np.ones((7, 2, 4), bool)), ShapeError, "attn_mask of shape"),
        (call(Q, K, V, np.ones((2, 4), int)), DtypeError, "attn_mask of int64"),
        (call(Q, K, V, np.ones((2, 4), bool), is_causal=True), ValueError, "give attn_mask or is_causal, not both"),
        (call(Q, K, V, dropout_p=1.5), ValueError, "from 0 to 1"),
        (call(np.ones((2, 3), int), K, V), DtypeError, "of floats only"),
        (call(Q, K, V, enable_gqa=True), NotImplementedError, "repeat_interleave"),
        (call(Q, None, V), TypeError, "scaled_dot_product_attention"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call()
