"""What the rules of operations keep alive until the backward pass, beside their operands and their results.

These are alive anyway: they are the data of nodes. What a rule keeps beside them is memory that grows with a network's
depth, so it is small (some numbers a row), or it is named here, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from ops_table import CASES, calls

import tensorgrad
import tensorgrad.nn.functional as F
from micrograd.backprop import topological_order
from tensorgrad import Tensor, pieces
from tensorgrad.versions import held_arrays, owner

TIMES = 20  # the operands of the table are that many times as long along each axis, so that what is small shows
SMALL = 0.08  # of the bytes of operands and result; a mask of booleans beside two operands and a result is 0.083

ELSEWHERE = {"linear_cross_entropy", "scaled_dot_product_attention"}
"""Whose memory is measured by the tests of these operations."""

REASONS = {
    # operation: (bytes for each element of the largest array, why)
    "where": (1, "the condition, which is no operand"),
    "masked_fill": (1, "the mask, which is no operand"),
    "dropout": (1, "which elements stay: they were drawn"),
    "max": (1, "which elements are tied: 1 byte an element, and neither the operand nor the result need be kept"),
    "min": (1, "as max"),
    "amax": (1, "as max"),
    "amin": (1, "as max"),
    "median": (1, "as max"),
    "sort": (4, "where the elements stood: to find them is to sort again"),
    "topk": (4, "as sort"),
    "gather": (8, "the positions, which are no operand"),
    "take": (8, "the positions"),
    "take_along_dim": (8, "the positions"),
    "index": (8, "the positions, or 1 byte an element of a mask"),
    "index_select": (8, "the positions"),
    "masked_select": (8, "the positions of what was selected"),
    "setitem": (8, "the positions"),
    "scatter": (8, "the positions"),
    "scatter_add": (8, "the positions"),
    "index_add": (8, "the positions"),
    "cosine_similarity": (4, "of float16 the result in float32"),
    "embedding": (8, "the numbers of the rows"),
    "repeat_interleave": (8, "the numbers of repeats"),
}

NOTHING = frozenset(
    """
    + - add sub neg clone sum mean cumsum trace floor ceil trunc round sign floor_divide div_trunc **0
    reshape view flatten unflatten squeeze unsqueeze transpose T mT H permute moveaxis movedim swapaxes contiguous
    expand broadcast_to repeat tile meshgrid cat stack hstack vstack dstack split chunk unbind
    flip roll tril triu diag diagonal
    """.split()
)
"""Operations whose gradient depends on no number of theirs: a rule that kept an array would keep it for its shape."""

WIDE = {
    # operations that the table calls on shapes that are written into it
    "layer_norm": lambda x: F.layer_norm(x, (96,), np.ones(96, np.float32), np.ones(96, np.float32)),
    "layer_norm alone": lambda x: F.layer_norm(x, (96,)),
    "rms_norm": lambda x: F.rms_norm(x, (96,), np.ones(96, np.float32)),
    "cross_entropy": lambda x: F.cross_entropy(x, np.arange(64)),
    "cross_entropy smoothed": lambda x: F.cross_entropy(x, np.arange(64), np.ones(96), label_smoothing=0.1),
    "cross_entropy ignored": lambda x: F.cross_entropy(x, np.arange(64), ignore_index=3),
    "cross_entropy grid": lambda x: F.cross_entropy(x.reshape(4, 96, 16), np.ones((4, 16), int)),
    "nll_loss": lambda x: F.nll_loss(x, np.arange(64)),
    "nll_loss grid": lambda x: F.nll_loss(x.reshape(4, 96, 16), np.ones((4, 16), int)),
    "with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x * 0, pos_weight=np.ones(96, np.float32)),
    "index slices": lambda x: x[1:, None, ::2],
    "index mask": lambda x: x[x > 0],
    "masked_select": lambda x: x.masked_select(x > 0),
    "setitem": lambda x: _written(x),
    "expand": lambda x: x.expand(2, 64, 96),
    "split": lambda x: x.split(40, 1)[1],
    "pad": lambda x: F.pad(x, (1, 2)),
    "view": lambda x: x.view(96, 64),
    "lerp": lambda x: tensorgrad.lerp(x, x + 1, x * 0.5),
    "gelu": lambda x: F.gelu(x),
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "times a mask": lambda x: x * (x > 0),
    "repeats": lambda x: x.repeat_interleave(2, 1),
}


def _written(x: Tensor) -> Tensor:
    out = x.clone()
    out[1:, 3:5] = 1.0
    return out


def nodes(out: Tensor | tuple[Tensor, ...]) -> Iterator[Tensor]:
    for node in topological_order(out):
        if node._prev and max(x._data.size for x in (node, *node._prev)) >= 100:  # of less, nothing is small
            yield node


def beside(node: Tensor) -> int:
    """The bytes of what the rules of `node` keep that is neither its operands' nor its own."""
    own = {id(owner(x._data)) for x in (node, *node._prev)}
    kept = {id(owner(a)): owner(a).nbytes for a in held_arrays(node._rules) if id(owner(a)) not in own}
    return sum(kept.values())


