"""Reductions, running sums and the softmax family: arguments, dtypes, errors, and what rules hold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, no_grad
from tensorgrad.ops import softmax as softmaxes
from tensorgrad.versions import held_arrays
from viz import compare

# -- dtypes ------------------------------------------------------------------------------------------------------------

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"]


def outcome(run: Callable[[], Any]) -> Any:
    """What comes out: dtype and numbers; or that it is refused."""
    try:
        out = run()
    except (RuntimeError, TypeError, NotImplementedError):
        return "refused"
    array = np.asarray(out.data if isinstance(out, Tensor) else out.numpy())
    return array.dtype, array.astype(float).round(2).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "program",
    [
        lambda m, x: m.sum(x),
        lambda m, x: m.sum(x, 0, dtype=m.float64),
        lambda m, x: m.mean(x),
        lambda m, x: m.mean(x, dtype=m.float64),
        lambda m, x: m.prod(x),
        lambda m, x: m.prod(x, 1, dtype=m.float32),
        lambda m, x: m.cumsum(x, 1),
        lambda m, x: m.cumprod(x, 0),
        lambda m, x: m.cumsum(x, 0, dtype=m.float64),
        lambda m, x: m.max(x),
        lambda m, x: m.amin(x, 0),
        lambda m, x: m.max(x, 1).values,
        lambda m, x: m.max(x, 1).indices,
        lambda m, x: m.all(x),
        lambda m, x: m.any(x, 0),
        lambda m, x: m.count_nonzero(x),
        lambda m, x: m.var(x),
        lambda m, x: m.std(x, 0),
        lambda m, x: m.norm(x),
        lambda m, x: m.logsumexp(x, 0),
        lambda m, x: m.softmax(x, 0),
        lambda m, x: m.softmax(x, 0, dtype=m.float64),
        lambda m, x: m.log_softmax(x, 1),
    ],
)
def test_dtypes_are_torchs(program: Callable[..., Any], dtype: str, torch: ModuleType):
    x = np.array([[1, 0, 3], [1, 1, 0]]).astype(dtype)
    ours, theirs = tensorgrad.tensor(x), torch.tensor(x)
    assert outcome(lambda: program(tensorgrad, ours)) == outcome(lambda: program(torch, theirs))


def test_a_gradient_comes_back_in_the_operands_dtype_from_another():
    x = Tensor(np.array([1, 2], np.float16), requires_grad=True)
    tensorgrad.sum(x, dtype=np.float64).backward()
    assert (x.grad.dtype, x.grad.tolist()) == (np.float16, [1.0, 1.0])


@pytest.mark.parametrize("op", ["sum", "mean", "prod", "var", "norm", "logsumexp", "cumsum"])
def test_float16_does_not_run_out_of_range_on_the_way(op: str):
    x = np.full(70_000, 1.0, np.float16)
    x[1::2] = -1.0 if op in ("sum", "cumsum") else 1.0
    run = {"logsumexp": lambda x: x.logsumexp(0), "cumsum": lambda x: x.cumsum(0)[-1]}.get(
        op, lambda x: getattr(x, op)()
    )
    out = run(Tensor(x))
    wide = run(Tensor(x.astype(np.float64)))
    assert out.dtype == np.float16
    np.testing.assert_allclose(out.item(), wide.item(), rtol=2e-3, atol=1e-3)


# -- forms of calls ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.var(False),
        lambda x: x.var(unbiased=False),
        lambda x: x.var(0, False, True),
        lambda x: x.var(dim=(0, 1), keepdim=True),
        lambda x: x.std(1, True),
        lambda x: x.std(dim=-1, correction=0),
        lambda x: x.norm(),
        lambda x: x.norm(1),
        lambda x: x.norm(p=3, dim=1, keepdim=True),
        lambda x: x.norm(2, (0, 1)),
        lambda x: x.norm(float("inf"), dim=0),
        lambda x: x.max(1, True)[0],
        lambda x: x.max(dim=1, keepdim=True).values,
        lambda x: x.min(x * 2),
        lambda x: x.max(other=-x),
        lambda x: x.amax((0, 1), True),
        lambda x: x.amin(dim=()),
        lambda x: x.sum((0, 1), True),
        lambda x: x.sum([0, 1]),
        lambda x: x.mean(axis=0, keepdims=True),
        lambda x: x.prod(0, True),
        lambda x: x.cumsum(axis=1),
        lambda x: x.cumprod(dim=1),
        lambda x: x.softmax(-1),
        lambda x: x.log_softmax(dim=0),
        lambda x: x.logsumexp((0, 1)),
        lambda x: x.logsumexp(1, True),
        lambda x: x.argmax(),
        lambda x: x.argmax(1, True),
        lambda x: x.argmin(dim=None, keepdim=True),
        lambda x: (x > 0).all(),
        lambda x: (x > 0).all(0, True),
        lambda x: (x > 0).any(dim=(0, 1)),
        lambda x: (x > 0).any(dim=()),
        lambda x: x.count_nonzero((0, 1)),
        lambda x: x.trace(),
        lambda x: x.T.mm(x),
    ],
)
def test_forms_of_calls_are_torchs(program: Callable[..., Any], torch: ModuleType):
    x = np.array([[1.5, -2.0, 0.5], [3.0, 1.5, 3.0]])
    out, want = program(Tensor(x)), program(torch.tensor(x))
    assert (out.shape, str(out.dtype)) == (tuple(want.shape), str(want.numpy().dtype))
    np.testing.assert_allclose(out.data, want.numpy(), rtol=1e-12)


def test_var_mean_and_std_mean(torch: ModuleType):
    x = np.array([[1.5, -2.0, 0.5], [3.0, 1.5, 3.0]])
    for program in (
        lambda m, x: m.var_mean(x, 1, correction=0, keepdim=True),
        lambda m, x: m.std_mean(x, False),
        lambda m, x: m.std_mean(x),
    ):
        for out, want in zip(program(tensorgrad, Tensor(x)), program(torch, torch.tensor(x)), strict=True):
            assert out.shape == tuple(want.shape)
            np.testing.assert_allclose(out.data, want.numpy(), rtol=1e-12)


def test_max_along_an_axis_is_a_named_tuple_whose_indices_are_the_callers():
    x = Tensor([[1.0, 5.0], [7.0, 2.0]], requires_grad=True)
    values, indices = x.max(1)
    assert (indices.dtype, indices.requires_grad, indices.tolist()) == (np.int64, False, [1, 0])
    indices.data[:] = 0
    values.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_linalg_norm(torch: ModuleType):
    x = np.array([[3.0, -4.0], [1.0, 2.0]])
    for arguments in [(), ("fro",), (None, 0), (1, 0), (float("inf"), 1), (2, -1), ("fro", (0, 1)), (None, (0, 1))]:
        want = torch.linalg.norm(torch.tensor(x), *arguments).numpy()
        np.testing.assert_allclose(tensorgrad.linalg.norm(Tensor(x), *arguments).data, want, rtol=1e-12)


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (lambda x: x.sum(2), IndexError, r"sum: dim 2 is not an axis of shape \(2, 3\)"),
        (lambda x: x.sum((0, 0)), ValueError, "sum: dim .* names an axis twice"),
        (lambda x: x.sum("a"), TypeError, "sum: an axis is a whole number, got 'a'"),
        (lambda x: x.sum(0, axis=0), TypeError, "sum: give dim or axis, not both"),
        (lambda x: x.sum(dtype="text"), TypeError, "sum: not a dtype: 'text'"),
        (lambda x: x.prod((0, 1)), TypeError, r"prod: an axis is a whole number, got \(0, 1\)"),
        (lambda x: x.cumsum(), TypeError, r"cumsum: give dim, .* the shape \(2, 3\)"),
        (lambda x: x.cumprod(5), IndexError, "cumprod: dim 5"),
        (lambda x: x.softmax(), TypeError, "softmax: give dim"),
        (lambda x: x.log_softmax(), TypeError, "log_softmax: give dim"),
        (lambda x: x.logsumexp(), TypeError, "logsumexp: give dim"),
        (lambda x: x.softmax(0, dtype=np.int64), TypeError, "softmax: of floats only, this tensor is int64"),
        (lambda x: x.max(0, other=x), TypeError, "max: of two tensors"),
        (lambda x: x.max(x, True), TypeError, "max: of two tensors"),
        (lambda x: x.var(0, True, correction=1), TypeError, "var: give unbiased or correction, not both"),
        (lambda x: x.norm("nuc"), NotImplementedError, "norm: no norm 'nuc'"),
        (lambda x: x.norm([1]), TypeError, r"norm: the order is a number, got \[1\]"),
        (lambda x: tensorgrad.linalg.norm(x, 2), NotImplementedError, "norm: of matrices there is only 'fro'"),
        (lambda x: tensorgrad.linalg.norm(x.reshape(1, 2, 3), 2), ValueError, "norm: with ord .* got 3"),
        (lambda x: tensorgrad.linalg.norm(x, "fro", 0), ValueError, "norm: 'fro' is a norm of matrices"),
        (lambda x: x[:0].max(), ValueError, r"max: over all of shape \(0, 3\) there is no element"),
        (lambda x: x[:0].min(0), ValueError, r"min: over dim 0 of shape \(0, 3\)"),
        (lambda x: x[:0].amax(0), ValueError, "amax: over dim"),
        (lambda x: x[:0].argmax(), ValueError, "argmax: over all"),
        (lambda x: x[:0].argmin(0), ValueError, "argmin: over dim"),
        (lambda x: x[:0].norm(float("inf")), ValueError, r"norm: of order inf over no elements"),
        (lambda x: x[:0].norm(-1, 0), ValueError, r"norm: of order -1 over no elements"),
        (lambda x: (x > 0).mean(), TypeError, "mean: of floats only, this tensor is bool"),
        (lambda x: (x > 0).var(), TypeError, "var: of floats only"),
        (lambda x: (x > 0).norm(), TypeError, "norm: of floats only"),
        (lambda x: tensorgrad.sum(None), TypeError, "sum: .* None"),
        (lambda x: tensorgrad.max([[1.0], [1.0, 2.0]]), TypeError, "max: .* ragged"),
    ],
)
def test_errors(program: Callable[[Tensor], Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        program(Tensor(np.ones((2, 3))))


def test_an_empty_axis_beside_the_reduced_one_is_no_error():
    x = Tensor(np.ones((2, 0)), requires_grad=True)
    for out in (x.max(0).values, x.amin(0), x.norm(float("inf"), 0)):
        assert out.shape == (0,)
        out.sum().backward()
        assert x.grad.shape == (2, 0)


# -- the softmax family: fast path and composed twin -------------------------------------------------------------------

ROWS = np.array(
    [
        [1.0, -2.0, 0.5],
        [1e4, -1e4, 0.0],
        [1e4, 1e4, 1e4],
        [-np.inf, 0.0, 1.0],
        [-np.inf, -np.inf, 0.0],
        [-1e4, -1e4 + 1, -np.inf],
    ]
)
TWINS = {
    "softmax": (lambda x: tensorgrad.softmax(x, -1), lambda x: softmaxes._softmax(x, (1,))),
    "log_softmax": (lambda x: tensorgrad.log_softmax(x, -1), lambda x: softmaxes._log_softmax(x, (1,))),
    "logsumexp": (lambda x: tensorgrad.logsumexp(x, -1), lambda x: softmaxes._logsumexp(x, (1,), False)),
}


@pytest.mark.parametrize("op", TWINS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fast_path_equals_twin(op: str, dtype: str):
    fast, twin = TWINS[op]
    rows = ROWS.astype(dtype)
    ours, theirs = Tensor(rows, requires_grad=True), Tensor(rows, requires_grad=True)
    out, want = fast(ours), twin(theirs)
    tolerance = {"rtol": 4e-3, "atol": 4e-3} if dtype == "float16" else {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(out.data, want.data, **tolerance)
    finite = np.isfinite(out.data)
    seed = np.where(finite, np.random.default_rng(1).uniform(0.5, 1.5, out.shape), 0)
    out.backward(seed)
    want.backward(seed)
    assert np.isfinite(ours.grad).all()
    if dtype != "float16":  # whose sums the twin rounds at every step
        np.testing.assert_allclose(ours.grad, theirs.grad, **tolerance)


@pytest.mark.parametrize("op", TWINS)
def test_twin_on_values(op: str):
    found = compare(TWINS[op][0], Tensor(ROWS, requires_grad=True), gradient=1.0, finite_differences=False)
    assert found.ok, str(found)


def test_a_masked_place_takes_no_gradient(torch: ModuleType):
    for name in ("softmax", "log_softmax"):
        ours, theirs = Tensor(ROWS, requires_grad=True), torch.tensor(ROWS, requires_grad=True)
        getattr(tensorgrad, name)(ours, 1)[:, 2].sum().backward()
        getattr(torch, name)(theirs, 1)[:, 2].sum().backward()
        np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=1e-12, atol=1e-300)


# -- what is held until the backward pass ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "most"),
    [
        (lambda x: x.sum(), 0),
        (lambda x: x.mean(0), 0),
        (lambda x: x.cumsum(0), 0),
        (lambda x: x.amax(0), 2),  # booleans of the shape of x, and counts
        (lambda x: x.max(0).values, 1),
        (lambda x: x.softmax(0), 8),
        (lambda x: x.log_softmax(0), 8),
        (lambda x: x.trace(), 0),
    ],
)
def test_rules_hold_little(program: Callable[[Tensor], Tensor], most: int):
    """`most`: bytes an element of x, which has 8; and not x itself."""
    x = Tensor(np.random.default_rng(0).standard_normal((100, 100)), requires_grad=True)
    held = {id(a): a for rule in program(x)._rules for a in held_arrays(rule)}.values()
    assert not any(np.shares_memory(a, x.data) for a in held)
    assert sum(a.nbytes for a in held) <= most * x.data.size


@pytest.mark.parametrize(
    "program",
    [lambda x: x.sum(), lambda x: x.mean(), lambda x: x.cumsum(0).sum(), lambda x: x.amax(), lambda x: x.norm(0)],
)
def test_an_operand_may_change_where_it_is_not_needed(program: Callable[[Tensor], Tensor]):
    x = Tensor([1.0, 2.0], requires_grad=True)
    out = program(x)
    with no_grad():
        x += 1.0
    out.backward()
    assert x.grad is not None


def test_a_result_may_change_where_it_is_not_needed():
    x = Tensor([1.0, 2.0, 4.0], requires_grad=True)
    for program in (lambda x: x.var(), lambda x: x.sum(), lambda x: x.prod(), lambda x: x.norm(1)):
        out = program(x)
        with no_grad():
            out.data += 1.0
        out.backward()
    out = x.std()
    with no_grad():
        out.data += 1.0
    with pytest.raises(RuntimeError, match=r"std.*changed in place"):
        out.backward()


def test_no_warnings_at_the_limits():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = Tensor([np.inf, -np.inf, np.nan, 0.0, 1e308], requires_grad=True)
        for out in (
            x.sum(), x.mean(), x.prod(), x.var(), x.std(), x.norm(), x.norm(3), x.norm(-1), x.max(), x.amin(),
            x.cumsum(0).sum(), x.cumprod(0).sum(), x.softmax(0).sum(), x.log_softmax(0).sum(), x.logsumexp(0),
            x.dot(x), x.outer(x).sum(), tensorgrad.einsum("i,i->", x, x),
        ):  # fmt: skip
            out.backward()


@pytest.mark.parametrize("scale", [1e-30, 1e-21, 1e25])
@pytest.mark.parametrize("dim", [None, 1])
def test_std_where_squares_leave_the_range_of_float32(scale: float, dim: int | None):
    numbers = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 5.0]])
    x = Tensor((scale * numbers).astype(np.float32), requires_grad=True)
    plain = Tensor(numbers, requires_grad=True)
    out, want = x.std(dim), plain.std(dim)
    np.testing.assert_allclose(out.data / scale, want.data, rtol=1e-6)
    out.sum().backward()
    want.sum().backward()
    np.testing.assert_allclose(x.grad, plain.grad, rtol=1e-5, atol=1e-6)


def test_std_of_equal_rows_beside_others_is_0():
    x = Tensor([[2.0, 2.0], [1.0, 3.0], [np.inf, 1.0]], requires_grad=True)
    out = x.std(1)
    np.testing.assert_allclose(out.data, [0, 2**0.5, np.nan], rtol=1e-6)
    out[:2].sum().backward()
    np.testing.assert_allclose(x.grad[:2], [[0, 0], [-(0.5**0.5), 0.5**0.5]], rtol=1e-6)
