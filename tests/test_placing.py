"""Rules that send zeros with something in them: the same into a gradient that is there, and nobody else's array."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest

import tensorgrad
import tensorgrad.nn.functional as F
import viz
from micrograd.backprop import chain_rule
from tensorgrad import Tensor
from tensorgrad.ops import keys
from tensorgrad.placing import Placed, Placing
from tensorgrad.utils.checkpoint import checkpoint

ROWS = np.array([[3, 0, 3], [1, 3, 0]])
MASK = np.arange(5) % 2 == 0
READS: dict[str, Callable[[Tensor], Tensor]] = {
    "split": lambda x: x.split([2, 3])[1],
    "chunk": lambda x: x.chunk(2, dim=1)[0],
    "unbind": lambda x: x.unbind(1)[2],
    "slice": lambda x: x[1:4, ::-2],
    "integer": lambda x: x[2],
    "mask": lambda x: x[MASK],
    "rows": lambda x: x[ROWS],
    "columns": lambda x: x[:, [1, 1, 0]],
    "both": lambda x: x[[0, 0, 4], [1, 1, 2]],
    "integer and array": lambda x: x[3, [1, 1, 0]],
    "new axis and arrays": lambda x: x[[2, 2], None, [0, 0]],
    "select": lambda x: x.select(1, -1),
    "narrow": lambda x: x.narrow(0, 1, 2),
    "embedding": lambda x: F.embedding(ROWS, x),
    "embedding with padding": lambda x: F.embedding(ROWS, x, padding_idx=3),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", READS)
def test_added_in_place_it_is_the_contribution_itself(name: str, order: str, dtype: type):
    rng = np.random.default_rng(0)
    x = Tensor(np.asarray(rng.normal(size=(5, 4)), dtype, order=order), requires_grad=True)
    out = READS[name](x)
    (rule,) = out._rules
    assert type(rule) is Placing
    for _ in range(4):
        g = rng.normal(size=out.shape).astype(dtype)
        total = np.asarray(rng.normal(size=(5, 4)), dtype, order=order)
        expected = total + rule(g).astype(dtype)  # as the gate does
        shared = total.view() + Placed(rule, g)
        rule.add(total, g)
        assert shared.dtype == dtype
        assert np.array_equal(shared, expected)
        assert np.array_equal(total, expected)  # to the bit: whoever watches a pass sees the sums of one that is unseen


@pytest.mark.parametrize("name", READS)
def test_the_gradient_is_the_sum_whoever_comes_first(name: str):
    read = READS[name]
    x = Tensor(np.random.default_rng(1).normal(size=(5, 4)), requires_grad=True)
    read(x).sum().backward()
    once, x.grad = x.grad, None
    ((x * x).sum() + 2 * read(x).sum() + 3 * read(x).sum() + (x * 4).sum()).backward()
    np.testing.assert_allclose(x.grad, 2 * x.data + 5 * once + 4, rtol=1e-13)


def test_a_gradient_that_somebody_holds_stays_as_it_was():
    x = Tensor(np.ones((4, 2)), requires_grad=True)
    (x * 1).sum().backward()
    held, view = x.grad, x.grad[0]
    x[[0, 0]].sum().backward()
    assert held.tolist() == [[1, 1]] * 4
    assert view.tolist() == [1, 1]
    assert x.grad.tolist() == [[3, 3], [1, 1], [1, 1], [1, 1]]


def test_a_seed_and_the_gradients_of_results_stay_as_they_were():
    x = Tensor(np.ones((3, 2)), requires_grad=True)
    y = x * 1
    a, b = y + 0, y[1:]
    seeds = np.ones((3, 2)), np.full((2, 2), 5.0)
    tensorgrad.autograd.backward([a, b], [Tensor(s) for s in seeds])
    assert y.grad.tolist() == x.grad.tolist() == [[1, 1], [6, 6], [6, 6]]
    assert a.grad.tolist() == seeds[0].tolist() == [[1, 1]] * 3
    assert b.grad.tolist() == seeds[1].tolist() == [[5, 5]] * 2


def test_half_precision_is_added_up_in_single():
    table = Tensor(np.zeros((1, 1), np.float16), requires_grad=True)
    rows = np.zeros(4096, np.intp)
    ((table * 1).sum() + F.embedding(rows, table).sum()).backward()
    assert table.grad.tolist() == [[4096.0]]  # 4097, rounded; added one by one in float16 it would stay at 2048


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("shape", [(7, 128), (7, 8, 16)])
def test_long_rows_that_come_often_add_up_to_the_same_bits(dtype: type, shape: tuple[int, ...]):
    rng = np.random.default_rng(0)
    where = rng.integers(-7, 5, (4, 300))
    g = rng.normal(size=(*where.shape, *shape[1:])).astype(dtype)
    g[0, 0] = np.inf
    expected = np.zeros(shape, np.float32)
    for row, part in zip(where.reshape(-1), g.reshape(-1, *shape[1:]), strict=True):
        expected[row] += part
    with np.errstate(invalid="ignore"):
        assert keys._add_long_rows(np.zeros(shape, np.float32), where, g)
        assert np.array_equal(keys.scattered(shape, (where,), g), expected)


class First(tensorgrad.autograd.Function):
    """The first operand. The second one gets nothing back."""

    @staticmethod
    def forward(ctx, x, w):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g, None


def frozen_then(w: Tensor) -> Tensor:
    w.requires_grad = False
    y = F.linear(Tensor(np.ones((1, 2)), requires_grad=True), w)
    w.requires_grad = True
    return y


@pytest.mark.parametrize(
    "nothing",
    [lambda w: First.apply(Tensor(np.ones(2), requires_grad=True), w), frozen_then],
    ids=["None from a rule", "frozen when it was used"],
)
@pytest.mark.parametrize("last", [False, True])
def test_a_joint_rule_that_sends_nothing_to_a_leaf_leaves_what_it_holds(nothing, last: bool):
    w = Tensor(np.ones((3, 2)), requires_grad=True)
    w.grad = mine = np.full((3, 2), 5.0)
    one, two = nothing(w).sum(), w[:1].sum()
    (two + one if last else one + two).backward()
    assert mine.tolist() == [[5, 5]] * 3
    assert w.grad.tolist() == [[6, 6], [5, 5], [5, 5]]


def looked_at(z: Tensor, x: Tensor, found: list) -> None:
    """Walk the graph of z, whose only leaf is x, and look at each contribution."""
    steps = viz.trace(z).steps
    found += [step.contribution for step in steps]
    kept, x.grad = x.grad, None
    with closing(chain_rule(z, z._seed())) as contributions:
        for _, parent, sent in contributions:
            found.append(sent)
            parent.grad = sent if parent.grad is None else parent.grad + sent
    found.append(x.grad)
    x.grad = kept


def in_a_hook(x: Tensor, look: Callable[[], None]) -> Tensor:
    y = x * 1
    y.register_hook(lambda g: look())
    return y


def in_a_function(x: Tensor, look: Callable[[], None]) -> Tensor:
    class Looking(tensorgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            look()
            return g

    return Looking.apply(x)


def in_a_hook_in_a_checkpoint(x: Tensor, look: Callable[[], None]) -> Tensor:
    return checkpoint(lambda x: in_a_hook(x, look) * 1, x)


def in_a_rule_of_the_users(x: Tensor, look: Callable[[], None]) -> Tensor:
    out = Tensor(x.data, _prev=(x,), _op="looking")

    def rule() -> None:
        look()
        x.grad += out.grad

    out._backward = rule
    return out


def in_a_checkpoint(x: Tensor, look: Callable[[], None]) -> Tensor:
    times = []

    def block(x: Tensor) -> Tensor:
        times.append(1)
        if len(times) == 2:
            look()
        return x * 1

    return checkpoint(block, x)


@pytest.mark.parametrize("place", [in_a_hook, in_a_function, in_a_rule_of_the_users, in_a_checkpoint])
def test_a_pass_that_is_looked_at_inside_of_one_that_is_not_sends_arrays(place):
    x, other = (Tensor(np.ones(3), requires_grad=True) for _ in range(2))
    h = other * 1
    z = h[:2].sum() + h[1:].sum()
    found: list = []
    place(x, lambda: looked_at(z, other, found)).sum().backward()
    assert len(found) == 2 * 8 + 1
    assert all(isinstance(sent, (float, np.ndarray)) for sent in found), found
    assert found[-1].tolist() == [1, 2, 1]
    assert x.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("place", [in_a_hook, in_a_function, in_a_hook_in_a_checkpoint])
def test_an_array_that_code_in_a_pass_keeps_or_gives_to_a_leaf_stays_as_it_is(place):
    x = Tensor(np.ones(3), requires_grad=True)
    mine, kept = np.zeros(3), []

    def look() -> None:
        kept.append(x.grad)
        x.grad = mine

    first = x[:2].sum()
    y = place(x[:1] * 2, look)
    (first + y.sum() + x.sum() + x[1:].sum()).backward()
    assert mine.tolist() == [0, 0, 0]
    assert [g.tolist() for g in kept] == [[1, 2, 2]]
    assert x.grad.tolist() == [3, 1, 0]


@pytest.mark.parametrize(("before", "after"), [(np.float16, np.float64), (np.float64, np.float16)])
def test_data_of_another_dtype_than_when_it_was_read(before: type, after: type):
    found = []
    for is_seen in (False, True):
        x = Tensor(np.random.default_rng(2).normal(size=(5, 40)).astype(before), requires_grad=True)
        y = (x[1:] ** 3).sum() + (x[ROWS] ** 3).sum() + (x**3).sum()
        x.data = x.data.astype(after)
        if is_seen:
            with closing(chain_rule(y, y._seed())) as contributions:
                for _, parent, sent in contributions:
                    parent.grad = sent if parent._grad is None else parent._grad + sent
        else:
            y.backward()
        assert x.grad.dtype == after
        found.append(x.grad)
    assert np.array_equal(*found)
