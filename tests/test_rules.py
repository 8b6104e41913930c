"""What rules may hand out: their argument, a view, or an array that they made for this contribution and do not keep.

A leaf takes an array of the last kind as its gradient, without a copy: one that a rule kept, or sent twice, would
change with what its user does to the gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ops_table import CASES, calls

import tensorgrad
import tensorgrad.nn.functional as F
from micrograd.backprop import topological_order
from tensorgrad import Tensor
from tensorgrad.autograd import Function
from tensorgrad.selection import Selected
from tensorgrad.utils.checkpoint import checkpoint
from tensorgrad.versions import held_arrays, owner


def sent_by(node: Tensor, g: np.ndarray) -> list[np.ndarray]:
    rules = node._rules
    sent = [rule(g) for rule in rules if rule is not None] if isinstance(rules, tuple) else rules(g)
    arrays = [x.array if isinstance(x, Selected) else x for x in sent]
    return [a for a in arrays if isinstance(a, np.ndarray) and a is not g and a.size]


def check(out: Tensor) -> int:
    checked = 0
    for node in topological_order(out):
        if not node._prev or node._op in ("sort", "topk"):  # whose rules take a list: what they send is an array's view
            continue
        g = np.ones_like(node._data)
        sent, again = sent_by(node, g), [a for a in sent_by(node, g) if a.base is None]
        first, views = [a for a in sent if a.base is None], [a for a in sent if a.base is not None]
        kept = {id(owner(a)) for a in held_arrays(node._rules)}
        parts = {id(owner(a)) for a in views}
        assert len({id(a) for a in (*first, *again)}) == len(first) + len(again), f"{node._op} sends an array twice"
        assert not kept & {id(a) for a in first}, f"{node._op} keeps an array that it has sent"
        assert not parts & {id(a) for a in first}, f"{node._op} sends an array and a view of it"
        checked += len(first)
    return checked


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_no_rule_keeps_what_it_sends(dtype: str):
    rng = np.random.default_rng(5)
    checked = 0
    with np.errstate(all="ignore"):
        for _, case, shapes in calls(CASES):
            tensors = [Tensor(a.astype(dtype), requires_grad=True) for a in case.sample(rng, shapes)]
            out = case.function(tensorgrad, *tensors)
            for x in out if isinstance(out, tuple) else (out,):
                if isinstance(x, Tensor) and x._prev:
                    checked += check(x)
    assert checked > 300


def twice(x: Tensor) -> Tensor:
    """A function of a user's, whose backward pass sends one array to both operands, and keeps it."""

    class Twice(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.sent = Tensor(np.full(3, 2.0))
            return Tensor(a.data + b.data)

        @staticmethod
        def backward(ctx, g):
            return ctx.sent, ctx.sent

    return Twice.apply(x, x * 1)


def by_closure(x: Tensor) -> Tensor:
    kept = np.full(3, 2.0)
    out = Tensor(x.data * 2, _prev=(x,), _op="twice")

    def closure() -> None:
        x.grad = kept

    out._backward = closure
    return out


LEAVES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum of both": lambda x, y: x + y,
    "one twice": lambda x, y: x + x + y,
    "view": lambda x, y: x.view(3) + y[:],
    "checkpoint": lambda x, y: checkpoint(lambda a, b: a + b, x, y),
    "where": lambda x, y: tensorgrad.where(np.array([True, False, True]), x, y),
    "joint": lambda x, y: F.layer_norm(x, (3,), y, y),
    "function": lambda x, y: twice(x) + twice(y),
    "closure": lambda x, y: by_closure(x) + by_closure(y),
    "stack": lambda x, y: tensorgrad.stack((x, x, y)),
    "several results": lambda x, y: x.unbind(0)[1] + x.topk(2)[0] + y[:2],
}


@pytest.mark.parametrize("program", LEAVES.values(), ids=LEAVES)
def test_gradients_of_leaves_are_the_users_own(program: Callable[[Tensor, Tensor], Tensor]):
    """Changing one in place changes no other gradient, and not what a second pass gives."""
    x, y = (Tensor([1.0, 2.0, 4.0], requires_grad=True, dtype=np.float64) for _ in range(2))
    seed = np.ones(program(x, y).shape)
    out = program(x, y)
    for leaf in (x, y):
        leaf.grad = None
    out.backward(seed)
    right = x.grad.copy(), y.grad.copy()
    assert x.grad.flags.writeable
    assert y.grad.flags.writeable
    x.grad *= 100
    np.testing.assert_array_equal(y.grad, right[1])
    y.grad *= 100
    np.testing.assert_array_equal(x.grad, right[0] * 100)
    np.testing.assert_array_equal(seed, 1)
    for leaf in (x, y):
        leaf.grad = None
    out.backward(seed)
    np.testing.assert_array_equal(x.grad, right[0])
    np.testing.assert_array_equal(y.grad, right[1])