def allowed(node: Tensor) -> float:
    arrays = [x._data for x in (node, *node._prev)]
    small = SMALL * 4 * sum(a.size for a in arrays)  # of float16, too, it is float32
    return small + REASONS.get(node._op, (0,))[0] * max(a.size for a in arrays)


def check(node: Tensor, name: str) -> None:
    kept, most = beside(node), allowed(node)
    assert node._op in ELSEWHERE or kept <= most, f"{name}: {node._op!r} keeps {kept} bytes of its own, {most} at most"
    if node._op in NOTHING:
        assert not list(held_arrays(node._rules)), f"{name}: {node._op!r} keeps an array for nothing"


@pytest.mark.parametrize(("dtype", "order"), [("float32", "C"), ("float16", "C"), ("float32", "F")])
def test_rules_keep_little_beside_operands_and_results(dtype: str, order: str):
    rng = np.random.default_rng(7)
    seen = set()
    for name, case, shapes in calls(CASES):
        if "matmul batch" in name or "heads" in name:
            continue  # of hundreds of millions of products, and of "@" and "einsum" there are others
        arrays = case.sample(rng, tuple(tuple(n * TIMES if n > 1 else n for n in shape) for shape in shapes))
        tensors = [Tensor(a.astype(dtype), requires_grad=True) for a in arrays]
        for tensor in tensors:
            tensor.data = np.asarray(tensor.data, order=order)
        try:
            out = case.function(tensorgrad, *tensors)
        except (ValueError, IndexError):
            continue  # shapes are written into the case: see WIDE
        for node in nodes(out):
            check(node, name)
            seen.add(node._op)
    assert len(seen) > 130
    assert NOTHING - seen <= {"view", "contiguous"}  # the one never of a transposed operand, the other only of these


@pytest.mark.parametrize("program", WIDE.values(), ids=WIDE)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rules_keep_little_on_wide_rows(program: Callable[[Tensor], Tensor], dtype: str):
    x = Tensor(np.random.default_rng(1).uniform(0.1, 0.9, (64, 96)).astype(dtype), requires_grad=True)
    found = list(nodes(program(x)))
    assert found
    for node in found:
        check(node, "")


@pytest.mark.parametrize("program", [WIDE["index slices"], WIDE["setitem"], WIDE["pad"], WIDE["split"]])
def test_rules_that_move_slices_keep_no_array(program: Callable[[Tensor], Tensor]):
    for node in nodes(program(Tensor(np.ones((64, 96)), requires_grad=True))):
        assert not list(held_arrays(node._rules)), node._op


def test_kept_is_what_the_docstring_of_cross_entropy_says():
    x = Tensor(np.zeros((64, 96), np.float32), requires_grad=True)
    loss = F.cross_entropy(x, np.zeros(64, int))
    # the largest score and the sum of each row, its class, and the weight of its loss
    assert beside(loss) == 64 * (4 + 4 + 8 + 4)


def test_a_result_with_the_sign_of_the_operand_is_kept_in_its_place():
    """The result is what the next layer keeps; of a network of both, nobody then keeps the operand."""
    x = Tensor(np.linspace(-1, 1, 64), requires_grad=True)
    for out in (F.relu(x * 1), F.leaky_relu(x * 1, 0.1), F.relu6(x * 1), tensorgrad.tanh(x * 1)):
        assert [id(owner(a)) for rule in out._rules for a in held_arrays(rule)] == [id(owner(out.data))]
    flat = F.leaky_relu(x, -0.5)  # the result's sign says nothing
    flat.backward(np.ones(64))
    np.testing.assert_array_equal(x.grad, np.where(x.data > 0, 1, -0.5))


# -- what is computed anew, and piece by piece -------------------------------------------------------------------------

PIECES = {
    "layer_norm": lambda x, w: F.layer_norm(x, (5,), w, w * 2),
    "layer_norm of a transposed operand": lambda x, w: F.layer_norm(x.T.contiguous().T, (5,), w),
    "rms_norm": lambda x, w: F.rms_norm(x, (5,), w),
    "gelu": lambda x, w: F.gelu(x * w),
    "gelu tanh": lambda x, w: F.gelu(x * w, approximate="tanh"),
    "cross_entropy": lambda x, w: F.cross_entropy(x * w, np.arange(307) % 5, w.detach(), ignore_index=2),
    "cross_entropy smoothed": lambda x, w: F.cross_entropy(
        x * w, np.arange(307) % 5, label_smoothing=0.2, reduction="none"
    ),
}


