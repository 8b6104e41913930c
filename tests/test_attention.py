"""scaled_dot_product_attention: the fast path, in one tile and in several, against its composed twin and against torch;
masks, dropout, what it holds, and bad input."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.nn import functional as F
from tensorgrad.ops import attention, attention_tiles
from tensorgrad.utils.checkpoint import checkpoint
from tensorgrad.versions import held_arrays, owner
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


TILES = pytest.mark.parametrize(
    ("tile", "kept"), [(None, 1), (1, 1), (13, 0)], ids=["one tile", "tiles of a row", "tiles of 13 scores, not kept"]
)


def in_tiles(monkeypatch: pytest.MonkeyPatch, tile: int | None, kept: float = 0, rows: int = 1) -> None:
    """From here on at most so many scores are in a tile, and at least so many rows; `kept` is as in attention_tiles."""
    monkeypatch.setattr(attention_tiles, "KEPT", kept)
    if tile is not None:
        monkeypatch.setattr(attention_tiles, "TILE", tile)
        monkeypatch.setattr(attention_tiles, "ROWS", rows)


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
@TILES
def test_as_torch(
    shapes: Any, dtype: str, tile: int | None, kept: float, rng: np.random.Generator, torch: ModuleType, monkeypatch
):
    in_tiles(monkeypatch, tile, kept)
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
@TILES
def test_equals_its_twin(
    shapes: Any,
    dtype: str,
    p: float,
    tile: int | None,
    kept: float,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
):
    """The twin is what the operation runs on scalar nodes; here it runs on numbers, with the same random ones."""
    in_tiles(monkeypatch, tile, kept)
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
@TILES
def test_gradient_of_a_mask_that_is_added(
    dtype: str, tile: int | None, kept: float, rng: np.random.Generator, torch: ModuleType, monkeypatch
):
    in_tiles(monkeypatch, tile, kept)
    arrays = [rng.standard_normal(s).astype(dtype) for s in ((2, 3, 4), (2, 5, 4), (2, 5, 3), (3, 5))]
    ours, theirs = [leaf(a, dtype) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    F.scaled_dot_product_attention(*ours).sum().backward()
    torch.nn.functional.scaled_dot_product_attention(*theirs).sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), **TOLERANCE[dtype])


@TILES
def test_only_what_is_wanted_gets_a_gradient(tile: int | None, kept: float, rng: np.random.Generator, monkeypatch):
    in_tiles(monkeypatch, tile, kept)
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


# -- tiles -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tile", [1, 4, 9, 20, 40, 60, 200])
@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3), (2, 3, 4, 5), (4, 1), (2, 0, 3), (2, 3, 0), (0, 2, 2)])
@pytest.mark.parametrize(("causal", "in_order"), [(False, False), (True, False), (True, True)])
def test_tiles_hold_each_score_once(
    tile: int, shape: tuple[int, ...], causal: bool, in_order: bool, monkeypatch: pytest.MonkeyPatch
):
    in_tiles(monkeypatch, tile)
    rows = np.arange(np.prod(shape[:-1])).reshape(*shape[:-1], 1)
    found = list(attention_tiles.tiles(shape, causal, in_order))
    order = [row for each in found for row in each.by_rows(rows).ravel()]
    assert (order if in_order else sorted(order)) == list(range(rows.size))
    for each in found:
        assert each.by_rows(rows).size * shape[-1] <= max(tile, shape[-1])
        assert each.keys == slice(0, min(each.rows.stop, shape[-1]) if causal else shape[-1])


def test_central_differences_in_tiles(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch):
    """Of operands that are broadcast, with a mask that is, too, and with dropout; and of a causal mask."""
    in_tiles(monkeypatch, 13)
    shapes = ((2, 1, 4, 3), (3, 5, 3), (1, 3, 5, 2), (3, 1, 5))
    operands = [leaf(rng.standard_normal(s)) for s in shapes]

    def left_out(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        tensorgrad.manual_seed(3)
        return F.scaled_dot_product_attention(q, k, v, mask, dropout_p=0.3)

    def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.3)

    assert tensorgrad.autograd.gradcheck(left_out, tuple(operands))
    assert tensorgrad.autograd.gradcheck(causal, tuple(operands[:3]))


@pytest.mark.parametrize("tile", [1, 13, 40])
@pytest.mark.parametrize("causal", [False, True])
def test_dropout_leaves_out_the_same_in_one_tile_and_in_several(
    tile: int, causal: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
):
    """Backward draws once more, as often as it is run, and the package's generator does not notice."""
    shapes = ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 2))
    arrays, seed = [rng.standard_normal(s) for s in shapes], rng.standard_normal((2, 3, 5, 2))
    found = []
    for size, kept in ((None, 1), (tile, 0)):
        in_tiles(monkeypatch, size, kept)
        operands = [leaf(a) for a in arrays]
        tensorgrad.manual_seed(8)
        tensorgrad.rand(3)  # half of one of the generator's numbers is left over
        out = F.scaled_dot_product_attention(*operands, dropout_p=0.5, is_causal=causal)
        state = tensorgrad.get_rng_state().data
        out.backward(seed)
        once = [x.grad.copy() for x in operands]
        out.backward(seed)
        np.testing.assert_array_equal(tensorgrad.get_rng_state().data, state)
        for x, g in zip(operands, once, strict=True):
            np.testing.assert_allclose(x.grad, 2 * g, rtol=1e-15)
        found.append([state, out.data, *once])
    for one, several in zip(*found, strict=True):
        np.testing.assert_allclose(several, one, rtol=1e-12, atol=1e-14)


