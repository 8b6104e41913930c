"""Every way to write a program, lifted: the scalar engine's gradients are the tensor engine's, and both are right."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import tensorgrad as tg
from tensorgrad import Tensor
from tensorgrad.autograd import gradcheck
from viz import compare

SHAPES: dict[str, tuple[int, ...]] = {
    "s": (),
    "v": (3,),
    "w": (3,),
    "one": (1,),
    "m": (2, 3),
    "n": (3, 2),
    "row": (1, 3),
    "column": (2, 1),
    "t": (2, 2, 3),
    "u": (2, 3, 2),
}
"""Operands by the name of the parameter that takes them."""

CONSTANT = np.array([[0.5, -2.0, 1.0], [3.0, 0.25, -1.0]])
MASK = np.array([[True, False, True], [False, False, True]])
FIXED = Tensor(CONSTANT)


def detached(x: Tensor) -> Tensor:
    return (x * x.detach()).sum()


def under_no_grad(x: Tensor) -> Tensor:
    with tg.no_grad():
        scale = (x * x).sum()
        centre = x.mean()
    return ((x - centre) / scale).sum() * 3


def branch(x: Tensor) -> Tensor:
    return (x * x).sum() if x[0, 0].item() > 100 else x.exp().sum()


def loop(x: Tensor) -> Tensor:
    while x.max().item() < 10:
        x = x * 2 + 1
    return x.sum()


def leaf_made_inside(x: Tensor) -> Tensor:
    own = Tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=np.float64)
    return (x * own * own).sum()


def constant_of_ones(x: Tensor) -> Tensor:
    return (x * tg.ones(2, 3, dtype=x.dtype) * 2).sum()


def noise(x: Tensor) -> Tensor:
    return (x * np.random.standard_normal(x.shape) * random.random()).sum()


def softmax(x: Tensor) -> Tensor:
    e = (x - x.max(dim=1, keepdim=True).values.detach()).exp()
    return ((e / e.sum(dim=1, keepdim=True)) * CONSTANT).sum()


def accumulated(x: Tensor) -> Tensor:
    total = 0
    for row in x:
        total = total + (row * row).sum()
    return total


def updated_constant(x: Tensor) -> Tensor:
    total = Tensor(np.zeros(3))
    for row in x:
        total += row * 2
    return (total * total).sum()


PROGRAMS: dict[str, Callable[..., Tensor]] = {
    # arithmetic and broadcasting
    "add": lambda m, v: (m + v).sum(),
    "sub": lambda v, m: (v - m).sum(),
    "mul": lambda column, row: (column * row).sum(),
    "div": lambda m, v: (m / v).sum(),
    "pow of a number": lambda m: (m**3 + m**-1 + m**0 + m**1).sum(),
    "pow of a tensor": lambda m, v: (m.abs() ** v).sum(),
    "number to a power": lambda m: (2**m).sum(),
    "numbers on the left": lambda m: (1 - m + 2 / m + 3 * m).sum(),
    "array on the left": lambda m: (CONSTANT - CONSTANT * m).sum(),
    "neg": lambda m: (-m).sum(),
    "scalar with array": lambda s, t: (s * t - s).sum(),
    "one element with array": lambda one, m: (one / m).sum(),
    "an operand used twice": lambda m: (m * m + m).sum(),
    "an operand with itself in one op": lambda m: (m / m * m).sum(),
    "a constant tensor": lambda m: (m * FIXED + FIXED).sum(),
    # functions of each element
    "exp": lambda m: m.exp().sum(),
    "log": lambda m: m.abs().log().sum(),
    "sqrt": lambda m: m.abs().sqrt().sum(),
    "sin and cos": lambda m: (m.sin() * m.cos()).sum(),
    "tanh": lambda m: m.tanh().sum(),
    "sigmoid": lambda m: m.sigmoid().sum(),
    "relu": lambda m: (m.relu() * m).sum(),
    "abs": lambda m: m.abs().sum(),
    # reductions
    "sum of everything": lambda t: t.sum() * 2,
    "sum along axes": lambda t: (t.sum(dim=(0, 2)) ** 2).sum(),
    "sum with keepdim": lambda m: (m * m.sum(dim=1, keepdim=True)).sum(),
    "sum of a scalar": lambda s: s.sum() * s,
    "sum over no axes": lambda m: (m.sum(dim=()) * m).sum(),
    "sum over an axis of length one": lambda row: (row.sum(dim=0) * row).sum(),
    "mean": lambda m: (m.mean(dim=0) * m).sum() + m.mean(),
    "max": lambda m: m.max() * 2,
    "max of ties": lambda m: (m * 0 + 1).max() + m.relu().max(),
    "max along an axis": lambda m: (m.max(dim=1).values ** 2).sum(),
    "max along an axis with ties": lambda m: (m.relu().max(dim=0, keepdim=True).values * m).sum(),
    "max of a scalar": lambda s: s.max() * s + s.max(dim=0).values,
    # products of matrices, by rank
    "vector @ vector": lambda v, w: v @ w,
    "vector @ matrix": lambda v, n: (v @ n).sum(),
    "matrix @ vector": lambda m, v: (m @ v).sum(),
    "matrix @ matrix": lambda m, n: ((m @ n) ** 2).sum(),
    "batch @ matrix": lambda t, n: ((t @ n) ** 2).sum(),
    "matrix @ batch": lambda m, u: ((m @ u) ** 2).sum(),
    "batch @ batch": lambda t, u: ((t @ u) ** 2).sum(),
    "batch @ vector": lambda t, v: ((t @ v) ** 2).sum(),
    "vector @ batch": lambda v, u: ((v @ u) ** 2).sum(),
    "a matrix with its transpose": lambda m: (m @ m.T).sum(),
    "array @ tensor": lambda n: (CONSTANT @ n).sum(),
    # shape and position
    "reshape": lambda m: (m.reshape(3, 2) @ m).sum(),
    "reshape of one element": lambda one: one.reshape(()) * one.reshape(1, 1).sum(),
    "transpose": lambda t: (t.transpose(0, 2) ** 2).sum(),
    "permute": lambda t: (t.permute(2, 0, 1) ** 3).sum(),
    "T": lambda m, n: (m.T * n).sum(),
    "index": lambda m: m[0, 1] * m[1, 0] * m[0, 1],
    "slice": lambda m: (m[:, 1:] * m[:, :-1]).sum(),
    "index with repeats": lambda v: (v[[0, 0, 2, 0]] ** 2).sum(),
    "index with a mask": lambda m: (m[MASK] ** 2).sum(),
    "index with a mask made of it": lambda m: (m[m > 0] ** 2).sum(),
    "index with a tensor": lambda v: (v[Tensor([2, 1], dtype=np.int64)] * 3).sum(),
    "index that adds an axis": lambda v: (v[None, :, None] * v).sum(),
    "index that takes all": lambda s: s[()] * s[...],
    "element left out": lambda v: v[0] * v[2],
    "iteration": accumulated,
    # masks, branches, constants
    "comparison as a mask": lambda m: (m * (m > 0)).sum(),
    "comparison of two tensors as a mask": lambda m, v: (m * (m >= v) + v * (m < v)).sum(),
    "equality as a mask": lambda m: (m * (m == m[0, 0].item())).sum(),
    "branch on item()": branch,
    "loop on item()": loop,
    "detach()": detached,
    "no_grad": under_no_grad,
    "a constant from data": lambda m: (m * Tensor(m.data * 2)).sum(),
    "data as an operand": lambda m: (m * m.data).sum(),
    "a mask from data": lambda m: (m * (m.data > 0)).sum(),
    "a constant from numpy()": lambda m: (m * m.detach().numpy().mean()).sum(),
    "a constant from item()": lambda m: (m * m[0, 0].item()).sum(),
    "a constant from tolist()": lambda m: (m * Tensor(m.tolist(), dtype=np.float64)).sum(),
    "a constant of its dtype": constant_of_ones,
    "a leaf made inside": leaf_made_inside,
    "+= on a constant": updated_constant,
    "random numbers": noise,
    "softmax": softmax,
    # roots and unused operands
    "the operand itself": lambda s: s,
    "a view of the operand": lambda one: one.reshape(()),
    "an operand that is not used": lambda m, v: m.sum(),
    "an operand times zero": lambda m, v: (m * (v * 0)).sum(),
    "one element of any rank": lambda one: one.reshape(1, 1) * 2,
    # empty arrays
    "sum of nothing": lambda m: m[:0].sum() + m.sum(),
    "sum along an empty axis": lambda m: (m[:, :0].sum(dim=1) + m.sum(dim=1)).sum(),
    "product of empty vectors": lambda v: v[:0] @ v[:0] + v.sum(),
    "nothing but a product of empty vectors": lambda v: v[:0] @ v[:0],
    "products of empty matrices": lambda t, n: (t[:, :, :0] @ n.T[:0, :1].reshape(0, 1)).sum() + (n[:0] @ n.T).sum(),
    "product over an empty axis": lambda m: (m[:, :0] @ m[:0, :1].reshape(0, 1)).sum() + m.sum(),
}

DETACHED = {
    # programs that hide part of themselves from differentiation: a finite difference sees it
    "detach()",
    "no_grad",
    "a constant from data",
    "data as an operand",
    "a constant from numpy()",
    "a constant from item()",
    "a constant from tolist()",
    "max of ties",
    "max along an axis with ties",
    "comparison of two tensors as a mask",
    "equality as a mask",
    "random numbers",
}


def operands(program: Callable[..., Tensor], dtype: type = np.float64) -> list[Tensor]:
    """Operands for a program, by the names of its parameters (`x` is a matrix); numbers away from kinks and ties."""
    rng = np.random.default_rng(7)
    names = program.__code__.co_varnames[: program.__code__.co_argcount]
    arrays = [rng.uniform(0.3, 2.0, SHAPES.get(name, (2, 3))) for name in names]
    signs = [np.where(rng.random(a.shape) < 0.4, -1, 1) for a in arrays]
    return [Tensor(a * s, dtype=dtype, requires_grad=True) for a, s in zip(arrays, signs, strict=True)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_scalar_gradients_are_tensor_gradients(name: str) -> None:
    comparison = compare(PROGRAMS[name], *operands(PROGRAMS[name]), finite_differences=False)
    assert comparison.ok, comparison.table()
    assert comparison.nodes[-1].tensor_grad.tolist() == np.ones(comparison.nodes[-1].shape).tolist()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in DETACHED])
def test_and_both_are_the_finite_differences(name: str) -> None:
    assert gradcheck(PROGRAMS[name], operands(PROGRAMS[name]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_float32_within_its_tolerance(name: str) -> None:
    comparison = compare(PROGRAMS[name], *operands(PROGRAMS[name], np.float32), finite_differences=False)
    assert comparison.ok, comparison.table()


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    """Operations in any order on operands of any shape, results used again and again."""
    rng = np.random.default_rng(seed)
    unary = [
        lambda x: x.tanh(),
        lambda x: x.sigmoid() * 2,
        lambda x: x.relu() - x * 0.1,
        lambda x: (x * x + 0.1).sqrt(),
        lambda x: (x * x + 1).log(),
        lambda x: x.mean(dim=-1, keepdim=True),
        lambda x: x.max(dim=0, keepdim=True).values,
        lambda x: x.sum(dim=0).reshape(1, -1),
        lambda x: x.T @ x * 0.1,
        lambda x: x[[-1, 0, -1]],
        lambda x: -x.transpose(0, 1).sin(),
    ]
    binary = [lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x / (y * y + 1), lambda x, y: x - y]
    leaves = [Tensor(rng.normal(size=s), dtype=np.float64, requires_grad=True) for s in ((3, 3), (1, 3), (3, 1))]
    plan = [(rng.integers(2), rng.integers(99, size=3)) for _ in range(12)]

    def program(*leaves: Tensor) -> Tensor:
        made = list(leaves)
        for two, (which, i, j) in plan:
            x, y = made[i % len(made)], made[j % len(made)]
            try:
                made.append(binary[which % len(binary)](x, y) if two else unary[which % len(unary)](x))
            except ValueError:  # these two shapes do not broadcast
                made.append(x * y.sum())
        return sum((x.sum() for x in made), Tensor(0.0))

    assert compare(program, *leaves, finite_differences=False).ok
    assert gradcheck(program, leaves)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_element_has_a_scalar_node_of_its_own(name: str) -> None:
    pair = compare(PROGRAMS[name], *operands(PROGRAMS[name]), finite_differences=False).pair
    nodes = [
        node for t, array in zip(pair.tensors, pair.elements, strict=True) if t.requires_grad for node in array.flat
    ]
    assert len(nodes) == len(set(nodes)) == sum(t.data.size for t in pair.tensors if t.requires_grad)


@pytest.mark.parametrize("name", PROGRAMS)
def test_data_and_gradients_are_put_back(name: str) -> None:
    inputs = operands(PROGRAMS[name])
    for x in inputs:
        x.grad = np.full(x.shape, 5.0)
    before = [x.data for x in inputs]
    compare(PROGRAMS[name], *inputs)
    assert all(x.data is data for x, data in zip(inputs, before, strict=True))
    assert all((x.grad == 5.0).all() and x.requires_grad for x in inputs)