def test_pieces_cover_every_row_once_and_have_about_one_size(monkeypatch):
    monkeypatch.setattr(pieces, "_SIZE", 35)
    assert list(pieces.row_pieces((16, 5))) == [slice(0, 7), slice(7, 14), slice(14, 16)]
    assert list(pieces.row_pieces((2, 100))) == [slice(0, 1), slice(1, 2)]
    assert list(pieces.row_pieces((3, 0))) == [slice(0, 3)]
    assert not list(pieces.row_pieces((0, 5)))


@pytest.mark.parametrize("program", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_pieces_give_what_the_whole_gives(program: Callable[..., Tensor], dtype: str, monkeypatch):
    rng = np.random.default_rng(3)
    x, w, seed = rng.standard_normal((307, 5)), rng.uniform(0.5, 1.5, 5), rng.standard_normal(307 * 5)
    found = []
    for size in (pieces._SIZE, 35):  # seven rows a piece, and the last one short
        monkeypatch.setattr(pieces, "_SIZE", size)
        tensors = [Tensor(a.astype(dtype), requires_grad=True) for a in (x, w)]
        out = program(*tensors)
        out.backward(seed[: out.data.size].reshape(out.shape))
        found.append((out.data, *[t.grad for t in tensors]))
    for whole, in_pieces in zip(*found, strict=True):
        rtol = {"float16": 4e-3, "float32": 5e-6, "float64": 1e-13}[dtype]
        np.testing.assert_allclose(in_pieces, whole, rtol=rtol, atol=rtol * np.abs(whole).max())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_gradient_of_gelu_from_its_result_is_that_of_its_formula(dtype: str):
    tiny = np.finfo(dtype).smallest_subnormal
    a = np.array([0, tiny, -tiny, 1e-20, -1e-19, 1e-6, *np.linspace(-12, 12, 241)], dtype=dtype)
    x = Tensor(a, requires_grad=True)
    F.gelu(x).backward(np.ones(a.size, dtype))
    want = [math.erfc(-t / 2**0.5) / 2 + t * math.exp(-t * t / 2) / (2 * math.pi) ** 0.5 for t in a.tolist()]
    np.testing.assert_allclose(x.grad, want, rtol=0, atol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize("offset", [0.0, 40000.0])
def test_the_gradient_of_layer_norm_keeps_its_digits_beside_a_large_mean(offset: float):
    """The centred rows are computed anew from both means, the second of which is all that the first one rounded off."""
    rng = np.random.default_rng(4)
    rows = (rng.standard_normal((64, 96)) + offset).astype(np.float32)
    seed = rng.standard_normal(rows.shape).astype(np.float32)
    found = []
    for dtype in (np.float32, np.float64):
        x, w = Tensor(rows.astype(dtype), requires_grad=True), Tensor(np.ones(96, dtype), requires_grad=True)
        F.layer_norm(x, (96,), w).backward(seed)
        found.append((x.grad, w.grad))
    for single, double in zip(*found, strict=True):
        np.testing.assert_allclose(single, double, rtol=0, atol=2e-6 * np.abs(double).max())


@pytest.mark.parametrize("norm", [F.layer_norm, F.rms_norm])
def test_a_long_row_with_steps_in_memory_is_normalized_as_one_without(norm: Callable[..., Tensor]):
    """Numbers that do not lie side by side were added one after the other: a mean of 40000 was off by several."""
    row = (np.random.default_rng(4).standard_normal((1, 2**17)) + 40000).astype(np.float32)
    steps = np.repeat(row, 2, axis=1)[:, ::2]
    turned = row[:, ::-1].copy()[:, ::-1]
    found = []
    for a in (row, steps, turned):
        x = Tensor(row, requires_grad=True)
        x.data = a
        y = norm(x, (2**17,))
        y.backward(np.cos(row))
        found.append((y.data, x.grad))
    for plain, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_array_equal(other, plain)


def _addmm(x: Tensor, y: Tensor) -> Tensor:
    return tensorgrad.addmm(tensorgrad.zeros(32, 32, dtype=np.float16), x, y)


@pytest.mark.parametrize(
    "product",
    [lambda x, y: x @ y, lambda x, y: F.linear(x, y.T), _addmm],
    ids=["matmul", "linear", "addmm"],
)
def test_products_of_half_floats_keep_no_wider_copies(product: Callable[[Tensor, Tensor], Tensor]) -> None:
    x, y = (Tensor(np.ones((32, 32), np.float16), requires_grad=True) for _ in range(2))
    out = product(x, y)
    assert {array.dtype for array in held_arrays(out._rules)} == {np.dtype(np.float16)}
    out.sum().backward()
    assert x.grad.tolist() == np.full((32, 32), 32).tolist()
