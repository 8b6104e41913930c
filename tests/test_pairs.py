"""Functions of two operands, products and lookups: special arguments, special numbers, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, tensor

CALLS: dict[str, Callable[[Any], Any]] = {
    "atan2 of integers": lambda m: m.atan2(m.tensor([1, -1]), m.tensor([2, 0])),
    "atan2 signs": lambda m: m.atan2(m.tensor([0.0, -0.0, 0.0, -0.0]), m.tensor([1.0, 1.0, -1.0, -1.0])),
    "fmod of integers": lambda m: m.fmod(m.tensor([-5, 5]), m.tensor([3, -3])),
    "fmod by a number": lambda m: m.fmod(m.tensor([-5.5, 5.0]), 3),
    "fmod by inf": lambda m: m.fmod(m.tensor([-5.5, 5.0]), float("inf")),
    "addcmul of integers": lambda m: m.addcmul(m.tensor(1), m.tensor([2, 3]), m.tensor([[4], [5]]), value=2),
    "addcdiv broadcast": lambda m: m.addcdiv(m.ones(2, 1), m.tensor([1.0, 2.0]), m.tensor(4.0), value=-0.5),
    "logaddexp": lambda m: m.logaddexp(m.tensor([1e4, -1e4, float("inf")]), m.tensor([1e4, 0.0, 1.0])),
    "clamp_min of integers by a fraction": lambda m: m.clamp_min(m.tensor([1, 2]), 1.5),
    "median of integers": lambda m: m.median(m.tensor([4, 1, 3, 2])),
    "median of one": lambda m: m.median(m.tensor(4.0), 0).values,
    "median of several with nan": lambda m: m.median(m.tensor([[3.0, float("nan"), 1.0], [2.0, 1.0, 0.0]]), 1).values,
    "median nan index": lambda m: m.median(m.tensor([[3.0, float("nan"), float("nan")]]), 1).indices,
    "diff of booleans": lambda m: m.diff(m.tensor([True, False, False])),
    "diff of integers, twice": lambda m: m.diff(m.tensor([1, 4, 9, 16]), 2),
    "diff more often than there are": lambda m: m.diff(m.tensor([1, 4]), 3),
    "kron of integers": lambda m: m.kron(m.tensor([[1, 2]]), m.tensor([3, 4])),
    "cdist infinity": lambda m: m.cdist(m.eye(2), m.zeros(3, 2), p=float("inf")),
    "index_fill backwards": lambda m: m.index_fill(m.zeros(2, 3), 1, m.tensor([-1]), 5),
    "index_fill by a tensor": lambda m: m.index_fill(m.zeros(2, 3), 0, m.tensor([1]), m.tensor(2.0)),
    "baddbmm without input": lambda m: m.baddbmm(m.full((1,), float("nan")), m.ones(2, 1, 3), m.ones(2, 3, 1), beta=0),
    "unique with nan": lambda m: m.unique(m.tensor([2.0, float("nan"), float("nan"), 1.0])),
    "unique of booleans": lambda m: m.unique(m.tensor([True, False, True])),
    "unique columns": lambda m: m.unique(m.tensor([[3, 3, 1], [0, 0, 1]]), dim=1),
    "bincount float32 weights": lambda m: m.bincount(m.tensor([1, 1, 3]), m.tensor([0.5, 1.0, 2.0])),
    "bincount integer weights": lambda m: m.bincount(m.tensor([1, 1]), m.tensor([1, 2]), 4),
    "searchsorted int32": lambda m: m.searchsorted(m.tensor([1, 3, 5]), m.tensor(3), out_int32=True),
    "searchsorted side": lambda m: m.searchsorted(m.tensor([1, 3, 5]), m.tensor([3]), side="right"),
    "bucketize a number": lambda m: m.bucketize(3, m.tensor([1, 3, 5])),
    "bucketize nan": lambda m: m.bucketize(m.tensor([float("nan"), 3.0]), m.tensor([1.0, 3.0, 5.0])),
    "histc of equal ones": lambda m: m.histc(m.tensor([2.0, 2.0]), 4),
    "histc with nan": lambda m: m.histc(m.tensor([float("nan"), 2.0]), 2, 0, 4),
    "histc float64": lambda m: m.histc(m.tensor([1.0, 2.0]).double(), 2, 0, 4),
    "isin a number": lambda m: m.isin(m.tensor([1, 2]), 2),
    "isin of a number": lambda m: m.isin(2, m.tensor([1, 2])),
    "ravel of a view": lambda m: m.ravel(m.tensor([[1, 2], [3, 4]]).t()),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name: str, torch: ModuleType) -> None:
    ours, theirs = CALLS[name](tensorgrad), CALLS[name](torch)
    assert str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
    assert ours.shape == tuple(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(ours.numpy()), np.signbit(theirs.numpy()))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.atan2(tensor([1.0, 2.0])), ValueError, r"atan2: shapes \(2, 3\) and \(2,\) do not broadcast"),
        (lambda x: x.logaddexp(x[:, :2]), ValueError, r"logaddexp: shapes \(2, 3\) and \(2, 2\)"),
        (lambda x: x.long().logaddexp(1), TypeError, "logaddexp: of floats only, these meet in int64"),
        (lambda x: x.fmod(tensor([1.0, 2.0])), ValueError, r"fmod: shapes \(2, 3\) and \(2,\)"),
        (lambda x: x.long().fmod(0), ZeroDivisionError, "fmod: an integer divided by 0"),
        (lambda x: x.bool().fmod(x.bool()), TypeError, "fmod: of numbers only"),
        (lambda x: x.addcmul(x, x[:, :2]), ValueError, r"addcmul: shapes \(2, 3\) and \(2, 3\) and \(2, 2\)"),
        (lambda x: x.addcmul(x, x, value="2"), TypeError, "addcmul: value is a number, got '2'"),
        (lambda x: x.addcdiv(x.long(), x.long()), TypeError, "addcdiv: tensor1 / tensor2 of integers is ambiguous"),
        (lambda x: x[:, :0].median(), ValueError, "median: over all of shape"),
        (lambda x: x.median(2), IndexError, "median: dim 2 is not an axis"),
        (lambda x: x.sum().diff(), ValueError, "diff: a 0-d tensor has no neighbours"),
        (lambda x: x.diff(-1), ValueError, "diff: n must be 0 or more, got -1"),
        (lambda x: x.cross(x[0]), ValueError, r"cross: shapes \(2, 3\) and \(3,\): both need as many axes"),
        (lambda x: x.cross(x, 0), ValueError, r"cross: .* length 3 in dim 0"),
        (lambda x: x.baddbmm(x, x), ValueError, r"bmm: takes 3 axes and 3 axes"),
        (lambda x: x.baddbmm(x[None], x.T[None]), ValueError, r"baddbmm: input of shape \(2, 3\) does not broadcast"),
        (lambda x: tensorgrad.cdist(x, x[:, :2]), ValueError, r"cdist: takes rows of equal length"),
        (lambda x: x.index_fill(1, [3], 0.0), IndexError, "index_fill: "),
        (lambda x: x.index_fill(1, [[1]], 0.0), ValueError, "index_fill: the index is a vector of positions"),
        (lambda x: x.index_fill(1, [1]), TypeError, "index_fill: takes the tensor, dim, index and value"),
        (lambda x: x.bincount(), TypeError, "bincount: counts integers, this tensor is float32"),
        (lambda x: x.long().bincount(), ValueError, r"bincount: takes a vector, .* got shape \(2, 3\)"),
        (lambda x: tensor([1, -1]).bincount(), ValueError, "bincount: counts numbers from 0 up, and -1 is among these"),
        (lambda x: tensor([1]).bincount(minlength=-1), ValueError, "bincount: minlength must be 0 or more"),
        (lambda x: x.histc(0), ValueError, "histc: bins must be 1 or more, got 0"),
        (lambda x: x.histc(2, 3, 1), ValueError, "histc: from 3 to 1: the limits must be finite and in rising order"),
        (lambda x: (x * np.nan).histc(2), ValueError, "histc: from nan to nan"),
        (lambda x: x.long().histc(2), TypeError, "histc: of floats only"),
        (lambda x: tensorgrad.searchsorted(x, x.sum()), ValueError, r"searchsorted: a sequence of shape \(2, 3\)"),
        (lambda x: tensorgrad.searchsorted(x, x, right=True, side="left"), ValueError, "searchsorted: side is"),
        (lambda x: tensorgrad.bucketize(x, x), ValueError, "bucketize: the boundaries are a vector"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Callable[[Tensor], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tensorgrad.ones(2, 3))


def test_lookups_are_constants() -> None:
    x = tensor([2.0, 1.0], requires_grad=True)
    for out in (x.unique(), x.histc(2), tensorgrad.isin(x, x), tensorgrad.bucketize(x, x.detach())):
        assert not out.requires_grad


def test_atan2_far_from_the_origin_and_near_it() -> None:
    """The square of the distance leaves the range; the gradient does not."""
    for size in (1e-200, 1e200):
        y = Tensor(np.array(3 * size), requires_grad=True)
        x = Tensor(np.array(4 * size), requires_grad=True)
        y.atan2(x).backward()
        assert y.grad == pytest.approx(4 / 25 / size)
        assert x.grad == pytest.approx(-3 / 25 / size)