def test_what_other_threads_draw_does_not_change_what_backward_draws_again(monkeypatch: pytest.MonkeyPatch):
    drop = attention_tiles.Attention.dropped

    def dropped_while_others_draw(*args: Any) -> Any:
        tensorgrad.rand(3)
        return drop(*args)

    monkeypatch.setattr(attention_tiles, "TILE", 8)
    monkeypatch.setattr(attention_tiles, "KEPT", 0)
    monkeypatch.setattr(attention_tiles.Attention, "dropped", dropped_while_others_draw)
    x = np.random.default_rng(2).standard_normal((2, 8, 4))
    value = Tensor(x, requires_grad=True)
    out = F.scaled_dot_product_attention(Tensor(x), Tensor(x), value, dropout_p=0.5)
    out.backward(np.ones(out.shape))
    np.testing.assert_allclose((value.grad * x).sum(), out.data.sum())  # the result is linear in the values


def test_as_torch_in_tiles_as_they_are(rng: np.random.Generator, torch: ModuleType):
    """2,000 queries, in several tiles of the size that is meant."""
    arrays = [rng.standard_normal((1, 2, n, 4)) for n in (2000, 300, 300)]
    assert len(list(attention_tiles.tiles((1, 2, 2000, 300), True, False))) > 4
    for options in ({}, {"is_causal": True}):
        ours, theirs = [leaf(a) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
        out = F.scaled_dot_product_attention(*ours, **options)
        want = torch.nn.functional.scaled_dot_product_attention(*theirs, **options)
        seed = rng.standard_normal(out.shape)
        out.backward(seed)
        want.backward(torch.tensor(seed))
        np.testing.assert_allclose(out.data, want.detach().numpy(), rtol=1e-10, atol=1e-12)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_under_checkpoint_with_dropout_in_tiles(monkeypatch: pytest.MonkeyPatch):
    """Computed twice, it leaves out the same, bit for bit, and so does what is drawn after it."""
    in_tiles(monkeypatch, 20)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.4, is_causal=True)
        return F.dropout(y.transpose(1, 2).reshape(1, 6, 8), 0.4)

    found = []
    for run in (attend, lambda *operands: checkpoint(attend, *operands, use_reentrant=False)):
        qkv, operands = heads(T=6)
        tensorgrad.manual_seed(5)
        (run(*operands) ** 2).sum().backward()
        found.append((qkv.grad, tensorgrad.get_rng_state().data))
    for plain, again in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, again)


def test_float16_in_tiles(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch):
    """Computed in float32: what comes out is the float32 result, rounded."""
    in_tiles(monkeypatch, 13)
    arrays = [(200 * rng.standard_normal(s)).astype(np.float16) for s in ((2, 4, 3), (2, 5, 3), (2, 5, 2))]
    half, full = ([leaf(a, dtype) for a in arrays] for dtype in ("float16", "float32"))
    outs = [F.scaled_dot_product_attention(*operands, scale=1e-4) for operands in (half, full)]
    for out in outs:
        out.sum().backward()
    grads = [(x.grad, y.grad) for x, y in zip(half, full, strict=True)]
    for x, y in [(outs[0].data, outs[1].data), *grads]:
        assert x.dtype == np.float16
        np.testing.assert_array_equal(x, y.astype(np.float16))


def test_a_value_after_the_tile_does_not_reach_it(monkeypatch: pytest.MonkeyPatch):
    in_tiles(monkeypatch, 1)
    out = F.scaled_dot_product_attention(*np.ones((2, 3, 1)), np.array([[3.0], [5.0], [np.nan]]), is_causal=True)
    np.testing.assert_array_equal(out.data.ravel(), [3, 4, np.nan])


# -- what is held ------------------------------------------------------------------------------------------------------


def heads(T: int, B: int = 1, H: int = 2, D: int = 4) -> tuple[Tensor, list[Tensor]]:
    """The array that a layer gives, (B, T, 3, H, D), and its views (B, H, T, D)."""
    qkv = Tensor(np.random.default_rng(0).standard_normal((B, T, 3, H, D)), dtype=np.float32, requires_grad=True)
    return qkv, list(qkv.permute(2, 0, 3, 1, 4).unbind(0))


@pytest.mark.parametrize("dropout_p", [0.0, 0.1])
def test_memory_is_linear_in_the_length(dropout_p: float, monkeypatch: pytest.MonkeyPatch):
    """What the rule holds, and the peaks of both passes, in bytes, at 256 tokens and at 512."""
    in_tiles(monkeypatch, 2**11, attention_tiles.KEPT, rows=4)
    found = []
    for T in (256, 512):
        qkv, operands = heads(T)
        tracemalloc.start()
        out = F.scaled_dot_product_attention(*operands, is_causal=True, dropout_p=dropout_p)
        forward = tracemalloc.get_traced_memory()[1]
        g = np.ones_like(out.data)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        sent = out._rules(g)
        backward = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        memory = {id(owner(a)): owner(a).nbytes for a in held_arrays(out._rules)}
        assert sum(memory.values()) == qkv.data.nbytes + 2 * out.data.nbytes // 4  # and two numbers for each row
        assert len(sent) == 3
        found.append((forward, backward))
    for shorter, longer in zip(*found, strict=True):
        assert longer < 2.2 * shorter


def test_no_tile_lives_beside_the_next(monkeypatch: pytest.MonkeyPatch):
    tile = 4 * 2**14  # bytes of scores, which are much beside operands and results
    in_tiles(monkeypatch, 2**14, attention_tiles.KEPT, rows=4)
    _, operands = heads(256)
    tracemalloc.start()
    out = F.scaled_dot_product_attention(*operands)
    forward = tracemalloc.get_traced_memory()[1]
    g = np.ones_like(out.data)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    sent = out._rules(g)
    backward = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert forward < out.data.nbytes + 1.7 * tile
    assert backward < sum(s.nbytes for s in sent) + 2.7 * tile


def test_a_small_problem_keeps_its_weights():
    _, operands = heads(T=8)
    held = [a.shape for a in held_arrays(F.scaled_dot_product_attention(*operands, dropout_p=0.5)._rules)]
    assert held.count((1, 2, 8, 8)) == 2  # the weights, and which stay
    _, operands = heads(T=16)
    held = [a.shape for a in held_arrays(F.scaled_dot_product_attention(*operands, dropout_p=0.5)._rules)]
    assert (1, 2, 16, 16) not in held


def test_heads_side_by_side_are_a_view_of_the_result():
    _, operands = heads(T=6, B=3)
    out = F.scaled_dot_product_attention(*operands, is_causal=True)
    assert out.shape == (3, 2, 6, 4)
    assert out.data.base is None
    assert np.shares_memory(out.transpose(1, 2).reshape(3, 6, 8).data, out.data)


def test_no_reference_cycle():
    _, operands = heads(T=6)
    gc.disable()
    try:
        out = F.scaled_dot_product_attention(*operands, dropout_p=0.5)
        out.sum().backward()
        gone = weakref.ref(out)
        del out
        assert gone() is None
    finally:
        gc.enable()


# -- bad input ---------------------------------------------------------------------------------------------------------

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
